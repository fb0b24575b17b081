#!/usr/bin/env bash
# collate, report and compare on synthetic run directories: the same bytes in every locale, CSV
# and HTML that another reader reads, the exit status, and a full disk.
. "$(dirname "$0")/lib.sh"
need python3 localedef jq

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

# The page is well formed (XML, which is stricter than HTML), needs nothing but itself, and says of
# every cell what became of it; names and reasons are text in it, whatever they are.
# page DIR WORDS...: these too are somewhere in its text
page() {
	python3 - "$@" <<'PYTHON'
import json, re, sys, xml.etree.ElementTree as tree
folder, *words = sys.argv[1:]
source = open(folder + "/report.html", encoding="utf-8").read()
root = tree.fromstring(source)
known = set("""a body code div figcaption figure h1 h2 h3 head html li main meta nav p path rect section
small strong style svg table tbody td text th thead title tr ul""".split())
assert {element.tag for element in root.iter()} <= known, {element.tag for element in root.iter()} - known
assert root.get("lang") == "en" and root.find("head/title").text
assert not re.search(r"https?:|//|src=|url\(|@import", source.split("</style>")[0])
for element in root.iter():
    for name, value in element.attrib.items():
        assert name not in ("src", "style", "srcset", "data") and not name.startswith("on"), name
        assert name != "href" or value[0] == "#" and root.find(f".//section[@id='{value[1:]}']") is not None, value
for picture in root.iter("svg"):
    assert picture.get("role") == "img" and picture.get("aria-label"), picture.attrib
for table in root.iter("table"):
    assert all(cell.get("scope") == "col" for cell in table.find("thead").iter("th"))
    width, hanging = len(table.findall("thead/tr/th")), 0
    for row in table.findall("tbody/tr"):
        assert row[0].get("scope") in ("row", "rowgroup"), row[0].attrib
        if row[0].get("rowspan"):
            assert hanging == 0
            hanging = int(row[0].get("rowspan"))
        assert len(row) == width - (hanging > 0 and not row[0].get("rowspan")), tree.tostring(row)
        hanging -= hanging > 0
said = lambda element: "".join(element.itertext())
cells = {said(row[0]): [said(cell) for cell in row[1:]] for row in root.findall(".//section[@id='cells']//tbody/tr")}
manifest = json.load(open(folder + "/manifest.json"))
assert list(cells) == [cell["id"] for cell in manifest["cells"]], cells
for cell in manifest["cells"]:
    status, repeats, verdicts = cells[cell["id"]]
    assert re.match("ok$|failed: ", status) and repeats.endswith(" of 2"), cells
    assert re.fullmatch("(held|BROKEN|not judged) 1", verdicts), cells
for word in words:
    assert word in said(root), word
PYTHON
}
check "the page of a good run" page "$good" "2 of 2 cells ok; 2 of 2 expectations held." "100.0 ms" \
	"50.023 ms" "0.95%" "lossy50, round trips" "kernel: 6.1" "congestion control cubic" "Runtime netns, link backend tun"
check "the page of a run with a failed cell" page "$mixed" "1 of 2 cells ok, 1 failed" \
	'failed handshake/default/localhost/4: said "no", twice'
check "the page of a run with a broken expectation" page "$tmp/broken" "BROKEN at localhost" \
	"broken handshake/default/localhost/4: connections is 7; found: 201 in 1 repeat"
evil='<script>alert("&amp;")</script><!-- '"'"
hostile=$tmp/hostile
manifest "$hostile" 201 localhost lossy50
jq --arg evil "$evil" '.matrix.name = $evil | .run = $evil | .system.kernel = $evil |
	.cells[0].expect[0].text = $evil' "$hostile/manifest.json" >"$tmp/manifest.json"
mv "$tmp/manifest.json" "$hostile/manifest.json"
bad "$hostile" localhost 1 "$evil"
bad "$hostile" localhost 2 "$evil"
repeat "$hostile" lossy50 1 tun
repeat "$hostile" lossy50 2 tun
for number in 1 2; do
	client=$hostile/cells/handshake/default/lossy50/4/$number/client.txt
	sed -i '/^info congestion/d' "$client"
	printf 'info congestion %s\n' "$evil" >>"$client"
done
"$BIN/rttmatrix" collate "$hostile" >"$tmp/out" 2>&1
check "names and reasons stay text" page "$hostile" "Run $evil of matrix $evil" "kernel: $evil" \
	"failed handshake/default/localhost/4: $evil" "congestion control $evil."

# The same bytes in a locale that writes 1.5 as 1,5 and groups thousands.
everything() {
	rm -f "$good/matrix.csv" "$good/summary.md" "$good/report.html"
	"$BIN/rttmatrix" report "$good"
	cat "$good/matrix.csv" "$good/summary.md" "$good/report.html"
	"$BIN/rttmatrix" compare "$good" "$mixed"
	"$BIN/rttmatrix" compare --csv "$good" "$mixed"
}
everything >"$tmp/c.txt"
everything >"$tmp/again.txt"
check "the same bytes again" cmp "$tmp/c.txt" "$tmp/again.txt"
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
check "into one page" grep -q 'lossy50, round trips' "$tmp/both/report.html"
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
