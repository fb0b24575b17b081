#!/usr/bin/env bash
# `rttmatrix check --probe`: passes what keeps the contract; of a probe with one fault, exactly the
# check that is there for it fails.
. "$(dirname "$0")/lib.sh"
need python3 setsid

# verdict FILE: the names of the checks that failed, one a line
verdict() {
	sed -n 's/^not ok \([^:]*\):.*/\1/p' "$1"
}

# ---- what keeps it ----

for probe in "$BIN"/probe-* "$TOP/docker/example-probe.py"; do
	name=$(basename "$probe")
	timeout 100 "$BIN/rttmatrix" check --probe "$probe" >"$tmp/out" 2>"$tmp/err"
	equal "$name keeps the contract" "$? $(verdict "$tmp/out")$(cat "$tmp/err")" '0 '
	grep -c '^ok' "$tmp/out" >"$tmp/kept.$name"
	equal "$name: a line a check" "$(grep -cvE '^(ok [^:]*|(skip|warning) [^:]*: .+)$' "$tmp/out")" 0
done
cp "$TOP/docker/example-probe.py" "$tmp/mine"
cd "$tmp" || exit 1
check 'a bare name is a program here, not one in PATH' timeout 100 "$BIN/rttmatrix" check --probe mine

# ---- probes with one fault: ours, spoiled by a few lines of shell ----

# spoil NAME SHELL...: $tmp/NAME is probe-handshake but for these lines, which see its arguments
spoil() {
	{
		printf '#!/usr/bin/env bash\nreal=%q\n' "$BIN/probe-handshake"
		printf '%s\n' "${@:2}"
		# shellcheck disable=SC2016
		echo 'exec "$real" "$@"'
	} >"$tmp/$1"
	chmod +x "$tmp/$1"
}

# In the shell of a spoiled probe: go on with `run` and its output; what it ends with is kept.
# shellcheck disable=SC2016
{
	filtered() {
		printf '[ "$1" = run ] && { "$real" "$@" | %s; exit "${PIPESTATUS[0]}"; }' "$1"
	}
	followed() {
		printf '[ "$1" = run ] && { "$real" "$@" || exit; %s; exit 0; }' "$1"
	}
}

declare -A fault
names=()
# bad NAME CHECK SHELL...: check it in the background; CHECK is what has to fail
bad() {
	spoil "$1" "${@:3}"
	fault[$1]=$2
	names+=("$1")
	while [ "$(jobs -rp | wc -l)" -ge 6 ]; do wait -n; done
	{
		timeout 100 "$BIN/rttmatrix" check --probe "$tmp/$1" >"$tmp/$1.out" 2>"$tmp/$1.err"
		echo $? >"$tmp/$1.status"
	} &
}

# shellcheck disable=SC2016
{
	bad garbled 'describe' '[ "$1" = describe ] && { echo size: a number; exit 0; }'
	bad mute 'describe' '[ "$1" = describe ] && exit 1'
	bad any_command 'unknown command' '[ "$1" = no_such_command ] && exit 0'
	bad unnamed 'unknown command' '[ "$1" = no_such_command ] && { echo what? >&2; exit 2; }'
	bad silent_usage 'unknown command' '[ "$1" = no_such_command ] && exit 2'
	bad serve_any 'unknown option of serve' \
		'[ "$1" = serve ] && set -- "${@/no_such_option=1/wait=block}"'
	bad run_any 'unknown option of run' \
		'[ "$1" = run ] && set -- "${@/no_such_option=1/wait=block}"'
	bad no_listen 'serve without --listen' '[ "$*" = "serve --deadline 2s" ] && exit 1'
	bad no_peer 'run without --peer' \
		'[[ $1 = run && "$*" != *--peer* ]] && set -- "$@" --peer 127.0.0.1:1'
	bad no_samples 'run without --samples' \
		'[[ $1 = run && "$*" != *--samples* ]] && set -- "$@" --samples 1'
	bad low 'values out of range' 'set -- "${@/#hold=0/hold=1}"'
	bad high 'values out of range' 'set -- "${@/#hold=10001/hold=1}"'
	bad any_choice 'values out of range' 'set -- "${@/#wait=no_such_value/wait=block}"'
	bad port_0 'serve is ready' \
		'[ "$1" = serve ] && exec "$real" "$@" > >(sed -u "/^ready/s/:[0-9]*$/:0/")'
	bad not_ready 'serve is ready' '[ "$1" = serve ] && exec "$real" "$@" > >(grep -v "^ready")'
	bad run_fails 'run' "$(followed 'echo no luck >&2; exit 1')"
	bad one_client 'a second client, after one that broke off' \
		'mark=$0.ran.${3//[^0-9]/_}' \
		'[ "$1" = run ] && [ -e "$mark" ] && { echo not again >&2; exit 1; }' \
		"$(followed 'touch "$mark"')"
	bad deaf 'SIGTERM ends serve' \
		'[ "$1" = serve ] && { trap "" TERM; "$real" "$@"; exit $?; }'
	bad term_fails 'SIGTERM ends serve' \
		'[ "$1" = serve ] && { trap "kill \$!; wait; exit 3" TERM; "$real" "$@" & wait $!; exit; }'
	bad chatty 'records' "$(followed 'echo all done')"
	bad cut_short 'records' "$(followed 'printf "count late 1"')"
	bad point 'records' "$(filtered 'sed "s/^sample .*/&.5/"')"
	bad count_twice 'records' "$(followed 'echo count late 1; echo count late 2')"
	bad nothing 'measurements' "$(filtered 'grep "^info"')"
	bad too_few 'samples' "$(filtered 'awk "!/^sample/ || seen[\$2]++"')"
	bad both 'no metric in both halves' "$(followed 'echo count connections 7')"
	bad secret 'every metric is described' "$(followed 'echo count secret 7')"
	bad unit 'every metric is described' "$(filtered 'sed "s/ ns / bytes /"')"
	bad no_ipv6 'IPv6' '[[ "$*" = *::1* ]] && { echo only IPv4 >&2; exit 1; }'
	bad no_default 'defaults given' '[[ "$*" = *hold=40* ]] && { echo hold >&2; exit 2; }'
	bad comma 'locale de_DE.UTF-8' \
		"[ \"\${LC_ALL:-}\" = de_DE.UTF-8 ] && $(filtered 'sed "s/^sample .*/&,5/"')"
	bad run_hangs 'deadline of run' '[ "$1" = run ] && set -- "${@/#1s/1h}"'
	bad run_gives_up 'deadline of run' '[ "$*" = "${*/1s/}" ] || [ "$1" = serve ] ||
		{ "$real" "$@" 2>/dev/null; exit; }'
	bad serve_hangs 'deadline of serve' '[ "$1" = serve ] && set -- "${@/#1s/1h}"'
	bad serve_ends 'deadline of serve' '[[ "$1 $*" = serve*1s* ]] && { "$real" "$@"; exit 0; }'
}
wait
for name in "${names[@]}"; do
	equal "$name: fails in '${fault[$name]}' only" \
		"$(cat "$tmp/$name.status") $(verdict "$tmp/$name.out")" "1 ${fault[$name]}"
done
check 'what was expected and what came' grep -q \
	'^not ok run: expected exit 0, run ended with 1, stderr .no luck.$' "$tmp/run_fails.out"
check 'a value is named' grep -q '^not ok values out of range: hold=10001: ' "$tmp/high.out"
check 'the last word is on stderr' grep -q 'does not keep docker/CONTRACT.md' "$tmp/both.err"

# ---- what is no fault ----

# shellcheck disable=SC2016
spoil undescribed '[ "$1" = describe ] && { echo unknown command >&2; exit 2; }'
timeout 100 "$BIN/rttmatrix" check --probe "$tmp/undescribed" >"$tmp/out" 2>&1
equal 'without describe it can pass' $? 0
check 'with a warning' grep -q '^warning describe: ' "$tmp/out"

spoil unsupported "$(followed 'echo needs a second core >&2; exit 77')"
timeout 100 "$BIN/rttmatrix" check --probe "$tmp/unsupported" >"$tmp/out" 2>&1
equal 'what cannot be here is no fault' "$? $(grep -c '^skip run: .*second core' "$tmp/out")" '0 1'

# ---- what cannot be checked ----

echo 'no program' >"$tmp/text"
for path in "$tmp/text" "$tmp/nowhere" "$tmp"; do
	"$BIN/rttmatrix" check --probe "$path" >"$tmp/out" 2>"$tmp/err"
	status=$?
	equal "$(basename "$path") exits 2" "$status $(wc -c <"$tmp/out") $(grep -c 'not an exec' "$tmp/err")" \
		'2 0 1'
done
"$BIN/rttmatrix" check --probe no-such-image >"$tmp/out" 2>"$tmp/err"
equal 'nor is it an image, where no engine answers' \
	"$? $(wc -c <"$tmp/out") $(grep -c "not an executable file, nor an image here: .*no-engine" "$tmp/err")" '2 0 1'
"$BIN/rttmatrix" check --probe "$tmp/mine" "$TOP/matrix/quick.yaml" >"$tmp/out" 2>"$tmp/err"
equal 'a program and a matrix at once' $? 2
"$BIN/rttmatrix" check >"$tmp/out" 2>"$tmp/err"
equal 'neither' $? 2

# ---- nothing is left behind ----

# shellcheck disable=SC2016
spoil leaver 'setsid sleep 31415.9 >/dev/null 2>&1 &'
timeout 100 "$BIN/rttmatrix" check --probe "$tmp/leaver" >"$tmp/out" 2>&1
equal 'a probe that leaves daemons passes' "$? $(verdict "$tmp/out")" '0 '
check 'and they are ended' test -z "$(pgrep -f 'sleep 31415\.9')"

: >"$tmp/out"
"$BIN/rttmatrix" check --probe "$tmp/run_hangs" >"$tmp/out" 2>&1 &
checker=$!
until_true 20 grep -q '^ok locale' "$tmp/out"
kill -TERM "$checker"
wait "$checker"
equal 'SIGTERM interrupts a check' "$?" 130
check 'and nothing goes on' test -z "$(pgrep -f "$tmp/run_hangs")"

# ---- a peer that never answers, which containers need ----

python3 - "$BIN/rttlink" >"$tmp/out" 2>&1 <<'EOF'
import socket, subprocess, sys

def silent(*arguments):
    process = subprocess.Popen([sys.argv[1], "silent", *arguments], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    host, port = process.stdout.readline().split()[1].split(":")
    return process, (host, int(port))

def answers(kind, address):
    with socket.socket(socket.AF_INET, kind) as client:
        client.settimeout(0.2)
        client.connect(address)
        client.send(b"hello")
        try:
            return client.recv(1)
        except TimeoutError:
            return "nothing"

process, address = silent()
print("tcp", answers(socket.SOCK_STREAM, address), "udp", answers(socket.SOCK_DGRAM, address))
process.stdin.close()
print("end of stdin", process.wait(5))

with socket.create_server(("127.0.0.1", 0)) as server:
    process, address = silent("--peer", "127.0.0.1:%d" % server.getsockname()[1])
    connection, _ = server.accept()
    process.terminate()
    try:
        print(connection.recv(1))
    except ConnectionResetError:
        print("reset")
    print("SIGTERM", process.wait(5))
EOF
equal 'rttlink silent takes all and says nothing' "$(sed -n 1,2p "$tmp/out")" \
	"$(printf 'tcp nothing udp nothing\nend of stdin 0')"
equal '--peer: it ends with a reset' "$(sed -n '3,$p' "$tmp/out")" "$(printf 'reset\nSIGTERM 0')"
"$BIN/rttlink" silent --peer 127.0.0.1:1 >"$tmp/out" 2>&1
equal '--peer where nobody listens' "$? $(grep -c ^ready "$tmp/out")" '1 0'

# ---- images ----

DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
export DOCKER
if ! reason=$(timeout 20 "$DOCKER" version 2>&1) || ! reason=$(timeout 600 "$TOP/docker/build-images" 2>&1); then
	skip 'images' "$(tail -n 1 <<<"$reason")"
	exit 0
fi
need cc
probes=$("$TOP/docker/build-images" --print | head -n 1)
image=rttmatrix-test-contract-$$
clean_up() {
	"$DOCKER" images --format '{{.Repository}}:{{.Tag}}' "$image" | xargs -r "$DOCKER" rmi -f >/dev/null 2>&1
	rm -rf "$tmp"
}
trap clean_up EXIT

# make_image TAG LINE...: $image:TAG from these lines of a Dockerfile; /fault and /text can be copied
mkdir "$tmp/context"
make_image() {
	printf '%s\n' "${@:2}" >"$tmp/Dockerfile.$1"
	"$DOCKER" build -q -t "$image:$1" -f "$tmp/Dockerfile.$1" "$tmp/context" >"$tmp/build" 2>&1 ||
		not_ok "image $1" "$(tail -n 1 "$tmp/build")"
}

# check_image TAG: what came in $tmp/image.TAG.*
check_image() {
	local out=$tmp/image.$1
	# shellcheck disable=SC2016
	timeout -k 10 200 bash -c 'echo $$ >"$1"; exec "$2" check --probe "$3"' - \
		"$out.pid" "$BIN/rttmatrix" "$image:$1" >"$out.out" 2>"$out.err"
	echo $? >"$out.status"
}

# left PID: what the engine still has of that checker
left() {
	local kind
	for kind in 'ps --all' 'volume ls'; do
		# shellcheck disable=SC2086
		"$DOCKER" $kind --filter label=rttmatrix.run --format '{{.Label "rttmatrix.run"}}'
	done | grep -c "^$1:"
}

# Over TCP, over UDP, and one that is loopback only: the others differ in nothing that an image changes.
for name in probe-handshake probe-dns probe-unix; do
	make_image "$name" "FROM $probes" "ENTRYPOINT [\"/$name\"]"
	check_image "$name"
	out=$tmp/image.$name
	equal "$name in an image keeps the contract" \
		"$(cat "$out.status") $(verdict "$out.out")$(grep -v 'of a run that is gone$' "$out.err")" '0 '
	equal "$name: every check as of the program" "$(grep -c '^ok' "$out.out")" \
		"$(cat "$tmp/kept.$name")"
	equal "$name: nothing is left" "$(left "$(cat "$out.pid")")" 0
done

# probe-handshake with the one fault that FAULT names.
cat >"$tmp/fault.c" <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int
fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

int
main(int argc, char **argv)
{
	const char *fault = getenv("FAULT"), *command = argc > 1 ? argv[1] : "";
	int serve = !strcmp(command, "serve"), run = !strcmp(command, "run"), status = 0;
	int pair = serve && argc > 5 && !strcmp(argv[5], "60s"); /* not with a usage error */

	if (pair && !strcmp(fault, "writes") && open("/state", O_CREAT | O_WRONLY, 0600) < 0)
		return fail("open /state");
	if (pair && !strcmp(fault, "capability") && socket(AF_PACKET, SOCK_RAW, 0) < 0)
		return fail("open a packet socket");
	if (serve && !strcmp(fault, "option") && !strcmp(argv[argc - 1], "no_such_option=1"))
		return fail("no_such_option");
	while (!strcmp(command, "describe") && !strcmp(fault, "flood"))
		puts("metric x ns y");
	for (int i = 1; run && !strcmp(fault, "hangs") && i < argc; i++)
		if (!strcmp(argv[i], "1s"))
			argv[i] = "1h";
	if (run && !strcmp(fault, "locale") && getenv("LC_ALL"))
		return fail("LC_ALL");
	if ((serve && !strcmp(fault, "deaf")) || (run && !strcmp(fault, "chatty"))) {
		if (fork()) {
			wait(&status);
			puts("all done");
			return WEXITSTATUS(status);
		}
	}
	execv("/probe-handshake", argv);
	return fail("execv");
}
EOF
check 'the broken probe' cc -static -O1 -o "$tmp/context/fault" "$tmp/fault.c"
echo 'no program' >"$tmp/context/text"
make_image base "FROM $probes" 'COPY fault text /' 'ENTRYPOINT ["/fault"]'

# bad_image TAG CHECK LINE...
declare -A image_fault
tags=()
bad_image() {
	make_image "$1" "FROM $image:base" "${@:3}"
	image_fault[$1]=$2
	tags+=("$1")
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
	check_image "$1" &
}
bad_image missing 'describe' 'ENTRYPOINT ["/nowhere"]'
bad_image text 'describe' 'ENTRYPOINT ["/text"]'
bad_image flood 'describe' 'ENV FAULT=flood'
bad_image option 'unknown option of serve' 'ENV FAULT=option'
bad_image writes 'serve is ready' 'ENV FAULT=writes'
bad_image capability 'serve is ready' 'ENV FAULT=capability'
bad_image deaf 'SIGTERM ends serve' 'ENV FAULT=deaf'
bad_image chatty 'records' 'ENV FAULT=chatty'
bad_image locale 'locale de_DE.UTF-8' 'ENV FAULT=locale'
bad_image hangs 'deadline of run' 'ENV FAULT=hangs'
wait
for tag in "${tags[@]}"; do
	out=$tmp/image.$tag
	equal "image $tag: fails in '${image_fault[$tag]}' only" \
		"$(cat "$out.status") $(verdict "$out.out")" "1 ${image_fault[$tag]}"
	equal "image $tag: nothing is left" "$(left "$(cat "$out.pid")")" 0
done
check 'no entry point is told as that' grep -q \
	'^not ok describe: .*its entry point is not there: .*/nowhere' "$tmp/image.missing.out"
check 'so is one that is no program' grep -q \
	'^not ok describe: .*its entry point cannot be executed: .*permission denied' "$tmp/image.text.out"
check 'and nothing else is tried' grep -qx 'skip all others: it does not start' "$tmp/image.missing.out"
check 'a read-only root' grep -q 'open /state: Read-only file system' "$tmp/image.writes.out"
check 'no capabilities' grep -q 'packet socket: Operation not permitted' "$tmp/image.capability.out"

# ---- what is no image, and what is missing for one ----

"$BIN/rttmatrix" check --probe no-such-image >"$tmp/out" 2>"$tmp/err"
equal 'neither a file nor an image: 2' \
	"$? $(wc -c <"$tmp/out") $(grep -c 'not an executable file, nor an image here: .*o such image' "$tmp/err")" '2 0 1'
"$BIN/rttmatrix" check --probe=--help >"$tmp/out" 2>"$tmp/err"
equal 'no option of the engine' "$? $(grep -c 'nor the name of an image' "$tmp/err")" '2 1'
mkdir "$tmp/dir" && cp "$tmp/mine" "$tmp/dir/$image" && cd "$tmp/dir" || exit 1
"$DOCKER" tag "$image:base" "$image:latest"
timeout 100 "$BIN/rttmatrix" check --probe "$image" >"$tmp/out" 2>"$tmp/err"
equal 'a file comes before an image of that name' "$? $(verdict "$tmp/out")" '0 '
# shellcheck disable=SC2016
printf '#!/bin/sh\ncase "$*" in *rttmatrix-link:*) echo no such image >&2; exit 1 ;; esac\nexec %q "$@"\n' \
	"$DOCKER" >"$tmp/engine"
chmod +x "$tmp/engine"
DOCKER=$tmp/engine "$BIN/rttmatrix" check --probe "$image:base" >"$tmp/out" 2>"$tmp/err"
equal 'without our link image: 4, and what makes it' \
	"$? $(wc -c <"$tmp/out") $(grep -c 'make images' "$tmp/err")" '4 0 1'

# ---- nothing is left of an interrupted one either ----

# holds CHECKER NUMBER: is that much of it in the engine?
holds() {
	[ "$(left "$1")" -ge "$2" ]
}

gone() {
	[ "$(left "$1")" = 0 ]
}

for signal in TERM KILL; do
	: >"$tmp/out"
	"$BIN/rttmatrix" check --probe "$image:hangs" >"$tmp/out" 2>&1 &
	checker=$!
	until_true 60 grep -q '^ok locale' "$tmp/out"
	check "SIG$signal comes when there is something to leave" until_true 20 holds "$checker" 3
	kill -s "$signal" "$checker"
	wait "$checker" 2>/dev/null
	status=$?
	if [ "$signal" = TERM ]; then
		equal 'SIGTERM interrupts it' "$status $(verdict "$tmp/out")" '130 '
	else
		until_true 20 gone "$checker"
	fi
	equal "SIG$signal: nothing is left" "$(left "$checker")" 0
done
