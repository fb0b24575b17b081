#!/usr/bin/env bash
# Links that move under a cell: timed changes run while the client does and are undone before the
# echo behind it; a trace goes into the run directory with its profile.
. "$(dirname "$0")/lib.sh"
need python3
if ! "$BIN/rttlink" backends >"$tmp/backends" 2>&1 || ! grep -q '^info tun ok' "$tmp/backends"; then
	skip moves "$(tail -n 1 "$tmp/backends")"
	exit 0
fi
mkdir "$tmp/netem"
printf 'schema: 1\nrtt: 20ms\nchanges: [{at: 300ms, rtt: 60ms}]\n' >"$tmp/netem/moves.yaml"
printf 'schema: 1\nrtt: 20ms\ntrace: recorded\n' >"$tmp/netem/replay.yaml"
seq 1 10 >"$tmp/netem/recorded"
printf 'schema: 1\nname: moves\nrepeats: 1\nprofiles: [moves, replay]\nfamilies: 4\nsamples: 30\ncells:\n  - probe: handshake\n' \
	>"$tmp/m.yaml"
in_tolerance "$tmp/out/latest/matrix.csv" "$BIN/rttmatrix" run "$tmp/m.yaml" --runtime netns --quiet \
	--output "$tmp/out" >"$tmp/summary" 2>"$tmp/err"
equal 'the run exits 0' $? 0
out=$tmp/out/latest
cell=$out/cells/handshake/default
near() {
	awk -v low="$1" -v high="$2" '$2 == "connect" && $4 > low && $4 < high' "$cell/moves/4/1/client.txt" | wc -l
}
# At most 15 in 300 ms, and fewer where the client's start takes some of them, or the machine does.
between 'changes: the first connects at 20 ms (40 where one was under way)' "$(near 19000000 58000000)" 3 16
between 'changes: the others at 60 ms' "$(near 58000000 90000000)" 10 27
check 'changes: both echoes at 20 ms' python3 - "$out/matrix.csv" <<'PY'
import csv, sys
rows = [row for row in csv.DictReader(open(sys.argv[1])) if row["profile"] == "moves"]
assert rows and all(19e6 < float(row["rtt_measured_ns"]) < 23e6 for row in rows), rows
PY
check 'trace: beside its profile in the run directory' cmp "$tmp/netem/recorded" "$out/netem/recorded"
mkdir -p "$tmp/m/netem"
cp "$tmp/m.yaml" "$tmp/m/"
cp "$tmp/netem/moves.yaml" "$tmp/m/netem/"
printf 'schema: 1\nrtt: 20ms\ntrace: absent\n' >"$tmp/m/netem/replay.yaml"
"$BIN/rttmatrix" check "$tmp/m/m.yaml" >"$tmp/log" 2>&1
equal 'trace: a missing one is refused with its line' "$? $(cat "$tmp/log")" \
	"2 rttmatrix: $tmp/m/netem/replay.yaml:3:8: key 'trace': open $tmp/m/netem/absent: No such file or directory"
