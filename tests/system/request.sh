#!/usr/bin/env bash
# probe-request: what each state leaves to be done, by the counters of the far side, and servers
# that answer wrongly. (request_curl.sh has curl's own figures.)
. "$(dirname "$0")/lib_probe.sh"
need openssl python3

request=$BIN/probe-request
fake=
trap 'stop_server >/dev/null 2>&1; kill $fake 2>/dev/null; wait; rm -rf "$tmp"' EXIT

# counts NAME...: their values in a line
counts() {
	local name values=()
	for name in "$@"; do
		values+=("$(count "$name")")
	done
	echo "${values[*]}"
}

# Each moment of a request follows the one before, and the phases add up.
in_order() {
	awk '$1 == "sample" { value[$2, ++n[$2]] = $4 }
	END {
		split("namelookup connect appconnect starttransfer total", moment)
		split("phase_dns phase_tcp phase_tls phase_wait phase_body", phase)
		for (i = 1; i <= n["total"]; i++) {
			sum = 0
			for (m = 1; m <= 5; m++) {
				if (m > 1 && value[moment[m], i] < value[moment[m - 1], i]) exit 1
				sum += value[phase[m], i]
				if (sum != value[moment[m], i]) exit 1
			}
		}
		exit n["total"] == 0
	}' "$tmp/client.txt"
}

# ---- the states ----

# state NAME QUERIES CONNECTIONS RESUMED EARLY OPTION...: of 20 samples, as the server counts them
state() {
	local name=$1 expected="20 0 $2 $3 20 $4 $5 0"
	shift 5
	pair "$request" "${listen:-127.0.0.1:0}" 20 "$@"
	equal "request $name" "$ran $stopped $(samples total) $(counts total_errors queries connections \
		requests server_resumed server_early server_failed)" "0 0 $expected"
	check "request $name: moments and phases" in_order
}
for listen in 127.0.0.1:0 '[::1]:0'; do
	state "cold on $listen" 20 20 0 0
	check "request on $listen: only records" only_records
	check "request on $listen: only metrics that describe lists" only_described "$request"
	state "early on $listen" 0 20 20 20 state=early
done
listen=127.0.0.1:0
for version in 1.2 1.3; do
	state "$version cold" 20 20 0 0 version=$version
	equal "request $version: as asked" "$(sed -n 's/^info protocol //p' "$tmp/client.txt")" "TLSv$version"
	state "$version dns_cached" 0 20 0 0 version=$version state=dns_cached
	state "$version kept" 0 0 0 0 version=$version state=kept
	equal "request $version kept: nothing but the reply is waited for" \
		"$(grep -c '^sample \(namelookup\|connect\|appconnect\|phase_dns\|phase_tcp\|phase_tls\) ns 0$' "$tmp/client.txt")" 120
	state "$version resumed" 0 20 20 0 version=$version state=resumed
done
state 'rsa-2048' 20 20 0 0 key=rsa-2048
state 'of an empty body' 0 0 0 0 state=kept size=0b
state 'of 1 MiB' 0 20 20 20 state=early size=1mib
if [ "$(nproc)" -gt 1 ]; then
	state 'spinning on two cores' 20 20 0 0 wait=spin cpu=split
fi

# What cannot be exits 2 before anything is opened.
for options in 'version=1.2 state=early' 'wait=spin cpu=same' 'wait=spin cpu=split state=resumed' \
	'state=warm' 'size=17mib' 'retry=1ms' 'key=dsa'; do
	# shellcheck disable=SC2086
	"$request" run --peer 127.0.0.1:1 --samples 1 $options >"$tmp/out" 2>"$tmp/log"
	equal "request refuses $options" "$? $(wc -c <"$tmp/out")" '2 0'
done

# ---- servers that answer wrongly ----

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=a CA' \
	-addext basicConstraints=critical,CA:TRUE -keyout "$tmp/root-key.pem" -out "$tmp/root.pem" 2>/dev/null
# certificate FILE NAME: with its key
certificate() {
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=a server' \
		-keyout "$tmp/leaf-key.pem" -out "$tmp/leaf.csr" 2>/dev/null
	openssl x509 -req -in "$tmp/leaf.csr" -CA "$tmp/root.pem" -CAkey "$tmp/root-key.pem" -CAcreateserial \
		-days 2 -extfile <(echo "subjectAltName=DNS:$2") -out "$tmp/leaf.pem" 2>/dev/null
	cat "$tmp/leaf.pem" "$tmp/leaf-key.pem" >"$1"
}
certificate "$tmp/right.pem" '*.rttmatrix.test'
certificate "$tmp/wrong.pem" '*.other.test'

# A server as ours, with a fault: FAULT CERTIFICATE CA
cat >"$tmp/fake.py" <<'FAKE'
import socket, ssl, struct, sys, threading
fault, certificate, ca = sys.argv[1:]
listener = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(listener.getsockname())
def settings():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.num_tickets = 0 if fault == "no-ticket" else 1
    return context
context = settings()
head = b"HTTP/1.1 200 OK\r\nContent-Length: "
replies = {
    "status": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "rubbish": b"220 mail.test ESMTP\r\n",
    "longer": head + b"64\r\n\r\n" + b"x" * 65,
    "size": head + b"65\r\n\r\n" + b"x" * 65,
    "cut": head + b"64\r\n\r\nxx",
    "last": head + b"64\r\nConnection: close\r\n\r\n" + b"x" * 64,
}
def names():
    while True:
        query, peer = udp.recvfrom(4096)
        if fault == "no-name":
            reply = query[:2] + b"\x85\x03" + query[4:]
        elif fault == "dns":
            reply = query[:2] + b"\x85\x00\0\1\0\1" + b"\0" * 4 + query[12:] + b"\xc0\x0c\0\1"
        elif fault == "silent":
            continue
        else:
            address = b"\x7f\0\0\2" if fault == "address" else b"\x7f\0\0\1"
            reply = query[:2] + b"\x85\x00\0\1\0\1" + b"\0" * 4 + query[12:]
            reply += b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + address
        udp.sendto(reply, peer)
def serve(sock):
    if sock.recv(3, socket.MSG_PEEK) == b"ca\n":
        sock.recv(3)
        sock.sendall(open(ca, "rb").read())
        sock.close()
        return
    try:
        # Tickets of another context cannot be read.
        tls = (settings() if fault == "forgets" else context).wrap_socket(sock, server_side=True)
        while tls.recv(4096) and fault != "close":
            tls.sendall(replies.get(fault, head + b"64\r\n\r\n" + b"x" * 64))
            if fault == "cut":
                break
        tls.close()
    except (OSError, ssl.SSLError):
        pass
threading.Thread(target=names, daemon=True).start()
print("ready 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    sock, _ = listener.accept()
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
FAKE

# fakes FAULT EXPECTED OPTION...: exit status, samples and the last words of a client
fakes() {
	local fault=$1 expected=$2 certificate=$tmp/right.pem
	shift 2
	[ "$fault" != certificate ] || certificate=$tmp/wrong.pem
	: >"$tmp/server.txt"
	python3 "$tmp/fake.py" "$fault" "$certificate" "$tmp/root.pem" >"$tmp/server.txt" &
	fake=$!
	until_true 20 grep -q ready "$tmp/server.txt"
	"$request" run --peer "$(sed -n 's/^ready //p' "$tmp/server.txt")" --samples 3 --deadline 2s "$@" \
		>"$tmp/client.txt" 2>"$tmp/log"
	# Numbers are drawn; what llhttp and c-ares say behind these words depends on their version.
	equal "a foreign server: $fault" \
		"$? $(samples total) $(tail -n 1 "$tmp/log" | sed 's/probe-request: //; s/n[0-9]*\.rtt/N.rtt/
			s/[0-9]* bytes of early/N bytes of early/; s/\(not HTTP\|DNS query\).*/\1/; s/127.0.0.2:.* is/127.0.0.2 is/')" \
		"$expected"
	kill $fake
	wait $fake
	fake=
} 2>/dev/null

for state in cold dns_cached kept; do
	fakes none '0 3 ' state=$state
done
fakes none '0 3 ' state=resumed version=1.2
fakes certificate "1 0 the first request: TLS: the peer's certificate: hostname mismatch"
fakes address "1 0 the first request: N.rttmatrix.test: 127.0.0.2 is not the server's address"
fakes no-name '1 0 the first request: look up N.rttmatrix.test: Domain name not found'
fakes dns '1 0 the first request: look up N.rttmatrix.test: Misformatted DNS reply'
fakes silent '1 0 deadline of 2s passed: the first request: look up N.rttmatrix.test: DNS query'
fakes status '1 0 the first request: the reply to / is status 404'
fakes rubbish '1 0 the first request: not HTTP'
fakes longer '1 0 the first request: 1 bytes behind the end of the reply'
fakes size '1 0 the first request: the reply is not the one that was asked for'
fakes last '1 0 the first request: the reply is not the one that was asked for' state=kept
fakes cut '1 0 the first request: TLS: the peer closed the connection'
fakes close '1 0 the first request: TLS: the peer closed the connection'
fakes no-early "1 0 the server's ticket is not for N bytes of early data" state=early
fakes no-ticket '1 0 deadline of 2s passed: wait for a ticket: receive: no answer before the deadline' state=resumed
for version in 1.2 1.3; do
	fakes forgets '1 0 the server did not resume the session' state=resumed version=$version
done
