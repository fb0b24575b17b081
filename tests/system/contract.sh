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

"$BIN/rttmatrix" check --probe "$tmp/run_hangs" >"$tmp/out" 2>&1 &
checker=$!
until_true 20 grep -q '^ok locale' "$tmp/out"
kill -TERM "$checker"
wait "$checker"
equal 'SIGTERM interrupts a check' "$?" 130
check 'and nothing goes on' test -z "$(pgrep -f "$tmp/run_hangs")"
