#!/usr/bin/env bash
# --awake: loops of the lowest priority, one a core, while a cell that wants them runs; none before,
# none after, however the runner ends.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need jq pgrep chrt taskset

runner=
end_all() {
	[ -n "$runner" ] && kill "$runner" 2>/dev/null && wait "$runner"
	rm -rf "$tmp"
}
trap end_all EXIT
mkdir "$tmp/netem"
printf 'schema: 1\nloopback: true\n' >"$tmp/netem/localhost.yaml"

# matrix NAME LINE SAMPLES OPTIONS: tmp/NAME.yaml
matrix() {
	printf 'schema: 1\nname: %s\n%s\nrepeats: 1\nprofiles: localhost\nsamples: %s\ncells:\n  - { probe: handshake%s }\n' \
		"$@" >"$tmp/$1.yaml"
}
run() {
	local name=$1
	shift
	"$BIN/rttmatrix" run "$tmp/$name.yaml" --runtime host --output "$tmp/$name.out" "$@" >"$tmp/summary" 2>"$tmp/err"
}
# outcome NAME VARIANT: what kept the cores awake, as the repeat's records say
outcome() {
	sed -n 's/^info awake //p' "$tmp/$1.out/latest/cells/handshake/$2/localhost/4/1/outcome.txt"
}
asked() {
	jq -r '.awake | .asked + ", " + .done' "$tmp/$1.out/latest/manifest.json"
}

cores=$(nproc)
means="SCHED_IDLE loops on $cores cores"
[ "$cores" = 1 ] && means="SCHED_IDLE loops on 1 core"
if [ -w /dev/cpu_dma_latency ] && ! grep -q hypervisor /proc/cpuinfo; then
	means=cpu_dma_latency
fi

# What is asked for, where, and what comes of it.
matrix plain '' 5 ''
run plain
equal "auto: off on loopback" "$(asked plain), $(outcome plain default)" "auto, off, off"
run plain --awake on
equal "--awake on" "$(asked plain), $(outcome plain default)" "on, $means, $means"
check "the summary says so" grep -qF "; cores kept awake: on ($means)." "$tmp/summary"
matrix file 'awake: on' 5 ''
run file
equal "awake: in the file" "$(asked file), $(outcome file default)" "on, $means, $means"
run file --awake off
equal "--awake wins over the file" "$(asked file), $(outcome file default)" "off, off, off"
run plain --awake of
equal "--awake of: exit" $? 2
check "--awake of: the message" grep -qF "option 'awake': 'of' is not one of auto|on|off" "$tmp/err"
matrix bad 'awake: yes' 5 ''
run bad
equal "awake: yes: exit" $? 2
check "awake: yes: the place" grep -qF "bad.yaml:3:8: " "$tmp/err"

# Both in one run; what a cell says goes before all else, and the probe is not told.
matrix both '' 200 ', vary: { awake: [off, on] }'
run both --awake off
equal "cells of their own: exit" $? 0
equal "cells of their own" "$(asked both), $(outcome both awake=off), $(outcome both awake=on)" "off, $means, off, $means"
check "the summary puts them side by side" \
	grep -Eq '^- At localhost,? a request on a kept connection, with cores that may sleep, took .*, with the cores kept awake ' "$tmp/summary"
"$BIN/rttmatrix" compare "$tmp/plain.out/latest" "$tmp/file.out/latest" >"$tmp/compare"
check "compare says where they differ" grep -qxF "Cores kept awake: in A on ($means), in B off (off)." "$tmp/compare"

if [ "$means" = cpu_dma_latency ]; then
	skip "the loops" "this machine has the device"
	exit 0
fi
loops() {
	pgrep -x rtt-awake -P "$runner"
}
all_up() {
	[ "$(loops | wc -l)" = "$cores" ] && [ "$(loops | xargs -n 1 chrt -p | grep -c SCHED_IDLE)" = "$cores" ]
}
# The loops of the last all_up.
gone() {
	local pid
	for pid in $held; do
		[ ! -e "/proc/$pid" ] || return 1
	done
}
pinned() {
	local pid
	for pid in $held; do
		taskset -cp "$pid"
	done | sed 's/.*: //' | sort -n | tr '\n' ' '
}

# A cell that takes until it is stopped, and one that is refused the loops in a run that has them.
matrix long '' 500000 ', deadline: 600s'
matrix apart '' 500000 ', deadline: 600s, set: { awake: off }'

under_way() {
	pgrep -f 'probe-handshake run --peer' -P "$(pgrep -d , -P "$runner")"
}

# start NAME: in the background, with job control, or a shell has it ignore SIGINT
start() {
	set -m
	"$BIN/rttmatrix" run "$tmp/$1.yaml" --runtime host --output "$tmp/$1.out" --awake on >"$tmp/summary" 2>"$tmp/err" &
	runner=$!
	set +m
	check "$1: the cell is under way" until_true 20 under_way
}
for signal in INT TERM KILL; do
	start long
	check "$signal: a SCHED_IDLE loop a core" until_true 20 all_up
	held=$(loops)
	equal "$signal: each on one core" "$(pinned)" "$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
		awk -F- '{ for (i = $1; i <= $NF; i++) printf "%d ", i }')"
	kill -s "$signal" "$runner"
	check "$signal: none left" until_true 20 gone
	wait "$runner" 2>/dev/null
	runner=
done
start apart
equal "awake=off in a run with --awake on: no loops" "$(loops)" ""
