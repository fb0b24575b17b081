#!/usr/bin/env bash
# probe-dns: what each mode asks the far half, how it fails, and against servers and clients that
# are not ours: dnsmasq, unbound and knot, dig and kdig.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need python3
shopt -s extglob

dns=$BIN/probe-dns
server='' front=''
trap 'kill $server $front 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# start LISTEN OPTION...: serve in the background until it is ready; $addr is its address
start() {
	local listen=$1
	shift
	: >"$tmp/server.txt"
	"$dns" serve --listen "$listen" --deadline 120s "$@" >"$tmp/server.txt" 2>"$tmp/server.log" &
	server=$!
	until_true 20 grep -q '^ready ' "$tmp/server.txt" || return 1
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
}

stop() {
	kill -TERM "$server"
	wait "$server"
	stopped=$?
	server=
}

# client PEER SAMPLES OPTION...: $ran is its exit status, $reason the last line of stderr
client() {
	local peer=$1 samples=$2
	shift 2
	"$dns" run --peer "$peer" --samples "$samples" --deadline 30s "$@" >"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
	reason=$(tail -n 1 "$tmp/log")
}

# pair LISTEN SAMPLES OPTION...
pair() {
	local listen=$1 samples=$2
	shift 2
	start "$listen" "$@" || return
	client "$addr" "$samples" "$@"
	stop
}

count() {
	sed -n "s/^count $1 //p" "$tmp/server.txt" "$tmp/client.txt"
}

samples() {
	grep -c "^sample $1 ns [0-9]*\$" "$tmp/client.txt"
}

# The least and the most of a metric, in nanoseconds.
extremes() {
	sed -n "s/^sample $1 ns //p" "$tmp/client.txt" | sort -n | sed -n '1p;$p' | tr '\n' ' '
}

# seen NAME SAMPLES QUERIES TCP ATTEMPTS OPTION...: lookups that are answered, and what for
seen() {
	local name=$1 n=$2 queries=$3 tcp=$4 attempts=$5 listen
	shift 5
	for listen in 127.0.0.1:0 '[::1]:0'; do
		pair "$listen" "$n" "$@"
		equal "$name on $listen: lookups, far queries, over TCP, attempts" \
			"$ran $stopped $(samples lookup) $(count answered) $(count queries) $(count queries_tcp) $(count attempts)$reason" \
			"0 0 $n $n $queries $tcp $attempts"
	done
}

# ---- what is asked ----

seen cold 20 20 0 20 mode=cold
seen 'cold, both' 20 40 0 40 mode=cold records=both
seen 'cold, AAAA, one socket' 20 20 0 20 mode=cold records=aaaa socket=kept
seen cached 20 1 0 20 mode=cached
seen 'cached, both' 20 2 0 40 mode=cached records=both
seen hosts 20 0 0 0 mode=hosts
seen 'hosts, both' 20 0 0 0 mode=hosts records=both
seen truncated 20 40 20 40 mode=truncated
seen cname 20 20 0 20 mode=cname chain=16
seen failover 2 2 0 4 mode=failover
seen 'cold, the first query dropped' 2 4 0 4 mode=cold drop=1 tries=2
seen 'cold, spinning' 20 20 0 20 wait=spin
if [ "$(nproc)" -gt 1 ]; then
	seen 'cold, two cores' 20 20 0 20 cpu=split wait=spin
fi
pair 127.0.0.1:0 5 mode=cold delay=30ms
read -r least most < <(extremes lookup)
between 'delay=30ms: the fastest' "$least" 30000000 40000000
pair 127.0.0.1:0 20 mode=cached
equal 'cached: what the cache passed on' "$(count forwarded)" 1

pair 127.0.0.1:0 20 mode=cached cache=library records=both
if [ "$ran" -eq 77 ]; then
	equal "c-ares's own cache is too new" "${reason%% this *}" \
		'probe-dns: cache=library needs c-ares 1.31 or newer,'
else
	equal "c-ares's own cache" "$ran $(samples lookup) $(count queries) $(count attempts)" '0 20 2 0'
fi

# failing NAME SAMPLES OUTCOME QUERIES OPTION...
failing() {
	local name=$1 n=$2 outcome=$3 queries=$4 listen
	shift 4
	for listen in 127.0.0.1:0 '[::1]:0'; do
		pair "$listen" "$n" "$@"
		equal "$name on $listen: failed lookups, outcome, far queries" \
			"$ran $stopped $(samples lookup_failed) $(samples lookup) $(count "$outcome") $(count queries)$reason" \
			"0 0 $n 0 $n $queries"
		read -r least most < <(extremes lookup_failed)
	done
}

failing servfail 20 servfail 20 mode=servfail
failing nxdomain 20 nxdomain 20 mode=nxdomain
failing refused 20 refused 0 mode=refused
# Nobody waits for the lookup's second.
between 'refused: the slowest' "$most" 1 500000000
failing timeout 2 timed_out 2 mode=timeout
between 'timeout: the first to end' "$least" 1000000000 1100000000
between 'timeout: the last to end' "$most" 1000000000 1500000000
pair 127.0.0.1:0 1 mode=timeout tries=20
between 'timeout with 20 tries' "$(extremes lookup_failed | cut -d ' ' -f 1)" 1000000000 1500000000
between 'timeout with 20 tries: queries' "$(count queries)" 2 4

pair 127.0.0.1:0 3 drop=5 timeout=100ms
equal 'lost lookups are no samples' "$ran $(samples lookup) $reason" \
	"1 0 $(printf '%s' "$reason" | grep -o '^probe-dns: all 3 lookups failed, the last: n[0-9]*.rttmatrix.test: no answer$')"

# ---- what cannot be ----

# refused OPTION... : exit 2, and why in $reason
refused() {
	client 127.0.0.1:1 1 "$@"
	equal "refused: $*" "$ran $(wc -c <"$tmp/client.txt")" '2 0'
}
refused mode=cold name=www.rttmatrix.test
refused name='n*.*.test'
refused mode=cold cache=library
refused mode=servfail tries=2
refused mode=failover retry=1s timeout=1s
refused mode=cached wait=spin cpu=split
refused forward=localhost:53
refused retry=249ms
refused chain=17
client 127.0.0.1:1 1 mode=hosts name=www.example.org
equal 'hosts: only names of our zone' "$ran $reason" \
	'1 probe-dns: www.example.org: not a name of our zone, so no hosts file has it'

# ---- the machine's own settings change nothing ----

hostile=(env 'RES_OPTIONS=use-vc timeout:30 attempts:9 rotate ndots:15' LOCALDOMAIN=evil.example
	"HOSTALIASES=$tmp/aliases" CARES_HOSTS=/dev/null)
echo 'n1 evil.example' >"$tmp/aliases"
printf 'nameserver 127.0.0.1\noptions use-vc rotate\nsearch evil.example\n' >"$tmp/resolv.conf"
printf '192.0.2.1 %s\n' n{1..9}.rttmatrix.test >"$tmp/hosts"
echo 'hosts: files' >"$tmp/nsswitch.conf"
in_hostile() {
	if unshare -rm true 2>/dev/null; then
		# shellcheck disable=SC2016  # expanded in there
		hostile+=(unshare -rm sh -c 'for file in resolv.conf hosts nsswitch.conf; do
			[ ! -e /etc/$file ] || mount --bind "$0/$file" /etc/$file || exit 1
		done; exec "$@"' "$tmp")
	else
		skip 'hostile files in /etc' 'no user namespaces here'
	fi
}
in_hostile
plain=$dns
cat >"$tmp/probe" <<PROBE
#!/usr/bin/env bash
exec $(printf '%q ' "${hostile[@]}" "$plain") "\$@"
PROBE
chmod +x "$tmp/probe"
dns=$tmp/probe
for mode in cold:20:0:20 hosts:0:0:0 cached:1:0:20; do
	IFS=: read -r mode queries tcp attempts <<<"$mode"
	pair 127.0.0.1:0 20 "mode=$mode"
	equal "hostile environment: $mode" \
		"$ran $(samples lookup) $(count queries) $(count queries_tcp) $(count attempts)$reason" \
		"0 20 $queries $tcp $attempts"
done
dns=$plain

# ---- peers that misbehave ----

# A UDP server that answers every query with the reply that its argument makes of it.
cat >"$tmp/peer.py" <<'PEER'
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("127.0.0.1", 0))
print("ready 127.0.0.1:%d" % sock.getsockname()[1], flush=True)
record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4"
while True:
    query, peer = sock.recvfrom(4096)
    head, rest = query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0", query[12:]
    address = bytes([192, 0, 2, 1])
    reply = {
        "cut": head + rest + record + address[:2],
        "loop": head + rest + b"\xc0" + bytes([len(head + rest)]) + record[2:] + address,
        "rubbish": b"\xff" * 40,
        "no-answer": head[:6] + b"\0\0" + head[8:] + rest,
        "address": head + rest + record + address,
        "id": bytes([query[0] ^ 1]) + head[1:] + rest + record + address,
        "name": head + b"\x01x" + rest[rest[0] + 1:] + record + address,
    }[sys.argv[1]]
    sock.sendto(reply, peer)
PEER

# against REPLY: a client of that peer
against() {
	: >"$tmp/server.txt"
	python3 "$tmp/peer.py" "$1" >"$tmp/server.txt" &
	server=$!
	until_true 20 grep -q ready "$tmp/server.txt"
	client "$(sed -n 's/^ready //p' "$tmp/server.txt")" 3 timeout=300ms
	kill "$server"
	wait "$server" 2>/dev/null
	server=
	reason=${reason/n+([0-9]).rttmatrix/N.rttmatrix}
}
for reply in cut loop; do
	against $reply
	equal "a malformed reply ($reply)" "$ran $(samples lookup) $reason" \
		'1 0 probe-dns: N.rttmatrix.test: expected an answer, came a reply that is wrong: Misformatted DNS reply'
done
against no-answer
equal 'a reply without a record' "$ran $(samples lookup) ${reason%:*}" \
	'1 0 probe-dns: N.rttmatrix.test: expected an answer, came NXDOMAIN'
against address
equal 'a reply with a wrong address' "$ran $(samples lookup) $reason" \
	'1 0 probe-dns: N.rttmatrix.test: 192.0.2.1:53 is not what the zone has for it'
# c-ares 1.18 takes rubbish for nobody's reply, 1.34 for a bad one.
against rubbish
equal 'rubbish for a reply' "$ran $(samples lookup)" '1 0'
for reply in id name; do
	against $reply
	equal "a reply to something else ($reply)" "$ran $(samples lookup) $reason" \
		'1 0 probe-dns: all 3 lookups failed, the last: N.rttmatrix.test: no answer'
done

start 127.0.0.1:0
python3 - "$addr" <<'QUERIES'
import socket, sys
host, port = sys.argv[1].split(":")
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for message in b"", b"x", b"\xff" * 600, b"\0" * 12, b"\0\1\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1":
    udp.sendto(message, (host, int(port)))
tcp = socket.create_connection((host, int(port)), timeout=5)
tcp.sendall(b"\0\3abc")
while tcp.recv(100):
    pass
QUERIES
client "$addr" 5
stop
equal 'rubbish to the server is counted, and it goes on' \
	"$ran $(samples lookup) $(count queries) $(count malformed)" '0 5 5 6'

# ---- dig and kdig ----

if command -v dig >/dev/null && command -v kdig >/dev/null; then
	# short TOOL PORT ARGUMENT...
	short() {
		"$1" @127.0.0.1 -p "$2" +short +time=3 "${@:3}" 2>/dev/null | grep -v '^$' | tr '\n' ' '
	}
	start 127.0.0.1:0 mode=cname
	for tool in dig kdig; do
		equal "$tool: a chain and an address" "$(short $tool "${addr##*:}" n9.rttmatrix.test A)" \
			'c1.n9.rttmatrix.test. c2.n9.rttmatrix.test. c3.n9.rttmatrix.test. 198.51.100.10 '
		equal "$tool: over TCP" "$(short $tool "${addr##*:}" +tcp c2.n9.rttmatrix.test AAAA)" '2001:db8::9 '
		equal "$tool: statuses" \
			"$(for name in n1.rttmatrix.test x.rttmatrix.test example.org; do
				$tool @127.0.0.1 -p "${addr##*:}" "$name" | grep -o 'status: [A-Z]*' | tail -n 1
			done | tr '\n' ' ')" 'status: NOERROR status: NXDOMAIN status: REFUSED '
	done
	stop
	start 127.0.0.1:0 mode=truncated
	for tool in dig kdig; do
		equal "$tool: truncated, then TCP" "$(short $tool "${addr##*:}" n9.rttmatrix.test A)" '198.51.100.10 '
	done
	stop
	: >"$tmp/client.txt"
	equal 'dig and kdig: far queries' "$(count queries) $(count queries_tcp)" '4 2'

	start 127.0.0.1:0
	authority=$server behind=$addr
	mv "$tmp/server.txt" "$tmp/authority.txt"
	start 127.0.0.1:0 "forward=$behind"
	for tool in dig kdig dig kdig; do
		equal "$tool at our cache" "$(short $tool "${addr##*:}" N9.rttMatrix.test A)" '198.51.100.10 '
	done
	equal 'dig at our cache: no such name' \
		"$(dig @127.0.0.1 -p "${addr##*:}" x.rttmatrix.test | grep -o 'status: [A-Z]*')" 'status: NXDOMAIN'
	client "$addr" 5 mode=cached cache=peer records=both
	stop
	equal 'our client at our cache' "$ran $(samples lookup) $(count queries) $(count passed_on)" '0 5 17 4'
	kill -TERM "$authority"
	wait "$authority"
	equal 'the cache asked for each once' "$(sed -n 's/^count queries //p' "$tmp/authority.txt")" 4
else
	skip 'dig and kdig' 'not here (ci/setup --all installs them)'
fi

# ---- dnsmasq, unbound, knot ----

# A port that was free a moment ago, in both protocols.
free_port() {
	"$dns" serve --listen 127.0.0.1:0 --deadline 200ms 2>/dev/null | sed -n 's/^ready .*://p'
}

# front COMMAND...: in the background until it answers on $port; false: it does not
front() {
	"$@" >"$tmp/front.log" 2>&1 &
	front=$!
	until_true 20 "$dns" run --peer "127.0.0.1:$port" --samples 1 timeout=200ms name='n9*.rttmatrix.test' answer=any && return
	not_ok "${1##*/} starts" "$(tail -n 1 "$tmp/front.log")"
	return 1
}

end_front() {
	kill "$front"
	wait "$front" 2>/dev/null
	front=
}

# as_cache NAME: our client at the cache on $port, with our responder ($server) behind it
as_cache() {
	local before=0 name=$1
	client "127.0.0.1:$port" 20 mode=cached cache=peer
	equal "$name as a cache: cached lookups" "$ran $(samples lookup)$reason" '0 20'
	client "127.0.0.1:$port" 20 mode=cold records=both
	equal "$name as a cache: cold lookups" "$ran $(samples lookup)$reason" '0 20'
	client "127.0.0.1:$port" 20 mode=nxdomain name='x*.rttmatrix.test'
	equal "$name as a cache: no such name" "$ran $(samples lookup_failed)$reason" '0 20'
	end_front
	stop
	# One for the name that was cached, 40 for the cold, 20 for those that are none; and what it
	# took to see that it answers.
	before=$(($(count queries) - 61))
	between "$name as a cache: far queries beyond the lookups'" "$before" 0 20
}

# as_authority NAME FAMILIES
as_authority() {
	client "127.0.0.1:$port" 20 mode=cold records=both answer=any
	equal "$1 as an authority: cold" "$ran $(samples lookup) $(count attempts)$reason" '0 20 40'
	client "127.0.0.1:$port" 20 mode=cached records=both answer=any
	equal "$1 as an authority behind the near cache" "$ran $(samples lookup) $(count forwarded)$reason" '0 20 2'
	client "127.0.0.1:$port" 20 mode=nxdomain name='n*.none.test'
	equal "$1 as an authority: no such name" "$ran $(samples lookup_failed)$reason" '0 20'
	end_front
	: >"$tmp/server.txt"
}
: >"$tmp/server.txt"

if command -v dnsmasq >/dev/null; then
	common=(dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --pid-file=
		--listen-address=127.0.0.1 --bind-interfaces "--user=$(id -un)" "--group=$(id -gn)")
	port=$(free_port)
	front "${common[@]}" "--port=$port" --address=/rttmatrix.test/198.51.100.1 \
		--address=/rttmatrix.test/2001:db8::1 --local=/test/ --local-ttl=60 && as_authority dnsmasq
	start 127.0.0.1:0
	port=$(free_port)
	front "${common[@]}" "--port=$port" "--server=127.0.0.1#${addr##*:}" && as_cache dnsmasq
else
	skip dnsmasq 'not here (ci/setup --all installs it)'
fi

if command -v unbound >/dev/null; then
	start 127.0.0.1:0
	port=$(free_port)
	cat >"$tmp/unbound.conf" <<CONF
server:
	interface: 127.0.0.1
	port: $port
	username: ""
	chroot: ""
	directory: "$tmp"
	pidfile: "$tmp/unbound.pid"
	use-syslog: no
	do-daemonize: no
	do-not-query-localhost: no
	module-config: "iterator"
	local-zone: "test." nodefault
remote-control:
	control-enable: no
forward-zone:
	name: "rttmatrix.test."
	forward-addr: 127.0.0.1@${addr##*:}
CONF
	front unbound -d -c "$tmp/unbound.conf" && as_cache unbound
else
	skip unbound 'not here (ci/setup --all installs it)'
fi

if command -v knotd >/dev/null; then
	port=$(free_port)
	mkdir "$tmp/knot"
	cat >"$tmp/knot/test.zone" <<'ZONE'
$ORIGIN test.
@ 60 SOA ns.test. admin.test. 1 60 60 60 60
@ 60 NS ns.test.
ns 60 A 127.0.0.1
*.rttmatrix 60 A 198.51.100.1
*.rttmatrix 60 AAAA 2001:db8::1
ZONE
	cat >"$tmp/knot/knot.conf" <<CONF
server:
    rundir: "$tmp/knot"
    listen: 127.0.0.1@$port
database:
    storage: "$tmp/knot"
log:
  - target: stderr
    any: info
zone:
  - domain: test
    storage: "$tmp/knot"
    file: test.zone
CONF
	front knotd -c "$tmp/knot/knot.conf" && as_authority knot
else
	skip knot 'not here (ci/setup --all installs it)'
fi
