# Shared by the tests that run a probe by hand: sourced, not run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is read by the tests

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

server=
trap 'stop_server >/dev/null 2>&1; rm -rf "$tmp"' EXIT

# The server of start() is ready, or has ended without.
settled() {
	grep -q '^ready ' "$tmp/server.txt" || ! kill -0 "$server"
}

# start PROGRAM LISTEN OPTION...: serve in the background until it is ready; $addr is its address
start() {
	local program=$1 listen=$2
	shift 2
	: >"$tmp/server.txt"
	"$program" serve --listen "$listen" --deadline 60s "$@" >"$tmp/server.txt" 2>"$tmp/server.log" &
	server=$!
	# On a busy machine a key of RSA may take seconds.
	until_true 30 settled
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
	[ -n "$addr" ]
}

# Sets $stopped, its exit status.
stop_server() {
	[ -n "$server" ] || return 0
	kill -TERM "$server"
	wait "$server"
	stopped=$?
	server=
}

# pair PROGRAM LISTEN SAMPLES OPTION...: both halves; $ran and $stopped are their exit statuses
pair() {
	local program=$1 listen=$2 samples=$3
	shift 3
	ran=not-started stopped=not-started
	start "$program" "$listen" "$@" || return
	"$program" run --peer "$addr" --samples "$samples" --deadline 30s "$@" \
		>"$tmp/client.txt" 2>"$tmp/client.log"
	ran=$?
	stop_server
}

# count NAME: the value of a count record of either half
count() {
	sed -n "s/^count $1 //p" "$tmp/server.txt" "$tmp/client.txt"
}

samples() {
	grep -c "^sample $1 ns [0-9]*\$" "$tmp/client.txt"
}

# Every line of both halves is a record of the contract.
only_records() {
	! grep -Ehv '^(sample [a-z][a-z0-9_]* (ns|bytes|bytes_per_s|count) [0-9]+|count [a-z][a-z0-9_]* [0-9]+|info [a-z][a-z0-9_]* .*|ready .*)$' \
		"$tmp/server.txt" "$tmp/client.txt"
}

# Every metric printed is one that describe lists (count X_errors belongs to X).
only_described() {
	local name
	"$1" describe | sed -n 's/^metric \([a-z0-9_]*\) .*/\1/p' | sort >"$tmp/described"
	sed -n 's/^\(sample\|count\) \([a-z0-9_]*\) .*/\2/p' "$tmp/server.txt" "$tmp/client.txt" |
		sort -u >"$tmp/printed"
	while read -r name; do
		grep -qx "${name%_errors}" "$tmp/described" || { echo "$name is not described"; return 1; }
	done <"$tmp/printed"
}

# Peers that misbehave: PEER answers each connection with its argument and holds it open.
cat >"$tmp/peer.py" <<'PEER'
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
answer = sys.argv[1].encode().decode("unicode_escape").encode("latin1")
held = []
def serve(sock):
    if answer != b"mute":
        sock.recv(4096)
    if answer == b"reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.close()
    elif answer == b"close" or answer == b"close-first" and len(held) == 1:
        sock.close()
    elif answer == b"close-first":
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        sock.sendall(reply)
        while sock.recv(4096):
            sock.sendall(reply)
    elif answer != b"mute":
        sock.sendall(answer)
while True:
    sock, _ = listener.accept()
    held.append(sock)
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
PEER

# against ANSWER PROBE DEADLINE OPTION...: $ran, and the last line of stderr in $reason
against() {
	local answer=$1 probe=$2 deadline=$3
	shift 3
	: >"$tmp/server.txt"
	python3 "$tmp/peer.py" "$answer" >"$tmp/server.txt" &
	server=$!
	until_true 20 grep -q ready "$tmp/server.txt"
	addr=$(sed -n 's/^ready //p' "$tmp/server.txt")
	"$probe" run --peer "$addr" --samples 3 --deadline "$deadline" "$@" >"$tmp/client.txt" 2>"$tmp/log"
	ran=$?
	reason=$(tail -n 1 "$tmp/log")
	kill "$server"
	wait "$server" 2>/dev/null
	server=
}
