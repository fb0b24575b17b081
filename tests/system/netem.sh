#!/usr/bin/env bash
# rttlink with netem: tc's ways of failing told apart with a stub tc; then the real netem under
# User-Mode Linux (ci/uml), since the kernel here may have none.
. "$(dirname "$0")/lib.sh"

# --- under User-Mode Linux: this script again, with "inside"
link_up() {
	rm -f "$tmp/stdin"
	mkfifo "$tmp/stdin"
	"$BIN/rttlink" up --profile "$1" --backend netem --near /run/netns/near \
		--far /run/netns/far <"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
	link=$!
	exec 7>"$tmp/stdin"
	until_true 10 grep -q '^ready' "$tmp/link.txt"
}
link_down() {
	exec 7>&-
	wait "$link"
}
measure() {
	"$BIN/rttlink" check --near /run/netns/near --far /run/netns/far "$@" >"$tmp/check.txt"
}
median_us() {
	awk '$1 == "sample" && $2 == "echo" { print $4 }' "$tmp/check.txt" | sort -n |
		awk '{ v[NR] = $1 } END { if (NR) printf "%d", v[int((NR + 1) / 2)] / 1000 }'
}
counter() {
	awk -v m="$1" '$1 == "count" && $2 == m { print $3 }' "$2"
}
profile() {
	printf 'schema: 1\n' >"$tmp/$1.yaml"
	printf '%s\n' "${@:2}" >>"$tmp/$1.yaml"
}

inside() {
	ip netns add near
	ip netns add far
	check "real: backends" sh -c "'$BIN/rttlink' backends | grep -qx 'info netem ok'"

	profile wan50 'rtt: 50ms'
	link_up "$tmp/wan50.yaml"
	check "real: read back near" grep -q '^info qdisc_near .*"netem".*"delay":0.025,' "$tmp/link.txt"
	check "real: read back far" grep -q '^info qdisc_far .*"limit":41666,' "$tmp/link.txt"
	check "real: this tc has no seed" grep -qx 'info seed_honoured no' "$tmp/link.txt"
	measure --count 40
	between "real: 50 ms, us" "$(median_us)" 49500 53000
	equal "real: nothing lost" "$(counter echo_lost "$tmp/check.txt")" 0
	link_down
	equal "real: exit status" "$?" 0
	equal "real: counted" "$(counter up_packets "$tmp/link.txt")" 43
	equal "real: dropped" "$(counter up_dropped "$tmp/link.txt")" 0
	equal "real: no device is left" "$(ip -n near link show link0 2>/dev/null)" ""

	profile lossy 'rtt: 4ms' 'loss: 5%'
	link_up "$tmp/lossy.yaml"
	ip netns exec near ping -n -c 1000 -i 0.002 -W 0.2 -q 198.18.0.2 >/dev/null
	link_down
	between "real: lost of 1000 at 5%" "$(counter up_lost "$tmp/link.txt")" 29 74
	equal "real: loss explains all" "$(counter up_dropped "$tmp/link.txt")" 0

	profile jitter 'rtt: 20ms' 'jitter: 5ms'
	link_up "$tmp/jitter.yaml"
	ip netns exec near ping -n -c 500 -i 0.002 198.18.0.2 >"$tmp/ping.txt"
	equal "real: jitter keeps order" \
		"$(sed -n 's/.*icmp_seq=\([0-9]*\) ttl.*/\1/p' "$tmp/ping.txt" | sort -nc 2>&1)" ""
	between "real: jitter moves, ms" \
		"$(sed -n 's|^rtt.*/\([0-9.]*\) ms.*|\1|p' "$tmp/ping.txt")" 1.5 6
	link_down

	# Five packets of room: TCP's segments have to meet netem one by one to feel it.
	profile narrow 'rtt: 10ms' 'rate: 10mbit' 'limit: 5'
	link_up "$tmp/narrow.yaml"
	ip netns exec near ping -n -f -c 50 -l 50 -s 1400 -W 0.3 -q 198.18.0.2 >/dev/null
	check "real: no super-packets" grep -q 'gso_max_segs 1 ' <(ip -n near -d link show link0)
	ip -n near link set link0 down
	link_down
	between "real: a full queue drops" "$(counter up_dropped "$tmp/link.txt")" 30 46

	link_up "$tmp/wan50.yaml"
	ip netns exec far tc qdisc del dev link0 root
	link_down
	equal "real: qdisc gone: exit status" "$?" 1
	check "real: qdisc gone: reason" grep -q 'link broke: its netem is gone' "$tmp/link.log"
}
if [ "${1:-}" = inside ]; then
	inside
	exit 0
fi

# --- a stub tc that fails as real ones have
run_stubbed() {
	PATH=$1 "$BIN/rttlink" up --profile "$tmp/stub.yaml" --backend netem \
		--near /proc/self/fd/8 --far /proc/self/fd/9 8</proc/self/ns/net 9<"/proc/$far/ns/net" \
		</dev/null 2>&1 >/dev/null
}
# stub NAME STATUS SPELLING EXPECTED
stub() {
	mkdir -p "$tmp/stub"
	printf '#!/bin/sh\nprintf "%%s\\n" "%s" >&2\nexit 2\n' "$3" >"$tmp/stub/tc"
	chmod +x "$tmp/stub/tc"
	local output status
	output=$(run_stubbed "$tmp/stub:$PATH")
	status=$?
	if [ $status -eq "$2" ] && [[ $output == *"$4"* ]]; then
		ok "stub: $1"
	else
		not_ok "stub: $1" "exit $status: $output"
	fi
}

stubbed() {
	profile stub 'rtt: 50ms'
	unshare -n sleep 60 >/dev/null 2>&1 &
	far=$!
	until_true 5 sh -c "[ \"\$(readlink /proc/$far/ns/net)\" != \"\$(readlink /proc/self/ns/net)\" ]"
	stub "kind unknown" 77 "Error: Specified qdisc kind is unknown." "kernel has no netem"
	stub "qdisc not found" 77 "Error: Specified qdisc not found." "kernel has no netem"
	stub "no such file" 77 "RTNETLINK answers: No such file or directory" "kernel has no netem"
	stub "not supported" 77 "RTNETLINK answers: Operation not supported" "kernel has no netem"
	stub "not permitted" 77 "RTNETLINK answers: Operation not permitted" "no CAP_NET_ADMIN"
	stub "anything else" 1 "Cannot allocate memory" "tc failed with 2: Cannot allocate memory"
	printf '#!/bin/sh\nexit 0\n' >"$tmp/stub/tc"
	output=$(run_stubbed "$tmp/stub")
	if [[ $output == *"tc shows no netem"* ]]; then
		ok "stub: a tc that only pretends"
	else
		not_ok "stub: a tc that only pretends" "$output"
	fi
	output=$(run_stubbed "$tmp/empty")
	status=$?
	if [ $status -eq 77 ] && [[ $output == *"apt-get install iproute2"* ]]; then
		ok "no tc"
	else
		not_ok "no tc" "exit $status: $output"
	fi
	equal "no device is left" "$(ip link show link0 2>/dev/null)" ""
	kill $far
	wait $far 2>/dev/null
}

if [ "${1:-}" = stubbed ]; then
	stubbed
	exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
	unshare -n "$0" stubbed
elif unshare -Urn true 2>/dev/null; then
	unshare -Urn "$0" stubbed
else
	skip "stub tc" "not root, and user namespaces are not allowed"
fi

output=$(MEMORY=1024M "$TOP/ci/uml" "$0" inside)
case $? in
0) printf '%s\n' "$output" ;;
77) skip "real netem" "no User-Mode Linux here (ci/setup --all installs it)" ;;
*) not_ok "real netem" "$(printf '%s' "$output" | tail -n 3 | tr '\n' ' ')" ;;
esac
