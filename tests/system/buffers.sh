#!/usr/bin/env bash
# Probe buffers: what a blocked sender got rid of, against one that really blocks; windows closed,
# probed and opened; the law of window and distance over a link; limits, and peers that misbehave.
. "$(dirname "$0")/lib_probe.sh"
need unshare ip python3

# The kernel's counters are those of a network namespace: they must be ours alone.
if [ -z "${INSIDE:-}" ]; then
	own=(unshare -n)
	[ "$(id -u)" -eq 0 ] || own=(unshare -Urmn)
	if ! "${own[@]}" true 2>"$tmp/log"; then
		skip buffers "no network namespace: $(tail -n 1 "$tmp/log")"
		exit 0
	fi
	rm -rf "$tmp"
	INSIDE=yes exec "${own[@]}" "$0"
fi
ip link set lo up

buffers=$BIN/probe-buffers
small=(sndbuf=16kib rcvbuf=16kib)

# values METRIC: of all samples, one a line
values() {
	sed -n "s/^sample $1 [a-z_]* //p" "$tmp/client.txt"
}
# all METRIC LOW HIGH: how many samples lie there
all() {
	values "$1" | awk -v l="$2" -v h="$3" '$1 >= l && $1 <= h { n++ } END { print n + 0 }'
}
total() {
	values "$1" | awk '{ sum += $1 } END { printf "%d\n", sum }'
}

# ---- a reader that is asleep ----

for listen in 127.0.0.1:0 '[::1]:0'; do
	# A machine that stands still for 0.15 s before the reader wakes has the window probed: at most three times.
	for _ in 1 2 3; do
		pair "$buffers" "$listen" 3 "${small[@]}"
		[ "$(count window_probes)" = 0 ] && break
	done
	equal "block on $listen: both halves exit 0" "$ran $stopped" '0 0'
	equal "block on $listen: twice what was asked for" \
		"$(values sndbuf_effective | sort -u) $(values rcvbuf_effective | sort -u)" '32768 32768'
	equal "block on $listen: more than one buffer, less than both with what the kernel adds" \
		"$(all blocked 32768 98304)" 3
	equal "block on $listen: the server read it all" "$(count received) $(count connections)" "$(total blocked) 3"
	equal "block on $listen: each window closed once, none probed yet" "$(count zero_windows) $(count window_probes)" '3 0'
	equal "block on $listen: writable soon after" "$(all writable_after 1000 1000000000)" 3
	check "block on $listen: only records" only_records
	check "block on $listen: only metrics that describe lists" only_described "$buffers"
done

# A sender that really blocks: one write after the other, until one does not come back.
cat >"$tmp/blocking.py" <<'BLOCKING'
import socket, threading
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
listener.bind(("127.0.0.1", 0))
listener.listen()
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client.connect(listener.getsockname())
reader, _ = listener.accept()
sent = 0
def write():
    global sent
    while True:
        sent += client.send(bytes(1024))
threading.Thread(target=write, daemon=True).start()
before = -1
while sent != before:
    before = sent
    threading.Event().wait(0.5)
print(sent)
BLOCKING
pair "$buffers" 127.0.0.1:0 1 "${small[@]}" size=1kib
blocking=$(timeout 20 python3 "$tmp/blocking.py")
between 'block: as many bytes as a sender that really blocks' "$(values blocked)" \
	$((blocking * 8 / 10)) $((blocking * 12 / 10))

# The kernel asks about a closed window after an RTO (0.2 s), then after twice as long.
pair "$buffers" 127.0.0.1:0 2 "${small[@]}" hold=400ms
between 'hold: zero-window probes' "$(count window_probes)" 2 4
equal 'hold: the same bytes, the same windows' "$(all blocked 32768 98304) $(count zero_windows)" '2 2'

pair "$buffers" 127.0.0.1:0 2
equal 'auto: the kernel gives more than a small buffer' \
	"$ran $(all blocked 131072 100000000)" '0 2'
pair "$buffers" 127.0.0.1:0 2 sndbuf=256kib rcvbuf=16kib
equal 'a buffer each: as set' "$(values sndbuf_effective | sort -u) $(values rcvbuf_effective | sort -u)" '524288 32768'
for options in 'wait=spin' 'cpu=same' 'size=1b' 'size=1mib'; do
	pair "$buffers" 127.0.0.1:0 2 "${small[@]}" "$options"
	equal "block $options" "$ran $stopped $(all blocked 8192 98304)" '0 0 2'
done

# ---- a reader that reads ----

pair "$buffers" 127.0.0.1:0 2 pattern=stream interval=100ms rcvbuf=64kib
equal 'stream: both halves exit 0' "$ran $stopped" '0 0'
equal 'stream: a value of each metric for each sample' \
	"$(sed -n 's/^sample \([a-z_]*\) .*/\1/p' "$tmp/client.txt" | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" \
	'2 2 2 2 2 2 2 2 '
equal 'stream: the window is not larger than the buffer' "$(all window 1000 131072)" 2
between 'stream: the server read at least what was measured' "$(count received)" \
	$(($(total throughput) / 10)) 1e15
check 'stream: only records' only_records
check 'stream: only metrics that describe lists' only_described "$buffers"
pair "$buffers" 127.0.0.1:0 1 pattern=stream interval=100ms wait=spin
equal 'stream wait=spin' "$ran $stopped $(all throughput 1000000 1000000000000)" '0 0 1'

# ---- over a link ----

cat >"$tmp/far.sh" <<'FAR'
exec "$BIN/probe-buffers" serve --listen "$RTTLINK_FAR:7000" --deadline 60s $OPTIONS >"$READY"
FAR
cat >"$tmp/near.sh" <<'NEAR'
end=$((SECONDS + 10))
until grep -q '^ready' "$READY"; do [ "$SECONDS" -lt "$end" ] || exit 1; read -r -t 0.02 _ <> <(:) || true; done
[ -z "$RENO" ] || echo reno >/proc/sys/net/ipv4/tcp_congestion_control
exec "$BIN/probe-buffers" run --peer "$RTTLINK_FAR:7000" --samples 1 --deadline 30s $OPTIONS
NEAR
# linked PROFILE OPTION...: with RENO=yes under congestion control reno
linked() {
	local profile=$1
	shift
	: >"$tmp/server.txt"
	READY=$tmp/server.txt OPTIONS=$* RENO=${RENO:-} timeout 60 "$BIN/rttlink" run --local \
		--profile "$TOP/netem/$profile.yaml" --server "bash '$tmp/far.sh'" -- \
		bash "$tmp/near.sh" >"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
}

# steady METRIC LOW HIGH PROFILE OPTION...: one figure of one flow, which a machine that stands still for some
# 50 ms moves as far: linked() until it lies there, at most three times.
steady() {
	for _ in 1 2 3; do
		linked "${@:4}"
		within "$(values "$1")" "$2" "$3" && return
	done
}

if "$BIN/rttlink" run --local --profile "$TOP/netem/wan50.yaml" -- true 2>"$tmp/log"; then
	steady writable_after 70000000 130000000 wan50 "${small[@]}"
	equal 'wan50: the reader asleep' "$ran $(all blocked 32768 98304)" '0 1'
	# Told of room, it is filled, and acknowledged: one and a half round trips.
	between 'wan50: writable again after 1.5 RTT' "$(values writable_after)" 70000000 130000000
	linked wan50 sndbuf=256kib rcvbuf=16kib
	between 'wan50: a third of a large buffer through a small window' "$(values writable_after)" 250000000 2000000000
	steady window_used_permille 850 1150 wan50 pattern=stream rcvbuf=64kib interval=100ms
	between 'wan50: one window a round trip' "$(values window_used_permille)" 850 1150
	between 'wan50: throughput is window / R' "$(values throughput)" \
		$(($(values window) * 20 * 80 / 100)) $(($(values window) * 20 * 110 / 100))
	between 'wan50: and the kernel says so' "$(values rwnd_limited_permille)" 50 1010
	linked wan50 pattern=stream sndbuf=64kib interval=100ms
	between "wan50: the sender's buffer instead, says the kernel" "$(values sndbuf_limited_permille)" 200 1010
	between 'wan50: then the window is not used up' "$(values window_used_permille)" 1 800
	RENO=yes steady window_used_permille 850 1150 wan50 pattern=stream rcvbuf=64kib interval=100ms
	if grep -q '^info congestion reno$' "$tmp/client.txt"; then
		between 'reno: one window a round trip' "$(values window_used_permille)" 850 1150
		between 'reno: nothing else holds the flow' "$(values rwnd_limited_permille)" 800 1010
	else
		skip 'buffers under reno' 'this kernel does not let us choose it'
	fi
else
	skip 'buffers over a link' "$(tail -n 1 "$tmp/log")"
fi

# ---- limits and bad input ----

start "$buffers" 127.0.0.1:0
"$buffers" run --peer "$addr" --samples 1 sndbuf=500mib >"$tmp/out" 2>"$tmp/log"
equal 'sndbuf beyond the cap' "$? $(grep -c ^sample "$tmp/out") $(tail -n 1 "$tmp/log" | sed 's/at [0-9]*/at N/')" \
	'77 0 probe-buffers: the kernel caps SO_SNDBUF at N bytes (net.core.wmem_max), 524288000 were asked for'
stop_server
timeout 10 "$buffers" serve --listen 127.0.0.1:0 rcvbuf=500mib >"$tmp/out" 2>"$tmp/log"
equal 'rcvbuf beyond the cap' "$? $(grep -c ^ready "$tmp/out") $(tail -n 1 "$tmp/log" | sed 's/at [0-9]*/at N/')" \
	'77 0 probe-buffers: the kernel caps SO_RCVBUF at N bytes (net.core.rmem_max), 524288000 were asked for'

# refused TEXT OPTION...
refused() {
	local text=$1
	shift
	"$buffers" check --samples 1 "$@" >"$tmp/out" 2>"$tmp/log"
	equal "check $*" "$? $(wc -c <"$tmp/out") $(head -n 1 "$tmp/log")" "2 0 probe-buffers: $text"
}
refused "option 'sndbuf': size '64' has no unit: expected one such as 64b, 64kib or 1mib" sndbuf=64
refused "option 'rcvbuf': 0b is not within 1b..1073741823b" rcvbuf=0b
refused "option 'rcvbuf': 1gib is not within 1b..1073741823b" rcvbuf=1gib
refused 'wait=spin needs a core for each half: not with cpu=same' wait=spin cpu=same
check 'check of what can be' "$buffers" check --samples 1 sndbuf=1mib rcvbuf=auto

# ---- ends, and peers that misbehave ----

"$buffers" run --peer 127.0.0.1:1 --samples 1 >"$tmp/out" 2>"$tmp/log"
equal 'nobody listens' "$? $(tail -n 1 "$tmp/log")" '1 probe-buffers: connect: Connection refused'
start "$buffers" 127.0.0.1:0 "${small[@]}"
"$buffers" run --peer "$addr" --samples 1 --deadline 300ms "${small[@]}" hold=60s >"$tmp/out" 2>"$tmp/log"
equal 'the deadline comes while the reader sleeps' "$? $(grep -c ^sample "$tmp/out") $(tail -n 1 "$tmp/log")" \
	'1 0 probe-buffers: deadline of 300ms passed: send: the peer takes nothing'
python3 - "$addr" >"$tmp/asleep" <<'ASLEEP' &
import socket, struct, sys, time
host, port = sys.argv[1].split(":")
sock = socket.create_connection((host, int(port)))
sock.sendall(struct.pack("=QQ", 2, 0) + bytes(100))
sock.recv(32)
print("asleep", flush=True)
time.sleep(30)
ASLEEP
asleep=$!
until_true 20 grep -q asleep "$tmp/asleep"
before=$EPOCHREALTIME
stop_server
took=$((${EPOCHREALTIME/[.,]/} - ${before/[.,]/}))
kill "$asleep" 2>/dev/null
equal 'SIGTERM prints the counters and exits 0' "$stopped $(sed -n 's/^count zero_windows //p' "$tmp/server.txt" | wc -l)" '0 1'
between 'within a second of SIGTERM' "$took" 0 1000000

for pattern in block stream; do
	against mute "$buffers" 300ms pattern=$pattern
	equal "$pattern: a mute peer" "$ran $reason" \
		'1 probe-buffers: deadline of 300ms passed: receive: no answer before the deadline'
done
against reset "$buffers" 5s pattern=stream
equal 'stream: reset' "$ran $reason" \
	'1 probe-buffers: all 3 connections failed, the last: receive: Connection reset by peer'

# A server that miscounts.
cat >"$tmp/liar.py" <<'LIAR'
import socket, struct, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
def serve(sock):
    sock.recv(16, socket.MSG_WAITALL)
    sock.sendall(struct.pack("=QqqQ", 1, 0, 0, 65536))
    read = 0
    while got := len(sock.recv(65536)):
        read += got
    sock.sendall(struct.pack("=QqqQ", 1, time.monotonic_ns(), read - 1, 65536))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
LIAR
: >"$tmp/server.txt"
python3 "$tmp/liar.py" >"$tmp/server.txt" &
server=$!
until_true 20 grep -q ready "$tmp/server.txt"
"$buffers" run --peer "$(sed -n 's/^ready //p' "$tmp/server.txt")" --samples 1 --deadline 20s pattern=stream \
	interval=50ms >"$tmp/out" 2>"$tmp/log"
equal 'a server that miscounts' "$? $(grep -c ^sample "$tmp/out") $(tail -n 1 "$tmp/log" | tr -d 0-9)" \
	'1 0 probe-buffers:  bytes were written, the server read '
kill "$server"
wait "$server" 2>/dev/null
server=
