#!/usr/bin/env bash
# probe-datagram: where messages are lost, that the sum closes, what a receiver makes of senders that
# are not ours and a sender of receivers that lie, and over a link that loses.
if [ -z "${ALONE:-}" ] && unshare -rnm true 2>/dev/null; then
	# The loopback of a namespace of our own counts our packets only.
	ALONE=yes exec unshare -rnm "$0"
fi
. "$(dirname "$0")/lib_probe.sh"
need python3

datagram=$BIN/probe-datagram
holder='' link=''
end_all() {
	# shellcheck disable=SC2086
	kill $server $holder $link 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap end_all EXIT
[ -n "${ALONE:-}" ] && ip link set lo up

# closes NAME SENT: both halves are well, and the sum comes out by what each of them counted
closes() {
	equal "$1: sent = delivered + lost, a delay for each that came, none for the others" \
		"$ran $stopped $(count sent) $(($(count delivered) + $(count lost_network) + $(count lost_buffer))) $(samples send) $(samples delay) $(count delay_errors)" \
		"0 0 $2 $2 $2 $(count delivered) $(($2 - $(count delivered)))"
	check "$1: only records" only_records
	check "$1: only metrics that describe lists" only_described "$datagram"
}

# all NAME SENT OPTION...: over both families everything arrives, in order
all() {
	local name=$1 n=$2 listen
	shift 2
	for listen in 127.0.0.1:0 '[::1]:0'; do
		pair "$datagram" "$listen" "$n" "$@"
		closes "$name on $listen" "$n"
		equal "$name on $listen: delivered, in order, copies, lost" \
			"$(count delivered) $(count in_order) $(count duplicates) $(count lost_network) $(count lost_buffer)" "$n $n 0 0 0"
	done
}

# carried NAME 'HEADER-BYTES PACKETS': exact where no one else uses the interface
carried() {
	if [ -n "${ALONE:-}" ]; then
		equal "$1: header bytes a message, packets" \
			"$(sed -n 's/^sample header_bytes bytes //p' "$tmp/client.txt") $(count packets)" "$2"
	else
		skip "$1: header bytes a message, packets" 'others use this loopback too'
	fi
}

all 'udp, paced' 300 pace=1ms
carried 'udp, paced, IPv6' '48 300'
pair "$datagram" 127.0.0.1:0 300 pace=1ms
carried 'udp, paced, IPv4' '28 300'
# Room for what comes while the receiver is kept from its core, as far as this kernel gives it.
room=$(($(cat /proc/sys/net/core/rmem_max 2>/dev/null || echo 212992)))
[ "$room" -lt 1048576 ] || room=1048576
pair "$datagram" 127.0.0.1:0 100 pace=1ms size=65507b rcvbuf=${room}b
closes 'udp, the largest datagram' 100
carried 'udp, the largest datagram' '28 100'
all 'udp, paced, the least message' 100 pace=1ms size=16b wait=spin
all tcp 20000 transport=tcp
all 'tcp, spinning' 20000 transport=tcp wait=spin
all 'tcp, one large message after the other' 20 transport=tcp size=1mib
all 'tcp, Nagle' 2000 transport=tcp nodelay=off
all 'tcp, a slow receiver with a small buffer' 200 transport=tcp work=1ms rcvbuf=4kib
pair "$datagram" 127.0.0.1:0 20000 transport=tcp
if [ -n "${ALONE:-}" ]; then
	between 'tcp, blasted: fewer header bytes than a segment each' \
		"$(sed -n 's/^sample header_bytes bytes //p' "$tmp/client.txt")" 0 103
	pair "$datagram" 127.0.0.1:0 200 transport=tcp pace=1ms
	between 'tcp, paced: a segment each, and acknowledgements' \
		"$(sed -n 's/^sample header_bytes bytes //p' "$tmp/client.txt")" 60 108
fi
if [ "$(nproc)" -gt 1 ]; then
	all 'tcp, two cores' 20000 transport=tcp cpu=split
fi
pair "$datagram" 127.0.0.1:0 20 pace=20ms
between 'pace: at least so long between two sends' \
	"$(sed -n 's/^sample delay ns //p' "$tmp/client.txt" | sort -n | head -n 1)" 1000 20000000
before=${EPOCHREALTIME/[.,]/}
pair "$datagram" 127.0.0.1:0 20 pace=20ms
between 'pace: 20 messages at 20 ms, us' "$((${EPOCHREALTIME/[.,]/} - before))" 380000 5000000

# ---- a full buffer ----

for listen in 127.0.0.1:0 '[::1]:0'; do
	pair "$datagram" "$listen" 20000 rcvbuf=16kib work=1ms
	closes "udp blasted at a slow receiver on $listen" 20000
	between "udp blasted at a slow receiver on $listen: nearly all lost" "$(count lost_buffer)" 18000 19999
	equal "udp blasted at a slow receiver on $listen: nowhere but in the buffer" "$(count lost_network)" 0
	[ -n "${ALONE:-}" ] && equal "udp blasted at a slow receiver on $listen: the namespace counts the same" \
		"$(count buffer_overflows)" "$(count lost_buffer)"
	pair "$datagram" "$listen" 100 rcvbuf=16kib work=1ms pace=4ms
	closes "udp paced at a slow receiver on $listen" 100
	equal "udp paced at a slow receiver on $listen: nothing lost" "$(count delivered)" 100
done
for cpu in same split; do
	[ "$(nproc)" -gt 1 ] || continue
	pair "$datagram" 127.0.0.1:0 200000 rcvbuf=4kib cpu=$cpu
	closes "200,000 over udp, cpu=$cpu" 200000
	equal "200,000 over udp, cpu=$cpu: nothing lost in the network" "$(count lost_network)" 0
done
start "$datagram" 127.0.0.1:0 rcvbuf=1gib
equal 'a buffer beyond the limit of the kernel' \
	"$(wait "$server"; echo $?) $(sed 's/most ([^)]*), not/most, not/; s/gives [0-9]*/gives N/' "$tmp/server.log")" \
	'77 probe-datagram: rcvbuf: the kernel gives N bytes at most, not 1073741824'
server=

# ---- what cannot be ----

# refused REASON OPTION...
refused() {
	local why=$1
	shift
	"$datagram" check --samples 1 "$@" >"$tmp/out" 2>"$tmp/log"
	equal "refused: $*" "$? $(head -n 1 "$tmp/log")" "2 probe-datagram: $why"
}
refused 'transport=udp: a message has 65507 bytes at most, not 65508' size=65508b
refused 'nodelay=off goes with transport=tcp' nodelay=off
refused 'wait=spin needs a core for each half: not with cpu=same' wait=spin cpu=same
refused "option 'size': 15b is out of range: expected 16b to 1mib" size=15b
"$datagram" run --peer 127.0.0.1:1 --samples 1 >"$tmp/out" 2>"$tmp/log"
equal 'nobody listens' "$? $(tail -n 1 "$tmp/log")" '1 probe-datagram: connect: Connection refused'
for wait in block spin; do
	against mute "$datagram" 300ms wait=$wait
	equal "wait=$wait: a mute peer" "$ran $reason" \
		'1 probe-datagram: deadline of 300ms passed: receive: no answer before the deadline'
done
against close "$datagram" 5s
equal 'a peer that closes' "$ran $reason" \
	"1 probe-datagram: receive: the peer closed the connection after 0 of $((9 * 8 + 512)) bytes"

# ---- other senders, and other receivers ----

cat >"$tmp/other.py" <<'OTHER'
import socket, struct, sys, time
MAGIC, ANSWER = 0x646174616772616d, 9 * 8 + 512
# status, clock, port; delivered, in order, copies, lost in network, in buffer, of the namespace
def take(sock, size):
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            break
        data += got
    return data
def answer(sock):
    data = take(sock, ANSWER)
    return struct.unpack("9q", data[:72]), data[72:].split(b"\0")[0].decode()
def send(addr, kind):
    host, port = addr.rsplit(":", 1)
    control = socket.create_connection((host, int(port)), timeout=10)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((host, 0))
    size = 200 if kind == "damaged" else 64
    hello = [MAGIC, 10, size, 0, udp.getsockname()[1]]
    if kind == "magic":
        hello[0] = 1
    if kind == "many":
        hello[1] = 10000001
    if kind == "tcp":
        hello[3] = 1
    control.sendall(struct.pack("5q", *hello))
    ready, reason = answer(control)
    if reason:
        return print(reason)
    to = (host, ready[2])
    numbers, told = [0, 2, 2, 1, 5, 5, 5, 4], 10
    if kind == "stranger":
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(64), to)
    if kind == "none":
        numbers = []
    if kind == "high":
        numbers = [10]
    if kind == "few":
        told = 5
    if kind == "size":
        size = 63
    for number in numbers:
        udp.sendto(struct.pack("2q", number, time.monotonic_ns()).ljust(size, b"\0"), to)
    if kind == "future":
        udp.sendto(struct.pack("2q", 9, time.monotonic_ns() + 10**12).ljust(size, b"\0"), to)
    if kind == "damaged":
        # As a link damages them: the checksum (here 1) is wrong; of messages of this size the
        # socket looks at it when it is read. Three of those not sent above.
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        for number in (3, 6, 7):
            body = struct.pack("2q", number, time.monotonic_ns()).ljust(size, b"\0")
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, 0, 0, 64, 17, 0, socket.inet_aton(host), socket.inet_aton(host))
            raw.sendto(ip + struct.pack("!4H", hello[4], to[1], 8 + size, 1) + body, (host, 0))
    if kind == "gone":
        return
    control.sendall(struct.pack("q", told))
    account, reason = answer(control)
    if reason:
        return print(reason)
    control.sendall(struct.pack("q", told))
    delays = struct.unpack("10q", take(control, 80))
    print(*account[3:8], *(int(delay >= 0) for delay in delays))
def receive(kind):
    listener = socket.create_server(("127.0.0.1", 0))
    print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    control, _ = listener.accept()
    hello = struct.unpack("5q", take(control, 40))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    clock = time.monotonic_ns() - (10**12 if kind == "clock" else 0)
    reason = b"not today" if kind == "refuses" else b""
    control.sendall(struct.pack("9q", -len(reason), clock, udp.getsockname()[1], *[0] * 6) + reason.ljust(512, b"\0"))
    if not take(control, 8):
        return
    account = {"honest": (3, 3, 0, 0, 0), "short": (2, 2, 0, 0, 0), "more": (3, 3, 0, 1, 0),
        "negative": (3, 3, 0, 1, -1), "delays": (2, 2, 0, 1, 0)}[kind]
    control.sendall(struct.pack("9q", 0, 0, 0, *account, 0) + bytes(512))
    take(control, 8)
    came = 2 if kind == "short" else 3
    control.sendall(struct.pack("%dq" % hello[1], *[7] * came + [-1] * (hello[1] - came)))
    take(control, 1)
if sys.argv[1] == "receive":
    receive(sys.argv[2])
else:
    send(sys.argv[2], sys.argv[3])
OTHER

start "$datagram" 127.0.0.1:0 drain=50ms
# from NAME KIND EXPECTED
from() {
	equal "a sender $1" "$(timeout 20 python3 "$tmp/other.py" send "$addr" "$2" 2>&1 | tail -n 1)" "$3"
}
from 'with holes, copies, one overtaken and no tail' plain '5 3 3 5 0 1 1 1 0 1 1 0 0 0 0'
from 'beside whom a stranger sends' stranger '5 3 3 5 0 1 1 1 0 1 1 0 0 0 0'
from 'whose messages are all lost' none '0 0 0 10 0 0 0 0 0 0 0 0 0 0 0'
from 'of a number too high' high 'message 10 came, but they end before 10'
from 'of more than it says' few 'message 5 came, but only 5 were sent'
from 'of messages too short' size 'a message of 63 bytes came, expected 64'
from 'ahead of time' future 'message 9 came before it was sent'
from 'with another transport' tcp 'the two halves have different options: transport'
from 'of another protocol' magic 'not the hello of probe datagram'
from 'of too many' many 'not the hello of probe datagram'
from 'that breaks off' gone ''
if [ -n "${ALONE:-}" ]; then
	from 'whose messages are damaged on the way: no buffer dropped them' damaged '5 3 3 5 0 1 1 1 0 1 1 0 0 0 0'
	equal 'the kernel saw the damage' "$(awk '$1 == "Udp:" { print $8 }' /proc/net/snmp | tail -n 1)" 3
fi
expected='110 106 6 20 0'
[ -n "${ALONE:-}" ] && expected='115 109 9 25 0'
"$datagram" run --peer "$addr" --samples 100 --deadline 30s pace=1ms >"$tmp/client.txt" 2>"$tmp/log"
ran=$?
exec 3<>"/dev/tcp/127.0.0.1/${addr##*:}"
before=${EPOCHREALTIME/[.,]/}
stop_server
took=$((${EPOCHREALTIME/[.,]/} - before))
exec 3<&-
equal 'the server counted what was accounted for, and ends with a connection open' \
	"$ran $stopped $(count delivered) $(count in_order) $(count duplicates) $(count lost_network) $(count lost_buffer)" "0 0 $expected"
between 'within a second of SIGTERM' "$took" 0 1000000

# lied KIND EXPECTED: against a receiver that is not ours
lied() {
	: >"$tmp/server.txt"
	python3 "$tmp/other.py" receive "$1" >"$tmp/server.txt" 2>>"$tmp/log" &
	server=$!
	until_true 20 grep -q ready "$tmp/server.txt"
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
	timeout 20 "$datagram" run --peer "$addr" --samples 3 --deadline 10s >"$tmp/client.txt" 2>"$tmp/log"
	equal "a receiver: $1" "$? $(samples delay) $(tail -n 1 "$tmp/log")" "$2"
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}
lied honest '0 3 '
sum='1 0 probe-datagram: the sum does not close: 3 sent,'
lied short "$sum 2 delivered (2 with a delay), 0 lost by the network, 0 in the buffer"
lied more "$sum 3 delivered (3 with a delay), 1 lost by the network, 0 in the buffer"
lied negative "$sum 3 delivered (3 with a delay), 1 lost by the network, -1 in the buffer"
lied delays "$sum 2 delivered (3 with a delay), 1 lost by the network, 0 in the buffer"
lied refuses '1 0 probe-datagram: the receiver: not today'
lied clock '77 0 probe-datagram: the halves have no clock in common: both must run on one machine'

# ---- over links ----

separate() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# link_up KEY...: a profile of these lines between our namespace and another one
link_up() {
	{ echo 'schema: 1'; printf '%s\n' "${@:2}"; } >"$tmp/link.yaml"
	rm -f "$tmp/stdin"
	mkfifo "$tmp/stdin"
	: >"$tmp/link.txt"
	"$BIN/rttlink" up --profile "$tmp/link.yaml" --seed "$1" --near "/proc/$$/ns/net" \
		--far "/proc/$holder/ns/net" <"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
	link=$!
	exec 7>"$tmp/stdin"
	until_true 10 grep -q '^ready' "$tmp/link.txt"
}

link_down() {
	kill -TERM "$link"
	wait "$link"
	link=
	exec 7>&-
}

# far_pair N OPTION...: the serving half behind the link
far_pair() {
	local n=$1
	shift
	: >"$tmp/server.txt"
	nsenter --net="/proc/$holder/ns/net" "$datagram" serve --listen 198.18.0.2:0 --deadline 60s "$@" >"$tmp/server.txt" 2>"$tmp/server.log" &
	server=$!
	until_true 20 grep -q '^ready ' "$tmp/server.txt"
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
	"$datagram" run --peer "$addr" --samples "$n" --deadline 30s "$@" >"$tmp/client.txt" 2>"$tmp/client.log"
	ran=$?
	stop_server
}

if [ -n "${ALONE:-}" ]; then
	unshare -n sleep 300 >/dev/null 2>&1 &
	holder=$!
	until_true 5 separate "$holder"
fi
if [ -z "$holder" ] || ! link_up 7 'rtt: 20ms' 'loss: 2%'; then
	skip 'over links' "$(tail -n 1 "$tmp/link.log" 2>/dev/null)"
	exit 0
fi
far_pair 1000 pace=500us rcvbuf=${room}b
closes 'udp, 2% lost' 1000
between 'udp, 2% lost: by the network' "$(count lost_network)" 6 36
equal 'udp, 2% lost: not in the buffer' "$(count lost_buffer) $(count buffer_overflows)" '0 0'
between 'udp, 2% lost: half a round trip, ns' "$(sed -n 's/^sample delay ns //p' "$tmp/client.txt" | sort -n | sed -n 480p)" 1000000 100000000
equal 'udp, 2% lost: header bytes a message' "$(sed -n 's/^sample header_bytes bytes //p' "$tmp/client.txt")" 28
lost=$(count lost_network)
link_down
link_up 7 'rtt: 20ms' 'loss: 2%'
far_pair 1000 pace=500us rcvbuf=${room}b
equal 'udp, the same seed: as many lost' "$ran $(count lost_network)" "0 $lost"
link_down
link_up 7 'rtt: 20ms' 'loss: 2%'
far_pair 1000 pace=500us transport=tcp
closes 'tcp, 2% lost' 1000
equal 'tcp, 2% lost: all there, in order' "$(count delivered) $(count in_order) $(count lost_network)" '1000 1000 0'
between 'tcp, 2% lost: sent again' "$(count retransmits)" 4 100
between 'tcp, 2% lost: what comes behind a lost one waits for it' "$(count late)" 20 1000
link_down
