#!/usr/bin/env bash
# A small matrix end to end in real namespaces; its CSV, order, progress and exit statuses.
. "$(dirname "$0")/lib.sh"
need python3 jq ip

if ! "$BIN/rttmatrix" doctor >"$tmp/doctor" 2>&1; then
	skip run "this machine cannot: $(tail -n 1 "$tmp/doctor")"
	exit 0
fi

mkdir "$tmp/netem"
cp "$TOP"/netem/localhost.yaml "$tmp/netem"
printf 'schema: 1\nrtt: 20ms\n' >"$tmp/netem/far.yaml"
cat >"$tmp/small.yaml" <<'EOF'
schema: 1
name: small
seed: 7
repeats: 2
profiles: [localhost, far]
families: [4, 6]
samples: { localhost: 50, far: 5 }
cells:
  - probe: handshake
    expect:
      - { metric: connect, profile: far, rtts: [0.95, 1.10] }
      - { metric: request_new, profile: far, rtts: [1.90, 2.20] }
      - { metric: request_kept, profile: far, rtts: [0.95, 1.10] }
EOF

# column CSV WHERE COLUMN: the values of a column in the rows whose fields are as in WHERE (k=v,k=v)
column() {
	python3 - "$@" <<'EOF'
import csv, sys
where = dict(item.split("=", 1) for item in sys.argv[2].split(",") if item)
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        if all(row[k] == v for k, v in where.items()):
            print(row[sys.argv[3]])
EOF
}

turn() {
	"$BIN/rttmatrix" run "$tmp/small.yaml" --output "$tmp/out" >"$tmp/summary" 2>"$tmp/progress"
}
in_tolerance "$tmp/out/latest/matrix.csv" turn
equal 'run exits 0' $? 0
csv=$tmp/out/latest/matrix.csv
equal 'every row is ok' "$(column "$csv" '' status | sort -u)" ok
# Calibration on a busy machine may take up to 0.5 ms too much out of a link.
between 'connect over the 20 ms link, IPv4' \
	"$(column "$csv" metric=connect,profile=far,family=4 p50)" 19500000 21500000
between 'connect over the 20 ms link, IPv6' \
	"$(column "$csv" metric=connect,profile=far,family=6 p50)" 19500000 21500000
between 'a new request is two round trips' \
	"$(column "$csv" metric=request_new,profile=far,family=4 rtts)" 1.95 2.15
between 'a kept request is one' \
	"$(column "$csv" metric=request_kept,profile=far,family=4 rtts)" 0.97 1.10
equal 'n is repeats x samples' "$(column "$csv" metric=connect,profile=far,family=4 n)" 10
equal 'the link is named' "$(column "$csv" profile=far link | sort -u | grep -cE '^(tun|netem)$')" 1
equal 'loopback cells have none' "$(column "$csv" profile=localhost link | sort -u)" none
equal 'a progress line a turn' "$(grep -c '^\[ *[0-9]*/8\]' "$tmp/progress")" 8
check 'the summary is printed' grep -q far "$tmp/summary"
check 'the summary is kept' cmp -s "$tmp/summary" "$tmp/out/latest/summary.md"
equal 'manifest is complete' "$(jq .complete "$tmp/out/latest/manifest.json")" true
equal 'repeats are interleaved' \
	"$(jq -r '.order[:4][]' "$tmp/out/latest/manifest.json" | grep -c '#1$')" 4

# Rebuilt from raw records, byte for byte.
cp "$csv" "$tmp/first.csv"
cp "$tmp/out/latest/report.html" "$tmp/first.html"
rm "$tmp/out/latest/matrix.csv" "$tmp/out/latest/summary.md" "$tmp/out/latest/report.html"
check 'report rebuilds' "$BIN/rttmatrix" report "$tmp/out/latest"
mkdir "$tmp/kept"
cp "$tmp/out/latest/manifest.json" "$tmp/out/latest/matrix.csv" "$tmp/out/latest/summary.md" "$tmp/kept"
"$BIN/rttmatrix" report "$tmp/kept" >/dev/null 2>"$tmp/err"
equal 'without raw records it is refused' $? 2
check 'with the reason' grep -q 'no raw records (cells/) here' "$tmp/err"
check 'and what was kept stays' cmp "$tmp/kept/matrix.csv" "$tmp/out/latest/matrix.csv"
check 'the same CSV' cmp "$tmp/first.csv" "$tmp/out/latest/matrix.csv"
check 'the same page' cmp "$tmp/first.html" "$tmp/out/latest/report.html"

# The same seed gives the same order, another one another.
order() {
	"$BIN/rttmatrix" run "$tmp/small.yaml" --output "$tmp/out" --quiet --repeats 2 --jobs 1 \
		--select '*/localhost/*' --seed "$1" >/dev/null 2>&1
	jq -c .order "$tmp/out/latest/manifest.json"
}
equal 'same seed, same order' "$(order 5)" "$(order 5)"
first=$(order 1)
differs=no
for seed in 2 3 4 5 6 7; do
	[ "$(order $seed)" = "$first" ] || differs=yes
done
equal 'another seed, another order' "$differs" yes

# Select, exclude, dry run.
equal 'dry run lists the selected cells' \
	"$("$BIN/rttmatrix" run "$tmp/small.yaml" --dry-run --select '*/4' --exclude '*/far/*' |
		grep -c '^handshake/')" 1
runs=$(find "$tmp/out" -mindepth 1 -maxdepth 1 -type d | wc -l)
"$BIN/rttmatrix" run "$tmp/small.yaml" --dry-run --output "$tmp/out" >"$tmp/plan"
check 'dry run: about how long, in namespaces and in containers' \
	grep -qE '^4 cells x 2 repeats, about [0-9.]+ m?s, about [0-9.]+ m?s in containers$' "$tmp/plan"
equal 'dry run makes no directory' "$(find "$tmp/out" -mindepth 1 -maxdepth 1 -type d | wc -l)" \
	"$runs"
"$BIN/rttmatrix" run "$tmp/small.yaml" --select 'nothing/*' --output "$tmp/out" 2>"$tmp/err" >&2
equal 'a pattern that matches nothing exits 2' $? 2

# An expectation that cannot hold: 3, and the summary says so first.
sed 's/rtts: \[1.90, 2.20\]/rtts: [2.90, 3.20]/' "$tmp/small.yaml" >"$tmp/wrong.yaml"
"$BIN/rttmatrix" run "$tmp/wrong.yaml" --output "$tmp/out" --quiet --select '*/far/4' \
	>"$tmp/summary" 2>"$tmp/err"
equal 'a broken expectation exits 3' $? 3
check 'and is named' grep -q 'request_new' "$tmp/summary"

# Quiet means quiet.
"$BIN/rttmatrix" run "$tmp/small.yaml" --output "$tmp/out" --quiet --select '*/localhost/4' \
	>/dev/null 2>"$tmp/err"
equal 'quiet prints nothing on stderr' "$(wc -c <"$tmp/err")" 0

# Two runs at once.
both() {
	local i pids
	rm -rf "$tmp/two"
	for i in 1 2; do
		"$BIN/rttmatrix" run "$tmp/small.yaml" --output "$tmp/two" --quiet --select '*/far/*' \
			>/dev/null 2>"$tmp/err$i" &
		pids[i]=$!
	done
	wait "${pids[1]}"
	status=$?
	wait "${pids[2]}" && [ "$status" = 0 ]
}
# Side by side they keep each other's links from their time on a busy machine: at most three times.
both || both || both
equal 'two runs at once both succeed' $? 0
equal 'in two directories' "$(find "$tmp/two" -mindepth 1 -maxdepth 1 -type d | wc -l)" 2

# A shaped cell never runs unshaped: without netem in the kernel, asking for it is refused.
if ! "$BIN/rttlink" backends | grep -q 'netem ok'; then
	"$BIN/rttmatrix" run "$TOP/matrix/quick.yaml" --link netem --output "$tmp/none" \
		>"$tmp/stdout" 2>"$tmp/err"
	equal 'netem refused exits 4' $? 4
	check 'and names it' grep -q 'sch_netem' "$tmp/err"
	check 'and nothing was made' test ! -e "$tmp/none"
fi

# The host runtime runs loopback cells and skips the others, visibly.
"$BIN/rttmatrix" run "$tmp/small.yaml" --runtime host --output "$tmp/host" --quiet >/dev/null 2>&1
equal 'host: exits 0' $? 0
equal 'host: linked cells are skipped' \
	"$(column "$tmp/host/latest/matrix.csv" profile=far status | sort -u)" skipped
equal 'host: loopback cells are ok' \
	"$(column "$tmp/host/latest/matrix.csv" profile=localhost status | sort -u)" ok

"$BIN/rttmatrix" run "$tmp/small.yaml" --runtime host --select '*/far/*' --output "$tmp/host" \
	--quiet >/dev/null 2>&1
equal 'host: nothing measured exits 4' $? 4

# The example of the contract stands in a matrix like any probe of ours, checks included.
cp "$TOP/docker/example-probe.py" "$tmp/my-probe.py"
cat >"$tmp/mine.yaml" <<'EOF'
schema: 1
name: mine
repeats: 2
profiles: [localhost, far]
families: [4, 6]
samples: 10
cells:
  - probe: mine
    command: ./my-probe.py
    vary: { size: [64, 1400] }
    expect:
      - { metric: echo, profile: far, rtts: [0.95, 1.20] }
      - { metric: echoed, equals: samples }
EOF
check 'the example probe runs in a matrix' in_tolerance "$tmp/mine/latest/matrix.csv" "$BIN/rttmatrix" run "$tmp/mine.yaml" \
	--output "$tmp/mine" --quiet
equal 'its digest is in the manifest' "$(jq -r '.system.binaries | to_entries[] |
	select(.key | endswith("my-probe.py")) | .value' "$tmp/mine/latest/manifest.json")" \
	"$(sha256sum <"$tmp/my-probe.py" | cut -d ' ' -f 1)"
sed 's/size:/szie:/' "$tmp/mine.yaml" >"$tmp/typo.yaml"
"$BIN/rttmatrix" check "$tmp/typo.yaml" >/dev/null 2>"$tmp/err"
equal 'what it does not take is refused' $? 2
check 'with the nearest name' grep -q "did you mean 'size'" "$tmp/err"

# What the README shows is right.
mkdir "$tmp/readme" "$tmp/readme/netem"
cp "$TOP"/netem/*.yaml "$tmp/readme/netem"
awk -v out="$tmp/readme" '/^```yaml/ { file = out "/" ++n ".yaml"; next } /^```/ { file = "" }
	file { print > file }' "$TOP/README.md"
check 'the matrix of the README' "$BIN/rttmatrix" check "$tmp/readme/1.yaml"
mv "$tmp/readme/2.yaml" "$tmp/readme/netem/office.yaml"
sed 's/profiles: .*/profiles: office/; s/samples: .*/samples: 3/; /expect:/,$d' "$tmp/readme/1.yaml" \
	>"$tmp/readme/office.yaml"
check 'the profile of the README' "$BIN/rttmatrix" check "$tmp/readme/office.yaml"

# Not a terminal: no control characters; a terminal: a live line, no colour under NO_COLOR.
check 'no control characters in a log' test -z "$(tr -d '[:print:]\n' <"$tmp/progress")"
if command -v script >/dev/null; then
	NO_COLOR=1 TERM=xterm script -qec "$BIN/rttmatrix run $tmp/small.yaml --output $tmp/out \
		--select '*/far/4'" /dev/null >"$tmp/tty" 2>&1 </dev/null
	check 'a live line on a terminal' grep -q $'\r\033\[K' "$tmp/tty"
	check 'NO_COLOR is respected' test "$(grep -c $'\033\[3[0-9]m' "$tmp/tty")" -eq 0
fi
