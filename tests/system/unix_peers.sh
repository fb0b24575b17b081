#!/usr/bin/env bash
# Does a Unix socket give real servers what probe-unix says it gives? Redis and PostgreSQL, which
# listen on both, and their own clients: the same work over each path, in turns, on one core.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:$(printf '%s:' /usr/lib/postgresql/*/bin)/usr/sbin
need redis-server redis-cli redis-benchmark postgres initdb pgbench psql setpriv

rounds=5
redis='' postgres=''
trap 'kill $redis $postgres 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# A port that was free a moment ago: neither server can tell us which one it took.
free_port() {
	"$BIN/probe-handshake" serve --listen 127.0.0.1:0 --deadline 200ms 2>/dev/null |
		sed -n 's/^ready .*://p'
}

# take NAME unix|tcp: one round of it, microseconds a request appended to $tmp/NAME-PATH
take() {
	"$1" "$2" >>"$tmp/$1-$2" 2>>"$tmp/log"
}

# The fastest round: what else runs on a machine only adds to it.
least() {
	sort -n "$1" | head -n 1
}

# compare NAME WORDS: both paths in turns; Unix is not the slower one
compare() {
	local name=$1 words=$2 unix tcp
	for ((i = 0; i < rounds; i++)); do
		take "$name" unix
		take "$name" tcp
	done
	equal "$name: all rounds over both paths" "$(sed '/^[1-9]/!d' "$tmp/$name-unix" | wc -l) $(sed '/^[1-9]/!d' \
		"$tmp/$name-tcp" | wc -l)" "$rounds $rounds"
	unix=$(least "$tmp/$name-unix") tcp=$(least "$tmp/$name-tcp")
	between "$name: Unix takes no longer than TCP" "$(awk "BEGIN { print $unix / $tcp }")" 0.1 1.1
	awk -v words="$words" -v u="$unix" -v t="$tcp" 'BEGIN {
		printf "%s: Unix socket %.1f us, TCP on the loopback %.1f us, %.2f times\n", words, u, t, t / u }'
}

# ---- Redis ----

port=$(free_port)
taskset -c 0 redis-server --bind 127.0.0.1 --port "$port" --unixsocket "$tmp/redis.sock" --save '' \
	--appendonly no --dir "$tmp" --daemonize no >"$tmp/redis.log" 2>&1 &
redis=$!
declare -A redis_path=([unix]="-s $tmp/redis.sock" [tcp]="-h 127.0.0.1 -p $port")

redis() {
	# shellcheck disable=SC2086 # two words
	taskset -c 0 redis-benchmark ${redis_path[$1]} -c 1 -n 10000 -d 64 -t get --csv |
		awk -F '"' '$2 == "GET" { print 1e6 / $4 }'
}

if until_true 10 redis-cli -s "$tmp/redis.sock" ping && redis-cli -p "$port" ping >/dev/null; then
	# What the server says of its client's address.
	equal 'redis: over a Unix socket' "$(redis-cli -s "$tmp/redis.sock" client info | tr ' ' '\n' |
		grep '^addr=')" "addr=$tmp/redis.sock:0"
	check 'redis: over TCP' grep -q '^addr=127\.0\.0\.1:[1-9]' <(redis-cli -p "$port" client info | tr ' ' '\n')
	compare redis 'Redis, GET of 64 bytes'
else
	not_ok 'redis: started' "$(tail -n 1 "$tmp/redis.log")"
fi

# ---- PostgreSQL ----

# It refuses to run as root.
as=()
if [ "$(id -u)" -eq 0 ]; then
	user=$(id -un postgres 2>/dev/null || echo nobody)
	as=(setpriv --reuid "$user" --regid "$(id -gn "$user")" --clear-groups)
fi
port=$(free_port)
mkdir "$tmp/pg"
[ "${#as[@]}" -eq 0 ] || chown "$user" "$tmp/pg"
cd "$tmp/pg" || exit 1
"${as[@]}" env LC_ALL=C initdb -D "$tmp/pg/data" -U probe -A trust --no-sync >"$tmp/initdb.log" 2>&1
taskset -c 0 "${as[@]}" postgres -D "$tmp/pg/data" -h 127.0.0.1 -p "$port" -k "$tmp/pg" -c fsync=off \
	>"$tmp/postgres.log" 2>&1 &
postgres=$!
declare -A postgres_host=([unix]=$tmp/pg [tcp]=127.0.0.1)
echo 'SELECT 1;' >"$tmp/select.sql"

postgres() {
	taskset -c 0 pgbench -n -f "$tmp/select.sql" -c 1 -t 3000 -h "${postgres_host[$1]}" -p "$port" -U probe postgres |
		awk '/^tps/ { print 1e6 / $3 }'
}
client_address() {
	psql -h "${postgres_host[$1]}" -p "$port" -U probe -d postgres -Atc 'SELECT inet_client_addr()'
}

if until_true 20 client_address unix; then
	equal 'postgres: over a Unix socket' "$(client_address unix)" ''
	equal 'postgres: over TCP' "$(client_address tcp)" 127.0.0.1
	compare postgres 'PostgreSQL, SELECT 1'
else
	not_ok 'postgres: started' "$(tail -qn 1 "$tmp/initdb.log" "$tmp/postgres.log" | tr '\n' ' ')"
fi
