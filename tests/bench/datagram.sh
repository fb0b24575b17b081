#!/usr/bin/env bash
# What the probe adds to a message: ours against a bare sendto() loop, in turns, same placement. A
# figure is the time of a run divided by its messages; of these the median. To wake the receiver is
# part of a send: both have one that does the same (quick). With one that sleeps on and leaves its
# buffer full (still) only the sender is left.
. "$(dirname "$0")/../system/lib.sh"

rounds=${ROUNDS:-25}
messages=20000
datagram=$BIN/probe-datagram
server=
trap 'kill $server 2>/dev/null; wait; rm -rf "$tmp"' EXIT

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# ours FILE OPTION...
ours() {
	local file=$1
	shift
	: >"$tmp/ready"
	"$datagram" serve --listen 127.0.0.1:0 --deadline 120s "$@" >"$tmp/ready" 2>>"$tmp/log" &
	server=$!
	until_true 5 grep -q ready "$tmp/ready"
	"$datagram" run --peer "$(sed -n 's/^ready //p' "$tmp/ready")" --samples $messages --deadline 60s \
		"$@" 2>>"$tmp/log" | awk '$2 == "send" { t += $4; n++ } END { if (n) printf "%.1f\n", t / n }' >>"$file"
	kill -TERM "$server"
	wait "$server"
	server=
}

# NAME CORE RECEIVER OPTION...
while read -r name core receiver options; do
	for ((i = 0; i < rounds; i++)); do
		# shellcheck disable=SC2086
		ours "$tmp/ours-$name" $options
		taskset -c 0 "$BUILD/bench/bare_sendto" $messages 64 0 "$core" "$receiver" >>"$tmp/bare-$name" 2>>"$tmp/log"
	done
	if [ "$(cat "$tmp/ours-$name" "$tmp/bare-$name" | wc -l)" != $((2 * rounds)) ]; then
		echo "datagram $name: no figures: $(tail -n 1 "$tmp/log")"
		continue
	fi
	awk -v name="datagram send ${options%% *} receiver $receiver : bare sendto" -v n="$rounds/$rounds" \
		-v a="$(median "$tmp/ours-$name")" -v b="$(median "$tmp/bare-$name")" 'BEGIN {
		printf "bench %s | %.3f us | %.3f us | %.3f | %s | at most 1.05 | %s\n", name, a / 1000, b / 1000,
			a / b, n, a / b <= 1.05 ? "holds" : "misses" }'
done <<'ROWS'
same 0 quick cpu=same
split 1 quick cpu=split
still 1 still cpu=split rcvbuf=1b work=300ms
ROWS
