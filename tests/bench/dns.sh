#!/usr/bin/env bash
# A cold lookup adds nothing: ours against dnsperf -c1 -q1, in turns, on one and the same responder.
#
# dnsperf keeps its socket, so ours does too (socket=kept); what a new socket for each lookup
# costs, as c-ares has it by default, is said beside. Of dnsperf -q1 only the latencies are usable:
# it sends 30 queries a second, each from a machine that has just been idle, which favours us. Hence
# the bare loop of send() and recv() as well, whose figure is said beside.
. "$(dirname "$0")/../system/lib.sh"
need dnsperf taskset

rounds=${ROUNDS:-5}
dns=$BIN/probe-dns
server=''
: >"$tmp/log"
trap 'kill $server 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# median FILE: "MEDIAN N"
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f %d\n", v[int((NR + 1) / 2)], NR }'
}

# report NAME OURS-FILE PEER-FILE
report() {
	local ours peer
	if [ ! -s "$2" ] || [ ! -s "$3" ]; then
		echo "$1: no figures: $(tail -n 1 "$tmp/log")"
		return
	fi
	read -r -a ours < <(median "$2")
	read -r -a peer < <(median "$3")
	awk -v name="$1" -v a="${ours[0]}" -v b="${peer[0]}" -v n="${ours[1]}/${peer[1]}" 'BEGIN {
		printf "bench %s | %.2f us | %.2f us | %.3f | %s | at most 1.10 | %s\n", name, a / 1000, b / 1000,
			a / b, n, a / b <= 1.1 ? "holds" : "misses" }'
}

# Names that nobody asked for before, as ours are.
seq 1 100 | sed 's/.*/n9&.rttmatrix.test A/' >"$tmp/names"

# ours FILE OPTION...
ours() {
	local file=$1
	shift
	"$dns" run --peer "$addr" --samples 2000 --deadline 30s "$@" 2>>"$tmp/log" |
		sed -n 's/^sample lookup ns //p' >>"$file"
}

for cpu in same split; do
	"$dns" serve --listen 127.0.0.1:0 --deadline 200s "cpu=$cpu" >"$tmp/ready" 2>>"$tmp/log" &
	server=$!
	until_true 5 grep -q ready "$tmp/ready"
	addr=$(sed -n 's/^ready //p' "$tmp/ready")
	for ((i = 0; i < rounds; i++)); do
		ours "$tmp/ours-$cpu" "cpu=$cpu" socket=kept
		taskset -c 0 dnsperf -s 127.0.0.1 -p "${addr##*:}" -d "$tmp/names" -c 1 -q 1 -n 1 -v 2>>"$tmp/log" |
			awk '$1 == ">" && $2 == "NOERROR" { printf "%.0f\n", $NF * 1e9 }' >>"$tmp/dnsperf-$cpu"
		ours "$tmp/new-$cpu" "cpu=$cpu" socket=new
		taskset -c 0 "$BUILD/bench/bare_lookup" "$addr" 2000 2>>"$tmp/log" >>"$tmp/bare-$cpu"
	done
	report "dns cold cpu=$cpu : dnsperf -c1 -q1" "$tmp/ours-$cpu" "$tmp/dnsperf-$cpu"
	read -r new _ < <(median "$tmp/new-$cpu")
	read -r bare _ < <(median "$tmp/bare-$cpu")
	awk -v cpu="$cpu" -v new="$new" -v bare="$bare" -v n="$((2000 * rounds))" 'BEGIN {
		printf "cpu=%s: a new socket for each lookup %.2f us, a bare loop %.2f us (n %d each)\n", cpu,
			new / 1000, bare / 1000, n }'
	kill -TERM "$server"
	wait "$server" 2>/dev/null
	server=
done
