#!/usr/bin/env bash
# The runner above a real netem: a matrix at 50 ms, whose counts are those of our emulator's link; and a
# link that is tampered with or killed in mid-cell. Under User-Mode Linux where this kernel has no netem.
# `make test-netem` runs it too.
. "$(dirname "$0")/lib.sh"
need python3

# rows DIRECTORY COLUMN: the values that a column of matrix.csv has, each once
rows() {
	python3 -c 'import csv, sys
print(*sorted({row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1] + "/matrix.csv"))}))' "$1" "$2"
}

# run_matrix DIRECTORY ARGUMENT...: into $folder/DIRECTORY
run_matrix() {
	timeout 300 "$BIN/rttmatrix" run --quiet --runtime netns --jobs 1 --output "$folder/$1" "${@:2}" \
		>"$folder/$1.out" 2>"$folder/$1.log"
}

# The newest process of ours called $1 that has the argument $2: they inherit this test's mark.
export NETEM_TEST=$tmp
ours() {
	local pid
	for pid in $(pgrep -x "$1" | sort -rn); do
		grep -qz -x -- "$2" "/proc/$pid/cmdline" && grep -qzxF "NETEM_TEST=$tmp" "/proc/$pid/environ" &&
			echo "$pid" && return 0
	done 2>/dev/null
	return 1
}

# broken NAME WHY COMMAND...: a cell of a few seconds, and what is done to its link in the middle of it, with the
# client's process in $client
broken() {
	local runner status client tries=0
	run_matrix "$1" "$folder/broken.yaml" --link netem &
	runner=$!
	# A cell whose link is merely off is run again, up to four times: do it each time.
	while [ $tries -lt 200 ] && kill -0 $runner 2>/dev/null; do
		client=$(ours probe-keepalive run) && "${@:3}" 2>/dev/null
		tries=$((tries + 1))
		# Seldom: looking keeps this one core from the echo that follows.
		read -r -t 0.5 _ <> <(:)
	done
	wait $runner
	status=$?
	equal "$1: exit status" $status 1
	equal "$1: status" "$(rows "$folder/$1/latest" status)" invalid_link
	check "$1: reason" grep -rq --include=matrix.csv --include=link.log "$2" "$folder/$1/latest/"
}
delete_qdisc() {
	nsenter -t "$client" -n tc qdisc del dev link0 root
}
# To one that the echo would not notice.
change_limit() {
	nsenter -t "$client" -n tc qdisc replace dev link0 root netem limit 77 delay 25ms
}
kill_link() {
	kill -KILL "$(ours rttlink up)"
}

inside() {
	folder=$1
	local status
	# On a busy machine links are out of tolerance, and its one core takes longer than is expected, which says
	# nothing about netem: at most three times.
	for _ in 1 2 3; do
		run_matrix netem "$folder/netem.yaml" --link netem
		status=$?
		[[ $status -eq 3 || ($status -eq 1 && $(rows "$folder/netem/latest" status) == *invalid_link*) ]] || break
	done
	equal "netem: exit status" $status 0
	broken qdisc-gone 'round trip is\|netem is gone' delete_qdisc
	broken qdisc-changed 'link broke: tc shows a limit of 77' change_limit
	broken link-killed 'the link was ended by signal 9' kill_link
}
if [ "${1:-}" = inside ]; then
	inside "$2"
	exit 0
fi

folder=$tmp
mkdir "$tmp/netem"
printf 'schema: 1\nrtt: 50ms\n' >"$tmp/netem/wan50.yaml"
# Every cell of the quick matrix, at 50 ms.
sed 's/wan20/wan50/g; s/localhost: [0-9]*, //; s/lan: [0-9]*, //; s/localhost, //; s/lan, //
	s/^repeats: 2/repeats: 1/; s/^name: quick/name: netem/' "$TOP/matrix/quick.yaml" >"$tmp/netem.yaml"
printf 'schema: 1\nname: broken\nprofiles: [wan50]\nfamilies: [4]\nrepeats: 1\nsamples: { wan50: 60 }\n' \
	>"$tmp/broken.yaml"
printf 'cells:\n  - probe: keepalive\n    set: { cpu: same }\n' >>"$tmp/broken.yaml"

real_netem "$0" inside "$tmp" >"$tmp/inside"
cat "$tmp/inside"
grep -q '^ok' "$tmp/inside" || exit 0
equal "netem: every row says so" "$(rows "$tmp/netem/latest" link)" netem
equal "netem: every row is ok" "$(rows "$tmp/netem/latest" status)" ok
check "netem: every expectation held" grep -E '; ([0-9]+) of \1 expectations held' "$tmp/netem.out"

if ! "$BIN/rttlink" backends | grep -qx 'info tun ok'; then
	skip "netem and tun" "this machine cannot do tun"
	exit 0
fi
run_matrix tun "$tmp/netem.yaml" --link tun
equal "tun: every row is ok" "$(rows "$tmp/tun/latest" status)" ok
"$BIN/rttmatrix" compare --csv "$tmp/netem/latest" "$tmp/tun/latest" >"$tmp/compared.csv"
python3 - "$tmp/compared.csv" <<'PYTHON'
import csv, sys
seen = wrong = 0
for row in csv.DictReader(open(sys.argv[1])):
    # What the last connection's end leaves behind depends on when it is looked at.
    if row["unit"] != "count" or row["metric"] in ("time_wait", "retransmits"):
        continue
    seen += 1
    if row["p50_a"] != row["p50_b"]:
        wrong += 1
        print(f'not ok {row["cell"]} {row["metric"]}: {row["p50_a"]} with netem, {row["p50_b"]} with tun')
print("ok netem and tun count the same" if seen >= 40 and not wrong else
      f"not ok netem and tun count the same: {wrong} of {seen} differ")
PYTHON
