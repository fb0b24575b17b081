#!/usr/bin/env bash
# probe-backlog: what a full accept queue admits and turns away, as both halves and the kernel count
# it, in network namespaces of our own, and against a listener that is not ours.
. "$(dirname "$0")/lib_probe.sh"
need python3 unshare ip
backlog=$BIN/probe-backlog

# Counters of a namespace nobody else uses; ListenOverflows of the machine may move by itself.
if [ "${1:-}" != inside ]; then
	if ! unshare -rn true 2>/dev/null; then
		skip backlog 'no network namespaces here'
		exit 0
	fi
	# Outside of one, the machine's setting is left alone.
	before=$(cat /proc/sys/net/ipv4/tcp_abort_on_overflow)
	timeout 10 "$backlog" serve --listen 127.0.0.1:0 --deadline 2s "abort=$([ "$before" = 0 ] && echo on || echo off)" \
		>/dev/null 2>"$tmp/log"
	equal 'abort=on of the machine: unsupported, and untouched' \
		"$? $(cat /proc/sys/net/ipv4/tcp_abort_on_overflow) $(tail -n 1 "$tmp/log" | grep -c 'abort=.*tcp_abort_on_overflow')" \
		"77 $before 1"
	unshare -rn "$0" inside
	exit
fi
ip link set lo up

# values METRIC: of its samples, in one line
values() {
	sed -n "s/^sample $1 [a-z]* //p" "$tmp/client.txt" | tr '\n' ' '
}

# filled NAME N SAMPLES OPTION...: n + 1 admitted, and one turned away once a sample
filled() {
	local name=$1 n=$2 samples=$3 listen admitted=
	shift 3
	for ((i = 0; i < samples; i++)); do admitted+="$((n + 1)) "; done
	for listen in 127.0.0.1:0 '[::1]:0'; do
		pair "$backlog" "$listen" "$samples" "$@"
		equal "$name on $listen: admitted" "$ran $stopped $(values admitted)" "0 0 $admitted"
		equal "$name on $listen: queued, accepted" "$(count queued) $(count accepted)" \
			"$((n + 1)) $((samples * (n + 2)))"
		check "$name on $listen: only records" only_records
		check "$name on $listen: all described" only_described "$backlog"
	done
}

# ---- TCP ----

for n in 0 1 5 128; do
	filled "listen($n)" "$n" 1 "backlog=$n"
	equal "listen($n): silent, SYNs sent again, overflows, drops" \
		"$(count silent) $(count syn_retransmits) $(count overflows) $(count drops)" '1 1 1 1'
	between "listen($n): the next client gets in with its second SYN" "$(values next_connect)" 980000000 1900000000
done
somaxconn=$(cat /proc/sys/net/core/somaxconn)
if [ "$(ulimit -Hn)" -gt $((somaxconn + 100)) ] && [ "$somaxconn" -lt 20000 ]; then
	filled 'listen(somaxconn)' "$somaxconn" 1 backlog=somaxconn
	equal 'listen(somaxconn): in force' "$(sed -n 's/^info backlog_in_force //p' "$tmp/client.txt")" "$somaxconn"
else
	skip 'listen(somaxconn)' "more files than ulimit -Hn: $(ulimit -Hn)"
fi
# Each listen() of this namespace is cut.
sysctl_cut() {
	echo "$1" >/proc/sys/net/core/somaxconn
}
if sysctl_cut 9 2>/dev/null; then
	filled 'listen(100) where somaxconn is 9' 9 1 backlog=100
	sysctl_cut "$somaxconn"
fi
filled 'three in a row' 5 3
equal 'three in a row: overflows' "$(count overflows)" 3
pair "$backlog" 127.0.0.1:0 1 hold=1500ms
equal 'hold=1500ms: both SYNs of the first second are dropped' \
	"$(count syn_retransmits) $(count overflows)" '2 2'
between 'hold=1500ms: in with the third SYN' "$(values next_connect)" 1980000000 3900000000
pair "$backlog" 127.0.0.1:0 1 wait=spin
equal 'spinning' "$ran $stopped $(values admitted)" '0 0 6 '

# ---- a burst, a race ----

pair "$backlog" 127.0.0.1:0 40 pattern=burst backlog=16 accept_every=5ms
equal 'burst: samples' "$ran $stopped $(samples connect) $(samples served) $(count accepted)" '0 0 40 40 40'
between 'burst: turned away' "$(count overflows)" 1 200
between 'burst: SYNs sent again' "$(count syn_retransmits)" 1 200
between 'burst: the first is served at once' "$(values served | tr ' ' '\n' | sort -n | sed -n 2p)" 1 900000000
between 'burst: the last after a second' "$(values served | tr ' ' '\n' | sort -n | tail -n 1)" 1000000000 9000000000
check 'burst: all described' only_described "$backlog"
pair "$backlog" 127.0.0.1:0 40 pattern=burst backlog=128
equal 'a burst that has room: no overflow, no SYN again' "$(count overflows) $(count syn_retransmits)" '0 0'
# Where the kernel puts off what arrives, both handshakes begin before one ends: at most three times.
for _ in 1 2 3; do
	pair "$backlog" 127.0.0.1:0 1 pattern=race
	[ "$(count believed)" = 0 ] && break
done
equal 'race on loopback, where one handshake ends before the next: nobody believes' \
	"$ran $stopped $(count believed) $(count silent)" '0 0 0 1'

# ---- Unix ----

for n in 0 1 5 128; do
	pair "$backlog" 127.0.0.1:0 2 socket=unix "backlog=$n"
	equal "Unix listen($n): admitted, again, accepted" \
		"$ran $stopped $(values admitted)$(count again) $(count accepted)" \
		"0 0 $((n + 1)) $((n + 1)) 2 $((2 * (n + 2)))"
	queued=$(count queued)
	equal "Unix listen($n): queued, where the kernel says" "${queued:-$((n + 1))}" $((n + 1))
done
check 'Unix: all described' only_described "$backlog"
between 'Unix: turned away at once' "$(values refusal | cut -d ' ' -f 1)" 1 100000000
between 'Unix: in as soon as there is a place' "$(values after_drain | cut -d ' ' -f 1)" 0 500000000
start "$backlog" 127.0.0.1:0 socket=unix
unshare -n true 2>/dev/null && reason=$(unshare -n "$backlog" run --peer "$addr" --samples 1 2>&1 >/dev/null)
stop_server
[ -z "${reason:-}" ] || check 'no way to the other half from another namespace' grep -q 'unreachable' <<<"$reason"

# ---- limits and bad input ----

start "$backlog" 127.0.0.1:0 backlog=200
(ulimit -n 50 && timeout 20 "$backlog" run --peer "$addr" --samples 1 --deadline 10s backlog=200 >"$tmp/client.txt" 2>"$tmp/log")
equal 'the client runs out of files: failed, and the limit' \
	"$? $(grep -c ^sample "$tmp/client.txt") $(grep -c 'with [0-9]* connections open: .*limit 50' "$tmp/log")" '1 0 1'
stop_server
: >"$tmp/server.txt"
(
	ulimit -n 50
	exec "$backlog" serve --listen 127.0.0.1:0 --deadline 60s backlog=200 >"$tmp/server.txt" 2>"$tmp/server.log"
) &
server=$!
until_true 20 grep -q '^ready ' "$tmp/server.txt"
addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
timeout 20 "$backlog" run --peer "$addr" --samples 1 --deadline 10s backlog=200 >"$tmp/client.txt" 2>"$tmp/log"
equal 'the server runs out of files: failed, and whose limit' \
	"$? $(grep -c ^sample "$tmp/client.txt") $(grep -c 'the serving half: accept: too many open files .*limit is 50' "$tmp/log")" '1 0 1'
timeout 20 "$backlog" run --peer "$addr" --samples 100 --deadline 10s pattern=burst backlog=200 >"$tmp/client.txt" 2>"$tmp/log"
equal 'a burst ends as well, for the same reason' "$? $(grep -c 'the serving half: accept: too many' "$tmp/log")" '1 1'
stop_server
start "$backlog" 127.0.0.1:0 backlog=200
ports=$(cat /proc/sys/net/ipv4/ip_local_port_range)
echo '40000 40059' >/proc/sys/net/ipv4/ip_local_port_range
timeout 20 "$backlog" run --peer "$addr" --samples 1 --deadline 10s backlog=200 >"$tmp/client.txt" 2>"$tmp/log"
equal 'no port is left: failed, and the setting' \
	"$? $(grep -c ^sample "$tmp/client.txt") $(grep -c 'ip_local_port_range' "$tmp/log")" '1 0 1'
echo "$ports" >/proc/sys/net/ipv4/ip_local_port_range
stop_server

# refused WORDS OPTION...
refused() {
	local words=$1
	shift
	"$backlog" check --samples 1 "$@" >/dev/null 2>"$tmp/log"
	equal "refused: $*" "$? $(grep -c -- "$words" "$tmp/log")" '2 1'
}
refused "'-1' is neither" backlog=-1
refused "'many' is neither" backlog=many
refused "'2147483648' is neither" backlog=2147483648
refused "'' is neither" backlog=
refused 'of TCP' socket=unix pattern=burst
refused 'of TCP' socket=unix pattern=race
refused 'of TCP' socket=unix abort=on
refused 'accept_every' accept_every=2s
refused 'a core for each' wait=spin cpu=same

# ---- the kernel's setting ----

start "$backlog" 127.0.0.1:0 abort=on
equal 'abort=on while it serves' "$(cat /proc/sys/net/ipv4/tcp_abort_on_overflow)" 1
stop_server
equal 'and what was before, after' "$stopped $(cat /proc/sys/net/ipv4/tcp_abort_on_overflow)" '0 0'

# ---- peers that are none of ours ----

for answer in mute close reset nonsense; do
	against "$answer" "$backlog" 2s
	equal "a peer that is $answer" "$ran $(grep -c ^sample "$tmp/client.txt")" '1 0'
done
# Whoever breaks off takes its queue along: the next client finds the server well.
start "$backlog" 127.0.0.1:0
python3 - "$addr" <<'PY'
import socket, struct, sys
host, port = sys.argv[1].rsplit(":", 1)
for words in (b"o", b"d", b"zzz", b"opp", b"odcc"):
    sock = socket.create_connection((host, int(port)))
    sock.sendall(words)
    sock.recv(64)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
PY
"$backlog" run --peer "$addr" --samples 1 --deadline 20s >"$tmp/client.txt" 2>"$tmp/log"
equal 'after clients that broke off' "$? $(values admitted)" '0 6 '
stop_server
equal 'and it ends well' "$stopped" 0
