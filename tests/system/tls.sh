#!/usr/bin/env bash
# probe-tls by itself and against OpenSSL's own client and server: what it counts, whom it trusts, and
# that nothing around it changes that.
. "$(dirname "$0")/lib_probe.sh"
need openssl python3

tls=$BIN/probe-tls
foreign='' feed=
trap 'stop_server >/dev/null 2>&1; kill $foreign $feed 2>/dev/null; rm -rf "$tmp"' EXIT
mkfifo "$tmp/feed"

info() {
	sed -n "s/^info $1 //p" "$tmp/client.txt"
}

# counts NAME...: their values in a line
counts() {
	local name values=()
	for name in "$@"; do
		values+=("$(count "$name")")
	done
	echo "${values[*]}"
}

# ---- both halves ours ----

for listen in 127.0.0.1:0 '[::1]:0'; do
	pair "$tls" "$listen" 20
	equal "tls on $listen: both halves exit 0" "$ran $stopped" '0 0'
	equal "tls on $listen: samples" \
		"$(samples connect) $(samples appconnect) $(samples starttransfer) $(samples total) $(samples cpu_client)" \
		'20 20 20 20 20'
	equal "tls on $listen: the server's samples, the first left out" \
		"$(grep -c '^sample cpu_server ns' "$tmp/server.txt") $(count handshakes)" '20 21'
	check "tls on $listen: only records" only_records
	check "tls on $listen: only metrics that describe lists" only_described "$tls"
done

# variant NAME RESUMED EARLY OPTION...: by the counters of both halves, in 30 samples
variant() {
	local name=$1 resumed=$2 early=$3
	shift 3
	pair "$tls" 127.0.0.1:0 30 "$@"
	equal "tls $name" \
		"$ran $stopped $(samples total) $(counts handshakes resumed server_resumed early_accepted server_early server_failed total_errors)" \
		"0 0 30 31 $resumed $resumed $early $early 0 0"
}
for version in 1.2 1.3; do
	variant "$version full" 0 0 version=$version
	equal "tls $version: as asked" "$(info protocol) $(info negotiated_group) $(info signature)" \
		"TLSv$version x25519 id-ecPublicKey"
	variant "$version resumed" 30 0 version=$version session=resumed
	variant "$version resumed, mutual" 30 0 version=$version session=resumed mutual=on
	for key in rsa-2048 ed25519; do
		variant "$version $key, mutual" 0 0 version=$version key=$key mutual=on
	done
	variant "$version p-384" 0 0 version=$version group=p-384
	equal "tls $version p-384: as asked" "$(info negotiated_group)" secp384r1
	variant "$version big" 0 0 version=$version chain=big
	between "tls $version big: more than ten segments" \
		"$(sed -n 's/^sample bytes_received bytes //p' "$tmp/client.txt" | sort -n | head -n 1)" 14600 29000
done
equal 'tls 1.3: cipher' "$(info cipher)" TLS_AES_128_GCM_SHA256
pair "$tls" 127.0.0.1:0 5 key=rsa-3072
equal 'tls rsa-3072' "$ran $(samples total) $(info signature)" '0 5 RSASSA-PSS'
variant 'early' 30 30 session=early
variant 'early, mutual' 30 30 session=early mutual=on
variant 'early, 16 KiB' 30 30 session=early size=16kib
variant 'of one byte' 0 0 size=1b
if [ "$(nproc)" -gt 1 ]; then
	variant 'spinning on two cores' 30 30 session=early wait=spin cpu=split
fi
pair "$tls" 127.0.0.1:0 5 group=x25519mlkem768
if [ "$ran" = not-started ]; then
	check 'tls x25519mlkem768: says that OpenSSL lacks it' \
		grep -q '^probe-tls: OpenSSL .* has no group X25519MLKEM768$' "$tmp/server.log"
	"$tls" run --peer 127.0.0.1:1 --samples 1 group=x25519mlkem768 2>/dev/null >&2
	equal 'tls x25519mlkem768: unsupported' "$?" 77
	wait "$server"
	equal 'tls x25519mlkem768: unsupported in serve' "$?" 77
	server=
else
	equal 'tls x25519mlkem768' "$ran $(info negotiated_group)" '0 X25519MLKEM768'
fi

# What cannot be exits 2 before anything is opened.
for options in 'version=1.2 session=early' 'version=1.2 group=x25519mlkem768' 'wait=spin cpu=same' \
	'size=0b' 'size=17kib' 'name=' 'name=A_b' 'ca=AAAA mutual=on' 'key=dsa' 'version=1.1'; do
	# shellcheck disable=SC2086
	"$tls" run --peer 127.0.0.1:1 --samples 1 $options >"$tmp/out" 2>"$tmp/log"
	equal "tls refuses $options" "$? $(wc -c <"$tmp/out")" '2 0'
done
"$tls" run --peer 127.0.0.1:1 --samples 1 ca=AAAA >/dev/null 2>"$tmp/log"
equal 'tls: a CA that is none' "$? $(tail -n 1 "$tmp/log" | cut -d: -f 2,3)" \
	"1  option 'ca': not a certificate in base64 of DER"

# ---- whom the client trusts ----

# ask ADDR: the CA that a server hands out
ask() {
	python3 - "$1" <<'ASK'
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
sock = socket.create_connection((host, int(port)), timeout=5)
sock.sendall(b"ca\n")
while got := sock.recv(4096):
    sys.stdout.write(got.decode())
ASK
}

der() {
	openssl x509 -in "$1" -outform DER | base64 -w0
}

start "$tls" 127.0.0.1:0
ask "$addr" >"$tmp/other.pem"
stop_server
start "$tls" 127.0.0.1:0
ask "$addr" >"$tmp/ca.pem"
check 'our CA is one' openssl x509 -in "$tmp/ca.pem" -noout -checkend 3600
"$tls" run --peer "$addr" --samples 1 "ca=$(der "$tmp/ca.pem")" >"$tmp/client.txt" 2>"$tmp/log"
equal 'the CA as an option' "$? $(samples total)" '0 1'
"$tls" run --peer "$addr" --samples 1 "ca=$(der "$tmp/other.pem")" >"$tmp/client.txt" 2>"$tmp/log"
equal 'another CA is refused' "$? $(samples total) $(tail -n 1 "$tmp/log")" \
	"1 0 probe-tls: TLS: the peer's certificate: unable to get local issuer certificate"
"$tls" run --peer "$addr" --samples 1 name=other.test >"$tmp/client.txt" 2>"$tmp/log"
equal 'another name is refused' "$? $(samples total) $(tail -n 1 "$tmp/log")" \
	"1 0 probe-tls: TLS: the peer's certificate: hostname mismatch"

# ---- OpenSSL's client against our server ----

client=(openssl s_client -CAfile "$tmp/ca.pem" -no-CApath -no-CAstore -verify_return_error)
timeout 10 "${client[@]}" -connect "$addr" -verify_hostname server.rttmatrix.test </dev/null >"$tmp/out" 2>&1
equal 's_client: chain and name verify' "$? $(grep -c '^Verify return code: 0 (ok)' "$tmp/out")" '0 1'
stop_server
start "$tls" 127.0.0.1:0 version=1.2
ask "$addr" >"$tmp/ca.pem"
timeout 10 "${client[@]}" -connect "$addr" -tls1_2 -reconnect </dev/null >"$tmp/out" 2>&1
equal 's_client -reconnect: resumed five times' "$? $(grep -c '^Reused, TLSv1.2' "$tmp/out")" '0 5'
stop_server
equal 's_client -reconnect: by our count' "$(sed -n 's/^count \(handshakes\|server_resumed\) //p' "$tmp/server.txt" | tr '\n' ' ')" '6 5 '

start "$tls" 127.0.0.1:0 session=early
ask "$addr" >"$tmp/ca.pem"
head -c 63 /dev/zero | tr '\0' r >"$tmp/request"
echo >>"$tmp/request"
# talk REQUEST COMMAND...: give it REQUEST, and end its input once it printed our server's echo
cat >"$tmp/talk.py" <<'TALK'
import subprocess, sys
peer = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
peer.stdin.write(sys.argv[1].encode())
peer.stdin.flush()
for line in peer.stdout:
    sys.stdout.write(line.decode(errors="replace"))
    if line.startswith(b"rrrr"):
        break
peer.stdin.close()
peer.wait()
TALK
timeout 10 python3 "$tmp/talk.py" "$(cat "$tmp/request")
" "${client[@]}" -connect "$addr" -sess_out "$tmp/session.pem" >"$tmp/out"
timeout 10 python3 "$tmp/talk.py" '' "${client[@]}" -connect "$addr" -sess_in "$tmp/session.pem" \
	-early_data "$tmp/request" >"$tmp/out"
equal 's_client -early_data: accepted, and answered' \
	"$(grep -c 'Early data was accepted' "$tmp/out") $(grep -c '^r\{63\}$' "$tmp/out")" '1 1'
stop_server
equal 's_client -early_data: by our count' "$(sed -n 's/^count server_early //p' "$tmp/server.txt")" 1

# ---- our client against OpenSSL's server ----

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=a CA' \
	-addext basicConstraints=critical,CA:TRUE -keyout "$tmp/k.pem" -out "$tmp/root.pem" 2>/dev/null
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=a server' \
	-keyout "$tmp/leaf-key.pem" -out "$tmp/leaf.csr" 2>/dev/null
printf 'subjectAltName=DNS:foreign.test\n' >"$tmp/extensions"
openssl x509 -req -in "$tmp/leaf.csr" -CA "$tmp/root.pem" -CAkey "$tmp/k.pem" -CAcreateserial -days 2 \
	-extfile "$tmp/extensions" -out "$tmp/leaf.pem" 2>/dev/null
root=$(der "$tmp/root.pem")

# start_foreign OPTIONS: OpenSSL's server; $foreign and $addr
start_foreign() {
	: >"$tmp/server.txt"
	: >"$tmp/foreign.txt"
	# What it sends, where it does not answer by itself; its letters are no commands of s_server.
	yes xxxxxxxxxxxxxxx >"$tmp/feed" 2>/dev/null &
	feed=$!
	# shellcheck disable=SC2086
	openssl s_server -accept 127.0.0.1:0 -cert "$tmp/leaf.pem" -key "$tmp/leaf-key.pem" \
		-no-CAfile -no-CApath -no-CAstore $1 <"$tmp/feed" >"$tmp/foreign.txt" 2>&1 &
	foreign=$!
	until_true 5 grep -q '^ACCEPT' "$tmp/foreign.txt"
	addr=127.0.0.1:$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' "$tmp/foreign.txt")
}

stop_foreign() {
	kill $foreign $feed
	wait $foreign $feed
	foreign='' feed=
} 2>/dev/null

# foreign NAME RESUMED EARLY SERVER-OPTIONS CLIENT-OPTION...
foreign() {
	local name=$1 resumed=$2 early=$3
	start_foreign "$4"
	shift 4
	"$tls" run --peer "$addr" --samples 20 --deadline 20s name=foreign.test "ca=$root" "$@" \
		>"$tmp/client.txt" 2>"$tmp/log"
	equal "s_server: $name" "$? $(samples total) $(counts resumed early_accepted)" "0 20 $resumed $early"
	stop_foreign
}

for version in 1.2 1.3; do
	foreign "$version full" 0 0 -rev version=$version
	foreign "$version resumed" 20 0 -rev version=$version session=resumed
done
foreign 'early data' 20 20 -early_data session=early

# A sample that is not what its row says ends the run.
# refuses NAME SERVER-OPTIONS REASON CLIENT-OPTION...
refuses() {
	local name=$1 server_options=$2 reason=$3
	shift 3
	start_foreign "$server_options"
	"$tls" run --peer "$addr" --samples 3 --deadline 2s name=foreign.test "ca=$root" "$@" \
		>"$tmp/client.txt" 2>"$tmp/log"
	# OpenSSL 3.5 has another name for who sent an alert than 3.0.
	equal "s_server: $name" \
		"$? $(samples total) $(tail -n 1 "$tmp/log" | sed 's/TLS: [a-z0-9/]* alert/TLS: alert/')" \
		"1 0 probe-tls: $reason"
	stop_foreign
}

refuses 'no tickets' '-rev -num_tickets 0' \
	'deadline of 2s passed: wait for a ticket: receive: no answer before the deadline' session=resumed
refuses 'tickets that it forgets' '-rev -no_ticket -no_cache' \
	'the server did not resume the session' session=resumed
refuses '1.2 without sessions' '-rev -no_ticket -no_cache' \
	'the server gave no session to resume' version=1.2 session=resumed
refuses 'no early data' -rev "the server's ticket is not for 64 bytes of early data" session=early
refuses 'another version' '-rev -tls1_2' 'TLS: alert protocol version' version=1.3
refuses 'another group' '-rev -groups P-384' 'TLS: alert handshake failure'
start_foreign -rev
"$tls" run --peer "$addr" --samples 3 "ca=$root" >"$tmp/client.txt" 2>"$tmp/log"
equal 's_server: another name' "$? $(tail -n 1 "$tmp/log")" \
	"1 probe-tls: TLS: the peer's certificate: hostname mismatch"
stop_foreign

# ---- peers that speak no TLS ----

against mute "$tls" 300ms
equal 'a mute peer' "$ran $reason" \
	'1 probe-tls: deadline of 300ms passed: ask for the CA: receive: no answer before the deadline'
against close "$tls" 5s
equal 'a peer that closes' "$ran $reason" "1 probe-tls: ask for the CA: the server's CA: no start line"
against close "$tls" 5s "ca=$root"
equal 'a peer that closes within the handshake' "$ran $reason" \
	'1 probe-tls: TLS: the peer closed the connection'
against 'SSH-2.0-x\r\n' "$tls" 5s "ca=$root"
equal 'a peer that speaks something else' "$ran $reason" '1 probe-tls: TLS: wrong version number'

# Who speaks no TLS to our server is dropped, and nobody else notices.
start "$tls" 127.0.0.1:0
for question in 'GET / HTTP/1.1' 'ca?' '-----BEGIN PUBLIC KEY-----'; do
	timeout 5 python3 - "$addr" "$question" >"$tmp/out" 2>&1 <<'TALK'
import socket, sys
host, port = sys.argv[1].split(":")
sock = socket.create_connection((host, int(port)), timeout=5)
sock.sendall(sys.argv[2].encode())
sock.shutdown(socket.SHUT_WR)
print(len(sock.recv(100)))
TALK
	check "our server and '$question': no answer" grep -q '^0$\|reset by peer' "$tmp/out"
done
"$tls" run --peer "$addr" --samples 3 >"$tmp/client.txt" 2>"$tmp/log"
equal 'our server goes on' "$? $(samples total)" '0 3'
stop_server
equal 'our server counts only TLS' "$(counts handshakes server_failed)" '4 0'

# ---- the environment changes nothing ----

# With these OpenSSL would speak TLS 1.2 with other ciphers, insist on larger keys, load a module that
# is not there, and trust the CA that is refused here.
cat >"$tmp/openssl.cnf" <<'CONF'
openssl_conf = hostile
[hostile]
ssl_conf = ssl
providers = modules
[ssl]
system_default = all
[all]
MinProtocol = TLSv1.2
MaxProtocol = TLSv1.2
CipherString = AES256-SHA:@SECLEVEL=5
Groups = P-521
[modules]
nowhere = nowhere_section
[nowhere_section]
module = /nowhere.so
activate = 1
CONF
start "$tls" 127.0.0.1:0
ask "$addr" >"$tmp/ca.pem"
stop_server
hostile=(env "OPENSSL_CONF=$tmp/openssl.cnf" "SSL_CERT_FILE=$tmp/ca.pem" "SSL_CERT_DIR=$tmp"
	OPENSSL_MODULES=/nowhere OPENSSL_ENGINES=/nowhere)
cat >"$tmp/hostile" <<HOSTILE
#!/bin/sh
exec ${hostile[*]} $tls "\$@"
HOSTILE
chmod +x "$tmp/hostile"
timeout 10 "${hostile[@]}" openssl ciphers -s -v >"$tmp/out" 2>&1
equal 'this environment would change things' "$(grep -c TLSv1.3 "$tmp/out")" 0
pair "$tls" 127.0.0.1:0 3 session=early mutual=on
sed '/^sample/d' "$tmp/client.txt" >"$tmp/plain"
pair "$tmp/hostile" 127.0.0.1:0 3 session=early mutual=on
sed '/^sample/d' "$tmp/client.txt" >"$tmp/hostile.txt"
equal 'a hostile environment: both halves' "$ran $stopped" '0 0'
check 'a hostile environment: the same records' cmp "$tmp/plain" "$tmp/hostile.txt"
start_foreign -rev
cp "$tmp/root.pem" "$tmp/ca.pem"
"$tmp/hostile" run --peer "$addr" --samples 1 name=foreign.test "ca=$(der "$tmp/other.pem")" \
	>"$tmp/client.txt" 2>"$tmp/log"
equal 'a hostile environment: nobody else is trusted' "$? $(tail -n 1 "$tmp/log")" \
	"1 probe-tls: TLS: the peer's certificate: unable to get local issuer certificate"
stop_foreign
if command -v strace >/dev/null; then
	start "$tls" 127.0.0.1:0
	strace -f -e trace=file -o "$tmp/trace" "$tls" run --peer "$addr" --samples 1 >"$tmp/client.txt" 2>&1
	equal 'no configuration and no certificate is looked for' \
		"$? $(grep -c '"' "$tmp/trace" | grep -c .) $(grep -ciE '"[^"]*(ssl|\.cnf|cert|\.pem|resolv|nsswitch)' "$tmp/trace")" '0 1 0'
	stop_server
else
	skip 'which files are opened' 'no strace here'
fi
