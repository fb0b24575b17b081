#!/usr/bin/env bash
# What the runner adds to a turn, and whether cells that run side by side read the same.
. "$(dirname "$0")/../system/lib.sh"
need python3

mkdir "$tmp/netem"
printf 'schema: 1\nrtt: 1ms\n' >"$tmp/netem/short.yaml"
cp "$TOP/netem/wan50.yaml" "$tmp/netem"

cat >"$tmp/overhead.yaml" <<'EOF'
schema: 1
name: overhead
repeats: 50
profiles: [short]
families: [4]
samples: 1
cells:
  - probe: handshake
EOF
"$BIN/rttmatrix" run "$tmp/overhead.yaml" --jobs 1 --quiet --output "$tmp/out" >/dev/null
cat "$tmp"/out/latest/cells/handshake/*/short/4/*/outcome.txt | python3 -c '
import statistics, sys
values = {}
for line in sys.stdin:
    kind, name, value = line.split(None, 2)
    if kind == "count":
        values.setdefault(name, []).append(int(value))
turns = zip(values["duration_ns"], values["client_ns"], values["check_ns"])
overhead = [(d - c - k) / 1e6 for d, c, k in turns]
p50 = statistics.median(overhead)
print(f"bench runner overhead a linked turn, ms | {p50:.1f} | - | - | {len(overhead)} | at most 150 |",
      "holds" if p50 <= 150 else "misses")'

# Side by side against alone, in turns: four like cells at 50 ms, jobs 1 against the default.
cat >"$tmp/shared.yaml" <<'EOF'
schema: 1
name: shared
repeats: 2
profiles: [wan50]
families: [4]
samples: 10
cells:
  - probe: handshake
    vary: { size: [64b, 65b, 66b, 67b] }
EOF
for round in 1 2 3; do
	"$BIN/rttmatrix" run "$tmp/shared.yaml" --jobs 1 --quiet --output "$tmp/alone$round" >/dev/null
	"$BIN/rttmatrix" run "$tmp/shared.yaml" --quiet --output "$tmp/beside$round" >/dev/null
done
python3 - "$tmp" <<'EOF'
import glob, statistics, sys
def median(kind, metric):
    values = []
    for path in glob.glob(f"{sys.argv[1]}/{kind}*/latest/cells/**/client.txt", recursive=True):
        for line in open(path):
            word = line.split()
            if word[:2] == ["sample", metric]:
                values.append(int(word[3]))
    return statistics.median(values), len(values)
for metric in ("connect", "request_new", "request_kept"):
    (alone, n), (beside, _) = median("alone", metric), median("beside", metric)
    ratio = beside / alone
    print(f"bench {metric} at 50 ms, side by side / alone, ms | {beside / 1e6:.3f} | {alone / 1e6:.3f} |",
          f"{ratio:.4f} | {n} | 0.99 to 1.01 |", "holds" if abs(ratio - 1) <= 0.01 else "misses")
EOF
