#!/usr/bin/env bash
# The probe unix adds nothing: its round trips against sockperf's (TCP; Debian's 3.7 knows no Unix
# sockets) and a bare loop (Unix), and its bulk transfers against iperf3's, in turns, on the same cores.
. "$(dirname "$0")/../system/lib.sh"
need sockperf iperf3 taskset jq

rounds=${ROUNDS:-7}
unix=$BIN/probe-unix
bare=$BUILD/bench/bare_pingpong
server='' behind=''
: >"$tmp/log"
trap 'kill $server $behind 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# median FILE: "MEDIAN N"
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, NR }'
}

# versus NAME OURS-FILE PEER-FILE DIVISOR UNIT most|least LIMIT
versus() {
	local ours peer
	if [ ! -s "$2" ] || [ ! -s "$3" ]; then
		echo "$1: no figures: $(tail -n 1 "$tmp/log")"
		return
	fi
	read -r -a ours < <(median "$2")
	read -r -a peer < <(median "$3")
	awk -v name="$1" -v a="${ours[0]}" -v b="${peer[0]}" -v n="${ours[1]}/${peer[1]}" -v by="$4" -v unit="$5" \
		-v way="$6" -v limit="$7" 'BEGIN {
		printf "bench %s | %.2f %s | %.2f %s | %.3f | %s | at %s %.2f | %s\n", name, a / by, unit, b / by, unit,
			a / b, n, way, limit, (way == "most" ? a / b <= limit : a / b >= limit) ? "holds" : "misses" }'
}

# ours FILE SAMPLES RECORD OPTION...: the values of RECORD of a pair are appended to FILE
ours() {
	local file=$1 samples=$2 record=$3 addr
	shift 3
	: >"$tmp/ready"
	"$unix" serve --listen 127.0.0.1:0 --deadline 120s "$@" >"$tmp/ready" 2>>"$tmp/log" &
	server=$!
	until_true 5 grep -q ready "$tmp/ready"
	addr=$(sed -n 's/^ready //p' "$tmp/ready")
	"$unix" run --peer "$addr" --samples "$samples" --deadline 60s "$@" 2>>"$tmp/log" |
		sed -n "s/^sample $record //p" >>"$file"
	kill -TERM "$server"
	wait "$server"
	server=
} 2>/dev/null

# A port that was free a moment ago.
free_port() {
	"$unix" serve --listen 127.0.0.1:0 --deadline 10ms 2>/dev/null | sed -n 's/^ready .*://p'
}

listens() {
	grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# sockperf_pair FILE SERVER-CORE EXTRA...: nanoseconds of each round trip appended to FILE
sockperf_pair() {
	local file=$1 core=$2 port
	shift 2
	port=$(free_port)
	taskset -c "$core" sockperf server --tcp -i 127.0.0.1 -p "$port" "$@" >>"$tmp/log" 2>&1 &
	behind=$!
	until_true 5 listens "$port"
	taskset -c 0 sockperf ping-pong --tcp -i 127.0.0.1 -p "$port" -m 64 -t 1 --full-rtt \
		--full-log "$tmp/full.csv" "$@" >>"$tmp/log" 2>&1
	kill -INT $behind
	wait $behind
	behind=
	awk -F, '$1 ~ /^[0-9]+$/ && NF >= 3 { printf "%.0f\n", ($3 - $2) * 1e9 }' "$tmp/full.csv" |
		head -n 5000 >>"$file"
} 2>/dev/null

for placement in 'same 0 block' 'split 1 block' 'split 1 spin --nonblocked'; do
	read -r cpu core wait extra <<<"$placement"
	name=$cpu-$wait limit=1.05
	[ "$wait" = block ] || limit=1.00
	for ((i = 0; i < rounds; i++)); do
		for path in tcp unix; do
			ours "$tmp/$path-$name" 5000 'round_trip ns' "path=$path" "cpu=$cpu" "wait=$wait"
		done
		# shellcheck disable=SC2086
		sockperf_pair "$tmp/sockperf-$name" "$core" $extra
		"$bare" 5000 64 0 "$core" "$wait" >>"$tmp/bare-$name"
	done
	versus "tcp ping-pong cpu=$cpu wait=$wait : sockperf" "$tmp/tcp-$name" "$tmp/sockperf-$name" 1000 us most $limit
	versus "unix ping-pong cpu=$cpu wait=$wait : sockperf TCP" "$tmp/unix-$name" "$tmp/sockperf-$name" 1000 us most $limit
	versus "unix ping-pong cpu=$cpu wait=$wait : bare loop" "$tmp/unix-$name" "$tmp/bare-$name" 1000 us most 1.05
done

# iperf_pair FILE CORES: bytes a second of one stream appended to FILE
iperf_pair() {
	local port
	port=$(free_port)
	iperf3 -s -1 -B 127.0.0.1 -p "$port" >>"$tmp/log" 2>&1 &
	behind=$!
	until_true 5 listens "$port"
	iperf3 -c 127.0.0.1 -p "$port" -A "$2" -l 128K -n 2G -J 2>>"$tmp/log" |
		jq '.end.sum_received.bits_per_second / 8' >>"$1"
	wait $behind
	behind=
}

for placement in 'same 0,0' 'split 0,1'; do
	read -r cpu cores <<<"$placement"
	for ((i = 0; i < rounds; i++)); do
		# Nagle's algorithm is on, as in iperf3.
		ours "$tmp/bulk-$cpu" 1 'throughput bytes_per_s' path=tcp nodelay=off pattern=bulk size=128kib \
			bytes=2gib "cpu=$cpu"
		iperf_pair "$tmp/iperf-$cpu" "$cores"
	done
	versus "tcp bulk cpu=$cpu : iperf3" "$tmp/bulk-$cpu" "$tmp/iperf-$cpu" 1000000 MB/s least 0.95
done
