#!/usr/bin/env bash
# The pool probe's client keeps up with wrk: 50 connections, one thread, one and the same server
# process, in turns. A figure is the time of a run divided by its requests; of these the median.
. "$(dirname "$0")/../system/lib.sh"
need wrk taskset

rounds=${ROUNDS:-9}
requests=50000
pool=$BIN/probe-pool
server=
trap 'kill $server 2>/dev/null; wait; rm -rf "$tmp"' EXIT

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for placement in same split; do
	: >"$tmp/ready"
	"$pool" serve --listen 127.0.0.1:0 --deadline 120s "cpu=$placement" >"$tmp/ready" 2>>"$tmp/log" &
	server=$!
	until_true 5 grep -q ready "$tmp/ready"
	addr=$(sed -n 's/^ready //p' "$tmp/ready")
	for ((i = 0; i < rounds; i++)); do
		"$pool" run --peer "$addr" --samples $requests --deadline 60s idle=50 "cpu=$placement" \
			2>>"$tmp/log" | sed -n 's/^sample total ns //p' |
			awk -v n=$requests '{ printf "%.1f\n", $1 / n }' >>"$tmp/ours-$placement"
		taskset -c 0 wrk -t1 -c50 -d1s "http://$addr/" 2>>"$tmp/log" |
			sed -n 's/^Requests\/sec: *//p' |
			awk '{ printf "%.1f\n", 1e9 / $1 }' >>"$tmp/wrk-$placement"
	done
	kill -TERM "$server"
	wait "$server"
	server=
	if [ "$(cat "$tmp/ours-$placement" "$tmp/wrk-$placement" | wc -l)" != $((2 * rounds)) ]; then
		echo "pool cpu=$placement: no figures: $(tail -n 1 "$tmp/log")"
		continue
	fi
	awk -v name="pool idle=50 cpu=$placement, a request : wrk -c50" -v n="$rounds/$rounds" \
		-v a="$(median "$tmp/ours-$placement")" -v b="$(median "$tmp/wrk-$placement")" 'BEGIN {
		printf "bench %s | %.2f us | %.2f us | %.3f | %s | at most 1.10 | %s\n", name, a / 1000, b / 1000,
			a / b, n, a / b <= 1.1 ? "holds" : "misses" }'
done
