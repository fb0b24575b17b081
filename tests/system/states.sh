#!/usr/bin/env bash
# probe-states: sockets by state at both ends, by its own count, by ss and by the kernel's counters; who
# closes first, resets, ports used up and taken again, and over links.
if [ -z "${ALONE:-}" ] && unshare -rnm true 2>/dev/null; then
	# In a namespace of our own, the kernel's counters are ours only.
	ALONE=yes exec unshare -rnm "$0"
fi
. "$(dirname "$0")/lib_probe.sh"
need ss ip python3
if [ -z "${ALONE:-}" ]; then
	skip states "$(unshare -rnm true 2>&1)"
	exit 0
fi
ip link set lo up
# On loopback a connect may take a port that waited for a second, and which it takes is chance: not here.
echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse

states=$BIN/probe-states
client='' holder=''
end_all() {
	# shellcheck disable=SC2086
	kill $server $client $holder 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap end_all EXIT

# counts NAME...: their values, in one line
counts() {
	local name line=
	for name in "$@"; do
		line+="$(count "$name") "
	done
	echo "${line% }"
}

# goes NAME SAMPLES 'CONNECTIONS CLIENT SERVER' OPTION...: how many are left in TIME_WAIT at each end,
# nothing else is, and the kernel saw as many go there
goes() {
	local name=$1 n=$2 connections near far
	read -r connections near far <<<"$3"
	shift 3
	pair "$states" "$listen" "$n" "$@"
	equal "$name: connections, TIME_WAIT at each end and as the kernel counts them, all others" \
		"$ran $stopped $(counts connects connections time_wait server_time_wait time_wait_entered server_time_wait_entered left_open server_left_open peak_closing server_peak_closing no_port)" \
		"0 0 $connections $connections $near $far $((near + far)) $((near + far)) 0 0 0 0 0"
}

for listen in 127.0.0.1:0 '[::1]:0'; do
	goes "handshake on $listen" 205 '205 205 0'
	between "handshake on $listen: open at once, client" "$(count peak_established)" 10 20
	between "handshake on $listen: open at once, server" "$(count server_peak_established)" 10 20
	check "handshake on $listen: only records" only_records
	check "handshake on $listen: only metrics that describe lists" only_described "$states"
	goes "the server closes first on $listen" 205 '205 0 205' close=server
	goes "the client resets on $listen" 205 '205 0 0' linger=zero
	goes "the server resets on $listen" 205 '205 0 0' close=server linger=zero
	goes "keepalive on $listen" 205 '10 10 0' load=keepalive
	goes "pool on $listen" 100 '82 82 0' load=pool
done
listen=127.0.0.1:0
goes 'keepalive, the server closes first' 205 '10 0 10' load=keepalive close=server
goes 'keepalive, the server resets' 205 '10 0 0' load=keepalive close=server linger=zero
goes 'keepalive, fewer requests than connections' 7 '7 7 0' load=keepalive
goes 'pool, all kept' 100 '10 10 0' load=pool idle=10
goes 'pool, the server closes first' 100 '100 0 100' load=pool close=server
goes 'pool, the client resets' 100 '82 0 0' load=pool linger=zero
goes 'one at a time' 50 '50 50 0' workers=1
goes 'one at a time, a large reply' 50 '50 0 50' workers=1 close=server size=1mib
goes 'wait=spin' 200 '200 200 0' wait=spin
goes 'wait=spin, the server closes first' 200 '200 0 200' wait=spin close=server
goes '200 at a time' 400 '400 400 0' workers=200
between '200 at a time: open at once, client' "$(count peak_established)" 200 400
between '200 at a time: open at once, server' "$(count server_peak_established)" 200 400
# Nobody happens to look: it is while all are open that both ends do.
pair "$states" 127.0.0.1:0 10 every=1s
equal 'seldom looked at: open at once, client and server' "$ran $(counts peak_established server_peak_established)" '0 10 10'

# ---- as ss sees them ----

# seen STATE: how many at the server's end and at the client's
seen() {
	ss -Htan state "$1" 2>/dev/null | awk -v port="${addr##*:}" '
		$3 ~ ":" port "$" { server++ }
		$4 ~ ":" port "$" { client++ }
		END { print server + 0, client + 0 }'
}
sees() {
	[ "$(seen "$1")" = "$2" ]
}

# by_ss NAME STATE 'SERVER CLIENT' SAMPLES OPTION...: seen by ss while the client goes on
by_ss() {
	local name=$1 state=$2 want=$3 n=$4
	shift 4
	start "$states" 127.0.0.1:0 "$@"
	"$states" run --peer "$addr" --samples "$n" --deadline 30s "$@" >"$tmp/client.txt" 2>"$tmp/client.log" &
	client=$!
	check "$name: ss sees $want" until_true 10 sees "$state" "$want"
	wait "$client"
	ran=$?
	client=
	stop_server
}
by_ss 'who closes first' time-wait '0 120' 120 drain=1s
equal 'who closes first: so does the probe' "$ran $(counts server_time_wait time_wait)" '0 0 120'
by_ss 'the server first' time-wait '120 0' 120 drain=1s close=server
equal 'the server first: so does the probe' "$ran $(counts server_time_wait time_wait)" '0 120 0'
by_ss 'kept connections' established '40 40' 200000 load=keepalive workers=40
equal 'kept connections: so does the probe' "$ran $(counts server_peak_established peak_established)" '0 40 40'

# ---- until none is left: a minute, unless someone removes them ----

start "$states" 127.0.0.1:0
"$states" run --peer "$addr" --samples 100 --deadline 30s drain=20s >"$tmp/client.txt" 2>"$tmp/client.log" &
client=$!
until_true 10 sees time-wait '0 100'
ss -K state time-wait >/dev/null 2>&1
if sees time-wait '0 100'; then
	skip 'drained' 'this kernel destroys no sockets for ss -K'
	kill "$client"
	wait "$client"
else
	wait "$client"
	ran=$?
	equal 'drained: none is left, and the client has not waited on' "$ran $(counts peak_time_wait time_wait time_wait_entered)" '0 100 0 100'
	between 'drained: after, ms' "$(count drained_ms)" 0 15000
fi
client=
stop_server
pair "$states" 127.0.0.1:0 20
equal 'not drained: no figure' "$ran $(count drained_ms)" '0 '

# ---- a table to watch ----

pair "$states" 127.0.0.1:0 20 show=true
check 'show: the client has a table' grep -Eq '^client +[0-9.]+( +[0-9]+){9}$' "$tmp/client.log"
check 'show: the server has one' grep -Eq '^server +[0-9.]+( +[0-9]+){9}$' "$tmp/server.log"
equal 'show: its last line has what is left' \
	"$(tail -n 1 "$tmp/client.log" | awk '{ for (i = 3; i <= NF; i++) printf "%s ", $i }')" '0 0 0 0 0 0 20 0 0 '

# ---- local ports, all in use or in TIME_WAIT ----

pair "$states" 127.0.0.1:0 60 ports=40 workers=1 reuse=off
if [ "$ran" -eq 77 ]; then
	skip 'ports used up' "$(tail -n 1 "$tmp/client.log")"
else
	equal 'ports used up: no sample, but a count' "$ran $(counts connects connections no_port time_wait)" '0 40 40 20 40'
	pair "$states" '[::1]:0' 60 ports=40 workers=1 reuse=off
	equal 'ports used up, IPv6' "$ran $(counts connects no_port)" '0 40 20'
	# A second and a half until the first port is wanted again.
	pair "$states" 127.0.0.1:0 45 ports=30 workers=1 reuse=on pace=50ms
	equal 'tcp_tw_reuse: taken again' "$ran $(counts connects no_port time_wait_entered)" '0 45 0 45'
	pair "$states" 127.0.0.1:0 45 ports=30 workers=1 reuse=off pace=50ms
	equal 'no tcp_tw_reuse: none' "$ran $(counts connects no_port time_wait_entered)" '0 30 15 30'
	pair "$states" 127.0.0.1:0 60 ports=40 workers=1 linger=zero reuse=off
	equal 'resets leave the ports free' "$ran $(counts connects no_port)" '0 60 0'
fi
sysctl=$(cat /proc/sys/net/ipv4/ip_local_port_range)
echo 50000 50019 >/proc/sys/net/ipv4/ip_local_port_range
pair "$states" 127.0.0.1:7000 60 workers=1 reuse=off
equal 'all ports used up: a failure' "$ran $(tail -n 1 "$tmp/client.log")" \
	'1 probe-states: connect: no local port is free, all are in use or in TIME_WAIT'
pair "$states" 127.0.0.1:7001 60 ports=40
equal 'more ports than there are' "$ran $(tail -n 1 "$tmp/client.log")" \
	'77 probe-states: ports=40: the kernel gives out 50000 to 50019 only'
echo "$sysctl" >/proc/sys/net/ipv4/ip_local_port_range

# tcp_tw_reuse of a namespace that process 1 is in is not ours to change.
cat >"$tmp/first.sh" <<'FIRST'
mount -t proc proc /proc || exit 9
before=$(cat /proc/sys/net/ipv4/tcp_tw_reuse)
"$1" run --peer 127.0.0.1:1 --samples 1 reuse=on >/dev/null
echo "$? $(($(cat /proc/sys/net/ipv4/tcp_tw_reuse) - before))"
FIRST
unshare -rnmpf bash "$tmp/first.sh" "$states" >"$tmp/out" 2>"$tmp/log"
if [ $? -eq 9 ]; then
	skip 'tcp_tw_reuse of the first namespace' "$(tail -n 1 "$tmp/log")"
else
	equal 'tcp_tw_reuse of the first namespace is left alone' "$(cat "$tmp/out") $(tail -n 1 "$tmp/log")" \
		'77 0 probe-states: set tcp_tw_reuse: this network namespace is not ours alone'
fi

# ---- over links: a kernel for each end ----

separate() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
unshare -n sleep 60 &
holder=$!
until_true 5 separate "$holder"
far() {
	nsenter --net="/proc/$holder/ns/net" "$@"
}
# In the background only: there it becomes the program, which is what is signalled.
far_states() {
	exec nsenter --net="/proc/$holder/ns/net" "$states" "$@"
}

# over NAME 'CLIENT SERVER' OPTION...: each kernel counts its own only
over() {
	local name=$1 left=$2
	shift 2
	ran=not-started
	start far_states 192.0.2.2:0 "$@" || return
	"$states" run --peer "$addr" --samples 100 --deadline 30s "$@" >"$tmp/client.txt" 2>"$tmp/client.log"
	ran=$?
	stop_server
	equal "$name: TIME_WAIT at each end, by its sockets and by its kernel" \
		"$ran $stopped $(counts connections time_wait server_time_wait time_wait_entered server_time_wait_entered left_open server_left_open)" \
		"0 0 100 $left $left 0 0"
}
if ! ip link add near type veth peer name far netns "$holder" 2>"$tmp/log"; then
	skip 'sockets on both sides of a link' "no veth here: $(tail -n 1 "$tmp/log")"
else
	ip addr add 192.0.2.1/30 dev near && ip link set near up
	far ip addr add 192.0.2.2/30 dev far && far ip link set far up
	over 'a link' '100 0'
	over 'a link, the server closes first' '0 100' close=server
	over 'a link, the client resets' '0 0' linger=zero
	over 'a link, the server resets' '0 0' close=server linger=zero
	over 'a link, a pool the server closes' '0 100' load=pool close=server
	# And once more as ss sees it over there.
	start far_states 192.0.2.2:0 close=server
	"$states" run --peer "$addr" --samples 30 --deadline 30s close=server drain=1s >"$tmp/client.txt" 2>&1 &
	client=$!
	far_sees() {
		[ "$(far ss -Htan state time-wait sport = ":${addr##*:}" | wc -l)" -eq 30 ]
	}
	check 'a link: ss sees 30 at the server' until_true 10 far_sees
	equal 'a link: and none at the client' "$(ss -Htan dport = ":${addr##*:}" | grep -c .)" 0
	wait "$client"
	client=
	stop_server
	equal 'a link: so does the probe' "$(counts time_wait server_time_wait)" '0 30'
fi

all_closed() {
	[ -z "$(ss -Htan state connected exclude time-wait sport = ":${addr##*:}")" ]
}

# Behind 50 ms what takes a round trip can be seen: each state at the end that it belongs to.
# behind NAME OPTION...
behind() {
	local name=$1
	shift
	# What lasts for a round trip is not seen by who is kept from its core for as long: at most three times.
	for _ in 1 2 3; do
		seen_behind "$@"
		[ "$seen" = "0 0 $want" ] && break
	done
	equal "50 ms, $name: seen in SYN_SENT, SYN_RECV; FIN_WAIT1 here, there; LAST_ACK here, there; CLOSING" \
		"$seen" "0 0 $want"
}

# seen_behind OPTION...: $seen, the exit statuses and whether each state was
seen_behind() {
	local link
	rm -f "$tmp/ran" "$tmp/go"
	mkfifo "$tmp/go"
	start "$states" 0.0.0.0:0 "$@"
	# The link lasts until the last segments have arrived.
	# shellcheck disable=SC2016  # for the inner shell
	"$BIN/rttlink" run --yaml 'schema: 1
rtt: 50ms' -- sh -c 'folder=$0; "$@"; echo $? >"$folder/ran"; read -r _ <"$folder/go"' "$tmp" \
		"$states" run --peer "198.18.0.2:${addr##*:}" --samples 30 --deadline 30s "$@" \
		>"$tmp/client.txt" 2>"$tmp/client.log" &
	link=$!
	until_true 40 test -s "$tmp/ran" && until_true 5 all_closed
	echo >"$tmp/go"
	wait "$link"
	ran=$(cat "$tmp/ran")
	stop_server
	# The most at once are ten, but for what moves on while the list is read.
	seen="$ran $stopped $(for state in peak_syn_sent server_peak_syn_recv peak_fin_wait1 server_peak_fin_wait1 \
		peak_last_ack server_peak_last_ack peak_closing server_peak_closing; do
		[ "$(count $state)" -gt 0 ] && echo yes || echo no
	done | tr '\n' ' ')"
}
if "$BIN/rttlink" run --yaml 'schema: 1
rtt: 1ms' -- true 2>"$tmp/log"; then
	want='yes yes yes no no yes no no ' behind 'the client closes first'
	want='yes yes no yes yes no no no ' behind 'the server closes first' close=server
	want='yes yes no no no no no no ' behind 'the client resets' linger=zero
	want='yes yes no no no no no no ' behind 'the server resets' close=server linger=zero
	want='yes yes no yes yes no no no ' behind 'kept, the server closes first' load=keepalive close=server
else
	skip 'states behind 50 ms' "$(tail -n 1 "$tmp/log")"
fi

# ---- peers that misbehave, and what it refuses ----

against mute "$states" 300ms
equal 'a mute peer' "$ran $reason" '1 probe-states: deadline of 300ms passed: receive: no answer before the deadline'
against '220 ftp ready\r\n' "$states" 5s
equal 'rubbish' "$ran ${reason% (*}" '1 probe-states: not HTTP: Expected HTTP/'
against close "$states" 5s
equal 'closed before any reply' "$ran $reason" '1 probe-states: the connection was closed before any reply'
against 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' "$states" 300ms close=server workers=1
equal 'a server that does not close' "$ran ${reason%%:*}" '1 probe-states'
against close-first "$states" 5s close=server workers=1 linger=zero
equal 'a server that closes instead of resetting' "$ran ${reason%%:*}" '1 probe-states'

# refuses NAME OPTION... REASON (the last argument)
refuses() {
	local name=$1 reason=${*: -1}
	"$states" check --samples 105 "${@:2:$#-2}" >/dev/null 2>"$tmp/log"
	equal "refused: $name" "$? $(head -n 1 "$tmp/log")" "2 probe-states: $reason"
}
refuses 'half a wave' load=pool 'load=pool: 105 samples are not a multiple of workers=10'
refuses 'a pool that is reset by its server' load=pool workers=5 close=server linger=zero \
	'load=pool: close=server answers and closes: not with linger=zero'
refuses 'ports of kept connections' load=keepalive ports=3 "option 'ports' is of load=handshake"
refuses 'a pace of a pool' load=pool workers=5 pace=1ms "option 'pace' is of load=handshake"
refuses 'spinning on one core' wait=spin cpu=same 'wait=spin needs a core for each half: not with cpu=same'
start "$states" 127.0.0.1:0
"$states" run --peer "$addr" --samples 10 drain=10s --deadline 5s >/dev/null 2>"$tmp/log"
equal 'a drain beyond the deadline' "$? $(tail -n 1 "$tmp/log")" \
	'1 probe-states: the sockets cannot be watched for that long before the deadline'
(ulimit -n 20 && exec "$states" run --peer "$addr" --samples 50 workers=50) >"$tmp/client.txt" 2>"$tmp/log"
equal 'too many open files' "$? $(tail -n 1 "$tmp/log")" \
	'1 probe-states: socket: too many open files in this process: raise ulimit -n'
stop_server
