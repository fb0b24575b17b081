#!/usr/bin/env bash
# Whatever goes wrong ends in a row or a clear error, keeps finished cells and leaves nothing.
. "$(dirname "$0")/lib.sh"
need python3 jq

if ! "$BIN/rttmatrix" doctor >"$tmp/doctor" 2>&1; then
	skip robust "this machine cannot: $(tail -n 1 "$tmp/doctor")"
	exit 0
fi

mkdir "$tmp/netem"
printf 'schema: 1\nloopback: true\n' >"$tmp/netem/localhost.yaml"
printf 'schema: 1\nrtt: 30ms\n' >"$tmp/netem/far.yaml"

# Processes of the runs of this very test: they carry the mark of a run, and inherit ours.
export ROBUST_TEST=$tmp
leftovers() {
	local environ
	for environ in /proc/[0-9]*/environ; do
		tr '\0' '\n' <"$environ" 2>/dev/null | grep -cE "^(RTTMATRIX_RUN=|ROBUST_TEST=$tmp\$)"
	done 2>/dev/null | grep -c '^2$'
}
none_left() {
	[ "$(leftovers)" -eq 0 ]
}
check 'nothing of ours runs before' none_left

# A probe in shell that misbehaves as its option `how` says.
cat >"$tmp/probe" <<'EOF'
#!/bin/sh
half=$1
shift
for argument; do
	case $argument in how=*) how=${argument#how=} ;; esac
done
if [ "$half" = serve ]; then
	[ "$how" = server_dies ] && { echo 'no port for me' >&2; exit 1; }
	[ "$how" = server_mute ] || echo 'ready 127.0.0.1:1'
	trap 'echo count served 1; exit 0' TERM
	[ "$how" = server_deaf ] && trap '' TERM
	while :; do sleep 0.02; done
fi
case $how in
good) echo 'sample thing ns 1000' ;;
crash) kill -SEGV $$ ;;
fails) echo 'the disk of the peer is full' >&2; exit 1 ;;
hang) sleep 60 ;;
rubbish) echo 'sample thing ns lots' ;;
both) echo 'count served 2' ;;
silent) ;;
unsupported) echo 'no such feature in this kernel' >&2; exit 77 ;;
*) echo 'sample thing ns 1000' ;;
esac
EOF
chmod +x "$tmp/probe"
{
	printf 'schema: 1\nname: bad\nrepeats: 1\nprofiles: [localhost]\nfamilies: [4]\n'
	printf 'samples: { localhost: 1 }\ncells:\n'
	printf '  - probe: odd\n    command: %s/probe\n    deadline: 1s\n' "$tmp"
	printf '    vary: { how: [good, crash, fails, hang, rubbish, both, silent, unsupported, '
	printf 'server_dies, server_deaf] }\n'
} >"$tmp/bad.yaml"
"$BIN/rttmatrix" run "$tmp/bad.yaml" --output "$tmp/out" >"$tmp/summary" 2>"$tmp/err"
equal 'a run with failed cells exits 1' $? 1
csv=$tmp/out/latest/matrix.csv

# row HOW STATUS REASON
row() {
	check "$1 is $2" python3 - "$csv" "$1" "$2" "$3" <<'EOF'
import csv, sys
path, how, status, reason = sys.argv[1:]
with open(path, newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["variant"] == "how=" + how]
good = rows and all(r["status"] == status and reason in r["reason"] for r in rows)
sys.exit(0 if good else str([(r["status"], r["reason"]) for r in rows]))
EOF
}
row good ok ''
row crash failed 'the client was ended by signal 11'
row fails failed 'the client ended with 1: the disk of the peer is full'
row hang timeout 'the client was not done after 1s'
row rubbish failed "the client's output: line 1: not a record: 'sample thing ns lots'"
row both failed "both halves printed 'served'"
row silent failed 'the client printed no measurement'
row unsupported unsupported 'no such feature in this kernel'
row server_dies failed 'the server ended with 1: no port for me'
row server_deaf failed 'the server did not end after SIGTERM'
check 'misbehaving probes leave nothing' until_true 5 none_left

# Long enough to be hit in the middle: one cell is done early, the other never ends by itself.
cat >"$tmp/long.yaml" <<'EOF'
schema: 1
name: long
repeats: 3
profiles: [localhost, far]
families: [4]
samples: { localhost: 20, far: 60 }
cells:
  - probe: handshake
EOF

# start_long OUTPUT: in the background, waits until one cell is done and a linked one runs
start_long() {
	: >"$tmp/long.err"
	# Shells start background processes deaf to SIGINT.
	env --default-signal=INT "$BIN/rttmatrix" run "$tmp/long.yaml" --output "$1" \
		>"$tmp/long.out" 2>"$tmp/long.err" &
	runner=$!
	until_true 20 grep -q '^\[ *1/6\] ok' "$tmp/long.err" &&
		until_true 20 sh -c "ls $1/latest/cells/handshake/*/far/4/*/server.log" &&
		until_true 20 pgrep -f 'probe-handshake run --peer 198.18'
}

# A worker that is ended from outside is a failed turn, however politely it was asked.
start_long "$tmp/worker"
pkill -TERM -P "$runner"
wait "$runner"
equal 'a worker ended from outside: exits 1' $? 1
check 'a worker ended from outside: its row says so' grep -q 'failed,.*ended from outside' \
	"$tmp/worker/latest/matrix.csv"

# What was told to ignore SIGHUP goes on.
(
	trap '' HUP
	exec "$BIN/rttmatrix" run "$tmp/long.yaml" --repeats 1 --output "$tmp/hup" \
		>/dev/null 2>"$tmp/hup.err"
) &
runner=$!
until_true 20 pgrep -f "$tmp/hup|$BIN/probe-handshake run"
kill -HUP "$runner"
wait "$runner"
equal 'nohup is respected' $? 0

for signal in INT TERM; do
	start_long "$tmp/$signal"
	equal "$signal: the run is under way" $? 0
	began=$(date +%s%N)
	kill -"$signal" "$runner"
	wait "$runner"
	equal "$signal: exits 130" $? 130
	between "$signal: within 3 s" "$((($(date +%s%N) - began) / 1000000))" 0 3000
	check "$signal: nothing left" until_true 5 none_left
	check "$signal: says so" grep -q interrupted "$tmp/long.err"
	check "$signal: finished cells are kept" grep -q 'localhost,4' "$tmp/$signal/latest/matrix.csv"
	equal "$signal: the manifest says incomplete" \
		"$(jq .complete "$tmp/$signal/latest/manifest.json")" false
done

# An interrupted run goes on where it was: finished turns are kept as they are, the order too.
find "$tmp/TERM/latest/cells" -name outcome.txt -exec md5sum {} + >"$tmp/before"
jq -c .order "$tmp/TERM/latest/manifest.json" >"$tmp/order"
find "$tmp/TERM/latest/cells" -mindepth 5 -maxdepth 5 -type d ! -exec test -e {}/outcome.txt \; -print >"$tmp/unfinished"
check 'resume: there is a turn that was interrupted' test -s "$tmp/unfinished"
while IFS= read -r folder; do
	echo 'last words of the interrupted try' | tee "$folder/client.log" >"$folder/agent.log"
done <"$tmp/unfinished"
"$BIN/rttmatrix" run --resume "$tmp/TERM/latest" --quiet >"$tmp/summary" 2>"$tmp/err"
equal 'resume: exits 0' "$(but_for_links $? "$tmp/TERM/latest/matrix.csv")" 0
check 'resume: finished turns were not touched' md5sum --quiet -c "$tmp/before"
equal 'resume: logs are of the try that counts' "$(grep -rl 'interrupted try' "$tmp/TERM/latest/cells")" ''
equal 'resume: every turn has an outcome' \
	"$(find "$tmp/TERM/latest/cells" -name outcome.txt -not -path '*discarded*' | wc -l)" 6
equal 'resume: the same order' "$(jq -c .order "$tmp/TERM/latest/manifest.json")" "$(cat "$tmp/order")"
equal 'resume: complete' "$(jq .complete "$tmp/TERM/latest/manifest.json")" true
"$BIN/rttmatrix" run --resume "$tmp/TERM/latest" --quiet >/dev/null 2>"$tmp/err"
equal 'resume: a complete run exits 2' $? 2
"$BIN/rttmatrix" run --resume "$tmp/INT/latest" "$tmp/long.yaml" >/dev/null 2>&1
equal 'resume: not with a matrix file' $? 2

# Only as it was begun, and not while it is under way.
"$BIN/rttmatrix" run --resume "$tmp/INT/latest" --awake on >/dev/null 2>"$tmp/err"
equal 'resume: not with another setting' $? 2
check 'and it is named' grep -q "option '--awake': with '--resume'" "$tmp/err"
start_long "$tmp/twice"
"$BIN/rttmatrix" run --resume "$tmp/twice/latest" --quiet >"$tmp/summary" 2>"$tmp/err"
equal 'resume: a run under way exits 1' $? 1
check 'and is named' grep -q 'this run is under way' "$tmp/err"
kill -INT "$runner"
wait "$runner"
equal 'the one under way was not touched' $? 130

# A recorded link is kept with the run: one that changes or goes meanwhile is the old one still.
printf '1\n2\n3\n' >"$tmp/netem/recorded"
printf 'schema: 1\nrtt: 30ms\ntrace: recorded\n' >"$tmp/netem/far.yaml"
start_long "$tmp/trace"
kill -INT "$runner"
wait "$runner"
equal 'a trace: the run is interrupted' $? 130
printf '60000\n' >"$tmp/netem/recorded"
"$BIN/rttmatrix" run --resume "$tmp/trace/latest" --quiet >"$tmp/summary" 2>"$tmp/err"
equal 'a trace: resume exits 0' "$(but_for_links $? "$tmp/trace/latest/matrix.csv")" 0
printf 'schema: 1\nrtt: 30ms\ntrace: %s/netem/recorded\n' "$tmp" >"$tmp/netem/far.yaml"
"$BIN/rttmatrix" check "$tmp/long.yaml" >/dev/null 2>"$tmp/err"
equal 'a trace from elsewhere exits 2' $? 2
check 'and is named' grep -q "the name of a file beside the profile" "$tmp/err"
mkfifo "$tmp/netem/pipe"
printf 'schema: 1\nrtt: 30ms\ntrace: pipe\n' >"$tmp/netem/far.yaml"
timeout 10 "$BIN/rttmatrix" check "$tmp/long.yaml" >/dev/null 2>"$tmp/err"
equal 'a trace that is a pipe exits 2' $? 2
check 'and is named, too' grep -q 'netem/pipe: not a regular file' "$tmp/err"
printf 'schema: 1\nrtt: 30ms\n' >"$tmp/netem/far.yaml"

start_long "$tmp/kill"
kill -9 "$runner"
wait "$runner" 2>/dev/null
check 'kill -9: children and namespaces go with the runner' until_true 5 none_left
touch "$tmp/kill/latest/matrix.csv.999999999.tmp"
check 'clean succeeds' "$BIN/rttmatrix" clean --output "$tmp/kill"
check 'clean removes half-written files' test ! -e "$tmp/kill/latest/matrix.csv.999999999.tmp"
check 'clean keeps records' test -n "$(find "$tmp/kill/latest/cells" -name outcome.txt)"
check 'the cells can be collated' "$BIN/rttmatrix" collate "$tmp/kill/latest"

# A leftover process, of a runner that is gone; a stranger's with no mark; and one of a runner whose
# number means something elsewhere, in another PID namespace.
here=$(stat -Lc %i /proc/self/ns/pid):$(cat /proc/sys/kernel/hostname)
RTTMATRIX_RUN=999999999:1:$here sleep 60 &
orphan=$!
sleep 60 &
stranger=$!
RTTMATRIX_RUN=999999999:1:1$here sleep 60 &
elsewhere=$!
until_true 5 grep -qz '^RTTMATRIX_RUN=999999999' "/proc/$orphan/environ"
until_true 5 grep -qz '^RTTMATRIX_RUN=999999999' "/proc/$elsewhere/environ"
"$BIN/rttmatrix" clean --output "$tmp/kill" >"$tmp/cleaned"
wait "$orphan" 2>/dev/null
equal 'clean kills what is marked' $? 137
check 'clean leaves others alone' kill -0 "$stranger"
check 'clean leaves what it cannot judge alone' kill -0 "$elsewhere"
kill "$stranger" "$elsewhere"
wait "$stranger" "$elsewhere" 2>/dev/null

# The link's emulator is killed under a cell: no figure of that cell is believed.
start_long "$tmp/link"
pkill -9 -f "$BIN/rttlink up"
wait "$runner"
equal 'a dead link: exits 1' $? 1
check 'a dead link: invalid_link' grep -q 'invalid_link,.*the link was ended by signal 9' \
	"$tmp/link/latest/matrix.csv"

# A probe that leaves a daemon behind, in a session of its own.
cat >"$tmp/daemon" <<'EOF'
#!/bin/sh
if [ "$1" = serve ]; then
	setsid sleep 7313 >/dev/null 2>&1 &
	trap 'exit 0' TERM
	echo 'ready 127.0.0.1:1'
	while :; do sleep 0.02; done
fi
echo 'sample thing ns 1000'
EOF
chmod +x "$tmp/daemon"
{
	printf 'schema: 1\nname: daemon\nrepeats: 1\nprofiles: [localhost]\nsamples: 1\n'
	printf 'cells:\n  - probe: odd\n    command: ./daemon\n'
} >"$tmp/daemon.yaml"
(cd / && "$BIN/rttmatrix" run "$tmp/daemon.yaml" --output "$tmp/out" --quiet) >/dev/null 2>&1
equal 'a command is found beside its matrix' $? 0
check 'a daemon does not outlive its turn' sh -c '! pgrep -f "sleep 731[3]"'
sed "s/daemon\$/nothing/" "$tmp/daemon.yaml" >"$tmp/absent.yaml"
"$BIN/rttmatrix" check "$tmp/absent.yaml" >/dev/null 2>"$tmp/err"
equal 'a command that is not there exits 2' $? 2
check 'and is named with its place' grep -q ":8:14: command '.*nothing' is not an executable" "$tmp/err"

# Odd descriptors and limits end in an answer.
"$BIN/rttmatrix" check "$tmp/long.yaml" <&- >&- 2>"$tmp/err"
check 'stdin and stdout closed: no false alarm' sh -c "! grep -q describe $tmp/err"
(
	ulimit -f 1
	"$BIN/rttmatrix" run "$tmp/long.yaml" --output "$tmp/small" >/dev/null 2>"$tmp/err"
	exit $?
)
equal 'a file size limit exits 1' $? 1
check 'and is named' grep -q 'File too large' "$tmp/err"
(
	ulimit -n 24
	timeout 60 "$BIN/rttmatrix" run "$tmp/daemon.yaml" --output "$tmp/few" --quiet >/dev/null 2>&1
)
equal 'few descriptors are enough' $? 0

# Results that cannot be written.
"$BIN/rttmatrix" run "$tmp/long.yaml" --output /proc/none >"$tmp/stdout" 2>"$tmp/err"
equal 'an impossible results directory exits 1' $? 1
check 'and is named' grep -q '/proc/none' "$tmp/err"
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$tmp/disk"
	cat >"$tmp/full.sh" <<EOF
mount -t tmpfs -o size=2m none $tmp/disk || exit 99
$BIN/rttmatrix run $tmp/long.yaml --output $tmp/disk --select '*/localhost/*' --repeats 1000 --quiet >/dev/null 2>$tmp/full.err &
runner=\$!
for i in \$(seq 200); do
	ls $tmp/disk/latest/cells/*/*/localhost/4/1/outcome.txt >/dev/null 2>&1 && break
	read -r -t 0.05 _ <> <(:)
done
dd if=/dev/zero of=$tmp/disk/fill bs=64k >/dev/null 2>&1
wait \$runner
echo \$? >$tmp/full.status
rm $tmp/disk/fill
find $tmp/disk/latest/ -name outcome.txt | wc -l >$tmp/full.kept
find $tmp/disk/latest/ -name '*.tmp' | wc -l >$tmp/full.half
EOF
	if unshare -m bash "$tmp/full.sh"; then
		equal 'a full disk exits 1' "$(cat "$tmp/full.status")" 1
		check 'a full disk is named' grep -q 'No space left on device' "$tmp/full.err"
		check 'finished cells are kept' test "$(cat "$tmp/full.kept")" -ge 1
		equal 'nothing half-written' "$(cat "$tmp/full.half")" 0
	else
		skip 'a full disk' 'no tmpfs may be mounted here'
	fi
fi
check 'nothing left at the end' until_true 5 none_left
