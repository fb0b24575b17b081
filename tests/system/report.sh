#!/usr/bin/env bash
# collate, report and compare on synthetic run directories: the same bytes in every locale, CSV
# that another reader reads, the exit status, and a full disk.
. "$(dirname "$0")/lib.sh"
need python3 localedef

# manifest DIR EXPECTED-CONNECTIONS CELL-PROFILE...
manifest() {
	local dir=$1 expected=$2 cells="" profile
	shift 2
	for profile in "$@"; do
		cells+="${cells:+,}{\"id\":\"handshake/default/$profile/4\",\"probe\":\"handshake\",
			\"variant\":\"default\",\"options\":{},\"profile\":\"$profile\",\"family\":4,
			\"samples\":200,\"shared\":false,\"expect\":[{\"metric\":\"connections\",
			\"kind\":\"equals\",\"low\":$expected,\"high\":$expected,
			\"text\":\"connections is $expected\"}]}"
	done
	mkdir -p "$dir"
	cat >"$dir/manifest.json" <<-JSON
	{"schema":1,"run":"20261130T170000Z-synthetic","matrix":{"name":"synthetic","file":"","text":""},
	 "profiles":[
	  {"name":"localhost","file":"","text":"","loopback":true,"rtt_ns":0,"jitter_ns":0,
	   "loss_up_ppm":0,"loss_down_ppm":0,"rate_bps":0},
	  {"name":"lossy50","file":"","text":"","loopback":false,"rtt_ns":50000000,"jitter_ns":0,
	   "loss_up_ppm":10000,"loss_down_ppm":10000,"rate_bps":0}],
	 "seed":1,"repeats":2,"runtime":"netns","link":"tun","jobs":1,"start":"2026-11-30T17:00:00Z",
	 "end":"2026-11-30T17:00:01Z","complete":true,"cells":[$cells],"order":[],
	 "system":{"kernel":"6.1","cores":2}}
	JSON
}

# repeat DIR PROFILE NUMBER LINK: 200 samples of two metrics
repeat() {
	local at=$1/cells/handshake/default/$2/4/$3 rtt=0
	[ "$4" = none ] || rtt=50000000
	mkdir -p "$at"
	awk -v rtt="$rtt" -v repeat="$3" 'BEGIN {
		for (i = 0; i < 200; i++) {
			noise = (i * 7919 + repeat * 104729) % 9973
			printf "sample request_new ns %d\n", 2 * rtt + 40000 + noise
			printf "sample request_kept ns %d\n", rtt + 3000 + noise
		}
		print "count request_new_errors 1\ninfo congestion cubic"
	}' >"$at/client.txt"
	printf 'ready 127.0.0.1:1\ncount connections 201\n' >"$at/server.txt"
	if [ "$4" != none ]; then
		printf 'sample echo ns 50012345\nsample echo ns 50054321\n' >"$at/link-before.txt"
		printf 'sample echo ns 50023456\n' >"$at/link-after.txt"
		printf 'count up_packets 999\ncount up_lost 11\ncount down_packets 1001\ncount down_lost 8\n' \
			>"$at/link.txt"
	fi
	printf 'info status ok\ninfo runtime netns\ninfo link %s\ninfo shared no\n' "$4" \
		>"$at/outcome.txt"
}

# bad DIR PROFILE NUMBER REASON
bad() {
	local at=$1/cells/handshake/default/$2/4/$3
	mkdir -p "$at"
	printf 'info status failed\ninfo reason %s\ninfo runtime netns\ninfo link none\n' "$4" \
		>"$at/outcome.txt"
}

good=$tmp/good
manifest "$good" 201 localhost lossy50
for number in 1 2; do
	repeat "$good" localhost "$number" none
	repeat "$good" lossy50 "$number" tun
done
mixed=$tmp/mixed
manifest "$mixed" 201 localhost lossy50
repeat "$mixed" lossy50 1 tun
repeat "$mixed" lossy50 2 tun
bad "$mixed" localhost 1 'said "no", twice'
bad "$mixed" localhost 2 'said "no", twice'

# Exit statuses.
"$BIN/rttmatrix" collate "$good" >"$tmp/out" 2>&1
equal "a run in which all is well exits 0" $? 0
"$BIN/rttmatrix" collate "$mixed" >"$tmp/out" 2>&1
equal "a run with a failed cell exits 1" $? 1
manifest "$tmp/broken" 7 localhost
repeat "$tmp/broken" localhost 1 none
"$BIN/rttmatrix" report "$tmp/broken" >"$tmp/out" 2>&1
equal "a run with a broken expectation exits 3" $? 3
check "and says which one" grep -q 'connections is 7; found: 201 in 1 repeat' "$tmp/out"
"$BIN/rttmatrix" collate "$tmp/none" >"$tmp/out" 2>&1
equal "a directory that is no run exits 2" $? 2
check "and says what is missing" grep -q "open $tmp/none/manifest.json: No such file" "$tmp/out"

# The file is CSV to somebody else, and says what the records say.
check "Python reads the CSV" python3 - "$good/matrix.csv" "$mixed/matrix.csv" <<'PYTHON'
import csv, sys
good, mixed = ([*csv.DictReader(open(name, newline=""), strict=True)] for name in sys.argv[1:])
assert len(good) == 6 and len(mixed) == 4, (len(good), len(mixed))
assert all(len(row) == 31 and None not in row and None not in row.values() for row in good + mixed)
by = {(row["profile"], row["metric"]): row for row in good}
new, kept = by["lossy50", "request_new"], by["lossy50", "request_kept"]
assert new["rtt_measured_ns"] == "50023456" and new["rtts"] == "2.000", new
assert kept["rtts"] == "1.000" and kept["n"] == "400" and kept["p99"] and not kept["p999"], kept
assert new["errors"] == "2" and kept["errors"] == "", new
assert new["loss_configured"] == "1.0000" and new["loss_measured"] == "0.9500", new
assert int(new["p50_lo"]) <= int(new["p50"]) <= int(new["p50_hi"]), new
values = sorted(2 * 50000000 + 40000 + (i * 7919 + r * 104729) % 9973 for r in (1, 2) for i in range(200))
assert int(new["p50"]) == values[199] and int(new["p90"]) == values[359], new
assert int(new["min"]) == values[0] and int(new["max"]) == values[-1], new
assert int(new["mean"]) == (2 * sum(values) + 400) // 800, new
failed = mixed[0]
assert failed["status"] == "failed" and failed["reason"] == 'said "no", twice', failed
assert failed["n"] == "0" and failed["metric"] == "", failed
PYTHON

# The same bytes in a locale that writes 1.5 as 1,5 and groups thousands.
everything() {
	rm -f "$good/matrix.csv" "$good/summary.md"
	"$BIN/rttmatrix" report "$good"
	cat "$good/matrix.csv" "$good/summary.md"
	"$BIN/rttmatrix" compare "$good" "$mixed"
	"$BIN/rttmatrix" compare --csv "$good" "$mixed"
}
mkdir "$tmp/locale"
if localedef -i de_DE -f UTF-8 "$tmp/locale/de_DE.UTF-8" >"$tmp/out" 2>&1 &&
	[ "$(LOCPATH=$tmp/locale LC_ALL=de_DE.UTF-8 bash -c 'printf %.1f 1,5')" = 1,5 ]; then
	LC_ALL=C everything >"$tmp/c.txt"
	LOCPATH=$tmp/locale LC_ALL=de_DE.UTF-8 everything >"$tmp/de.txt"
	check "de_DE gives the bytes of C" cmp "$tmp/c.txt" "$tmp/de.txt"
	check "and they are not few" test "$(wc -c <"$tmp/c.txt")" -gt 5000
else
	skip "de_DE gives the bytes of C" "localedef cannot make the locale (package locales)"
fi

# Shards.
manifest "$tmp/one" 201 localhost
repeat "$tmp/one" localhost 1 none
manifest "$tmp/two" 201 lossy50
repeat "$tmp/two" lossy50 1 tun
mkdir "$tmp/both"
"$BIN/rttmatrix" collate --output "$tmp/both" "$tmp/one" "$tmp/two" >"$tmp/out" 2>&1
equal "two shards are collated" $? 0
equal "into one CSV" "$(cut -d, -f3 "$tmp/both/matrix.csv" | uniq | tr '\n' ' ')" \
	"cell handshake/default/localhost/4 handshake/default/lossy50/4 "
"$BIN/rttmatrix" collate --output "$tmp/both" "$tmp/one" "$good" >"$tmp/out" 2>&1
equal "shards that overlap are refused" $? 2
check "naming the cell and both" grep -Eq \
	'cell handshake/default/localhost/4 is in both .*/(one and .*/good|good and .*/one)$' "$tmp/out"

# A full disk keeps the old CSV and leaves nothing else.
if unshare -m true 2>/dev/null; then
	mkdir "$tmp/small"
	# shellcheck disable=SC2016
	unshare -m bash -c '
		mount -t tmpfs -o size=16k none "$1" || exit 9
		echo old >"$1/matrix.csv"
		head -c 100000 /dev/zero >"$1/filler" 2>/dev/null
		"$2/rttmatrix" collate --output "$1" "$3"
		echo "exit $?, $(ls "$1" | tr "\n" " "), $(cat "$1/matrix.csv")"
	' - "$tmp/small" "$BIN" "$good" >"$tmp/out" 2>&1
	equal "a full disk keeps the old CSV" "$(tail -n 1 "$tmp/out")" \
		"exit 1, filler matrix.csv , old"
	check "and is named" grep -q 'matrix.csv: No space left on device' "$tmp/out"
else
	skip "a full disk keeps the old CSV" "no mount namespace here (needs root)"
fi
