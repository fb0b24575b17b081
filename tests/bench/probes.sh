#!/usr/bin/env bash
# The probe adds nothing: ours against a bare loop, sockperf and wrk, in turns, same placement.
#
# A placement is the cores of server and client: 0 0 (cpu=same) or 1 0 (cpu=split). Rounds
# alternate between ours and the peer, so that whatever else the machine does hits both; the
# samples of all rounds are pooled before their median is taken.
. "$(dirname "$0")/../system/lib.sh"
PATH=$PATH:/usr/sbin
need sockperf wrk nginx taskset

rounds=${ROUNDS:-5}
handshake=$BIN/probe-handshake keepalive=$BIN/probe-keepalive
bare=$BUILD/bench/bare_connect
server='' behind=''
: >"$tmp/log"
trap 'kill $server $behind 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# median FILE: of lines "VALUE" or "VALUE COUNT"; prints "MEDIAN N", interpolated within a value
# that stands for all between it - STEP / 2 and it + STEP / 2 (wrk counts whole microseconds)
median() {
	sort -n "$1" | awk -v step="${2:-0}" '
		{ c = NF > 1 ? $2 : 1; v[NR] = $1; n += c; w[NR] = c }
		END {
			for (i = 1; i <= NR; i++) {
				if (below + w[i] >= n / 2) {
					printf "%.0f %d\n", v[i] + step * ((n / 2 - below) / w[i] - 0.5), n
					exit
				}
				below += w[i]
			}
		}'
}

# report NAME OURS-FILE PEER-FILE PEER-STEP-NS: one line, held to the target of all of them
report() {
	local ours peer
	if [ ! -s "$2" ] || [ ! -s "$3" ]; then
		echo "$1: no figures: $(tail -n 1 "$tmp/log")"
		return
	fi
	read -r -a ours < <(median "$2")
	read -r -a peer < <(median "$3" "$4")
	awk -v name="$1" -v a="${ours[0]}" -v b="${peer[0]}" -v n="${ours[1]}/${peer[1]}" 'BEGIN {
		printf "bench %s | %.2f us | %.2f us | %.3f | %s | at most 1.10 | %s\n", name, a / 1000, b / 1000,
			a / b, n, a / b <= 1.1 ? "holds" : "misses" }'
}

# serve PROBE OPTION...: $server and $addr
serve() {
	local probe=$1
	shift
	: >"$tmp/ready"
	"$probe" serve --listen 127.0.0.1:0 --deadline 120s "$@" >"$tmp/ready" 2>>"$tmp/log" &
	server=$!
	until_true 5 grep -q ready "$tmp/ready"
	addr=$(sed -n 's/^ready //p' "$tmp/ready")
}

stop() {
	kill -TERM "$server"
	wait "$server"
	server=
} 2>/dev/null

# run_probe PROBE METRIC SAMPLES FILE OPTION...: both halves, METRIC's values appended to FILE
run_probe() {
	local probe=$1 metric=$2 samples=$3 file=$4
	shift 4
	serve "$probe" "$@"
	"$probe" run --peer "$addr" --samples "$samples" --deadline 60s "$@" 2>>"$tmp/log" |
		sed -n "s/^sample $metric ns //p" >>"$file"
	stop
}

# ---- connect against a bare loop ----

# Connections in TIME_WAIT make the search for a local port dearer (13 -> 20 us a connect with
# 20,000 of them, whatever their peer): each turn gets a namespace without any, as each cell does.
fresh=
if unshare -rn true 2>/dev/null; then
	fresh="unshare -rn"
fi
cat >"$tmp/alone.sh" <<'ALONE'
ip link set lo up
if [ "$1" = bare ]; then
	exec "${@:2}"
fi
"$1" serve --listen 127.0.0.1:1234 --deadline 60s "$3" >"$4" &
until grep -q ready "$4"; do :; done
"$1" run --peer 127.0.0.1:1234 --samples "$2" --deadline 60s "$3" | sed -n 's/^sample connect ns //p'
kill $!
wait
ALONE

for placement in 'same 0' 'split 1'; do
	read -r cpu core <<<"$placement"
	for ((i = 0; i < 2 * rounds; i++)); do
		: >"$tmp/ready"
		$fresh bash "$tmp/alone.sh" "$handshake" 2000 "cpu=$cpu" "$tmp/ready" >>"$tmp/connect-$cpu"
		$fresh bash "$tmp/alone.sh" bare "$bare" 2000 0 "$core" >>"$tmp/bare-$cpu"
	done
	report "connect cpu=$cpu : bare loop" "$tmp/connect-$cpu" "$tmp/bare-$cpu" 0
done

# ---- a request on a kept connection against sockperf ----

# sockperf_pair FILE SERVER-CORE EXTRA...: nanoseconds of each round trip appended to FILE
sockperf_pair() {
	local file=$1 core=$2 port
	shift 2
	serve "$keepalive"
	port=${addr##*:}
	stop
	taskset -c "$core" sockperf server --tcp -i 127.0.0.1 -p "$port" "$@" >>"$tmp/log" 2>&1 &
	behind=$!
	until_true 5 grep -q "^ *[0-9]*: 0100007F:$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp
	taskset -c 0 sockperf ping-pong --tcp -i 127.0.0.1 -p "$port" -m 64 -t 1 --full-rtt \
		--full-log "$tmp/full.csv" "$@" >>"$tmp/log" 2>&1
	kill -INT $behind
	wait $behind
	behind=
	awk -F, '$1 ~ /^[0-9]+$/ && NF >= 3 { printf "%.0f\n", ($3 - $2) * 1e9 }' "$tmp/full.csv" |
		head -n 5000 >>"$file"
} 2>/dev/null

for placement in 'same 0 block' 'split 1 block' 'split 1 spin --nonblocked'; do
	read -r cpu core wait extra <<<"$placement"
	name=$cpu-$wait
	for ((i = 0; i < rounds; i++)); do
		run_probe "$handshake" request_kept 5000 "$tmp/kept-$name" "cpu=$cpu" "wait=$wait"
		# shellcheck disable=SC2086
		sockperf_pair "$tmp/sockperf-$name" "$core" $extra
	done
	report "request_kept cpu=$cpu wait=$wait : sockperf" "$tmp/kept-$name" "$tmp/sockperf-$name" 0
done

# ---- a keep-alive request against wrk, on one and the same server process ----

cat >"$tmp/histogram.lua" <<'LUA'
function done(summary, latency, requests)
	for i = 1, #latency do
		local value, count = latency(i)
		io.stderr:write(string.format("value %d %d\n", value * 1000, count))
	end
end
LUA

# keepalive_rounds NAME ADDR CPU OPTION...: $tmp/ours-NAME and $tmp/wrk-NAME
keepalive_rounds() {
	local name=$1 addr=$2 cpu=$3
	shift 3
	for ((i = 0; i < rounds; i++)); do
		"$keepalive" run --peer "$addr" --samples 20000 --deadline 60s "cpu=$cpu" "$@" \
			2>>"$tmp/log" | sed -n 's/^sample request ns //p' >>"$tmp/ours-$name"
		taskset -c 0 wrk -t1 -c1 -d1s -s "$tmp/histogram.lua" "http://$addr${path:-/}" 2>&1 >>"$tmp/log" |
			sed -n 's/^value //p' >>"$tmp/wrk-$name"
	done
}

for placement in same split; do
	serve "$keepalive" "cpu=$placement"
	keepalive_rounds "$placement" "$addr" "$placement"
	stop
	report "keep-alive request cpu=$placement : wrk, our server" "$tmp/ours-$placement" "$tmp/wrk-$placement" 1000
done

serve "$keepalive"
port=${addr##*:}
stop
head -c 64 /dev/zero | tr '\0' x >"$tmp/small.txt"
cat >"$tmp/nginx.conf" <<CONF
daemon off;
master_process off;
pid $tmp/nginx.pid;
error_log $tmp/error.log;
events { }
http {
	access_log off;
	client_body_temp_path $tmp/body;
	proxy_temp_path $tmp/proxy;
	fastcgi_temp_path $tmp/fastcgi;
	uwsgi_temp_path $tmp/uwsgi;
	scgi_temp_path $tmp/scgi;
	keepalive_requests 100000000;
	server { listen 127.0.0.1:$port; root $tmp; }
}
CONF
path=/small.txt
for placement in 'same 0' 'split 1'; do
	read -r cpu core <<<"$placement"
	taskset -c "$core" nginx -p "$tmp" -c "$tmp/nginx.conf" 2>>"$tmp/log" &
	behind=$!
	until_true 5 "$keepalive" run --peer "127.0.0.1:$port" --samples 1 "path=$path"
	keepalive_rounds "nginx-$cpu" "127.0.0.1:$port" "$cpu" "path=$path"
	kill $behind
	wait $behind
	behind=
	report "keep-alive request cpu=$cpu : wrk, nginx" "$tmp/ours-nginx-$cpu" "$tmp/wrk-nginx-$cpu" 1000
done 2>/dev/null
