#!/usr/bin/env bash
# probe-pool on loopback: exact connections by the server's counter, caps, and peers that misbehave.
. "$(dirname "$0")/lib_probe.sh"
need python3

pool=$BIN/probe-pool
listen=127.0.0.1:0

# exact NAME SAMPLES CONNECTIONS CLOSED_IDLE OPTION...: both halves agree, and nothing was lost
exact() {
	local name=$1 n=$2 connections=$3 closed=$4
	shift 4
	pair "$pool" "$listen" "$n" "$@"
	equal "pool $name" \
		"$ran $stopped $(samples request) $(samples wait) $(samples total) $(count connections) $(count connects) $(count requests) $(count closed_idle) $(count request_errors) $(count reconnects) $(count lost_idle)" \
		"0 0 $n $n 1 $connections $connections $n $closed 0 0 0"
}

# value_of METRIC AWK-EXPRESSION over its samples v[1..n], sorted
value_of() {
	sed -n "s/^sample $1 ns //p" "$tmp/client.txt" | sort -n | awk "{ v[NR] = \$1; n = NR } END { print $2 }"
}

# ---- the number of connections ----

for listen in 127.0.0.1:0 '[::1]:0'; do
	exact "waves, idle=2, on $listen" 100 82 80 workers=10 load=waves idle=2
	check "pool on $listen: only records" only_records
	check "pool on $listen: only metrics that describe lists" only_described "$pool"
	equal "pool on $listen: waited for 82 connections, for 18 not at all" \
		"$(grep -c '^sample wait ns 0$' "$tmp/client.txt") $(grep -c '^sample wait ns [1-9]' "$tmp/client.txt")" '18 82'
	exact "waves, idle=10, on $listen" 100 10 0 workers=10 load=waves idle=10
done
listen=127.0.0.1:0
exact 'waves, idle=0' 100 100 100 workers=10 load=waves idle=0
exact 'waves, fifo' 100 82 80 workers=10 load=waves idle=2 policy=fifo
exact 'waves, more idle than workers' 100 10 0 workers=10 load=waves idle=1000
exact 'waves, max=4: in turns' 100 4 0 workers=10 load=waves idle=4 max=4
# The last four of a wave come back to an empty queue: two are kept, two are opened anew.
exact 'waves, idle=2 max=4' 100 22 20 workers=10 load=waves idle=2 max=4
exact 'waves of one' 20 1 0 workers=1 load=waves idle=1
exact 'idle=50' 2000 50 0 idle=50
exact 'idle=50, fifo' 2000 50 0 idle=50 policy=fifo
exact 'wait=spin' 500 50 0 idle=50 wait=spin
exact 'fewer requests than workers' 7 7 5
exact 'one worker' 100 1 0 workers=1 idle=1
exact 'one worker, idle=0' 100 100 100 workers=1 idle=0
exact 'idle=8 max=8' 2000 8 0 idle=8 max=8
exact 'max=1' 200 1 0 idle=1 max=1
exact 'a large body' 40 10 0 workers=10 idle=10 size=4mib
exact '1000 workers' 5000 1000 0 workers=1000 idle=1000

# On one core many replies have come whenever the client gets to run.
pair "$pool" "$listen" 2000 idle=2 cpu=same
equal 'pool idle=2: the halves agree' \
	"$ran $(count connections) $(count requests) $(count closed_idle)" "0 $(count connects) 2000 $(($(count connects) - 2))"
between 'pool idle=2: hundreds of connections' "$(count connections)" 500 2000

# ---- what is waited for ----

# Peers that take their time, cut replies into pieces, or close sooner or later.
cat >"$tmp/slow.py" <<'SLOW'
import socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
mode, counts = sys.argv[1], {"connections": 0}
reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
def serve(sock):
    for n in range(10000):
        if not sock.recv(4096):
            break
        if mode == "slow":
            time.sleep(0.02)
        if mode == "second" and n == 1:
            break
        if mode == "dribble":
            for byte in reply:
                sock.sendall(bytes([byte]))
                time.sleep(0.001)
        else:
            sock.sendall(reply)
        if mode == "once":
            break
        if mode == "later" and n == 0:
            time.sleep(0.01)
            break
    sock.close()
while True:
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
SLOW

# facing MODE SAMPLES OPTION...: $ran, records in client.txt
facing() {
	local mode=$1 n=$2
	shift 2
	: >"$tmp/server.txt"
	python3 "$tmp/slow.py" "$mode" >"$tmp/server.txt" &
	server=$!
	until_true 20 grep -q ready "$tmp/server.txt"
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
	"$pool" run --peer "$addr" --samples "$n" --deadline 20s "$@" >"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
	reason=$(tail -n 1 "$tmp/log")
	kill "$server"
	wait "$server" 2>/dev/null
	server=
}

facing slow 12 workers=4 idle=1 max=1 load=waves
equal 'pool: a queue for one connection' "$ran $(count connects)" '0 1'
# 0, 20, 40 and 60 ms in the queue, three times; the request takes 20 ms more.
# Of at least two waves of the three: what it waits for is its connection, and a busy machine.
between 'pool: the first of a wave hardly waits' "$(value_of wait 'v[2] / 1e6')" 0 10
between 'pool: the last of a wave waits for three others' "$(value_of wait 'v[10] / 1e6')" 58 90
between 'pool: its request takes the wait and its own time' "$(value_of request 'v[10] / 1e6')" 78 120
between 'pool: the whole run' "$(value_of total 'v[1] / 1e6')" 238 800
facing slow 12 workers=4 idle=4
# In a queue for one connection nearly all would take 80 ms; here none does but those that the machine held up.
between 'pool: without a cap nobody waits in a queue' "$(value_of request 'v[9] / 1e6')" 19 40

# ---- connections that the peer closes ----

facing second 10 workers=1 idle=1
equal 'pool: closed before any reply costs a reconnect each' \
	"$ran $(samples request) $(count connects) $(count reconnects) $(count request_errors)" '0 10 10 9 0'
facing once 100 workers=10 idle=10
equal 'pool: a connection that ends behind its reply carries no other' \
	"$ran $(samples request) $(count connects) $(count request_errors) $(($(count reconnects) + $(count lost_idle) <= 90))" '0 100 100 0 1'
facing later 40 workers=4 idle=4 load=waves
equal 'pool: closed while idle or in use' "$ran $(samples request) $(count connects) $(count request_errors)" '0 40 40 0'
facing dribble 8 workers=4 idle=4
equal 'pool: a reply in pieces' "$ran $(samples request) $(count connects)" '0 8 4'

# ---- peers that misbehave ----

for wait in block spin; do
	against mute "$pool" 300ms wait=$wait
	equal "pool wait=$wait: a mute peer" "$ran $reason $(samples request)" \
		'1 probe-pool: deadline of 300ms passed: 0 of 3 requests answered before the deadline 0'
done
against '220 ftp ready\r\n' "$pool" 5s
equal 'pool: rubbish' "$ran ${reason% (*}" '1 probe-pool: not HTTP: Expected HTTP/'
against 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n' "$pool" 5s path=/a
equal 'pool: status 500' "$ran $reason" '1 probe-pool: the reply to /a is status 500'
against 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc' "$pool" 5s
equal 'pool: bytes behind the reply' "$ran $reason" '1 probe-pool: 2 bytes behind the end of the reply'
against close "$pool" 5s
equal 'pool: closed before any reply' "$ran $reason" \
	'1 probe-pool: all 3 requests failed, the last: the connection was closed before any reply'
against reset "$pool" 5s
equal 'pool: reset before any reply' "$ran $reason" \
	'1 probe-pool: all 3 requests failed, the last: receive: Connection reset by peer'
against close-first "$pool" 5s workers=1 idle=1
equal 'pool: a new connection that dies is no reconnect' \
	"$ran $(samples request) $(count request_errors) $(count reconnects) $(count connects)" '0 2 1 0 2'
against close-first "$pool" 5s workers=3 idle=1 max=1
equal 'pool: who waits opens another when the only one dies' \
	"$ran $(samples request) $(count request_errors) $(count connects)" '0 2 1 2'

# ---- what it refuses, and what this machine lacks ----

# refuses NAME OPTION... REASON (the last argument)
refuses() {
	local name=$1 reason=${*: -1}
	"$pool" run --peer 127.0.0.1:1 --samples 105 "${@:2:$#-2}" >/dev/null 2>"$tmp/log"
	equal "pool: $name" "$? $(head -n 1 "$tmp/log")" "2 probe-pool: $reason"
}
refuses 'more idle than open' idle=9 max=8 \
	"option 'idle': 9 connections cannot be idle when max=8 may be open"
refuses 'half a wave' load=waves workers=10 \
	'load=waves: 105 samples are not a multiple of workers=10'
refuses 'no worker' workers=0 "option 'workers': 0 is out of range: expected 1 to 1000"
refuses 'no path' path=x "option 'path': 'x' is not a path such as /index.html"

start "$pool" 127.0.0.1:0
(ulimit -n 20 && exec "$pool" run --peer "$addr" --samples 50) >"$tmp/client.txt" 2>"$tmp/log"
equal 'pool: too many open files' "$? $(samples request) $(tail -n 1 "$tmp/log")" \
	'1 0 probe-pool: socket: too many open files in this process: raise ulimit -n'
stop_server
