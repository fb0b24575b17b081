#!/usr/bin/env bash
# Probe buffers moves bytes as fast as iperf3: one flow over loopback, one core a half, the same size
# of writes, in turns, each turn in a namespace of its own.
. "$(dirname "$0")/../system/lib.sh"
need iperf3 jq taskset

rounds=${ROUNDS:-5}
: >"$tmp/log"
if [ "$(nproc)" -lt 2 ]; then
	echo 'one core here'
	exit 0
fi
fresh=
if unshare -rn true 2>/dev/null; then
	fresh="unshare -rn"
fi
# alone.sh ours|iperf3 SIZE|auto: bytes a second
cat >"$tmp/alone.sh" <<'ALONE'
ip link set lo up
await() {
	for ((i = 0; i < 250; i++)); do
		grep -q "$1" "$tmp/ready" && return
		read -r -t 0.02 _ <> <(:)
	done
	echo "$2 is not ready" >&2
	exit 1
}
if [ "$1" = ours ]; then
	options=(pattern=stream interval=1s size=128kib "sndbuf=$2" "rcvbuf=$2")
	taskset -c 1 "$BIN/probe-buffers" serve --listen 127.0.0.1:1234 "${options[@]}" >"$tmp/ready" &
	await '^ready' probe-buffers
	taskset -c 0 "$BIN/probe-buffers" run --peer 127.0.0.1:1234 --samples 1 "${options[@]}" |
		sed -n 's/^sample throughput bytes_per_s //p'
else
	window=()
	[ "$2" = auto ] || window=(-w "${2%ib}")
	taskset -c 1 iperf3 -s -1 -p 1234 --forceflush >"$tmp/ready" &
	await listening iperf3
	# The start is left out, as it is of ours.
	taskset -c 0 iperf3 -c 127.0.0.1 -p 1234 -N -l 128K -t 1 -O 1 -J "${window[@]}" |
		jq '.end.sum_sent.bits_per_second / 8 | floor'
fi
kill %1 2>/dev/null
wait
ALONE
export tmp

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, NR }'
}

for size in 64kib 1mib auto; do
	for ((i = 0; i < rounds; i++)); do
		for who in ours iperf3; do
			: >"$tmp/ready"
			$fresh timeout 20 bash "$tmp/alone.sh" $who $size >>"$tmp/$who-$size" 2>>"$tmp/log"
		done
	done
	if [ ! -s "$tmp/ours-$size" ] || [ ! -s "$tmp/iperf3-$size" ]; then
		echo "one flow, buffers of $size: no figures: $(tail -n 1 "$tmp/log")"
		continue
	fi
	read -r ours n < <(median "$tmp/ours-$size")
	read -r peer m < <(median "$tmp/iperf3-$size")
	awk -v name="one flow, buffers of $size : iperf3" -v a="$ours" -v b="$peer" -v n="$n/$m" 'BEGIN {
		printf "bench %s | %.0f MB/s | %.0f MB/s | %.3f | %s | at least 0.95 | %s\n", name, a / 1e6, b / 1e6,
			a / b, n, (a / b >= 0.95 ? "holds" : "misses") }'
done
