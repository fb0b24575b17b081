#!/usr/bin/env bash
# probe-unix: every path between two processes of one machine, what both halves and the kernel count
# of it, what is refused, and that it is skipped where there is a link.
. "$(dirname "$0")/lib_probe.sh"
need jq python3

unix=$BIN/probe-unix
paths=(unix tcp seqpacket dgram socketpair pipe)

# exchanged NAME N OPTION...: N round trips, each counted by the server
exchanged() {
	local name=$1 n=$2
	shift 2
	pair "$unix" "${listen:-127.0.0.1:0}" "$n" "$@"
	equal "$name" "$ran $stopped $(samples round_trip) $(count messages)" "0 0 $n $n"
}

for path in "${paths[@]}"; do
	exchanged "path=$path" 300 path="$path"
	check "path=$path: only records" only_records
	check "path=$path: only metrics that describe lists" only_described "$unix"
	for size in 1b 4097b 64kib; do
		exchanged "path=$path size=$size" 20 path="$path" size="$size"
	done
	exchanged "path=$path in two parts" 20 path="$path" size=63b write=two
	exchanged "path=$path in parts both ways" 20 path="$path" size=64kib write=two echo=parts

	# One core: a round trip takes one switch to the server and one back, at least.
	exchanged "path=$path cpu=same" 500 path="$path" cpu=same
	between "path=$path cpu=same: switches of the client" "$(count switches)" 500 2500

	pair "$unix" 127.0.0.1:0 3 path="$path" pattern=bulk size=128kib bytes=5mb
	equal "path=$path pattern=bulk" "$ran $stopped $(count server_bytes) $(grep -c \
		'^sample throughput bytes_per_s [1-9][0-9]*$' "$tmp/client.txt")" '0 0 15000000 3'
	check "path=$path pattern=bulk: only metrics that describe lists" only_described "$unix"
done
for path in unix tcp; do
	listen='[::1]:0' exchanged "path=$path beside an IPv6 address" 20 path="$path"
done
pair "$unix" 127.0.0.1:0 2 pattern=bulk size=1000b bytes=1001b
equal 'bulk: a last write that is shorter' "$ran $(count server_bytes)" '0 2002'

# ---- spinning: nobody sleeps, and the kernel says so ----

if [ "$(nproc)" -gt 1 ]; then
	for path in "${paths[@]}"; do
		exchanged "path=$path wait=spin" 300 path="$path" cpu=split wait=spin
		# A pipe has a lock that may be waited for.
		between "path=$path wait=spin: no waits" "$(($(count waits) + $(count server_waits)))" 0 10
	done
	exchanged 'wait=block' 300 cpu=split
	between 'wait=block: it does wait' "$(count waits)" 100 1200
	equal 'cpu=split: one core each' \
		"$(sed -n 's/^info core //p' "$tmp/client.txt" "$tmp/server.txt" | sort -u | wc -l)" 2
else
	skip 'wait=spin' 'one core here'
fi

# ---- Nagle's algorithm: only where a second part waits for the ACK of the first ----

median() {
	sed -n 's/^sample round_trip ns //p' "$tmp/client.txt" | sort -n | awk '{ v[NR] = $1 }
		END { print v[int((NR + 1) / 2)] }'
}
exchanged 'nodelay=off write=two' 20 path=tcp nodelay=off write=two
between 'a second part waits for the delayed ACK' "$(median)" 25000000 100000000
exchanged 'nodelay=off write=two echo=parts' 200 path=tcp nodelay=off write=two echo=parts
between 'but not where the echo of the first carries it' "$(median)" 1000 20000000
exchanged 'nodelay=on write=two' 200 path=tcp write=two
between 'nor with NODELAY' "$(median)" 1000 20000000
exchanged 'nodelay=off' 200 path=tcp nodelay=off
between 'nor in one part' "$(median)" 1000 20000000

# ---- where the socket is ----

# TCP is used by path=tcp and by nothing else: what the namespace counts of it.
if unshare -rn true 2>/dev/null; then
	cat >"$tmp/segments.sh" <<'SEGMENTS'
ip link set lo up
segments() { awk '/^Tcp:/ && ++n == 2 { print $12 }' /proc/net/snmp; }
"$1" serve --listen 127.0.0.1:7000 --deadline 20s "path=$2" >"$3" &
until grep -q ready "$3"; do :; done
before=$(segments)
grep -c '@rttmatrix-unix/127.0.0.1:7000$' /proc/net/unix
"$1" run --peer 127.0.0.1:7000 --samples 200 --deadline 10s "path=$2" >/dev/null || exit 1
echo $(($(segments) - before))
kill $!
wait
SEGMENTS
	for path in "${paths[@]}"; do
		: >"$tmp/server.txt"
		read -r -d '' named sent < <(timeout 20 unshare -rn bash "$tmp/segments.sh" "$unix" "$path" "$tmp/server.txt")
		if [ "$path" = tcp ]; then
			equal 'path=tcp: no Unix socket' "$named" 0
			between 'path=tcp: segments' "$sent" 400 900
		else
			equal "path=$path: one Unix socket, and not a segment of TCP" "$named $sent" '1 0'
		fi
	done
else
	skip 'segments of TCP' "$(unshare -rn true 2>&1)"
fi

start "$unix" 127.0.0.1:0 file="$tmp/socket"
check 'file: it is there' test -S "$tmp/socket"
"$unix" run --peer "$addr" --samples 20 file="$tmp/socket" >"$tmp/client.txt" 2>"$tmp/client.log"
equal 'file: a pair' "$? $(samples round_trip) $(sed -n 's/^info file //p' "$tmp/client.txt")" "0 20 $tmp/socket"
"$unix" serve --listen 127.0.0.1:0 file="$tmp/socket" >/dev/null 2>"$tmp/log"
equal 'file: in use already' "$? $(tail -n 1 "$tmp/log")" "1 probe-unix: there is such a file: remove it if nobody \
serves there: listen on Unix socket $tmp/socket: Address already in use"
stop_server
check 'file: removed' test ! -e "$tmp/socket"
exchanged 'file: seqpacket' 20 path=seqpacket file="$tmp/socket"

# ---- what is refused, and what cannot be here ----

# refused OPTION... -- WORDS
refused() {
	local options=() words
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	words=$2
	"$unix" check --samples 10 "${options[@]}" >/dev/null 2>"$tmp/log"
	equal "refused: ${options[*]:0:60}" "$? $(head -n 1 "$tmp/log")" "2 probe-unix: $words"
}
long=/tmp/$(printf '%0103d' 0)
refused "file=$long" -- "file: '${long:0:20}...' has 108 bytes: the path of a Unix socket has at most 107"
check 'taken: 107 bytes' "$unix" check --samples 10 "file=${long%0}"
refused path=pipe file=/tmp/x -- 'file is of path=unix and path=seqpacket'
refused nodelay=off -- "nodelay=off is of path=tcp: no other has Nagle's algorithm"
refused write=two size=1b -- 'write=two needs a message of at least 2 bytes'
refused pattern=bulk write=two -- 'write=two and echo=parts are of pattern=pingpong'
refused echo=parts size=65537b -- 'echo=parts takes messages of up to 64kib: of larger ones both sides could wait for each other'
refused wait=spin cpu=same -- 'wait=spin needs a core for each half: not with cpu=same'

room=$(($(sysctl -n net.core.wmem_default 2>/dev/null || cat /proc/sys/net/core/wmem_default) - 32))
if [ "$room" -lt $((1 << 20)) ]; then
	for path in seqpacket dgram; do
		"$unix" serve --listen 127.0.0.1:0 --deadline 5s path=$path size=1mib >/dev/null 2>"$tmp/log"
		equal "path=$path: a message larger than its buffer" "$? $(tail -n 1 "$tmp/log")" "77 probe-unix: size: a message \
of such a socket has at most $room bytes here, its send buffer less 32 (sysctl net.core.wmem_default)"
	done
else
	skip 'a message larger than its buffer' "buffers of $room bytes here"
fi
exchanged 'a stream has no such limit' 3 size=1mib

# Few files: an error in its own words, and no sample.
for half in serve run; do
	start "$unix" 127.0.0.1:0 path=pipe
	if [ $half = run ]; then
		(ulimit -n 4 && exec "$unix" run --peer "$addr" --samples 3 --deadline 5s path=pipe) >"$tmp/client.txt" 2>"$tmp/log"
		equal 'run: no descriptor is left for what is passed' "$? $(samples round_trip) $(tail -n 1 "$tmp/log")" \
			'1 0 probe-unix: receive descriptors: too many open files in this process: raise ulimit -n'
	else
		prlimit --pid "$server" --nofile=9:9
		"$unix" run --peer "$addr" --samples 3 --deadline 5s path=pipe >"$tmp/client.txt" 2>/dev/null
		wait "$server"
		equal 'serve: too many open files' "$? $(samples round_trip) $(tail -n 1 "$tmp/server.log")" \
			'1 0 probe-unix: pipe: Too many open files'
		server=
	fi
	stop_server
done

"$unix" run --peer 127.0.0.1:1 --samples 3 >/dev/null 2>"$tmp/log"
equal 'no server' "$? $(tail -n 1 "$tmp/log")" "1 probe-unix: no server with these options in this network namespace: \
connect to Unix socket @rttmatrix-unix/127.0.0.1:1: Connection refused"
"$unix" run --peer 127.0.0.1:1 --samples 3 path=tcp >/dev/null 2>"$tmp/log"
equal 'no server: tcp' "$? $(tail -n 1 "$tmp/log")" '1 probe-unix: connect: Connection refused'
against mute "$unix" 500ms path=tcp
equal 'a server that never answers' "$ran ${reason:0:36}" '1 probe-unix: deadline of 500ms passed'
against wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong "$unix" 5s path=tcp
equal 'an echo that is none' "$ran $reason" '1 probe-unix: the reply is not an echo of the request'

# ---- a client that breaks off ----

threads() { find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l; }
alone() { [ "$(threads)" -eq 1 ]; }
for path in "${paths[@]}"; do
	start "$unix" 127.0.0.1:0 path="$path"
	{ timeout -s KILL 0.2 "$unix" run --peer "$addr" --samples 1000000 path="$path" >/dev/null; } 2>/dev/null
	"$unix" run --peer "$addr" --samples 20 path="$path" >"$tmp/client.txt" 2>"$tmp/client.log"
	equal "path=$path: a client after one that was killed" "$? $(samples round_trip)" '0 20'
	check "path=$path: and the threads of both end" until_true 5 alone
	stop_server
	equal "path=$path: SIGTERM" "$stopped" 0
done

# ---- in a matrix ----

cat >"$tmp/near.yaml" <<'MATRIX'
schema: 1
name: near
repeats: 2
profiles: [localhost, wan50]
samples: 50
cells:
  - probe: unix
    vary: { path: [unix, dgram] }
    expect:
      - { metric: messages, equals: samples }
MATRIX
cp -r "$TOP/netem" "$tmp/"
"$BIN/rttmatrix" run "$tmp/near.yaml" --output "$tmp/out" --quiet --runtime "$(unshare -rn true 2>/dev/null &&
	echo netns || echo host)" >"$tmp/summary" 2>"$tmp/log"
equal 'in a matrix' $? 0
csv() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
	if row["profile"] == sys.argv[2] and row["metric"] in ("messages", ""):
		print(row["variant"], row["status"], row["n"], row["p50"], row["reason"])' "$tmp/out/latest/matrix.csv" "$1" | sort
}
equal 'in a matrix: localhost' "$(csv localhost | tr '\n' ,)" 'path=dgram ok 2 50 ,path=unix ok 2 50 ,'
equal 'in a matrix: a link is skipped, and why' "$(csv wan50 | cut -d ' ' -f 1,2,5- | sed 's/ [0-9]* / /' | tr '\n' ,)" \
	'path=dgram skipped Unix sockets and pipes do not cross a link,path=unix skipped Unix sockets and pipes do not cross a link,'
check 'in a matrix: expectations of what was skipped are not broken' test "$(grep -c BROKEN "$tmp/summary")" -eq 0
