#!/usr/bin/env bash
# rttlink with netem: tc's ways of failing told apart with a stub tc; then the real netem, here if this
# kernel has it, else under User-Mode Linux (ci/uml). `make test-netem` runs it too.
. "$(dirname "$0")/lib.sh"

# --- with a real netem: this script again, with "inside"
link_up() {
	rm -f "$tmp/stdin"
	mkfifo "$tmp/stdin"
	: >"$tmp/link.txt"
	"$BIN/rttlink" up --profile "$1" --backend netem --near /run/netns/near \
		--far /run/netns/far <"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
	link=$!
	exec 7>"$tmp/stdin"
	until_true 30 grep -q '^ready' "$tmp/link.txt"
}
link_down() {
	exec 7>&-
	wait "$link"
}
measure() {
	"$BIN/rttlink" check --near /run/netns/near --far /run/netns/far "$@" >"$tmp/check.txt"
}
median_us() {
	awk -v m="${1:-echo}" '$1 == "sample" && $2 == m { print $4 }' "$tmp/check.txt" | sort -n |
		awk '{ v[NR] = $1 } END { if (NR) printf "%d", v[int((NR + 1) / 2)] / 1000 }'
}
counter() {
	awk -v m="$1" '$1 == "count" && $2 == m { print $3 }' "$2"
}
profile() {
	printf 'schema: 1\n' >"$tmp/$1.yaml"
	printf '%s\n' "${@:2}" >>"$tmp/$1.yaml"
}

# near_ping ARGUMENT...: to the far end, into $tmp/ping.txt
near_ping() {
	ip netns exec near ping -n "$@" 198.18.0.2 >"$tmp/ping.txt" 2>/dev/null
}
# The echo replies: number and round trip in ms, in the order in which they came.
replies() {
	sed -n 's/.*icmp_seq=\([0-9]*\) ttl.* time=\([0-9.]*\) ms.*/\1 \2/p' "$tmp/ping.txt"
}
# lost_and_runs COUNT: how many of COUNT got no reply, and the mean length of a run of these
lost_and_runs() {
	replies | awk -v count="$1" '{ came[$1] = 1 } END {
		for (i = 1; i <= count; i++)
			if (!(i in came)) { lost++; if (i == 1 || ((i - 1) in came)) runs++ }
		printf "%d %.2f\n", lost, runs ? lost / runs : 0 }'
}

# Losses are on the way up alone: a missing reply is one of them. Each band of this part holds all but one
# in 100,000 of what chance does (of the quantiles, of what is drawn from tc's tables): netem has no seed here.
real_loss() {
	local lost run
	profile bursts 'up: { delay: 1ms, loss: 10%, burst: 4 }' 'down: { delay: 1ms }'
	link_up "$tmp/bursts.yaml"
	near_ping -c 2000 -i 0.002 -W 0.3
	link_down
	read -r lost run < <(lost_and_runs 2000)
	between "bursts: lost of 2000 at 10%" "$lost" 70 390
	between "bursts: mean length of 4" "$run" 2.2 7.2
	equal "bursts: counted as lost" "$(counter up_lost "$tmp/link.txt")" "$lost"
	equal "bursts: explain all" "$(counter up_dropped "$tmp/link.txt")" 0
	equal "bursts: one way only" "$(counter down_lost "$tmp/link.txt")" 0

	profile gemodel 'up: { delay: 1ms, gemodel: { p: 2%, r: 20%, bad: 50%, good: 1% } }' \
		'down: { delay: 1ms }'
	link_up "$tmp/gemodel.yaml"
	check "gemodel: read back" grep -q \
		'^info qdisc_near .*"loss-gemodel":{"p":0.02,"r":0.2,"1-h":0.5,"1-k":0.01}' "$tmp/link.txt"
	near_ping -c 2000 -i 0.002 -W 0.3
	link_down
	read -r lost run < <(lost_and_runs 2000)
	between "gemodel: lost of 2000 at 5.45%" "$lost" 38 225
	between "gemodel: half of a bad spell is lost" "$run" 1.08 2.3
	equal "gemodel: explains all" "$(counter up_dropped "$tmp/link.txt")" 0
}

real_twice_and_broken() {
	profile twice 'up: { delay: 1ms, duplicate: 20% }' 'down: { delay: 1ms }'
	link_up "$tmp/twice.yaml"
	near_ping -c 1000 -i 0.002 -W 0.3
	link_down
	between "duplicate: of 1000 at 20%" "$(grep -c 'DUP!' "$tmp/ping.txt")" 146 258
	equal "duplicate: none is lost" "$(lost_and_runs 1000)" "0 0.00"
	between "duplicate: offered, without the copies" "$(counter up_packets "$tmp/link.txt")" 950 1050
	# ping ends with the last reply, before a copy of it.
	between "duplicate: copies come back as they are" "$(counter down_packets "$tmp/link.txt")" \
		"$(replies | wc -l)" $(($(replies | wc -l) + 1))
	check "duplicate: marked" grep -q '^info duplicate .*estimate' "$tmp/link.txt"

	# A bit of the source's hardware address does no harm: 6 of 98 bytes.
	profile broken 'up: { delay: 1ms, corrupt: 20% }' 'down: { delay: 1ms }'
	link_up "$tmp/broken.yaml"
	near_ping -c 1000 -i 0.002 -W 0.3
	link_down
	between "corrupt: of 1000 at 20%" "$(lost_and_runs 1000 | cut -d ' ' -f 1)" 135 244
	equal "corrupt: not counted as lost" "$(counter up_lost "$tmp/link.txt")" 0
	check "corrupt: marked" grep -q '^info corrupt .*Ethernet header' "$tmp/link.txt"
}

# Who comes back 10 ms early went up without delay.
early() {
	replies | awk '$2 < 15 { print $1 }'
}
real_reorder() {
	profile ahead 'up: { delay: 10ms, reorder: 25% }' 'down: { delay: 10ms }'
	link_up "$tmp/ahead.yaml"
	near_ping -c 500 -i 0.003
	link_down
	between "reorder: ahead of 500 at 25%" "$(early | wc -l)" 80 169
	check "reorder: they overtake" sh -c \
		"! sed -n 's/.*icmp_seq=\([0-9]*\) ttl.*/\1/p' '$tmp/ping.txt' | sort -nc"

	# Four are delayed, then each one is sent ahead with 25%: one of eight.
	profile gap 'up: { delay: 10ms, reorder: 25%, gap: 5 }' 'down: { delay: 10ms }'
	link_up "$tmp/gap.yaml"
	near_ping -c 500 -i 0.003
	link_down
	between "gap: ahead of 500, one of eight" "$(early | wc -l)" 44 79
	equal "gap: never two within five" \
		"$(early | sort -n | awk 'NR > 1 && $1 - last < 5 { print last, $1 } { last = $1 }')" ""
}

# jitter DISTRIBUTION: what 50 ms of delay with 10 ms of jitter became, in ms: the median, what separates 80% of all
# from the rest, how far the least 2% lie below the median and the most 2% above. That one in a million may
# overtake lets all others do so too: each has its own delay.
jitter() {
	profile spread 'down: { delay: 0ms }' \
		"up: { delay: 50ms, jitter: 10ms, distribution: $1, reorder: 0.0001% }"
	link_up "$tmp/spread.yaml"
	near_ping -c 1000 -i 0.003
	link_down
	replies | sort -n -k 2 | awk '{ v[NR] = $2 }
		function q(share) { return v[int(share * NR) + 1] }
		END { printf "%.1f %.1f %.1f %.1f\n", q(0.5), q(0.9) - q(0.1), q(0.5) - q(0.02), q(0.98) - q(0.5) }'
}
# Expected: of the uniform distribution, and of the tables in tc's *.dist files.
real_distribution() {
	local median middle below above
	read -r median middle below above < <(jitter uniform)
	between "uniform: median of 50" "$median" 48.5 53
	between "uniform: 80% within 16" "$middle" 14.5 17.5
	between "uniform: below, 9.6" "$below" 8.2 11.5
	between "uniform: above, 9.6" "$above" 8 11.5
	read -r median middle below above < <(jitter normal)
	between "normal: median of 50" "$median" 48.5 53
	between "normal: 80% within 25.6" "$middle" 22 29.5
	between "normal: below, 20.5" "$below" 16 26
	between "normal: above, 20.5" "$above" 16 27
	read -r median middle below above < <(jitter pareto)
	between "pareto: median of 46.8" "$median" 45.5 50
	between "pareto: 80% within 14.9" "$middle" 11 21
	between "pareto: below, 3.4" "$below" 2.5 5
	between "pareto: above, 32.3" "$above" 19 45
	read -r median middle below above < <(jitter paretonormal)
	between "paretonormal: median of 47.6" "$median" 46 51
	between "paretonormal: 80% within 17.5" "$middle" 13.5 22.5
	between "paretonormal: below, 7.7" "$below" 6 9.8
	between "paretonormal: above, 29.4" "$above" 18.5 41
}

real_rate() {
	# 100 full packets at 10 Mbit/s, of which the first of a full bucket does not wait: 99 x 1.2 ms at least.
	local what start
	for what in 'limit: 1000' 'queue: 1mib'; do
		profile rate "up: { delay: 5ms, rate: 10mbit, $what }" 'down: { delay: 5ms }'
		link_up "$tmp/rate.yaml"
		start=${EPOCHREALTIME/./}
		near_ping -q -c 100 -l 100 -s 1472 -W 1
		between "rate with $what: us for 100 x 1500" "$((${EPOCHREALTIME/./} - start))" 128000 5000000
		link_down
		equal "rate with $what: none dropped" "$(counter up_dropped "$tmp/link.txt")" 0
	done
	# In 15000 bytes there is room for 50 small packets, and for 10 large ones.
	profile bytes 'up: { delay: 5ms, rate: 1mbit, queue: 15000b }' 'down: { delay: 5ms }'
	link_up "$tmp/bytes.yaml"
	check "queue in bytes: read back" grep -q '^info qdisc_near .*"tbf".*"rate":125000,' "$tmp/link.txt"
	check "queue in bytes: marked" grep -qx 'info rate_bucket_up 1500 bytes leave at once after a pause' \
		"$tmp/link.txt"
	near_ping -q -c 50 -l 50 -s 72 -W 2
	near_ping -q -c 1 -W 2
	near_ping -q -c 50 -l 50 -s 1472 -W 0.5
	link_down
	between "queue in bytes: overflow of 50 x 1500" "$(counter up_dropped "$tmp/link.txt")" 28 39
	equal "queue in bytes: that is no loss" "$(counter up_lost "$tmp/link.txt")" 0
}

real_ways() {
	profile ways 'up: { delay: 10ms, loss: 5% }' 'down: { delay: 40ms, jitter: 1ms }'
	link_up "$tmp/ways.yaml"
	measure --count 200 --interval 2ms
	between "two ways: up, us" "$(median_us echo_up)" 9900 12000
	between "two ways: down, us" "$(median_us echo_down)" 39000 42500
	link_down
	between "two ways: lost of 203 up" "$(counter up_lost "$tmp/link.txt")" 1 26
	equal "two ways: none lost down" "$(counter down_lost "$tmp/link.txt")" 0

	profile lan 'rtt: 0.5ms'
	link_up "$tmp/lan.yaml"
	link_down
	equal "250 us: read back in the whole microseconds that tc shows" "$?" 0
}

real_cold() {
	local cold first
	for cold in true false; do
		first=100
		[ $cold = true ] && first=200
		profile cold 'rtt: 100ms' "cold: $cold"
		link_up "$tmp/cold.yaml"
		near_ping -c 5 -i 0.4
		link_down
		# A machine that stands still may lengthen the first; of the others the fastest counts.
		between "cold: $cold: first, ms" "$(replies | awk '$1 == 1 { print $2 }')" \
			$first $((first + 90))
		between "cold: $cold: later, ms" "$(replies | awk '$1 > 1 { print $2 }' | sort -n | head -n 1)" 100 120
	done
}

# tampered NAME WHY TC-ARGUMENT...: what is done to a link that is up comes to light when it ends.
tampered() {
	profile tampered 'rtt: 10ms' 'rate: 10mbit' 'queue: 64kib'
	link_up "$tmp/tampered.yaml"
	check "tampered: $1" ip netns exec far tc qdisc "${@:3}"
	link_down
	equal "tampered: $1: exit status" "$?" 1
	check "tampered: $1: reason" grep -q "link broke.*$2" "$tmp/link.log"
}
real_tampered() {
	tampered "netem gone" "its netem is gone" del dev link0 root
	tampered "bucket gone" "no tbf" del dev link0 parent 1:1
	tampered "another delay" "a delay of 0.05" replace dev link0 root handle 1: netem limit 1000 delay 50ms
}

# delays FILE: what tc shows of both ends' delays and the base cost that was found, in all, in us
delays() {
	awk '/^info qdisc_/ && match($0, /"delay":[0-9.]+/) { sum += substr($0, RSTART + 8, RLENGTH - 8) * 1e6 }
		$2 == "base_rtt_ns" { sum += $3 / 1000 } END { printf "%.0f", sum }' "$1"
}
# What the path takes by itself is no part of the delay: taken out of it, and what the kernel answers takes what
# the profile says.
real_base_cost() {
	local rtt
	for rtt in 2 50; do
		profile plain "rtt: ${rtt}ms"
		link_up "$tmp/plain.yaml"
		near_ping -q -c 20 -i 0.05
		link_down
		between "base cost at $rtt ms, us" "$(awk '$2 == "base_rtt_ns" { print int($3 / 1000) }' "$tmp/link.txt")" 1 500
		between "base cost at $rtt ms: it and the delays, us" "$(delays "$tmp/link.txt")" \
			$((rtt * 1000 - 3)) $((rtt * 1000 + 3))
	done
	equal "base cost: its echoes are not in the count" "$(counter up_packets "$tmp/link.txt")" 20
	profile lossy 'rtt: 4ms' 'loss: 100%'
	link_up "$tmp/lossy.yaml"
	check "base cost: found on a link that loses all" grep -q '^info base_samples' "$tmp/link.txt"
	link_down
}

inside() {
	ip netns add near
	ip netns add far
	real_loss
	real_twice_and_broken
	real_reorder
	real_distribution
	real_rate
	real_ways
	real_cold
	real_tampered
	real_base_cost
	check "real: backends" sh -c "'$BIN/rttlink' backends | grep -qx 'info netem ok'"

	profile wan50 'rtt: 50ms'
	link_up "$tmp/wan50.yaml"
	check "real: read back near" grep -q '^info qdisc_near .*"netem".*"delay":0.02[45]' "$tmp/link.txt"
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
	between "real: lost of 1000 at 5%" "$(counter up_lost "$tmp/link.txt")" 23 83
	equal "real: loss explains all" "$(counter up_dropped "$tmp/link.txt")" 0

	profile jitter 'rtt: 20ms' 'jitter: 5ms'
	link_up "$tmp/jitter.yaml"
	near_ping -c 500 -i 0.002
	equal "real: jitter keeps order" \
		"$(sed -n 's/.*icmp_seq=\([0-9]*\) ttl.*/\1/p' "$tmp/ping.txt" | sort -nc 2>&1)" ""
	# Of a mean deviation a single stall of the machine could make anything.
	between "real: jitter moves: the middle half of the echoes within ms" \
		"$(replies | sort -n -k 2 | awk '{ v[NR] = $2 } END { print v[int(NR * 3 / 4)] - v[int(NR / 4)] }')" 2 9
	link_down

	# Five packets of room: TCP's segments have to meet netem one by one to feel it.
	profile narrow 'rtt: 10ms' 'rate: 10mbit' 'limit: 5'
	link_up "$tmp/narrow.yaml"
	ip netns exec near ping -n -f -c 50 -l 50 -s 1400 -W 0.3 -q 198.18.0.2 >/dev/null
	check "real: no super-packets" grep -q 'gso_max_segs 1 ' <(ip -n near -d link show link0)
	ip -n near link set link0 down
	link_down
	between "real: a full queue drops" "$(counter up_dropped "$tmp/link.txt")" 30 46

	# As between containers: neither side may enter the other's namespace.
	local confined=(setpriv "--bounding-set=-all,+net_admin")
	ip netns exec far "${confined[@]}" "$BIN/rttlink" agent --listen "$tmp/agent" \
		</dev/null >/dev/null 2>"$tmp/agent.log" &
	local agent=$!
	rm -f "$tmp/stdin"
	mkfifo "$tmp/stdin"
	: >"$tmp/link.txt"
	ip netns exec near "${confined[@]}" "$BIN/rttlink" up --yaml "$(cat "$tmp/wan50.yaml")" \
		--backend netem --near /proc/self/ns/net --far "agent:$tmp/agent" \
		<"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
	link=$!
	exec 7>"$tmp/stdin"
	until_true 30 grep -q '^ready' "$tmp/link.txt"
	check "agent: read back far" grep -q '^info qdisc_far .*"netem".*"delay":0.02[45]' "$tmp/link.txt"
	between "agent: base cost and delays, us" "$(delays "$tmp/link.txt")" 49997 50003
	ip netns exec near "${confined[@]}" "$BIN/rttlink" check --near /proc/self/ns/net \
		--far "agent:$tmp/agent" --count 40 >"$tmp/check.txt"
	between "agent: 50 ms, us" "$(median_us)" 49500 53000
	link_down
	equal "agent: exit status" "$?" 0
	equal "agent: counted" "$(counter down_packets "$tmp/link.txt")" 43
	kill "$agent"
	wait "$agent"
	equal "agent: its own exit status" "$?" 0
	equal "agent: no device is left" "$(ip -n near link show link0 2>/dev/null)" ""

	link_up "$tmp/wan50.yaml"
	ip netns exec far tc qdisc del dev link0 root
	link_down
	equal "real: qdisc gone: exit status" "$?" 1
	check "real: qdisc gone: reason" grep -q 'link broke: its netem is gone' "$tmp/link.log"

	# Neighbours that nobody was told of.
	profile cold 'rtt: 50ms' 'cold: true'
	link_up "$tmp/cold.yaml"
	measure --count 5
	between "real, cold: the first exchange takes two round trips, us" \
		"$(awk '$2 == "echo_first" { print int($4 / 1000) }' "$tmp/check.txt")" 99000 190000
	between "real, cold: the next ones take one, us" "$(median_us)" 49500 55000
	link_down

	# A command behind it, on a kernel that cannot masquerade.
	local run=("$BIN/rttlink" run --backend netem --profile "$tmp/wan50.yaml")
	"${run[@]}" -- true 2>"$tmp/err"
	equal "run: no way beyond the far end" "$?" 77
	check "run: … and what mends it" grep -q 'modprobe -a nf_tables' "$tmp/err"
	"${run[@]}" --local -- ping -n -c 5 -i 0.1 -q 198.18.0.2 >"$tmp/ping.txt" 2>&1
	between "run: 50 ms, ms" \
		"$(sed -n 's|^rtt [^=]*= \([0-9.]*\)/.*|\1|p' "$tmp/ping.txt")" 49.5 60
	equal "run: no device is left" "$(ip -o link show type veth)" ""
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
	stub "bucket" 77 "Error: Specified qdisc kind is unknown." "kernel has no netem"
	stub "duplicates refused" 77 "Error: netem: cannot mix duplicating netems with other netems in tree." \
		"this kernel refuses 'duplicate'"
	stub "old tc" 77 'What is \"gemodel\"?' "this tc is too old"
	stub "no table" 77 "No distribution data for normal" "tc has no table of this 'distribution'"
	stub "value refused" 77 "RTNETLINK answers: Invalid argument" "refuses a setting"
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

real_netem "$0" inside
