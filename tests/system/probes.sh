#!/usr/bin/env bash
# The probes on loopback: what they count, how they end, and that they keep docker/CONTRACT.md.
. "$(dirname "$0")/lib_probe.sh"
need python3

handshake=$BIN/probe-handshake keepalive=$BIN/probe-keepalive
loopback=('127.0.0.1:0' '[::1]:0')

# ---- handshake ----

for listen in "${loopback[@]}"; do
	pair "$handshake" "$listen" 50
	equal "handshake on $listen: both halves exit 0" "$ran $stopped" '0 0'
	equal "handshake on $listen: samples" "$(samples connect) $(samples request_new) $(samples request_kept)" '50 50 50'
	equal "handshake on $listen: connections" "$(count connections)" 141
	equal "handshake on $listen: LISTEN and ESTABLISHED" \
		"$(count listening) $(count established) $(count server_established)" '1 80 80'
	check "handshake on $listen: only records" only_records
	check "handshake on $listen: only metrics that describe lists" only_described "$handshake"
done
pair "$handshake" 127.0.0.1:0 2000
equal 'handshake: 2000 samples' "$ran $(samples connect) $(count connections)" '0 2000 4041'
between 'handshake: thousands in TIME_WAIT' "$(count time_wait)" 3000 4041
equal 'handshake: nothing lost' "$(count connect_errors) $(count syn_retransmits) $(count retransmits)" '0 0 0'
for options in 'wait=spin' 'cpu=same' 'size=1b' 'size=100kib' 'hold=1' 'hold=300'; do
	pair "$handshake" 127.0.0.1:0 20 "$options"
	equal "handshake $options" "$ran $stopped $(samples request_kept)" '0 0 20'
done
equal 'handshake hold=300: both ends counted' "$(count established) $(count connections)" '600 341'
if [ "$(nproc)" -gt 1 ]; then
	pair "$handshake" 127.0.0.1:0 20 cpu=split wait=spin
	equal 'handshake cpu=split: one core each' \
		"$ran $(sed -n 's/^info core //p' "$tmp/client.txt" "$tmp/server.txt" | sort -u | wc -l)" '0 2'
else
	skip 'handshake cpu=split' 'one core here'
fi
taskset -c 0 "$handshake" run --peer 127.0.0.1:1 --samples 1 cpu=split >/dev/null 2>"$tmp/log"
equal 'cpu=split on one core is unsupported' "$? $(tail -n 1 "$tmp/log")" \
	'77 probe-handshake: cpu=split needs two cores, and this process may use one'

# With few files the held connections do not fit: an error in its own words, no samples.
start "$handshake" 127.0.0.1:0
(ulimit -n 20 && exec "$handshake" run --peer "$addr" --samples 5) >"$tmp/client.txt" 2>"$tmp/log"
equal 'handshake: too many open files' "$? $(samples connect) $(tail -n 1 "$tmp/log")" \
	'1 0 probe-handshake: hold=40: socket: too many open files in this process: raise ulimit -n'
stop_server

# In namespaces of its own: no local port left, and both ends of a link.
if unshare -rn true 2>/dev/null; then
	cat >"$tmp/ports.sh" <<'PORTS'
ip link set lo up
echo '40000 40019' >/proc/sys/net/ipv4/ip_local_port_range
"$1" serve --listen 127.0.0.1:1234 >"$2" &
until grep -q ready "$2"; do :; done
"$1" run --peer 127.0.0.1:1234 --samples 100 --deadline 10s
echo "status $?"
kill $!
PORTS
	: >"$tmp/server.txt"
	timeout 20 unshare -rn bash "$tmp/ports.sh" "$handshake" "$tmp/server.txt" >"$tmp/client.txt" 2>"$tmp/log"
	equal 'handshake: no local port left' "$(tail -n 1 "$tmp/client.txt") $(samples connect) $(tail -n 1 "$tmp/log")" \
		'status 1 0 probe-handshake: connect: no local port is free, all are in use or in TIME_WAIT'
	cat >"$tmp/link.sh" <<'LINK'
unshare -n sleep 20 &
until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ] && [ -e /proc/$!/ns/net ]; do :; done
far="nsenter -n -t $!"
ip link add near type veth peer name far netns $! || exit 77
ip addr add 198.18.0.1/30 dev near && ip link set near up
$far ip addr add 198.18.0.2/30 dev far && $far ip link set far up
$far "$1" serve --listen 198.18.0.2:0 >"$2" &
until grep -q ready "$2"; do :; done
"$1" run --peer "$(sed -n 's/^ready //p' "$2")" --samples 20 --deadline 10s
kill %2 && wait %2
kill %1
LINK
	: >"$tmp/server.txt"
	timeout 30 unshare -rn bash "$tmp/link.sh" "$handshake" "$tmp/server.txt" >"$tmp/client.txt" 2>"$tmp/log"
	if [ $? -eq 77 ]; then
		skip 'handshake: sockets on both sides of a link' "no veth here: $(tail -n 1 "$tmp/log")"
	else
		equal 'handshake: sockets on both sides of a link' \
			"$(count established) $(count server_established) $(count listening) $(count time_wait) $(count time_wait_entered)" '40 40 1 81 81'
	fi
else
	skip 'handshake: in namespaces' "$(unshare -rn true 2>&1)"
fi

# ---- keepalive ----

# exact NAME SAMPLES CONNECTIONS RECONNECTS OPTION...
exact() {
	local name=$1 n=$2 connections=$3 reconnects=$4
	shift 4
	pair "$keepalive" "${listen:-127.0.0.1:0}" "$n" "$@"
	equal "keepalive $name" \
		"$ran $stopped $(samples request) $(count connections) $(count connects) $(count requests) $(count reconnects)" \
		"0 0 $n $connections $connections $n $reconnects"
}

for listen in "${loopback[@]}"; do
	exact "on $listen" 500 1 0
	exact "mode=off on $listen" 500 500 0 mode=off
	check "keepalive on $listen: only records" only_records
	check "keepalive on $listen: only metrics that describe lists" only_described "$keepalive"
done
listen=127.0.0.1:0
for framing in length chunked trailers 204 304 head; do
	exact "framing=$framing keeps" 5 1 0 framing="$framing"
	exact "framing=$framing mode=off" 5 5 0 framing="$framing" mode=off
done
for framing in http10 eof; do
	exact "framing=$framing closes" 5 5 0 framing="$framing"
done
exact 'trap=server_close' 5 5 0 trap=server_close
exact 'trap=server_close chunked' 5 5 0 trap=server_close framing=chunked
exact 'trap=undrained' 5 5 0 trap=undrained size=1mib
exact 'trap=undrained, small body' 5 5 0 trap=undrained
exact 'trap=undrained, no body to drain' 5 1 0 trap=undrained framing=204
exact 'wait=spin' 50 1 0 wait=spin
for framing in length chunked eof; do
	exact "4 MiB $framing" 3 "$([ "$framing" = eof ] && echo 3 || echo 1)" 0 size=4mib framing="$framing"
done
exact 'no body' 5 1 0 size=0b framing=chunked
# So much shorter, and so much longer, that a server or client kept from its core does not matter.
exact 'idle timeout shorter than the pause' 6 6 5 trap=idle_timeout idle=10ms pause=300ms
exact 'idle timeout longer than the pause' 6 1 0 trap=idle_timeout idle=5s pause=5ms
exact 'each request starts the idle time anew' 8 1 0 trap=idle_timeout idle=1s pause=200ms

# The race proper: whoever wins, each request is answered once and each lost race costs one retry.
pair "$keepalive" 127.0.0.1:0 40 trap=idle_timeout idle=5ms pause=5ms
equal 'idle timeout racing the request' \
	"$ran $(samples request) $(count requests) $(count request_errors) $(count connections)" \
	"0 40 40 0 $(($(count reconnects) + 1))"

# ---- a client that is not ours ----

if command -v curl >/dev/null; then
	start "$keepalive" 127.0.0.1:0 framing=trailers size=100b
	curl -sSv --max-time 5 "http://$addr/" "http://$addr/" -o "$tmp/a" -o "$tmp/b" 2>"$tmp/log"
	equal 'curl reuses the connection' "$? $(grep -c 'Re-using existing' "$tmp/log") $(wc -c <"$tmp/a")" '0 1 100'
	equal 'curl HEAD' "$(curl -sSI --max-time 5 "http://$addr/" | head -n 1 | tr -d '\r')" 'HTTP/1.1 200 OK'
	curl -sSv --http1.0 --max-time 5 "http://$addr/" "http://$addr/" -o "$tmp/a" -o "$tmp/b" 2>"$tmp/log"
	equal 'curl HTTP/1.0' "$? $(grep -c 'Re-using' "$tmp/log") $(wc -c <"$tmp/b")" '0 0 100'
	equal 'curl POST' "$(curl -sS --max-time 5 -d "$(head -c 50000 /dev/zero | tr '\0' x)" -o "$tmp/a" -w '%{http_code} %{size_download}' "http://$addr/")" '200 100'
	exec 3<>"/dev/tcp/127.0.0.1/${addr##*:}"
	printf 'rubbish\r\n\r\n' >&3
	equal 'rubbish is answered 400' "$(head -n 1 <&3 | tr -d '\r')" 'HTTP/1.1 400 Bad Request'
	exec 3<&-
	exec 3<>"/dev/tcp/127.0.0.1/${addr##*:}"
	printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&3
	equal 'two requests in one segment' "$(grep -c '^HTTP/1.1 200' <&3)" 2
	exec 3<&-
	stop_server
	: >"$tmp/client.txt"
	equal 'the server counted them' "$(count connections) $(count requests)" '7 8'
else
	skip 'curl as the client' 'no curl here (ci/setup --all installs it)'
fi

# ---- the contract ----

# A machine without IPv6 cannot do it, which is not a failure of the probe's.
without_ipv6() {
	unshare -rn sh -c 'ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; exec timeout 5 "$@"' sh "$@"
}
if without_ipv6 true 2>/dev/null; then
	for probe in "$BIN"/probe-*; do
		without_ipv6 "$probe" serve --listen '[::1]:0' >"$tmp/out" 2>"$tmp/log"
		status=$?
		equal "$(basename "$probe"): without IPv6" "$status $(tail -n 1 "$tmp/log" | grep -c 'listen on \[::1\]:0')" '77 1'
	done
else
	skip 'without IPv6' 'user namespaces are not allowed'
fi
start "$handshake" '[::1]:0'
timeout 5 "$handshake" serve --listen "$addr" >"$tmp/out" 2>"$tmp/log"
equal 'an IPv6 port in use is another matter' "$? $(tail -n 1 "$tmp/log" | grep -c 'in use')" '1 1'
stop_server

for probe in "$handshake" "$keepalive" "$BIN/probe-pool"; do
	name=$(basename "$probe")
	check "$name --help" "$probe" --help
	check "$name describe" "$probe" describe
	"$probe" run --peer 127.0.0.1:1 --samples 1 wiat=spin >"$tmp/out" 2>"$tmp/log"
	equal "$name: a bad option exits 2, names the nearest and prints nothing" \
		"$? $(wc -c <"$tmp/out") $(head -n 1 "$tmp/log")" "2 0 $name: unknown option 'wiat': did you mean 'wait'?"
	"$probe" run --peer 127.0.0.1:1 --samples 1 >"$tmp/out" 2>"$tmp/log"
	equal "$name: nobody listens" "$? $(tail -n 1 "$tmp/log" | grep -c 'connect: Connection refused')" '1 1'
	"$probe" describe >/dev/full 2>"$tmp/log"
	equal "$name: stdout full" "$? $(cat "$tmp/log")" "1 $name: write to stdout: No space left on device"

	start "$probe" 127.0.0.1:0 wait=spin
	exec 3<>"/dev/tcp/127.0.0.1/${addr##*:}"
	before=$EPOCHREALTIME
	stop_server
	took=$((${EPOCHREALTIME/[.,]/} - ${before/[.,]/}))
	exec 3<&-
	equal "$name: SIGTERM prints the counters and exits 0" "$stopped $(sed -n 's/^count connections //p' "$tmp/server.txt")" '0 1'
	between "$name: within a second of SIGTERM, with a connection open" "$took" 0 1000000

	"$probe" serve --listen 127.0.0.1:0 --deadline 100ms >"$tmp/out" 2>"$tmp/log"
	equal "$name serve: its own deadline" "$? $(cut -d: -f2 "$tmp/log")" '1  deadline of 100ms passed'
	start "$probe" 127.0.0.1:0
	"$probe" serve --listen "$addr" >"$tmp/out" 2>"$tmp/log"
	equal "$name serve: address in use" "$? $(tail -n 1 "$tmp/log")" "1 $name: listen on $addr: Address already in use"
	stop_server
done

# A request and the client's end in one wake-up of the server: both must be seen.
start "$keepalive" 127.0.0.1:0
equal 'the peer ends right behind its request' "$(python3 - "$addr" "$server" <<'ENDS'
import os, signal, socket, sys
host, port = sys.argv[1].split(":")
os.kill(int(sys.argv[2]), signal.SIGSTOP)
sock = socket.create_connection((host, int(port)), timeout=5)
sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
sock.shutdown(socket.SHUT_WR)
os.kill(int(sys.argv[2]), signal.SIGCONT)
reply = b""
try:
    while True:
        got = sock.recv(4096)
        if not got:
            break
        reply += got
    print(reply[:15].decode(), "closed")
except TimeoutError:
    print(reply[:15].decode(), "still open")
ENDS
)" 'HTTP/1.1 200 OK closed'
stop_server

for wait in block spin; do
	against mute "$handshake" 300ms wait=$wait
	equal "handshake wait=$wait: a mute peer" "$ran $reason" \
		'1 probe-handshake: deadline of 300ms passed: receive: no answer before the deadline'
	against mute "$keepalive" 300ms wait=$wait
	equal "keepalive wait=$wait: a mute peer" "$ran $reason $(samples request)" \
		'1 probe-keepalive: deadline of 300ms passed: receive: no answer before the deadline 0'
done
against "$(printf 'z%.0s' {1..64})" "$handshake" 5s
equal 'handshake: a peer that does not echo' "$ran $reason" '1 probe-handshake: the reply is not an echo of the request'
against '220 ftp ready\r\n' "$keepalive" 5s
equal 'keepalive: rubbish' "$ran ${reason% (*}" '1 probe-keepalive: not HTTP: Expected HTTP/'
against 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n' "$keepalive" 5s
equal 'keepalive: status 500' "$ran $reason" '1 probe-keepalive: the reply to / is status 500'
against 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc' "$keepalive" 5s
equal 'keepalive: bytes behind the reply' "$ran $reason" '1 probe-keepalive: 2 bytes behind the end of the reply'
# A fresh connection that dies is an error, never a retry.
against close "$keepalive" 5s
equal 'keepalive: closed before any reply' "$ran $reason" \
	'1 probe-keepalive: all 3 requests failed, the last: the connection was closed before any reply'
against close-first "$keepalive" 5s
equal 'keepalive: a new connection that dies is no reconnect' \
	"$ran $(samples request) $(sed -n 's/^count \(request_errors\|reconnects\|connects\)//p' "$tmp/client.txt" | tr -d '\n')" '0 2  1 0 2'
against reset "$keepalive" 5s
equal 'keepalive: reset before any reply' "$ran $reason" \
	'1 probe-keepalive: all 3 requests failed, the last: receive: Connection reset by peer'

# ---- the locale changes nothing ----

if locale -a 2>/dev/null | grep -qi '^de_DE\.utf-\?8$'; then
	for probe in "$handshake" "$keepalive"; do
		"$probe" describe >"$tmp/c" && LC_ALL=de_DE.UTF-8 "$probe" describe >"$tmp/de"
		check "$(basename "$probe") describe under de_DE" cmp "$tmp/c" "$tmp/de"
	done
	pair "$keepalive" 127.0.0.1:0 5 pause=1.5ms
	grep -v '^sample' "$tmp/client.txt" >"$tmp/c"
	export LC_ALL=de_DE.UTF-8
	pair "$keepalive" 127.0.0.1:0 5 pause=1.5ms
	unset LC_ALL
	grep -v '^sample' "$tmp/client.txt" >"$tmp/de"
	sed -i "/^info host/d" "$tmp/c" "$tmp/de"
	check 'records under de_DE' cmp "$tmp/c" "$tmp/de"
	check 'records under de_DE are records' only_records
else
	skip 'locale de_DE' 'not generated here (ci/setup --all does it)'
fi

# ---- the contract's example ----

example=$TOP/docker/example-probe.py
for listen in "${loopback[@]}"; do
	pair "$example" "$listen" 20 size=100
	equal "example probe on $listen" "$ran $stopped $(samples echo) $(count echoed)" '0 0 20 20'
	check "example probe on $listen: only records" only_records
	check "example probe on $listen: only metrics that describe lists" only_described "$example"
done
"$example" run --peer 127.0.0.1:1 szie=1 2>/dev/null
equal 'example probe: bad option' $? 2
