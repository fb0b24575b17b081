#!/usr/bin/env bash
# The scripts that the workflows call: shards of a matrix, run and joined; a shard that fails, one
# that is not there; and the rules for workflows.
. "$(dirname "$0")/lib.sh"
need jq python3
unset CI GITHUB_OUTPUT GITHUB_STEP_SUMMARY
export RUNTIME=netns

mkdir "$tmp/netem"
cp "$TOP/netem/localhost.yaml" "$tmp/netem/"
# So far that the link stays within its tolerance on a busy machine, too.
printf 'schema: 1\nrtt: 100ms\n' >"$tmp/netem/far.yaml"
# matrix FILE CONNECTIONS: four cells; the expectation holds for 10 connections
matrix() {
	cat >"$1" <<-EOF
	schema: 1
	name: shards
	repeats: 1
	profiles: [localhost, far]
	samples: 10
	cells:
	  - probe: keepalive
	    set: { cpu: same }
	    vary: { mode: [on, off] }
	    expect: [ { metric: connections, where: { mode: off }, profile: localhost, equals: $2 } ]
	EOF
}
matrix "$tmp/good.yaml" 10
matrix "$tmp/bad.yaml" 11

# cells CSV: what was measured of which cell, and how it ended
cells() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    print(row["cell"], row["metric"], row["n"], row["status"])' "$1" | sort
}

# The job matrix.
equal 'two shards' "$("$TOP/ci/shards" "$tmp/good.yaml" 2)" \
	'{"include":[{"shard":"1/2","name":"1-of-2"},{"shard":"2/2","name":"2-of-2"}]}'
equal 'no more shards than cells' \
	"$("$TOP/ci/shards" "$tmp/good.yaml" 9 | jq '.include | length')" 4
GITHUB_OUTPUT=$tmp/output "$TOP/ci/shards" "$tmp/good.yaml" 1 >"$tmp/printed"
equal 'the output of a step' "$(cat "$tmp/output")" "shards=$(cat "$tmp/printed")"
for wrong in 0 257 x '1;2' ''; do
	"$TOP/ci/shards" "$tmp/good.yaml" "$wrong" >"$tmp/printed" 2>&1
	equal "not a number of shards: '$wrong'" "$? $(grep -c include "$tmp/printed")" \
		"$([ -n "$wrong" ] && echo 2 || echo 1) 0"
done
GITHUB_OUTPUT=$tmp/none "$TOP/ci/shards" "$tmp/absent.yaml" 2 >"$tmp/printed" 2>&1
equal 'a matrix file that is not there' "$? $(ls "$tmp/none" 2>/dev/null)" '2 '

# Two shards, each run and joined, are the whole.
if ! "$BIN/rttlink" backends >"$tmp/backends"; then
	skip 'shards' "no link here: $(tail -n 1 "$tmp/backends")"
	exit 0
fi
in_tolerance "$tmp/whole/latest/matrix.csv" "$BIN/rttmatrix" run "$tmp/good.yaml" --output "$tmp/whole" \
	--runtime netns --quiet >"$tmp/log" 2>&1
equal 'the whole runs' $? 0
for i in 1 2; do
	"$TOP/ci/run-shard" "$tmp/good.yaml" "$i/2" "$tmp/shards/$i-of-2" --quiet >"$tmp/log" 2>&1
	equal "shard $i runs" $? 0
done
GITHUB_STEP_SUMMARY=$tmp/step "$TOP/ci/collate-shards" "$tmp/joined" "$tmp/shards" >"$tmp/log" 2>&1
equal 'the shards are joined' $? 0
equal 'and have the cells of the whole' "$(cells "$tmp/joined/matrix.csv")" \
	"$(cells "$tmp/whole/latest/matrix.csv")"
equal 'all of them ok' "$(tail -n +2 "$tmp/joined/matrix.csv" | grep -vc ',ok,')" 0
check 'the step summary is the summary' cmp "$tmp/step" "$tmp/joined/summary.md"
"$TOP/ci/run-shard" "$tmp/good.yaml" 1/2 "$tmp/shards/1-of-2" >"$tmp/log" 2>&1
equal 'a shard is not written over' "$? $(cat "$tmp/shards/1-of-2/shard")" '2 1/2 0'

# A shard alone, as one artifact comes without a folder of its own.
"$TOP/ci/collate-shards" "$tmp/alone" "$tmp/shards/1-of-2" >"$tmp/log" 2>&1
equal 'half is not the whole' "$?" 1
check 'and which half is missing' grep -q 'shard 2/2: is not there' "$tmp/alone/summary.md"
check 'in the page, too' grep -q '^<li>shard 2/2: is not there</li>$' "$tmp/alone/report.html"
check 'which is well formed' python3 -c 'import sys, xml.etree.ElementTree as tree
tree.parse(sys.argv[1])' "$tmp/alone/report.html"
check 'what is there is kept' grep -q ',ok,' "$tmp/alone/matrix.csv"

# A shard in which an expectation does not hold, one that could not run, one that was killed.
for i in 1 2 3 4; do
	"$TOP/ci/run-shard" "$tmp/bad.yaml" "$i/4" "$tmp/broken/$i" --quiet >"$tmp/log" 2>&1
	printf '%d ' $?
done >"$tmp/statuses"
equal 'the shard with the expectation fails, alone' \
	"$(tr ' ' '\n' <"$tmp/statuses" | grep . | sort | tr '\n' ' ')" '0 0 0 3 '
"$TOP/ci/run-shard" "$tmp/absent.yaml" 5/5 "$tmp/unable" >"$tmp/log" 2>&1
equal 'a shard without a matrix file fails' "$? $(cat "$tmp/unable/shard")" '2 5/5 2'
check 'and leaves the reason' grep -q 'absent.yaml' "$tmp/unable/log"
printf '4/4 running\n' >"$tmp/broken/4/shard"
rm -r "$tmp"/broken/4/*-shards
GITHUB_STEP_SUMMARY=$tmp/step2 "$TOP/ci/collate-shards" "$tmp/joined2" "$tmp/broken" >"$tmp/log" 2>&1
equal 'joining them fails' "$?" 3
equal 'the rows of the others are there' "$(cells "$tmp/joined2/matrix.csv" | cut -d' ' -f1 | uniq | wc -l)" 3
check 'the summary names the expectation' grep -q 'an expectation does not hold' "$tmp/step2"
check 'and the shard that was stopped' grep -q 'shard 4/4: was stopped' "$tmp/step2"
check 'and what it lacks' grep -q 'shard 4/4: no run directory' "$tmp/step2"
"$TOP/ci/collate-shards" "$tmp/joined3" "$tmp/netem" >"$tmp/log" 2>&1
equal 'no shard at all' "$? $(grep -c 'no shard in' "$tmp/joined3/summary.md")" '1 1'

# The rules for workflows: each one broken once.
if ! python3 -c 'import yaml' 2>/dev/null; then
	skip 'rules for workflows' 'no python3-yaml here (ci/setup --all installs it)'
	exit 0
fi
check 'the workflows keep the rules' "$TOP/ci/lint-workflows" "$TOP"/.github/workflows/*.yml
# broken NAME SED-SCRIPT MESSAGE
broken() {
	sed "$2" "$TOP/.github/workflows/nightly.yml" >"$tmp/workflow.yml"
	"$TOP/ci/lint-workflows" "$tmp/workflow.yml" >"$tmp/log" 2>&1
	equal "refused: $1" "$? $(grep -c -- "$3" "$tmp/log")" '1 1'
}
broken 'an action by its tag' 's/download-artifact@.*/download-artifact@v8/' 'not pinned'
broken 'a token that may write' 's/contents: read/contents: write/' 'permissions are not'
broken 'no timeout' '/name: shard/,/strategy/{/timeout-minutes/d}' 'job shard: no timeout-minutes'
# shellcheck disable=SC2016  # the expression is the workflow's
broken 'an expression in a script' 's/run: ci\/shards .*/run: ci\/shards ${{ github.ref }}/' 'becomes part'
broken 'a script of its own' 's/run: ci\/collate-shards .*/run: echo hello/' 'not one call'
broken 'one failure ends all' 's/fail-fast: false/fail-fast: true/' 'fail-fast'
broken 'nothing on two at once' 's/^concurrency/x-concurrency/' 'concurrency'
