#!/usr/bin/env bash
# probe-nagle: which ways to write a message stall, as the server's kernel counts it, on loopback and
# between two namespaces, and with peers that are not ours. All in a network namespace of its own,
# where nobody else's delayed ACKs are counted.
if [ -z "${NAGLE_ALONE:-}" ] && unshare -rn true 2>/dev/null; then
	NAGLE_ALONE=yes exec unshare -rn bash "$0"
fi
. "$(dirname "$0")/lib_probe.sh"
need python3
alone=${NAGLE_ALONE:-}
[ -z "$alone" ] || ip link set lo up

nagle=$BIN/probe-nagle

# The kernel's own word, past the probe: delayed-ACK timers in this namespace so far.
timers() {
	awk '$1 == "TcpExt:" { if (!n) { for (i = 2; i <= NF; i++) if ($i == "DelayedACKs") n = i } else print $n }' \
		/proc/net/netstat
}

# median METRIC: of its samples, in microseconds
median() {
	sed -n "s/^sample $1 ns //p" "$tmp/client.txt" | sort -n | awk '{ v[NR] = $1 } END { printf "%d", v[int((NR + 1) / 2)] / 1000 }'
}

# A machine too busy to run a half for as long as the timer makes a round of its own kind, now and
# then: hence most, or hardly any, instead of all and none.

# stalling LISTEN N OPTION...: every round but the first waits for a delayed ACK
stalling() {
	local listen=$1 n=$2 before
	shift 2
	before=$(timers)
	pair "$nagle" "$listen" "$n" "$@"
	equal "on $listen, ${*:-default}: both halves" \
		"$ran $stopped $(samples round_trip) $(samples first_round_trip) $(count messages) $(count connections)" \
		"0 0 $n 1 $((n + 1)) 1"
	between "on $listen, ${*:-default}: rounds stall" "$(count stalls)" $((n * 2 / 3)) "$n"
	[ -z "$alone" ] || equal "on $listen, ${*:-default}: by the timers that the kernel counts" \
		"$(count delayed_acks)" "$(($(timers) - before))"
	[ -z "$alone" ] || between "on $listen, ${*:-default}: each its own" "$(count delayed_acks)" \
		"$(count stalls)" $((n + 2))
	between "on $listen, ${*:-default}: 38 ms or more" "$(median round_trip)" 38000 1000000
}

# prompt LISTEN N SEGMENTS OPTION...: none does, and the client sent so many segments
prompt() {
	local listen=$1 n=$2 segments=$3
	shift 3
	pair "$nagle" "$listen" "$n" "$@"
	equal "on $listen, $*: both halves, and segments" \
		"$ran $stopped $(samples round_trip) $(samples first_round_trip) $(count messages) $(count segments)" \
		"0 0 $n 1 $((n + 1)) $segments"
	between "on $listen, $*: no stalls" "$(count stalls)" 0 $((n / 10))
	[ -z "$alone" ] || between "on $listen, $*: hardly a timer fired" "$(count delayed_acks)" 0 $((n / 10))
	between "on $listen, $*: no delayed ACK in the median" "$(median round_trip)" 0 24999
}

for listen in 127.0.0.1:0 '[::1]:0'; do
	stalling "$listen" 10
	between "on $listen: their second parts are held" "$(count held)" 8 10
	equal "on $listen: in two segments" "$(count segments)" 20
	check "on $listen: only records" only_records
	check "on $listen: only metrics that describe lists" only_described "$nagle"
	stalling "$listen" 5 quickack=once
	prompt "$listen" 100 200 nodelay=on
	prompt "$listen" 100 200 quickack=each
	for write in single writev cork; do
		prompt "$listen" 100 100 write=$write
		equal "on $listen, write=$write: nothing to hold" "$(count held)" ''
	done
done
listen=127.0.0.1:0
for options in size=2b size=1000b wait=spin 'wait=spin size=64kib' cpu=same; do
	# shellcheck disable=SC2086
	stalling $listen 3 $options
done
prompt $listen 50 100 nodelay=on wait=spin
prompt $listen 50 100 nodelay=on size=1000b
prompt $listen 50 50 write=writev wait=spin
prompt $listen 50 50 write=cork size=3b

# One way: nobody waits, whatever Nagle holds.
for options in nodelay=off nodelay=on 'nodelay=off wait=spin' 'nodelay=off size=1000b' 'write=single'; do
	# shellcheck disable=SC2086
	pair "$nagle" $listen 2000 pattern=stream $options
	equal "stream $options" \
		"$ran $stopped $(samples send) $(samples total) $(samples round_trip) $(count messages)" \
		'0 0 2000 1 0 2000'
	between "stream $options: none in thousands waits" "$(count stalls)" 0 2
	check "stream $options: only metrics that describe lists" only_described "$nagle"
done
pair "$nagle" $listen 1 pattern=stream
equal 'stream of one message' "$ran $(samples send) $(count messages) $(count segments)" '0 1 1 2'

# ---- both ends of a link: it is the far side's kernel that counts ----

if [ -n "$alone" ]; then
	cat >"$tmp/link.sh" <<'LINK'
unshare -n sleep 30 &
until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ] && [ -e /proc/$!/ns/net ]; do :; done
far="nsenter -n -t $!"
ip link add near type veth peer name far netns $! || exit 77
ip addr add 198.18.0.1/30 dev near && ip link set near up
$far ip addr add 198.18.0.2/30 dev far && $far ip link set far up
$far "$1" serve --listen 198.18.0.2:0 >"$2" &
until grep -q ready "$2"; do :; done
"$1" run --peer "$(sed -n 's/^ready //p' "$2")" --samples 5 --deadline 10s
kill %2 && wait %2
kill %1
LINK
	: >"$tmp/server.txt"
	before=$(timers)
	timeout 30 bash "$tmp/link.sh" "$nagle" "$tmp/server.txt" >"$tmp/client.txt" 2>"$tmp/log"
	if [ $? -eq 77 ]; then
		skip 'stalls over a link' "no veth here: $(tail -n 1 "$tmp/log")"
	else
		# One timer more at either end: whoever holds an ACK is kept from its core for as long.
		ours=$(($(timers) - before))
		between 'stalls over a link' "$(count stalls)" 3 5
		between 'stalls over a link: counted by the far kernel' "$(count delayed_acks)" "$(count stalls)" \
			$(($(count stalls) + 1))
		between 'stalls over a link: and not by ours' "$ours" 0 1
	fi
else
	skip 'stalls over a link' "$(unshare -rn true 2>&1)"
fi

# ---- a client that is not ours: the server says by itself what stalled ----

cat >"$tmp/client.py" <<'CLIENT'
import socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
sock = socket.create_connection((host, int(port)), timeout=5)
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[3]))
for i in range(int(sys.argv[2])):
    message = b"e" + bytes([i]) * 63
    sock.send(message[:10])
    time.sleep(float(sys.argv[4]))
    sock.send(message[10:])
    reply = b""
    while len(reply) < 64:
        reply += sock.recv(64)
    if reply != message:
        sys.exit("not an echo")
CLIENT
for nodelay in 0 1; do
	: >"$tmp/client.txt"
	start "$nagle" 127.0.0.1:0
	python3 "$tmp/client.py" "$addr" 20 $nodelay 0 2>"$tmp/log"
	ran=$?
	stop_server
	equal "a client in Python, nodelay=$nodelay" "$ran $stopped $(count messages)" '0 0 20'
	between "a client in Python, nodelay=$nodelay: stalls" "$(count stalls)" $((nodelay ? 0 : 15)) $((nodelay ? 4 : 19))
done

# A rest that comes late, but whose first part was acknowledged at once, is no stall. One of the five may be:
# the server was kept from its core until the timer fired.
: >"$tmp/client.txt"
start "$nagle" 127.0.0.1:0 quickack=each
python3 "$tmp/client.py" "$addr" 5 1 0.06 2>"$tmp/log"
ran=$?
stop_server
equal 'a client that pauses between the parts, quickack=each' "$ran $stopped $(count messages)" '0 0 5'
between 'a client that pauses between the parts, quickack=each: stalls' "$(count stalls)" 0 1

# ---- a server that is not ours: the client sees the stall too ----

cat >"$tmp/echo.py" <<'ECHO'
import socket
listener = socket.create_server(("127.0.0.1", 0))
print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    sock, _ = listener.accept()
    while True:
        message = b""
        while len(message) < 64:
            got = sock.recv(64 - len(message))
            if not got:
                break
            message += got
        if len(message) < 64:
            break
        sock.sendall(message)
ECHO
: >"$tmp/server.txt"
python3 "$tmp/echo.py" >"$tmp/server.txt" &
server=$!
until_true 20 grep -q ready "$tmp/server.txt"
addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
# foreign OPTION SEGMENTS
foreign() {
	"$nagle" run --peer "$addr" --samples 5 --deadline 10s "$1" >"$tmp/client.txt" 2>"$tmp/log"
	equal "a server in Python, $1" "$? $(samples round_trip) $(count segments)" "0 5 $2"
}
foreign nodelay=off 10
between 'a server in Python, nodelay=off: stalls' "$(median round_trip)" 38000 1000000
foreign nodelay=on 10
between 'a server in Python, nodelay=on: does not' "$(median round_trip)" 0 24999
foreign write=writev 5
between 'a server in Python, write=writev: does not' "$(median round_trip)" 0 24999
kill "$server"
wait "$server" 2>/dev/null
server=

# ---- what cannot be, and peers that misbehave ----

for bad in 'size=1b' 'size=65kib' 'write=twice' 'nodelay=maybe' 'quickack=always' 'pattern=ring'; do
	"$nagle" check --samples 1 "$bad" >"$tmp/out" 2>"$tmp/log"
	equal "check refuses $bad" "$? $(wc -c <"$tmp/out") $(head -n 1 "$tmp/log" | grep -c "option '${bad%=*}'")" '2 0 1'
done
"$nagle" check --samples 1 wait=spin cpu=same 2>/dev/null
equal 'check refuses to spin on one core' $? 2
"$nagle" run --peer 127.0.0.1:1 --samples 1 >"$tmp/out" 2>"$tmp/log"
equal 'nobody listens' "$? $(tail -n 1 "$tmp/log" | grep -c 'connect: Connection refused')" '1 1'
for wait in block spin; do
	against mute "$nagle" 300ms wait=$wait
	equal "wait=$wait: a mute peer" "$ran $reason" \
		'1 probe-nagle: deadline of 300ms passed: receive: no answer before the deadline'
done
against "$(printf 'z%.0s' {1..64})" "$nagle" 5s
equal 'a peer that does not echo' "$ran $reason $(samples round_trip)" '1 probe-nagle: the reply is not an echo of the message 0'
against close "$nagle" 5s write=single
equal 'a peer that closes' "$ran $reason" \
	'1 probe-nagle: receive: the peer closed the connection after 0 of 64 bytes'
