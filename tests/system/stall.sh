#!/usr/bin/env bash
# A link whose emulator is stopped under a cell: that turn is put aside and run again. One that is
# killed: the cell is invalid.
. "$(dirname "$0")/lib.sh"
need pgrep

if ! "$BIN/rttlink" backends >"$tmp/backends" 2>&1 || ! grep -q '^info tun ok' "$tmp/backends"; then
	skip stall "$(tail -n 1 "$tmp/backends")"
	exit 0
fi
mkdir "$tmp/netem"
printf 'schema: 1\nrtt: 20ms\n' >"$tmp/netem/near.yaml"
printf 'schema: 1\nrtt: 50ms\n' >"$tmp/netem/far.yaml"

runner=
end_all() {
	[ -n "$runner" ] && kill "$runner" 2>/dev/null && wait "$runner"
	rm -rf "$tmp"
}
trap end_all EXIT

# The emulator of our runner's only turn: runner - worker - rttlink.
emulator() {
	link=$(pgrep -f 'rttlink up' -P "$(pgrep -P "$runner" -d ,)" | head -n 1)
	[ -n "$link" ]
}
measuring() {
	pgrep -f 'probe-handshake run --peer 198.18' -P "$(pgrep -P "$runner" -d ,)"
}

# start_cell PROFILE SAMPLES OUT: run one cell, until it measures.
start_cell() {
	printf 'schema: 1\nname: stall\nrepeats: 1\nprofiles: [%s]\nfamilies: [4]\n' "$1" >"$tmp/m.yaml"
	printf 'samples: { %s: %s }\ncells:\n  - probe: handshake\n' "$1" "$2" >>"$tmp/m.yaml"
	"$BIN/rttmatrix" run "$tmp/m.yaml" --link tun --output "$3" >"$tmp/summary" 2>"$tmp/err" &
	runner=$!
	check "$1: the cell is under way" until_true 20 measuring
	emulator
}

# hold OUT PROFILE SAMPLES TIMES MS: stop the emulator of a cell that often while it measures. What
# the earlier part of a resumed run put aside is there already. Sets $to_the_last and $status.
hold() {
	local out=$1 aside=$1/latest/cells/handshake/default/$2/4/1.discarded-1 i
	start_cell "$2" "$3" "$out"
	mkdir -p "$aside"
	: >"$aside/kept"
	for ((i = 0; i < $4; i++)); do
		kill -STOP "$link"
		read -r -t "0.$(printf '%03d' "$5")" _ <> <(:)
		kill -CONT "$link"
		read -r -t 0.02 _ <> <(:)
	done
	measuring >/dev/null
	to_the_last=$?
	wait "$runner"
	status=$?
	runner=
}

# held PROFILE SAMPLES TIMES MS: a machine too busy for such a link has turns put aside for other reasons:
# at most three times.
held() {
	local cell try to_the_last status
	for try in 1 2 3; do
		hold "$tmp/$1-$3-$try" "$@"
		cell=$tmp/$1-$3-$try/latest/cells/handshake/default/$1/4
		[ "$status" = 0 ] && grep -q '^info reason the emulator stood still for ' \
			"$cell/1.discarded-2/outcome.txt" && break
	done
	equal "$1, $3 x $4 ms: it was so to the last" "$to_the_last" 0
	equal "$1, $3 x $4 ms: the run exits 0" "$status" 0
	check "$1, $3 x $4 ms: invalid_link" grep -qx 'info status invalid_link' \
		"$cell/1.discarded-2/outcome.txt"
	check "$1, $3 x $4 ms: with the reason" grep -q \
		'^info reason the emulator stood still for ' "$cell/1.discarded-2/outcome.txt"
	check "$1, $3 x $4 ms: off_target" grep -q '^info off_target' \
		"$cell/1.discarded-2/outcome.txt"
	check "$1, $3 x $4 ms: run again, and ok" grep -qx 'info status ok' "$cell/1/outcome.txt"
}

# Samples for a few seconds: a busy machine takes its time to find the emulator.
held far 20 1 300
held near 40 1 50
held near 60 10 60

start_cell far 100 "$tmp/killed"
kill -KILL "$link"
wait "$runner"
equal 'killed: the run exits 1' $? 1
runner=
killed=$tmp/killed/latest
check 'killed: invalid_link' grep -qx 'info status invalid_link' \
	"$killed/cells/handshake/default/far/4/1/outcome.txt"
check 'killed: with the reason' grep -q '^info reason the link was ended by signal 9' \
	"$killed/cells/handshake/default/far/4/1/outcome.txt"
equal 'killed: no figure in the CSV' \
	"$(python3 -c 'import csv, sys
print(*{(row["status"], row["p50"], row["n"]) for row in csv.DictReader(open(sys.argv[1]))})' "$killed/matrix.csv")" \
	"('invalid_link', '', '0')"
