#!/usr/bin/env bash
# The same matrix in docker and in netns gives the same answer: what is counted exactly, round trips
# over a link of 50 ms within 2%. At 0.5 ms a repeat moves by more than that in one runtime already,
# so there the bound is wider; results/reference holds both runs at full length. What takes no round
# trip, or mostly CPU time, is the business of the images' OpenSSL and c-ares, not of the runtime.
. "$(dirname "$0")/lib.sh"
export DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
need python3 "$DOCKER"
if ! timeout 20 "$DOCKER" version >"$tmp/version" 2>&1; then
	skip runtimes "$DOCKER does not answer: $(tail -n 1 "$tmp/version")"
	exit 0
fi
check 'images' "$TOP/docker/build-images"

for runtime in netns docker; do
	timeout 400 "$BIN/rttmatrix" run "$TOP/matrix/default.yaml" --runtime $runtime --repeats 2 --quiet \
		--output "$tmp/$runtime" >"$tmp/summary" 2>"$tmp/log"
	equal "default matrix in $runtime: exit status" $? 0
	equal "default matrix in $runtime: every row says so" \
		"$(tail -n +2 "$tmp/$runtime/latest/matrix.csv" | python3 -c 'import csv, sys
print(*sorted({row[7] for row in csv.reader(sys.stdin)}))')" $runtime
done
"$BIN/rttmatrix" compare --csv "$tmp/netns/latest" "$tmp/docker/latest" >"$tmp/compared.csv"

# A total that a repeat moves in one runtime by itself may differ; so may how many sockets are still
# in TIME_WAIT, of which the kernel takes one again by chance (time_wait_entered counts them all).
python3 - "$tmp/compared.csv" "$tmp"/{netns,docker}/latest/matrix.csv <<'EOF'
import csv, sys
compared, *runs = sys.argv[1:]
steady, p50, rtt = {}, {}, {"lan": 0.5e6, "wan50": 50e6}
for run in runs:
    for row in csv.DictReader(open(run)):
        key = (row["cell"], row["metric"])
        steady[key] = steady.get(key, True) and row["min"] == row["max"]
        p50.setdefault(key, float(row["p50"] or row["min"] or 0))
chance = {cell for (cell, metric), same in steady.items() if metric == "connections" and not same}
def of_the_link(cell, metric, profile):
    if metric == "after_drain":  # a retransmission timer's, which began at any moment before
        return False
    if cell in chance:  # how many connections there are differs from repeat to repeat, and so do times
        return False
    here = p50[cell, metric]
    local = p50.get((cell.replace(f"/{profile}/", "/localhost/"), metric), 0)
    return here >= 0.8 * rtt[profile] and local <= 0.2 * here
seen = {"count": 0, "lan": 0, "wan50": 0}
bounds = {"lan": 0.25, "wan50": 0.02}
def verdict(name, good, why):
    print(f"ok {name}" if good else f"not ok {name}: {why}")
for row in csv.DictReader(open(compared)):
    what = f'{row["cell"]} {row["metric"]}'
    profile = row["cell"].split("/")[2]
    if row["metric"] == "time_wait":
        continue
    if row["unit"] == "count" and steady[row["cell"], row["metric"]]:
        seen["count"] += 1
        if row["p50_a"] != row["p50_b"]:
            verdict(what, False, f'{row["p50_a"]} in netns, {row["p50_b"]} in docker')
    elif row["unit"] == "ns" and profile in bounds and of_the_link(row["cell"], row["metric"], profile):
        seen[profile] += 1
        if not row["ratio"] or abs(float(row["ratio"]) - 1) > bounds[profile]:
            verdict(what, False, f'docker / netns is {row["ratio"] or "unknown"}')
for name, least in (("count", 60), ("lan", 4), ("wan50", 5)):
    verdict(f"compared: {name}", seen[name] >= least, f"only {seen[name]}")
EOF
equal 'nothing is left' "$("$DOCKER" ps -aq --filter label=rttmatrix.run)$("$DOCKER" volume ls -q \
	--filter label=rttmatrix.run)" ''
