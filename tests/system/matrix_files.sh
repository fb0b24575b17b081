#!/usr/bin/env bash
# Bad matrix and profile files through the command itself: exit 2, the message on stderr, nothing on
# stdout, nothing started; good ones listed for people and for scripts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need jq
mkdir "$tmp/matrix" "$tmp/netem"
cp "$TOP"/netem/*.yaml "$tmp/netem/"
cd "$tmp" || exit 1

head='schema: 1
name: t
profiles: [localhost, wan50]
samples: { localhost: 5, wan50: 2 }
cells:'

# refused NAME COMMAND MESSAGE: `rttmatrix COMMAND matrix/NAME.yaml` refuses and ends with this.
refused() {
	local name=$1 command=$2 message=$3 status began took
	began=$(date +%s%N)
	# shellcheck disable=SC2086 # a command may be several words
	"$BIN/rttmatrix" $command "matrix/$name.yaml" >out 2>err
	status=$?
	took=$((($(date +%s%N) - began) / 1000000))
	equal "$command $name: exit" "$status" 2
	equal "$command $name: stdout" "$(cat out)" ""
	equal "$command $name: one line on stderr" "$(wc -l <err)" 1
	if [[ $(cat err) == *"$message" ]]; then
		ok "$command $name: message"
	else
		not_ok "$command $name: message" "$(cat err)"
	fi
	between "$command $name: under a second" "$took" 0 999
}

# bad NAME MESSAGE: stdin is the file.
bad() {
	cat >"matrix/$1.yaml"
	refused "$1" check "$2"
}

bad duplicate "matrix/duplicate.yaml:2:1: duplicate key 'schema', first on line 1" <<<$'schema: 1\nschema: 1'
bad unknown "matrix/unknown.yaml:2:1: unknown key 'profils': did you mean 'profiles'?" <<<$'schema: 1\nprofils: lan'
bad merge "matrix/merge.yaml:1:1: merge key '<<' is not allowed: write the keys out" <<<'<<: {schema: 1}'
bad cycle "matrix/cycle.yaml:1:8: anchors and aliases (& and *) are not allowed: write the value out" <<<'cells: &a [*a]'
bad second "matrix/second.yaml:2:1: a second document starts here: one file holds one" <<<$'schema: 1\n---\nschema: 1'
bad empty "matrix/empty.yaml:1:1: the file is empty" </dev/null
bad tab "matrix/tab.yaml:2:1: tab in the indentation: use spaces" <<<$'schema: 1\n\tname: t'

# What only the probe knows: options, or samples, that do not go together.
cells() {
	printf 'schema: 1\nname: t\nprofiles: localhost\nsamples: 10\ncells:\n  - { probe: %s, set: { %s } }\n' "$@"
}
bad together "matrix/together.yaml:6:5: variant idle=8;max=2: probe-pool: option 'idle': 8 connections cannot be idle when max=2 may be open" \
	< <(cells pool 'idle: 8, max: 2')
bad early "matrix/early.yaml:6:5: variant session=early;version=1.2: probe-tls: $("$BIN/probe-tls" check --samples 1 \
	session=early version=1.2 2>&1 | sed -n '1s/^probe-tls: //p')" < <(cells tls 'version: "1.2", session: early')
bad waves "matrix/waves.yaml:6:5: variant load=waves;workers=4: probe-pool: load=waves: 10 samples are not a multiple of workers=4" \
	< <(cells pool 'load: waves, workers: 4')
bad probe "matrix/probe.yaml:6:12: unknown probe 'hanshake': did you mean 'handshake'?" <<<"$head
  - probe: hanshake"
bad metric "matrix/metric.yaml:6:44: unknown metric 'conect': did you mean 'connect'?" <<<"$head
  - {probe: handshake, expect: [ { metric: \"conect\", equals: 1ms } ]}"
bad option "matrix/option.yaml:6:30: unknown option 'wiat': did you mean 'wait'?" <<<"$head
  - {probe: handshake, set: {wiat: spin}}"
bad profile "matrix/profile.yaml:1:34: unknown profile 'wan5': did you mean 'wan50'? (in matrix/../netem)" \
	<<<'{schema: 1, name: t, profiles: [ "wan5" ], samples: 1, cells: {probe: handshake}}'
bad nothing "matrix/nothing.yaml:6:5: this expands to no cell: 'exclude' leaves no variant" <<<"$head
  - {probe: handshake, set: {wait: spin}, exclude: {wait: spin}}"
{
	printf '%s\n  - {probe: x, command: sh, vary: {a: [1, 2]' "$head"
	for i in $(seq 40); do printf ', a%d: [1, 2]' "$i"; done
	printf '}}\n'
} | bad huge "matrix/huge.yaml:6:5: the matrix expands to more than 10000 cells (before 'exclude')"
{
	printf 'a: '
	printf '%.0s[' $(seq 20000)
} | bad deep "matrix/deep.yaml:1:13: nested too deeply"
{
	echo 'a: &a [x, x, x, x, x, x, x, x, x]'
	for i in {b..i}; do echo "$i: &$i [*a, *a, *a, *a, *a, *a, *a, *a, *a]"; done
} | bad bomb "matrix/bomb.yaml:1:4: anchors and aliases (& and *) are not allowed: write the value out"

# A bad profile is found through the matrix that names it.
for row in 'rtt: 50|:2:6: key '\''rtt'\'': duration '\''50'\'' has no unit: expected one such as 50ms, 500us or 1.5s' \
	'rtt: "50"|:2:6: key '\''rtt'\'': duration '\''50'\'' has no unit: expected one such as 50ms, 500us or 1.5s' \
	$'rtt: 50ms\nloss: 150%|:3:7: key \'loss\': \'150%\' is out of range: expected 0% to 100%' \
	$'rtt: 50ms\njitter: 30ms|:3:9: key \'jitter\': 30ms is larger than the delay of 25ms (one way, up)'; do
	printf 'schema: 1\n%s\n' "${row%|*}" >netem/faulty.yaml
	bad faulty "/faulty.yaml${row##*|}" \
		<<<'{schema: 1, name: t, profiles: faulty, samples: 1, cells: {probe: handshake}}'
done

# No subcommand that reads a matrix starts anything on a bad one.
refused probe list "unknown probe 'hanshake': did you mean 'handshake'?"
refused probe run "unknown probe 'hanshake': did you mean 'handshake'?"
refused probe "run --dry-run" "unknown probe 'hanshake': did you mean 'handshake'?"
refused absent check "open matrix/absent.yaml: No such file or directory"
check "no run directory" test ! -e results

# What is ours is good, and a decimal comma changes nothing.
for file in quick default seeds; do
	check "check $file" "$BIN/rttmatrix" check "$TOP/matrix/$file.yaml"
	"$BIN/rttmatrix" list "$TOP/matrix/$file.yaml" >list.txt
	"$BIN/rttmatrix" list --json "$TOP/matrix/$file.yaml" >list.json
	check "list --json $file: valid" jq -e . list.json
	equal "list $file: the same cells as JSON" "$(jq -r '.[].id' list.json)" "$(cat list.txt)"
	equal "list $file: no cell twice" "$(sort list.txt | uniq -d)" ""
	check "run --dry-run $file" "$BIN/rttmatrix" run --dry-run "$TOP/matrix/$file.yaml"
done
check "a dry run makes no run directory" test ! -e results
if locale -a | grep -qi '^de_DE\.utf-\?8$'; then
	cp list.json plain.json
	LC_ALL=de_DE.UTF-8 "$BIN/rttmatrix" list --json "$TOP/matrix/seeds.yaml" >list.json
	check "de_DE: the same bytes" cmp plain.json list.json
	(
		export LC_ALL=de_DE.UTF-8
		refused faulty check "(one way, up)"
	)
else
	skip "de_DE" "no such locale here (localedef -i de_DE -f UTF-8 de_DE.UTF-8)"
fi

"$BIN/rttmatrix" list "$TOP/matrix/default.yaml" --select 'handshake/*/wan50/*' >list.txt
equal "list --select" "$(cat list.txt)" $'handshake/cpu=same/wan50/4\nhandshake/cpu=same/wan50/6'
