#!/usr/bin/env bash
# rttlink run: a command behind a link, links behind links, the caller's services, the end of it
# all, and the same without root.
. "$(dirname "$0")/lib.sh"
need unshare setpriv ping ip python3 curl

if [ "$(id -u)" -ne 0 ] && [ -z "${INSIDE:-}" ]; then
	if unshare -Urn true 2>/dev/null; then
		INSIDE=yes exec unshare -Urmn "$0"
	fi
	skip rttlink_run "not root, and user namespaces are not allowed"
	exit 0
elif [ -z "${INSIDE:-}" ]; then
	# What else is on this machine is to be neither seen nor touched.
	INSIDE=root exec unshare -n "$0"
fi

profile() {
	printf 'schema: 1\nrtt: %s\n' "$2" >"$tmp/$1.yaml"
}
profile wan50 50ms
profile wan30 30ms
profile wan20 20ms
run=("$BIN/rttlink" run --profile)
wan50=("${run[@]}" "$tmp/wan50.yaml" --)
wan30=("${run[@]}" "$tmp/wan30.yaml" --)
wan20=("${run[@]}" "$tmp/wan20.yaml" --)

"${wan50[@]}" true 2>"$tmp/err"
case $? in
0) ;;
77)
	skip rttlink_run "$(tail -n 1 "$tmp/err")"
	exit 0
	;;
*)
	not_ok rttlink_run "$(tail -n 1 "$tmp/err")"
	exit 1
	;;
esac

# The fastest of a ping's echoes: it takes only one that the machine did not hold up.
least() {
	sed -n 's|^rtt [^=]*= \([0-9.]*\)/.*|\1|p'
}
device() {
	ip -o link show type tun | grep -c .
}

# Calibration on a busy machine may take up to 0.5 ms too much out of a link: so do the bounds.

# --- a command behind a link
# shellcheck disable=SC2016  # for the inner shell
"${wan50[@]}" sh -c 'echo "$RTTLINK_NEAR $RTTLINK_FAR"; ping -c 5 -i 0.05 -q "$RTTLINK_FAR"' \
	>"$tmp/out" 2>"$tmp/err"
equal "50 ms: exit status" $? 0
equal "50 ms: the addresses" "$(head -n 1 "$tmp/out")" "198.18.0.1 198.18.0.2"
between "50 ms: ping, ms" "$(least <"$tmp/out")" 49 55
equal "nothing of ours on stderr" "$(cat "$tmp/err")" ""
equal "no device is left" "$(device)" 0
"$BIN/rttlink" run --yaml 'schema: 1
rtt: 1ms' --verbose -- ping -c 4 -i 0.02 -q 198.18.0.2 >"$tmp/out" 2>"$tmp/err"
check "--verbose: counts" grep -q '^rttlink: up 4 packets, 0 lost, 0 dropped, 0 missed$' "$tmp/err"
check "--verbose: where" grep -q "far 198.18.0.2 in the caller's network namespace" "$tmp/err"
"$BIN/rttlink" run --yaml 'schema: 1
rtt: 1ms
corrupt: 100%' --verbose -- ping -c 2 -i 0.02 -W 0.1 -q 198.18.0.2 >"$tmp/out" 2>"$tmp/err"
check "--verbose: why nothing arrived" grep -q '^rttlink: up 2 packets, .*, 2 corrupted$' "$tmp/err"
"${run[@]}" "$tmp/wan50.yaml" ping -c 1 127.0.0.1 >"$tmp/out" 2>"$tmp/err"
equal "without --: exits 2" $? 2
equal "and says where to look first" "$(head -n 1 "$tmp/err")" 'rttlink: try: rttlink run --help'
check "and it is said where a command stands" grep -q "behind which the command stands: unknown option '-c'" "$tmp/err"
equal "the link is the only way out" \
	"$("${wan20[@]}" ip -o link show | sed 's/^[0-9]*: \([a-z0-9]*\).*/\1/' | tr '\n' ' ')" "lo link0 "
equal "neither core nor scheduling are the emulator's" \
	"$("${wan20[@]}" sh -c "taskset -p \$\$ && chrt -p \$\$" | sed 's/.*: //' | tr '\n' ' ')" \
	"$(sh -c "taskset -p \$\$ && chrt -p \$\$" | sed 's/.*: //' | tr '\n' ' ')"
equal "no signal is blocked" "$("${wan20[@]}" grep SigBlk /proc/self/status)" "$(grep SigBlk /proc/self/status)"
equal "stdin is the command's" "$(echo word | "${wan20[@]}" cat)" word
equal "arguments arrive as they are" "$("${wan20[@]}" printf '[%s]' 'a b' '' -- --yaml)" "[a b][][--][--yaml]"

"$BIN/rttlink" run --yaml 'schema: 1
rtt: 20ms
changes: [{at: 300ms, rtt: 120ms}]' -- ping -c 2 -i 1 198.18.0.2 >"$tmp/out" 2>&1
between "the profile's changes happen, ms" "$(sed -n 's|.*icmp_seq=2 .*time=\([0-9.]*\) ms|\1|p' "$tmp/out")" 119 215

# --- links behind links
"${wan20[@]}" "${wan30[@]}" ping -c 5 -i 0.05 -q 198.18.0.2 >"$tmp/out" 2>"$tmp/err"
between "20 and 30 ms add up, ms" "$(least <"$tmp/out")" 48.9 58
# nested COUNT COMMAND...: COMMAND behind so many links of 20 ms
nested() {
	local count=$1
	shift
	local command=("$@")
	while [ "$count" -gt 0 ]; do
		command=("${wan20[@]}" "${command[@]}")
		count=$((count - 1))
	done
	"${command[@]}"
}
nested 10 ping -c 5 -i 0.05 -q 198.18.0.2 >"$tmp/out" 2>"$tmp/err"
between "ten links with stages of 10 ms, ms" "$(least <"$tmp/out")" 195 220
check "… each with its own address" grep -qx 198.18.0.38 <(nested 10 printenv RTTLINK_FAR)
"${wan20[@]}" "${run[@]}" "$tmp/wan30.yaml" --local -- ping -c 1 -W 0.5 -q 198.18.0.2 \
	>"$tmp/out" 2>&1
equal "--local: no further than the far end" "$(grep -c ' 0 received' "$tmp/out")" 1

# --- side by side: each its own number, whoever comes first
mkfifo "$tmp/hold"
beside=()
for _ in 1 2 3 4; do
	# shellcheck disable=SC2016
	"${wan20[@]}" sh -c 'echo "$RTTLINK_FAR" >>"$0/beside"; read -r _ <"$0/hold"' "$tmp" &
	beside+=($!)
done
four() {
	[ "$(sort -u "$tmp/beside" | wc -l)" -eq 4 ]
}
check "four at once: four addresses" until_true 20 four
exec 8<>"$tmp/hold"
printf '\n\n\n\n' >&8
wait "${beside[@]}"
exec 8>&-
equal "… and no device is left" "$(device)" 0

# --- what listens here, and at the far end
serving() {
	curl -s -o /dev/null http://127.0.0.1:8123/
}
ip link set lo up
python3 -m http.server 8123 --directory "$tmp" >/dev/null 2>&1 &
server=$!
until_true 20 serving
# shellcheck disable=SC2016
behind='curl -s -m 10 -o /dev/null -w "%{http_code} %{time_total}" "http://$1:8123/"'
# shellcheck disable=SC2016
read -r code took < <("${wan50[@]}" sh -c "set -- \$RTTLINK_FAR; $behind")
equal "the caller's server answers" "$code" 200
between "… in two round trips, s" "$took" 0.098 0.250
read -r code took < <("${wan20[@]}" "${wan30[@]}" sh -c "set -- 198.18.0.2; $behind")
equal "… through two links" "$code" 200
between "… of 20 and 30 ms, s" "$took" 0.098 0.250
kill "$server"
wait "$server" 2>/dev/null
cat >"$tmp/echo.py" <<'END'
# One line to whoever connects; where and by whom it is run goes to a file.
import os, socket, sys
s = socket.create_server((os.environ["RTTLINK_FAR"], 8124))
open(sys.argv[1], "w").write("%d\n" % os.getpid())
while True:
    c, peer = s.accept()
    c.sendall(peer[0].encode())
    c.close()
END
# shellcheck disable=SC2016
"${run[@]}" "$tmp/wan20.yaml" --server "python3 $tmp/echo.py $tmp/pid" -- \
	sh -c 'curl -s --retry 9 --retry-connrefused --http0.9 "http://$RTTLINK_FAR:8124/"' >"$tmp/out" 2>&1
equal "--server: hears the near end" "$(cat "$tmp/out")" 198.18.0.1
check "--server: ends with the command" until_true 5 sh -c "! kill -0 $(cat "$tmp/pid")"

# --- exit status
status_of() {
	"$@" >"$tmp/out" 2>"$tmp/err"
	echo $?
}
equal "exit status is the command's" "$(status_of "${wan20[@]}" sh -c 'exit 7')" 7
# shellcheck disable=SC2016
equal "128 + signal" "$(status_of "${wan20[@]}" sh -c 'kill -KILL $$')" 137
equal "not found" "$(status_of "${wan20[@]}" "$tmp/nothing")" 127
check "… and says so" grep -q "start $tmp/nothing: No such file" "$tmp/err"
equal "not to be executed" "$(status_of "${wan20[@]}" "$tmp/wan20.yaml")" 126
equal "no command" "$(status_of "${wan20[@]}")" 2
check "… and says so" grep -q 'no command' "$tmp/err"
equal "no profile" "$(status_of "$BIN/rttlink" run -- true)" 2

# --- signals
cat >"$tmp/terminal.py" <<'END'
# Runs the arguments on a terminal of their own; presses Ctrl-C when they have said "ready".
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
pressed = False
while True:
    try:
        data = os.read(fd, 1024)
    except OSError:
        data = b""
    if not data:
        break
    seen += data
    if b"ready" in seen and not pressed:
        pressed = True
        os.write(fd, b"\x03")
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
cat >"$tmp/counts.py" <<'END'
# Counts SIGINT until none has come for half a second after the first.
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready", flush=True)
count, wait = 0, 20
while signal.sigtimedwait([signal.SIGINT], wait):
    count, wait = count + 1, 0.5
print("interrupts", count)
sys.exit(5)
END
timeout 20 python3 "$tmp/terminal.py" "${wan20[@]}" python3 "$tmp/counts.py" >"$tmp/out" 2>&1
equal "Ctrl-C: it is the command's to end" $? 5
check "Ctrl-C: it gets it once" grep -q 'interrupts 1' "$tmp/out"
rm -f "$tmp/pid"
# shellcheck disable=SC2016
"${wan20[@]}" sh -c 'echo $$ >"$0/pid.new"; mv "$0/pid.new" "$0/pid"; exec sleep 60' "$tmp" &
rttlink=$!
check "SIGTERM: it runs" until_true 10 test -s "$tmp/pid"
kill -TERM "$rttlink"
wait "$rttlink"
equal "SIGTERM is passed on" $? 143

cat >"$tmp/hangup.py" <<'END'
# Runs the arguments as the leader of a terminal's session, and hangs up at "ready".
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 1024)
os.close(fd)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
timeout 20 python3 "$tmp/hangup.py" "${wan20[@]}" sh -c 'echo ready; exec sleep 60'
equal "a terminal that hangs up" $? 129

# --- kill -9: of the outer one of two
rm -f "$tmp/pid"
# shellcheck disable=SC2016
"${wan20[@]}" "${wan30[@]}" sh -c 'echo $$ >"$0/pid.new"; mv "$0/pid.new" "$0/pid"; exec sleep 60' "$tmp" &
rttlink=$!
check "kill -9: it runs" until_true 10 test -s "$tmp/pid"
kill -KILL "$rttlink"
wait "$rttlink" 2>/dev/null
gone() {
	! kill -0 "$(cat "$tmp/pid")" 2>/dev/null && [ "$(device)" -eq 0 ]
}
check "kill -9 leaves neither process nor device" until_true 5 gone
equal "… nor the table of the masquerading" "$(status_of "${wan20[@]}" true)" 0

# --- without root, as a user with nothing
[ "$INSIDE" = root ] || exit 0
cp "$BIN/rttlink" "$tmp/rttlink"
chmod 755 "$tmp/rttlink"
# shellcheck disable=SC2016  # $0 and $@ are for the inner shell
as_user() {
	unshare -m sh -c '[ -c "$0/tun" ] || mknod -m 666 "$0/tun" c 10 200
		mount --bind "$0/tun" /dev/net/tun || exit 99
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' "$tmp" "$@"
}
if ! as_user unshare -Urn true 2>"$tmp/err"; then
	skip "rttlink_run without root" "no user namespaces: $(tail -n 1 "$tmp/err")"
	exit 0
fi
user_run=("$tmp/rttlink" run --profile "$tmp/wan20.yaml")
as_user "${user_run[@]}" --verbose -- ping -c 4 -i 0.05 -q 198.18.0.2 >"$tmp/out" 2>"$tmp/err"
between "without root: ping, ms" "$(least <"$tmp/out")" 19 39
check "without root: the far end is its own" grep -q 'a network namespace of its own' "$tmp/err"
as_user "${user_run[@]}" -- "${user_run[@]}" -- ping -c 4 -i 0.05 -q 198.18.0.2 >"$tmp/out" 2>&1
between "without root: two add up, ms" "$(least <"$tmp/out")" 38.9 78
# shellcheck disable=SC2016
as_user "${user_run[@]}" --server "python3 $tmp/echo.py /dev/null" -- \
	sh -c 'curl -s --retry 9 --retry-connrefused --http0.9 "http://$RTTLINK_FAR:8124/"' >"$tmp/out" 2>&1
equal "without root: --server" "$(cat "$tmp/out")" 198.18.0.1
as_user "${user_run[@]}" -- ping -c 1 -W 2 192.0.2.1 >"$tmp/out" 2>&1
check "without root: beyond it is nothing, and it says so" grep -q 'Net Unreachable' "$tmp/out"
as_user unshare -Ur "${user_run[@]}" -- true
equal "in a user namespace without a network of its own" $? 0
setpriv --reuid 65534 --regid 65534 --clear-groups "${user_run[@]}" -- true 2>"$tmp/err"
status=$?
if [ "$(stat -c %a /dev/net/tun)" = 600 ]; then
	equal "no access to /dev/net/tun" "$status" 77
	check "… and what mends it" grep -q 'chmod 666 /dev/net/tun' "$tmp/err"
fi
