#!/usr/bin/env bash
# rttlink with its own emulator, in real namespaces: the times, losses and order that were asked
# for, what it says when it can't, and that nothing stays behind.
. "$(dirname "$0")/lib_link.sh"
need unshare nsenter setpriv ping ip python3

enter_namespaces link
profile wan50 'rtt: 50ms'
if ! link_up wan50; then
	skip link "$(tail -n 1 "$tmp/link.log")"
	exit 0
fi

# --- times: a busy machine only adds, so bounds are generous above; make bench has the strict ones
for family in 4 6; do
	check "50 ms, IPv$family: the check runs" measure --family $family --count 30 --interval 3ms
	between "50 ms, IPv$family: round trip, us" "$(median echo)" 49500 53000
	between "50 ms, IPv$family: half of it each way, us" "$(median echo_up)" 24500 27000
	equal "50 ms, IPv$family: nothing is lost" "$(counter echo_lost "$tmp/check.txt")" 0
done
ping_near -c 10 -i 0.01 -q >"$tmp/ping.txt"
between "ping agrees, ms" "$(sed -n 's|^rtt [^=]*= \([0-9.]*\)/.*|\1|p' "$tmp/ping.txt")" 49.5 53
check "base cost is told" grep -Eq '^info base_rtt_ns [0-9]+$' "$tmp/link.txt"

# --- the end: by SIGTERM, with counters, at once
started=$(date +%s%N)
kill -TERM "$link"
until_true 5 grep -q '^count down_dropped' "$tmp/link.txt"
took=$((($(date +%s%N) - started) / 1000000))
wait "$link"
equal "SIGTERM: exit status" "$?" 0
link=
between "SIGTERM: counters after, ms" "$took" 0 1000
between "counted: packets up" "$(counter up_packets)" 70 100
equal "counted: lost" "$(counter up_lost)$(counter down_lost)" 00
equal "counted: dropped" "$(counter up_dropped)$(counter down_dropped)" 00
check "lateness is told" grep -Eq '^info lateness_p99_ns [0-9]+$' "$tmp/link.txt"
check "the longest stall is told" grep -Eq '^info stall_max_ns [0-9]+$' "$tmp/link.txt"
check "… and how many there were" grep -Eq '^info stalls [0-9]+$' "$tmp/link.txt"
equal "SIGTERM: no device is left" "$(has_device "$near" || has_device "$far" || echo none)" none
exec 7>&-

# --- the same seed loses the same packets
profile lossy 'rtt: 4ms' 'loss: 10%'
# Which of 300 pings come back with this seed: $pattern.
ping_with_seed() {
	namespaces
	link_up lossy --seed "$1"
	ping_near -c 300 -i 0.002 -W 0.2 >"$tmp/ping.txt"
	link_down
	pattern=$(sequence "$tmp/ping.txt" | sort -n | tr '\n' ' ')
}
ping_with_seed 11
first=$pattern
between "10% each way: replies of 300" "$(wc -w <<<"$first")" 210 275
ping_with_seed 11
equal "same seed, same losses" "$pattern" "$first"
ping_with_seed 12
if [ "$pattern" != "$first" ]; then
	ok "another seed, other losses"
else
	not_ok "another seed, other losses" "the same 300 pings came back"
fi

namespaces
link_up lossy --seed 3
ping_near -c 500 -i 0.002 -W 0.2 -q >/dev/null
link_down
equal "loss is counted as lost, not dropped" "$(counter up_packets) $(counter up_dropped)" "500 0"
between "lost of 500 at 10%" "$(counter up_lost)" 28 76

# --- a lost or doubled exchange does not hold up a closed echo
profile near 'rtt: 1ms' 'loss: 10%' 'duplicate: 10%'
namespaces
link_up near --seed 1
started=$(date +%s%N)
check "1 ms, 10% lost: the check runs" measure --closed --interval 0ms --count 25 --deadline 9s
took=$((($(date +%s%N) - started) / 1000000))
between "… to its end, long before its deadline, ms" "$took" 0 6000
between "… and most come back" "$(grep -c '^sample echo ' "$tmp/check.txt")" 12 25
link_down

# --- jitter keeps order and moves
profile jitter 'rtt: 20ms' 'jitter: 5ms'
namespaces
link_up jitter
ping_near -c 300 -i 0.002 >"$tmp/ping.txt"
equal "jitter keeps order" "$(sequence "$tmp/ping.txt" | sort -nc 2>&1)" ""
# Of a mean deviation a single stall of the machine could make anything.
between "jitter moves: the middle half of the echoes within ms" "$(sed -n 's/.*time=\([0-9.]*\) ms.*/\1/p' "$tmp/ping.txt" |
	sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 3 / 4)] - v[int(NR / 4)] }')" 2 9
link_down

# --- the rate: 1428 bytes each way at 1 Mbit/s take 22.8 ms
profile slow 'rtt: 10ms' 'rate: 1mbit' 'limit: 20'
namespaces
link_up slow
ping_near -c 8 -i 0.05 -s 1400 -q >"$tmp/ping.txt"
between "1 Mbit/s serialises, ms" "$(sed -n 's|^rtt [^=]*= \([0-9.]*\)/.*|\1|p' "$tmp/ping.txt")" 32.2 35
ping_near -f -c 60 -l 60 -s 1400 -W 0.3 -q >"$tmp/ping.txt"
link_down
between "a full queue drops" "$(counter up_dropped)" 30 45
equal "… and loses nothing" "$(counter up_lost)" 0

# --- cold: neighbours are asked for over the link, by whoever comes first
profile cold 'rtt: 50ms' 'cold: true'
# There is one first exchange only, which a machine that stands still lengthens: at most three times.
for try in 1 2 3; do
	[ $try = 1 ] || link_down
	namespaces
	link_up cold
	neighbours=$(nsenter --net="/proc/$near/ns/net" ip neigh; nsenter --net="/proc/$far/ns/net" ip neigh)
	measure --count 9 --interval 20ms
	within "$(median echo_first)" 99000 190000 && break
done
equal "cold: calibration left no neighbours" "$neighbours" ""
between "cold: the first exchange takes two round trips, us" "$(median echo_first)" 99000 190000
between "cold: the next ones take one, us" "$(median echo)" 49500 80000
check "cold: the neighbour is known now" sh -c \
	"nsenter --net=/proc/$near/ns/net ip neigh show 198.18.0.2 | grep -q lladdr"
measure --count 9 --interval 20ms --family 6
between "cold, IPv6: the first exchange, us" "$(median echo_first)" 99000 190000
between "cold, IPv6: the next ones, us" "$(median echo)" 49500 80000
for _ in 1 2 3; do
	measure --count 3
	within "$(median echo_first)" 49500 80000 && break
done
between "not cold any more: the first exchange, us" "$(median echo_first)" 49500 80000
ping_near -c 2 -i 0.05 -s 1472 -M "do" -q >"$tmp/ping.txt"
equal "cold: full packets pass" "$(grep -c ' 2 received' "$tmp/ping.txt")" 1
link_down
# 1028 bytes take 82.2 ms each way at this rate; with 14 more of Ethernet it would be 83.4.
profile coldslow 'rtt: 50ms' 'cold: true' 'rate: 100kbit'
namespaces
link_up coldslow
ping_near -c 8 -i 0.3 -s 1000 -q >"$tmp/ping.txt"
between "cold: the rate counts IP packets, ms" "$(sed -n 's|^rtt [^=]*= \([0-9.]*\)/.*|\1|p' "$tmp/ping.txt")" 213.5 215.9
link_down

# --- the emulator is stopped: its packets hide it, its loop does not
namespaces
link_up lossy --seed 1
for held in 300 60; do
	kill -STOP "$link"
	read -r -t "0.$(printf '%03d' $held)" _ <> <(:)
	kill -CONT "$link"
	measure --count 3
done
link_down
stall=$(awk '$2 == "stall_max_ns" { print int($3 / 1000000) }' "$tmp/link.txt")
between "stopped for 300 ms: the stall, ms" "$stall" 289 600
between "stopped twice: stalls" "$(awk '$2 == "stalls" { print $3 }' "$tmp/link.txt")" 2 50

# --- the end: EOF on stdin; a word there is not the end
namespaces
link_up wan50
echo word >&7
check "a word on stdin is not the end" measure --count 3
exec 7>&-
wait "$link"
equal "EOF on stdin: exit status" "$?" 0
link=
between "EOF on stdin: counters" "$(counter up_packets)" 6 20

# --- in the background of a terminal: what is typed there is the shell's, and no reason to stop
namespaces
cat >"$tmp/terminal" <<'EOF'
import os, pty, signal, subprocess, sys, time

def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]

pid, terminal = pty.fork()
if pid == 0:
    link = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: os.setpgid(0, 0))
    while not link.stdout.readline().startswith("ready"):
        assert link.poll() is None
    print("typed", flush=True)
    # It is awake at least every 50 ms, and each time looks at what it waits for.
    end = time.monotonic() + 1
    while time.monotonic() < end and state(link.pid) != "T":
        time.sleep(0.02)
    print("state", "T" if state(link.pid) == "T" else "runs", flush=True)
    link.terminate()
    link.send_signal(signal.SIGCONT)
    print("exit", link.wait(5), flush=True)
    os._exit(0)
said = b""
try:
    while data := os.read(terminal, 4096):
        if b"typed" in data:
            os.write(terminal, b"ls\n")
        said += data
except OSError:
    pass
print(said.decode().replace("\r", ""), end="")
EOF
timeout 30 python3 "$tmp/terminal" "$BIN/rttlink" up --profile "$tmp/wan50.yaml" \
	--near "/proc/$near/ns/net" --far "/proc/$far/ns/net" >"$tmp/said" 2>&1
equal "in the background: not stopped by what is typed" "$(grep -E '^(state|exit)' "$tmp/said")" \
	"$(printf 'state runs\nexit 0')"

# --- kill -9
namespaces
link_up wan50
has_device "$near" || not_ok "the device is there" "no link0"
kill -9 "$link"
wait "$link" 2>/dev/null
link=
gone() {
	! has_device "$near" && ! has_device "$far"
}
exec 7>&-
check "kill -9 leaves no device" until_true 5 gone

# --- the link breaks in between
namespaces
link_up wan50
nsenter --net="/proc/$far/ns/net" ip link set link0 down
ping_near -c 1 -W 0.2 -q >/dev/null
wait "$link"
equal "a device that went down: exit status" "$?" 1
link=
check "a device that went down: reason" grep -q 'link broke: .*gone or down' "$tmp/link.log"
exec 7>&-

# --- through an agent: as between containers, neither side may enter the other's namespace
namespaces
confined=(setpriv "--bounding-set=-all,+net_admin,+sys_nice")
near_confined=(nsenter "--net=/proc/$near/ns/net" "${confined[@]}")
far_confined=(nsenter "--net=/proc/$far/ns/net" "${confined[@]}")
rm -f "$tmp/stdin"
mkfifo "$tmp/stdin"
: >"$tmp/link.txt"
"${near_confined[@]}" "$BIN/rttlink" up --yaml "$(cat "$tmp/wan50.yaml")" --near /proc/self/ns/net \
	--far "agent:$tmp/agent" <"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
link=$!
exec 7>"$tmp/stdin"
# It waits for the agent to come.
"${far_confined[@]}" "$BIN/rttlink" agent --listen "$tmp/agent" <"$tmp/stdin" >"$tmp/agent.txt" 2>&1 &
agent=$!
until_true 10 ready
if grep -q '^ready' "$tmp/link.txt"; then
	ok "agent: the link comes up"
	for family in 4 6; do
		"${near_confined[@]}" "$BIN/rttlink" check --near /proc/self/ns/net --far "agent:$tmp/agent" \
			--family $family --count 30 --interval 3ms >"$tmp/check.txt"
		between "agent, IPv$family: round trip, us" "$(median echo)" 49500 53000
	done
	check "agent: ping crosses" ping_near -c 3 -i 0.01 -W 1 -q
	output=$("${near_confined[@]}" "$BIN/rttlink" check --near /proc/self/ns/net \
		--far "/proc/$far/ns/net" 2>&1)
	check "agent: there is no way but it" grep -Eq 'not permitted|denied' <<<"$output"
	link_down
	equal "agent: the link's exit status" "$?" 0
	equal "agent: counted" "$(counter up_packets)" 69
	until_true 5 sh -c "! kill -0 $agent 2>/dev/null" || kill "$agent"
	wait "$agent"
	equal "agent: ends with its stdin" "$?" 0
	equal "agent: no device is left" "$(has_device "$near" || has_device "$far" || echo none)" none
	equal "agent: no socket is left" "$(ls "$tmp/agent" 2>/dev/null)" ""
else
	not_ok "agent: the link comes up" "$(cat "$tmp/link.log" "$tmp/agent.txt")"
	kill "$agent"
fi

# --- a time of its own
namespaces
link_up wan50 --deadline 300ms
started=$(date +%s%N)
wait "$link"
equal "deadline: exit status" "$?" 0
link=
between "deadline: ended, ms" $((($(date +%s%N) - started) / 1000000)) 0 1500
check "deadline: counters all the same" grep -q '^count up_packets' "$tmp/link.txt"
exec 7>&-

# --- what can be wrong
namespaces
up() {
	"$BIN/rttlink" up --profile "$tmp/wan50.yaml" --near "/proc/$near/ns/net" \
		--far "/proc/$far/ns/net" </dev/null 2>&1 >/dev/null | tail -n 1
	return "${PIPESTATUS[0]}"
}
# says NAME STATUS TEXT OUTPUT ACTUAL-STATUS
says() {
	if [ "$5" -eq "$2" ] && [[ $4 == *"$3"* ]]; then
		ok "$1"
	else
		not_ok "$1" "exit $5: $4"
	fi
}
link_up wan50
output=$(up)
says "busy: a second link in the same namespaces" 1 "this namespace has one" "$output" $?
link_down

export -f up
export BIN tmp near far
# With /dev/net replaced in a mount namespace of our own.
other_node() {
	unshare -m bash -c "mount -t tmpfs tmpfs /dev/net && $1"
}
output=$(other_node up)
says "no device node" 77 "mknod -m 666 /dev/net/tun c 10 200" "$output" $?
if [ -z "${INSIDE:-}" ]; then
	output=$(other_node 'mknod /dev/net/tun c 10 254 && up')
	says "no driver" 77 "modprobe tun" "$output" $?
	# shellcheck disable=SC2016  # for the inner shells
	output=$(other_node 'mknod -m 600 /dev/net/tun c 10 200 && cp "$BIN/rttlink" "$tmp/rttlink" &&
		chmod 755 "$tmp/rttlink" && setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$tmp/rttlink" backends | grep "^info tun"')
	says "no permission" 0 "sudo chmod 666 /dev/net/tun" "$output" 0

	# shellcheck disable=SC2016
	output=$(other_node 'mknod -m 666 /dev/net/tun c 10 200 &&
		setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/rttlink" backends |
		grep "^info tun"' 2>&1)
	if [[ $output == *"make a user namespace"* ]]; then
		skip "rootless" "user namespaces are not allowed"
	else
		says "rootless, with a node for everyone" 0 "info tun ok" "$output" 0
	fi
fi

output=$("$BIN/rttlink" up --near x --far y 2>&1)
says "usage: no profile" 2 "option '--profile' (or '--yaml') is required" "$output" $?
output=$("$BIN/rttlink" chek 2>&1)
says "usage: a typing error" 2 "did you mean 'check'?" "$output" $?
output=$("$BIN/rttlink" check --near /nowhere --far /nowhere 2>&1)
says "no such namespace" 1 "open network namespace /nowhere: No such file" "$output" $?
profile bad 'rtt: 50'
output=$("$BIN/rttlink" up --profile "$tmp/bad.yaml" --near x --far y 2>&1)
says "a bad profile" 2 "bad.yaml:2:6:" "$output" $?
