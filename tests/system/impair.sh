#!/usr/bin/env bash
# The emulator's impairments on real links: what ping sees of them, what is counted, that `rttlink
# fates` foretells it, and links that change under way.
. "$(dirname "$0")/lib_link.sh"
need unshare nsenter ping ip
enter_namespaces impair

# --- fates need no link
profile lossy 'rtt: 4ms' 'up: {loss: 10%, burst: 3}'
expected=$("$BIN/rttlink" fates "$tmp/lossy.yaml" --seed 5 --count 300 --direction up --interval 2ms |
	awk '$3 == "sent" { print $2 }' | tr '\n' ' ')
between "fates: sent of 300 at 10%, in bursts" "$(wc -w <<<"$expected")" 230 295
output=$("$BIN/rttlink" fates "$tmp/lossy.yaml" --count 3 2>&1)
equal "fates: a header and a line a packet" "$(grep -c '^#' <<<"$output") $(grep -c '^[ud]' <<<"$output")" "2 6"
equal "fates: both ways" "$(grep -c '^down [123] sent 2000000$' <<<"$output")" 3
output=$("$BIN/rttlink" fates "$tmp/nowhere.yaml" 2>&1)
equal "fates: a profile that is not there" "$? $(grep -c 'nowhere.yaml: No such file' <<<"$output")" "2 1"
output=$("$BIN/rttlink" fates 2>&1)
equal "fates: no profile" "$?" 2

if ! link_up lossy --seed 5; then
	skip impair "$(tail -n 1 "$tmp/link.log")"
	exit 0
fi
ping_near -c 300 -i 0.002 -W 0.2 >"$tmp/ping.txt"
link_down
equal "fates foretell which of 300 pings come back" "$(sequence "$tmp/ping.txt" | sort -n | tr '\n' ' ')" \
	"$expected"
equal "bursts are counted as lost" "$(counter up_lost)" $((300 - $(wc -w <<<"$expected")))
equal "no counts of what the profile has not" "$(grep -Ec '_(duplicated|corrupted|reordered)' "$tmp/link.txt")" 0

# --- duplicates
profile double 'rtt: 4ms' 'up: {duplicate: 100%}'
namespaces
link_up double
ping_near -c 20 -i 0.01 -W 0.2 >"$tmp/ping.txt"
link_down
# Replies to the last ping are not waited for.
between "duplicates: ping sees them" "$(grep -c 'DUP!' "$tmp/ping.txt")" 19 20
equal "duplicates are counted" "$(counter up_packets) $(counter up_duplicated)" "20 20"
equal "… one way only" "$(counter down_packets) $(counter down_duplicated)" "40 "

# --- corruption: a checksum finds every flipped bit, or the device what is no IP packet any more
profile corrupt 'rtt: 4ms' 'up: {corrupt: 100%}'
namespaces
# With this seed 10 of 300 are of no IP version that there is: the device itself refuses them.
link_up corrupt --seed 9
ping_near -c 300 -i 0.002 -W 0.2 -s 0 >"$tmp/ping.txt"
link_down
equal "corruption: nothing comes back" "$(sequence "$tmp/ping.txt")" ""
equal "corruption is counted" "$(counter up_packets) $(counter up_corrupted)" "300 300"
equal "… and is neither loss nor drop" "$(counter up_lost) $(counter up_dropped) $(counter up_missed)" "0 0 0"

# --- reordering: those sent ahead save the 20 ms up
profile reorder 'rtt: 40ms' 'up: {reorder: 20%, gap: 3}'
fast() {
	sed -n 's/.*time=\([0-9.]*\) ms.*/\1/p' "$tmp/ping.txt" | awk '$1 < 35 { n++ } END { print n + 0 }'
}
# While the emulator stands still, the fast ones are late: at most three times.
for _ in 1 2 3; do
	namespaces
	link_up reorder
	ping_near -c 300 -i 0.002 -W 0.5 >"$tmp/ping.txt"
	link_down
	within "$(fast)" $(($(counter up_reordered) - 5)) "$(counter up_reordered)" && break
done
between "reordering: out of order" "$(sequence "$tmp/ping.txt" | awk '$1 < last { n++ } { last = $1 } END { print n }')" 10 100
equal "reordering: as many as foretold" "$(counter up_reordered)" \
	"$("$BIN/rttlink" fates "$tmp/reorder.yaml" --count 300 --direction up | grep -c '^up.*reordered')"
between "reordering: as many are fast" "$(fast)" \
	$(($(counter up_reordered) - 5)) "$(counter up_reordered)"
# Two for certain the long way, then each with 1/5: one in seven.
between "reordering: how many of 300" "$(counter up_reordered)" 31 55

# --- a trace: 100 full packets a second
seq 10 10 1000 >"$tmp/trace"
profile trace 'rtt: 10ms' 'trace: trace' 'queue: 75000b'
namespaces
link_up trace
# A ping that is kept from its core sends the last one later: at most three times.
for _ in 1 2 3; do
	ping_near -c 40 -l 40 -s 1472 -W 1 -q >"$tmp/ping.txt"
	most=$(sed -n 's|^rtt.*/\([0-9.]*\)/[0-9.]* ms.*|\1|p' "$tmp/ping.txt")
	within "$most" 395 450 && break
done
between "trace: the last of 40 waits for 40 deliveries, ms" "$most" 395 450
ping_near -f -c 65 -l 65 -s 1472 -W 1 -q >"$tmp/ping.txt"
link_down
between "trace: 50 of 65 find room" "$(counter up_dropped)" 5 15

# --- changes: an outage of 400 ms, held until told
profile outage 'rtt: 10ms' 'changes: [{at: 300ms, loss: 100%}, {at: 700ms, loss: 0%}]'
namespaces
link_up outage --hold
ping_near -c 60 -i 0.01 -W 0.2 -q >"$tmp/ping.txt"
check "held: nothing changes in 600 ms" grep -q ' 60 received' "$tmp/ping.txt"
tell() {
	printf '%s\n' "$1" >&7
	until_true 5 eval "[ \"\$(grep -c '^info clock $1' '$tmp/link.txt')\" -eq $2 ]"
}
check "go is answered" tell go 1
# Where ping takes 250 ms to begin, hardly anything comes before the outage: at most three times.
for go in 1 2 3; do
	[ $go = 1 ] || { tell rest $((go - 1)) && tell go $go; }
	ping_near -c 120 -i 0.01 -W 0.2 >"$tmp/ping.txt"
	lost=$(comm -13 <(sequence "$tmp/ping.txt" | sort) <(seq 120 | sort) | sort -n)
	[ "$(head -n 1 <<<"$lost")" -lt 5 ] || break
done
between "an outage loses packets of 410 ms" "$(wc -l <<<"$lost")" 10 42
equal "… and only those" "$(($(tail -n 1 <<<"$lost") - $(head -n 1 <<<"$lost") + 1))" "$(wc -l <<<"$lost")"
between "… after 300 ms" "$(head -n 1 <<<"$lost")" 5 32
check "rest is answered" tell rest "$go"
# Before any change came: none will.
tell go $((go + 1))
tell rest $((go + 1))
ping_near -c 60 -i 0.01 -W 0.2 -q >"$tmp/ping.txt"
check "rest: no changes any more" grep -q ' 60 received' "$tmp/ping.txt"
printf g >&7
printf 'o\n' >&7
ping_near -c 120 -i 0.01 -W 0.2 -q >"$tmp/ping.txt"
between "go in two pieces, again: packets come back" "$(sed -n 's/.* \([0-9]*\) received.*/\1/p' "$tmp/ping.txt")" 78 110
link_down

# --- changes: of the delay, without --hold, and back by rest (a busy machine has wide bounds)
profile slower 'rtt: 4ms' 'changes: [{at: 1ms, rtt: 30ms}]'
namespaces
link_up slower
measure --count 20 --interval 3ms
between "a change of the delay, us" "$(median echo)" 27000 60000
link_down
namespaces
link_up slower --hold
tell go 1
measure --count 20 --interval 3ms
between "go: the change comes, us" "$(median echo)" 27000 60000
tell rest 1
measure --count 20 --interval 3ms
between "rest: the change goes, us" "$(median echo)" 2000 20000
link_down
equal "a link that changed: exit status" "$?" 0
