#!/usr/bin/env bash
# probe-keepalive and probe-pool against nginx, a server we did not write: as its client, and behind
# it.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need nginx curl

keepalive=$BIN/probe-keepalive
pool=$BIN/probe-pool
nginx=
server=
trap 'kill $nginx $server 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# A port that was free a moment ago: nginx cannot tell us which one it took.
free_port() {
	"$keepalive" serve --listen 127.0.0.1:0 --deadline 200ms 2>/dev/null | sed -n 's/^ready .*://p'
}

# What stands behind nginx: our own server, whose counters tell how nginx kept its connections.
"$keepalive" serve --listen 127.0.0.1:0 --deadline 60s framing=chunked >"$tmp/server.txt" &
server=$!
until_true 20 grep -q ready "$tmp/server.txt"

port=$(free_port)
mkdir "$tmp/www"
head -c 64 /dev/zero | tr '\0' x >"$tmp/www/small.txt"
head -c 1000000 /dev/zero | tr '\0' x >"$tmp/www/large.txt"
echo '<p><!--#echo var="request_uri" --></p>' >"$tmp/www/chunked.html"
cat >"$tmp/nginx.conf" <<CONF
daemon off;
master_process off;
pid $tmp/nginx.pid;
error_log $tmp/error.log;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path $tmp/body;
	proxy_temp_path $tmp/proxy;
	fastcgi_temp_path $tmp/fastcgi;
	uwsgi_temp_path $tmp/uwsgi;
	scgi_temp_path $tmp/scgi;
	types { text/html html; text/plain txt; }
	keepalive_requests 10000;
	upstream probe { server $(sed -n 's/^ready //p' "$tmp/server.txt"); keepalive 4; }
	server {
		listen 127.0.0.1:$port;
		listen [::1]:$port;
		root $tmp/www;
		location = /status { stub_status; }
		location = /empty { return 204; }
		location = /chunked.html { ssi on; }
		location = /brief/small.txt { keepalive_timeout 50ms; alias $tmp/www/small.txt; }
		location = /never/small.txt { keepalive_timeout 0; alias $tmp/www/small.txt; }
		location /behind/ {
			proxy_pass http://probe/;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
	}
}
CONF
nginx -p "$tmp" -c "$tmp/nginx.conf" 2>"$tmp/log" &
nginx=$!
if ! until_true 20 curl -s "http://127.0.0.1:$port/status"; then
	not_ok 'nginx starts' "$(tail -n 1 "$tmp/log")"
	exit 1
fi

# Connections accepted and requests so far, as nginx counts them.
accepts() {
	curl -s "http://127.0.0.1:$port/status" | sed -n '3s/^ \([0-9]*\) [0-9]* \([0-9]*\) .*/\1 \2/p'
}

# against NAME SAMPLES CONNECTIONS RECONNECTS OPTION...
against() {
	local name=$1 n=$2 connections=$3 reconnects=$4 before after ran
	shift 4
	before=$(accepts)
	"$keepalive" run --peer "${peer:-127.0.0.1:$port}" --samples "$n" --deadline 30s "$@" \
		>"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
	after=$(accepts)
	[ "$ran" = 0 ] || echo "$name: $(tail -n 1 "$tmp/log")"
	# The status query itself is one of each.
	equal "nginx: $name" \
		"$ran $(grep -c '^sample request ns' "$tmp/client.txt") $((${after% *} - ${before% *} - 1)) $((${after#* } - ${before#* } - 1)) $(sed -n 's/^count reconnects //p' "$tmp/client.txt")" \
		"0 $n $connections $n $reconnects"
}

against 'keep-alive' 500 1 0 path=/small.txt
against 'mode=off' 500 500 0 path=/small.txt mode=off
peer="[::1]:$port"
against 'over IPv6' 20 1 0 path=/small.txt
peer=
against 'large body' 20 1 0 path=/large.txt
against 'chunked' 20 1 0 path=/chunked.html
against '204' 20 1 0 path=/empty
against 'HEAD' 20 1 0 path=/large.txt framing=head
against 'HTTP/1.0' 20 20 0 path=/small.txt framing=http10
against 'HTTP/1.0 for what would be chunked' 20 20 0 path=/chunked.html framing=http10
against 'undrained' 20 20 0 path=/large.txt trap=undrained
against 'server that never keeps' 20 20 0 path=/never/small.txt
against 'idle timeout shorter than the pause' 4 4 3 path=/brief/small.txt trap=idle_timeout pause=500ms
against 'idle timeout longer than the pause' 4 1 0 path=/small.txt trap=idle_timeout pause=50ms

"$keepalive" run --peer "127.0.0.1:$port" --samples 1 path=/missing >/dev/null 2>"$tmp/log"
equal 'nginx: 404 is an error' "$? $(tail -n 1 "$tmp/log")" '1 probe-keepalive: the reply to /missing is status 404'

# pooled NAME SAMPLES CONNECTIONS OPTION...: as nginx counts them, the same as the client's; CONNECTIONS
# may be empty: any number
pooled() {
	local name=$1 n=$2 connections=$3 before after ran
	shift 3
	before=$(accepts)
	"$pool" run --peer "${peer:-127.0.0.1:$port}" --samples "$n" --deadline 30s "$@" \
		>"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
	after=$(accepts)
	[ "$ran" = 0 ] || echo "$name: $(tail -n 1 "$tmp/log")"
	accepted=$((${after% *} - ${before% *} - 1))
	equal "nginx: pool, $name" \
		"$ran $(grep -c '^sample request ns' "$tmp/client.txt") $accepted $((${after#* } - ${before#* } - 1)) $(sed -n 's/^count connects //p' "$tmp/client.txt")" \
		"0 $n ${connections:-$accepted} $n $accepted"
}

pooled 'waves, idle=2' 100 82 path=/small.txt workers=10 load=waves
pooled 'waves, idle=10' 100 10 path=/small.txt workers=10 load=waves idle=10
pooled 'idle=50' 2000 50 path=/small.txt idle=50
pooled 'idle=2' 2000 '' path=/small.txt cpu=same
between 'nginx: pool, idle=2 churns' "$accepted" 51 2000
pooled 'max=8' 2000 8 path=/small.txt max=8
pooled 'server that never keeps' 200 200 path=/never/small.txt
pooled 'server that never keeps, max=4' 200 200 path=/never/small.txt max=4
pooled 'large body' 100 50 path=/large.txt idle=50
pooled 'chunked' 200 50 path=/chunked.html idle=50
peer="[::1]:$port"
pooled 'over IPv6' 100 82 path=/small.txt workers=10 load=waves
peer=

against 'our server behind nginx' 100 1 0 path=/behind/
kill -TERM "$server"
wait "$server"
server=
equal 'nginx keeps its connection to our server' \
	"$(sed -n 's/^count //p' "$tmp/server.txt" | tr '\n' ' ')" 'connections 1 requests 100 '
