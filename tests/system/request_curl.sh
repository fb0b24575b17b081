#!/usr/bin/env bash
# probe-request and curl against the same server over the same 50 ms: the moments that both report
# under the same names agree within 5%, and the server counts the same of both. The fastest of each is
# compared: a busy machine adds to them what it likes, and to curl, which begins anew and reads a CA file each
# time, up to a fifth of a round trip.
. "$(dirname "$0")/lib.sh"
need curl python3 unshare nsenter ip

request=$BIN/probe-request
runs=10
near='' far='' link='' server=
end_all() {
	# shellcheck disable=SC2086  # empty when there is none
	kill $server $link $near $far 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap end_all EXIT

if [ "$(id -u)" -ne 0 ] && [ -z "${INSIDE:-}" ]; then
	if unshare -Urnm true 2>/dev/null; then
		INSIDE=yes exec unshare -Urm "$0"
	fi
	skip request_curl 'not root, and user namespaces are not allowed'
	exit 0
fi

separate() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# curl's resolver takes its server from files, and asks at port 53: so ours listens there, and the
# files are others in a mount namespace of curl's.
echo 'nameserver 198.18.0.2' >"$tmp/resolv.conf"
echo 'hosts: dns' >"$tmp/nsswitch.conf"
server_addr=198.18.0.2:53
unshare -n sleep 300 >/dev/null 2>&1 &
far=$!
: >"$tmp/near"
# shellcheck disable=SC2016  # for that shell
unshare -nm sh -c 'mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf &&
	ip link set lo up && echo ready >"$1/near" && exec sleep 300' sh "$tmp" >/dev/null 2>"$tmp/log" &
near=$!
if ! until_true 20 grep -q ready "$tmp/near" || ! until_true 5 separate "$far"; then
	skip request_curl "no namespaces here, or none with files of their own: $(tail -n 1 "$tmp/log")"
	exit 0
fi
printf 'schema: 1\nrtt: 50ms\n' >"$tmp/wan50.yaml"
mkfifo "$tmp/stdin"
"$BIN/rttlink" up --profile "$tmp/wan50.yaml" --near "/proc/$near/ns/net" --far "/proc/$far/ns/net" \
	<"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
link=$!
exec 7>"$tmp/stdin"
link_settled() {
	grep -q '^ready' "$tmp/link.txt" || ! kill -0 "$link"
}
until_true 10 link_settled
if ! grep -q '^ready' "$tmp/link.txt"; then
	skip request_curl "$(tail -n 1 "$tmp/link.log")"
	exit 0
fi

there() {
	nsenter --net="/proc/$near/ns/net" --mount="/proc/$near/ns/mnt" "$@"
}

# start OPTION...: the server, and its CA in ca.pem
start() {
	: >"$tmp/server.txt"
	nsenter --net="/proc/$far/ns/net" "$request" serve --listen $server_addr --deadline 120s "$@" \
		>"$tmp/server.txt" 2>"$tmp/server.log" &
	server=$!
	until_true 20 grep -q '^ready ' "$tmp/server.txt" || return 1
	there python3 - "$tmp/ca.pem" <<'ASK'
import socket, sys
sock = socket.create_connection(("198.18.0.2", 53), timeout=5)
sock.sendall(b"ca\n")
with open(sys.argv[1], "wb") as file:
    while got := sock.recv(4096):
        file.write(got)
ASK
}

# $counted: what the server says of its clients
stop() {
	kill -TERM "$server"
	wait "$server"
	server=
	counted=$(sed -n 's/^count \(queries\|connections\|requests\|server_resumed\) //p' "$tmp/server.txt" | tr '\n' ' ')
}

format='namelookup %{time_namelookup}\nconnect %{time_connect}\nappconnect %{time_appconnect}\nstarttransfer %{time_starttransfer}\ntotal %{time_total}\n'

# The ways of curl to each state, for a name of their own; of two transfers the second counts.
curl_cold() {
	there curl "${common[@]}" "https://$name:53/"
}
curl_dns_cached() {
	there curl "${common[@]}" --resolve "$name:53:198.18.0.2" "https://$name:53/"
}
curl_kept() {
	there curl "${common[@]}" "https://$name:53/" "https://$name:53/" | tail -n 5
}
# Asked to close, the server ends the connection, and curl resumes its session on the next.
curl_resumed() {
	there curl "${common[@]}" -H 'Connection: close' "https://$name:53/" "https://$name:53/" | tail -n 5
}

# least FILE METRIC, in ms
least() {
	awk -v m="$2" '$1 == m { print $2 }' "$1" | sort -n | head -n 1
}

# far METRIC: by how many of 100 our least is above curl's, or below it less 10 ms; 0 between
far() {
	awk -v a="$(least "$tmp/ours.ms" "$1")" -v b="$(least "$tmp/curl.ms" "$1")" 'BEGIN {
		if (b > 10) print (a > b ? a / b * 100 - 100 : a < b - 10 ? 100 - a / (b - 10) * 100 : 0) }'
}

# alike METRIC...: within 5%
alike() {
	local metric
	for metric in "$@"; do
		within "$(far "$metric")" 0 5 || return
	done
}

# compare STATE VERSION COUNTED METRIC...: COUNTED by the server of curl, the first one left out. What moves one
# of both by 5% is the machine: at most three times.
compare() {
	local state=$1 version=$2 expected=$3 metric
	shift 3
	for _ in 1 2 3; do
		both "$state" "$version"
		[ "$counted" != "$expected " ] || alike "$@" || continue
		break
	done
	equal "curl $state, $version: queries, connections, requests, resumed" "$counted" "$expected "
	for metric in "$@"; do
		echo "# $state, $version: $metric: ours $(least "$tmp/ours.ms" "$metric") ms, curl $(least "$tmp/curl.ms" "$metric") ms, n $runs"
		between "$state, $version: $metric as curl has it, % off" "$(far "$metric")" 0 5
	done
}

# both STATE VERSION: $counted, $tmp/curl.ms and $tmp/ours.ms
both() {
	local state=$1 version=$2
	start "version=$version"
	common=(-4 -s -o /dev/null --cacert "$tmp/ca.pem" -w "$format" --max-time 10)
	[ "$version" = 1.3 ] || common+=(--tls-max "$version")
	name=n999.rttmatrix.test
	curl_cold >/dev/null 2>"$tmp/log"
	: >"$tmp/curl.txt"
	for ((i = 0; i < runs; i++)); do
		name=n$i.rttmatrix.test
		"curl_$state" >>"$tmp/curl.txt" 2>"$tmp/log"
	done
	stop
	awk '{ print $1, $2 * 1000 }' "$tmp/curl.txt" >"$tmp/curl.ms"

	start "version=$version" "state=$state"
	there "$request" run --peer $server_addr --samples $runs --deadline 60s "version=$version" "state=$state" \
		2>"$tmp/log" | awk '$1 == "sample" { print $2, $4 / 1e6 }' >"$tmp/ours.ms"
	local of_curl=$counted
	stop
	counted=$of_curl
}

compare cold 1.3 '10 10 10 0' namelookup connect appconnect starttransfer total
compare dns_cached 1.3 '0 10 10 0' connect appconnect starttransfer total
compare resumed 1.3 '10 20 20 10' connect appconnect starttransfer total
compare kept 1.3 '10 10 20 0' starttransfer total
compare cold 1.2 '10 10 10 0' namelookup connect appconnect starttransfer total
compare resumed 1.2 '10 20 20 10' connect appconnect starttransfer total
