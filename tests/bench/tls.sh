#!/usr/bin/env bash
# The TLS probe adds nothing: full handshakes, each version and key, against a bare OpenSSL loop, in
# turns on the same cores, each turn in a namespace of its own.
. "$(dirname "$0")/../system/lib.sh"
need taskset

rounds=${ROUNDS:-5}
tls=$BIN/probe-tls
bare=$BUILD/bench/bare_tls
: >"$tmp/log"

fresh=
if unshare -rn true 2>/dev/null; then
	fresh="unshare -rn"
fi
# alone.sh bare COMMAND...: that; alone.sh PROBE SAMPLES READY-FILE OPTION...: both halves
cat >"$tmp/alone.sh" <<'ALONE'
ip link set lo up
if [ "$1" = bare ]; then
	exec "${@:2}"
fi
"$1" serve --listen 127.0.0.1:1234 --deadline 60s "${@:4}" >"$3" &
server=$!
until grep -q ready "$3"; do read -r -t 0.02 _ <> <(:); done
"$1" run --peer 127.0.0.1:1234 --samples "$2" --deadline 60s "${@:4}" | sed -n 's/^sample appconnect ns //p'
kill $server
wait $server
ALONE

# median FILE: "MEDIAN N"
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, NR }'
}

# versus NAME OURS-FILE BARE-FILE
versus() {
	local ours peer
	if [ ! -s "$2" ] || [ ! -s "$3" ]; then
		echo "$1: no figures: $(tail -n 1 "$tmp/log")"
		return
	fi
	read -r -a ours < <(median "$2")
	read -r -a peer < <(median "$3")
	awk -v name="$1" -v a="${ours[0]}" -v b="${peer[0]}" -v n="${ours[1]}/${peer[1]}" 'BEGIN {
		printf "bench %s | %.1f us | %.1f us | %.3f | %s | at most 1.05 | %s\n", name, a / 1000, b / 1000,
			a / b, n, a / b <= 1.05 ? "holds" : "misses" }'
}

for placement in 'same 0' 'split 1'; do
	read -r cpu core <<<"$placement"
	for version in 1.2 1.3; do
		for key in ecdsa-p256 rsa-2048 rsa-3072 ed25519; do
			# On two cores one key will do.
			[ "$cpu" = same ] || [ "$key" = ecdsa-p256 ] || continue
			# Short turns, many of them: the machine's moods hit both. Keys of 3072 bits take
			# seconds to make.
			n=200 turns=$((3 * rounds))
			[ "$key" != rsa-3072 ] || turns=$rounds
			name=$cpu-$version-$key
			for ((i = 0; i < turns; i++)); do
				: >"$tmp/ready"
				$fresh bash "$tmp/alone.sh" "$tls" $n "$tmp/ready" "cpu=$cpu" "version=$version" "key=$key" \
					>>"$tmp/ours-$name" 2>>"$tmp/log"
				$fresh bash "$tmp/alone.sh" bare "$bare" $n 0 "$core" "$version" "$key" \
					>>"$tmp/bare-$name" 2>>"$tmp/log"
			done
			versus "TLS $version $key cpu=$cpu : bare OpenSSL" "$tmp/ours-$name" "$tmp/bare-$name"
		done
	done
done
