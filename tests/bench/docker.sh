#!/usr/bin/env bash
# What containers cost: a whole turn in docker that measures next to nothing (one sample, 1 ms), link
# checks included, beside the floor of two bare `docker run`.
. "$(dirname "$0")/../system/lib.sh"
export DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
need python3
if ! "$BIN/rttmatrix" doctor 2>/dev/null | grep -q '^runtime docker *ok'; then
	"$BIN/rttmatrix" doctor 2>/dev/null | grep '^runtime docker'
	exit 0
fi
{ read -r probes && read -r sidecar; } < <("$TOP/docker/build-images" --print)

mkdir "$tmp/netem"
printf 'schema: 1\nrtt: 1ms\n' >"$tmp/netem/short.yaml"
cp "$TOP/netem/localhost.yaml" "$tmp/netem"
cat >"$tmp/overhead.yaml" <<'EOF'
schema: 1
name: overhead
repeats: 4
profiles: [localhost, short]
families: [4]
samples: 1
cells:
  - probe: handshake
EOF

milliseconds() {
	echo $(($(date +%s%N) / 1000000))
}
bare() {
	"$DOCKER" run --rm --network none "$@" >/dev/null 2>&1
}

# In turns, so that both see the same machine: a run, then two bare containers side by side, from
# the images that a turn uses.
for round in 1 2 3 4 5; do
	"$BIN/rttmatrix" run "$tmp/overhead.yaml" --runtime docker --seed "$round" --quiet \
		--output "$tmp/out$round" >/dev/null || echo "a cell was not ok"
	for _ in 1 2 3 4; do
		began=$(milliseconds)
		bare --entrypoint /probe-handshake "$probes" describe &
		first=$!
		bare "$sidecar" --help
		wait "$first"
		echo $(($(milliseconds) - began)) >>"$tmp/floor"
	done
done

python3 - "$tmp" <<'EOF'
import glob, statistics, sys
tmp = sys.argv[1]
floor = [int(line) for line in open(f"{tmp}/floor")]
floor_p50 = statistics.median(floor)
for profile, what, limit in (("short", "linked", 1500), ("localhost", "loopback", None)):
    whole = []
    for path in glob.glob(f"{tmp}/out*/latest/cells/handshake/*/{profile}/4/[1-9]/outcome.txt"):
        for line in open(path):
            if line.startswith("count duration_ns "):
                whole.append(int(line.split()[2]) / 1e6)
    p50 = statistics.median(whole)
    target = f"at most {limit} ms" if limit else "-"
    verdict = "-" if not limit else "holds" if p50 <= limit else "misses"
    print(f"bench docker: whole {what} turn : 2 docker run | {p50:.0f} ms | {floor_p50:.0f} ms |",
          f"{p50 / floor_p50:.2f} | {len(whole)}/{len(floor)} | {target} | {verdict}")
EOF
