#!/usr/bin/env bash
# The same matrix in docker and in netns gives the same answer: what the matrix states as one number
# exactly, round trips over a link of 50 ms within 2%. At 0.5 ms a repeat moves by more than that in
# one runtime already, so there the bound is wider; results/reference holds both runs at full length.
# What takes no round trip, or mostly CPU time, is the business of the images' OpenSSL and c-ares, not
# of the runtime.
. "$(dirname "$0")/lib.sh"
export DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
need python3 "$DOCKER"
if ! timeout 20 "$DOCKER" version >"$tmp/version" 2>&1; then
	skip runtimes "$DOCKER does not answer: $(tail -n 1 "$tmp/version")"
	exit 0
fi
check 'images' "$TOP/docker/build-images"

# One repeat in docker, where it takes five times as long.
for runtime in netns docker; do
	how=(--repeats 1)
	if [ $runtime = netns ]; then
		how=(--repeats 2)
	elif ! grep -q '"done": "off"' "$tmp/netns/latest/manifest.json"; then
		# A machine that cannot have a link of 0.5 ms without loops, which would disturb containers.
		how+=(--exclude '*/lan/*')
	fi
	timeout 700 "$BIN/rttmatrix" run "$TOP/matrix/default.yaml" --runtime $runtime "${how[@]}" --quiet \
		--output "$tmp/$runtime" >"$tmp/summary" 2>"$tmp/log"
	status=$?
	# A machine that is too busy for some links says nothing about the runtime.
	equal "default matrix in $runtime: exit status" "$(but_for_links $status "$tmp/$runtime/latest/matrix.csv")" 0
	between "default matrix in $runtime: links out of tolerance" \
		"$(csv_cells "$tmp/$runtime/latest/matrix.csv" status | grep -cvx ok)" 0 8
	equal "default matrix in $runtime: every row says so" \
		"$(tail -n +2 "$tmp/$runtime/latest/matrix.csv" | python3 -c 'import csv, sys
print(*sorted({row[7] for row in csv.reader(sys.stdin)}))')" $runtime
done
"$BIN/rttmatrix" compare --csv "$tmp/netns/latest" "$tmp/docker/latest" >"$tmp/compared.csv"

# Counts that the matrix states as one number are fixed by a protocol and the cell's parameters. The
# others may be the scheduler's, the kernel's timers' or the losses', and that repeats agree does not
# show that they are not: of those nearly all must agree, and which do not is printed.
python3 - "$tmp/compared.csv" "$tmp"/{netns,docker}/latest/matrix.csv <<'EOF'
import csv, json, sys
compared, *runs = sys.argv[1:]
stated, ranges = set(), set()
for cell in json.load(open(runs[0].replace("matrix.csv", "manifest.json")))["cells"]:
    for e in cell["expect"]:
        (stated if e["kind"] == "equals" else ranges).add((cell["id"], e["metric"]))
steady, p50, fewest, least, rtt = {}, {}, {}, {}, {"lan": 0.5e6, "wan50": 50e6}
for run in runs:
    for row in csv.DictReader(open(run)):
        key = (row["cell"], row["metric"])
        steady[key] = steady.get(key, True) and row["min"] == row["max"]
        fewest[key] = min(fewest.get(key, 4), int(row["n"] or 0))
        least[run, key] = row["min"]
        p50.setdefault(key, float(row["p50"] or row["min"] or 0))
chance = {cell for cell, metric in ranges if metric == "connections"}
def of_the_link(cell, metric, profile):
    if metric == "after_drain":  # a retransmission timer's, which began at any moment before
        return False
    if fewest[cell, metric] < 4:  # one sample a repeat: the median is one of them
        return False
    if cell in chance:  # how many connections there are differs from repeat to repeat, and so do times
        return False
    here = p50[cell, metric]
    local = p50.get((cell.replace(f"/{profile}/", "/localhost/"), metric), 0)
    return here >= 0.8 * rtt[profile] and local <= 0.2 * here
seen = {"stated count": 0, "other count": 0, "lan": 0, "wan50": 0}
moved = 0
bounds = {"lan": 0.25, "wan50": 0.02}
def verdict(name, good, why):
    print(f"ok {name}" if good else f"not ok {name}: {why}")
for row in csv.DictReader(open(compared)):
    if row["status_a"] != "ok" or row["status_b"] != "ok":
        continue
    what = f'{row["cell"]} {row["metric"]}'
    profile = row["cell"].split("/")[2]
    key = (row["cell"], row["metric"])
    if row["unit"] == "count" and (key in stated or steady[key]):
        seen["stated count" if key in stated else "other count"] += 1
        a, b = (least[run, key] for run in runs)
        if a != b:
            why = f"{a} in netns, {b} in docker"
            if key in stated:
                verdict(what, False, why)
            else:
                moved += 1
                print(f"not stated as one number, and moved: {what}: {why}")
    elif row["unit"] == "ns" and profile in bounds and of_the_link(row["cell"], row["metric"], profile):
        seen[profile] += 1
        if not row["ratio"] or abs(float(row["ratio"]) - 1) > bounds[profile]:
            verdict(what, False, f'docker / netns is {row["ratio"] or "unknown"}')
of = seen["other count"]
verdict("counts not stated: 90% agree", moved <= 0.1 * of, f"{moved} of {of} moved")
for name, enough in (("stated count", 250), ("other count", 400), ("wan50", 60)):
    verdict(f"compared: {name}", seen[name] >= enough, f"only {seen[name]}")
EOF
equal 'nothing is left' "$("$DOCKER" ps -aq --filter label=rttmatrix.run)$("$DOCKER" volume ls -q \
	--filter label=rttmatrix.run)" ''
