# Shared by the tests that make links in namespaces of their own: sourced, not run.
# shellcheck shell=bash

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Namespaces are held by processes; a link is a background rttlink with its output in a file.
holders=() link=
end_all() {
	# shellcheck disable=SC2086  # empty when there is no link
	kill ${link:-} "${holders[@]}" 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap end_all EXIT

separate() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# Two fresh namespaces: their holders' pids in $near and $far.
namespaces() {
	unshare -n sleep 300 >/dev/null 2>&1 &
	near=$!
	unshare -n sleep 300 >/dev/null 2>&1 &
	far=$!
	holders+=("$near" "$far")
	until_true 5 separate "$near" && until_true 5 separate "$far"
}

profile() {
	printf 'schema: 1\n' >"$tmp/$1.yaml"
	printf '%s\n' "${@:2}" >>"$tmp/$1.yaml"
}

ready() {
	grep -q '^ready' "$tmp/link.txt" || ! kill -0 "$link" 2>/dev/null
}

# link_up PROFILE [OPTION...]: between $near and $far; its stdin stays open until link_down.
link_up() {
	rm -f "$tmp/stdin"
	mkfifo "$tmp/stdin"
	: >"$tmp/link.txt"
	"$BIN/rttlink" up --profile "$tmp/$1.yaml" --near "/proc/$near/ns/net" \
		--far "/proc/$far/ns/net" "${@:2}" <"$tmp/stdin" >"$tmp/link.txt" 2>"$tmp/link.log" &
	link=$!
	exec 7>"$tmp/stdin"
	until_true 10 ready
	grep -q '^ready' "$tmp/link.txt"
}

link_down() {
	kill -TERM "$link"
	wait "$link"
	local status=$?
	link=
	exec 7>&-
	return $status
}

measure() {
	"$BIN/rttlink" check --near "/proc/$near/ns/net" --far "/proc/$far/ns/net" "$@" >"$tmp/check.txt"
}

# The median of a metric of the last check, in us.
median() {
	awk -v m="$1" '$1 == "sample" && $2 == m { print $4 }' "$tmp/check.txt" | sort -n |
		awk '{ v[NR] = $1 } END { if (NR) printf "%d", v[int((NR + 1) / 2)] / 1000 }'
}

counter() {
	awk -v m="$1" '$1 == "count" && $2 == m { print $3 }' "${2:-$tmp/link.txt}"
}

# What ping got back: the sequence numbers in the order of their arrival.
ping_near() {
	nsenter --net="/proc/$near/ns/net" ping -n "$@" 198.18.0.2
}
sequence() {
	sed -n 's/.*icmp_seq=\([0-9]*\) ttl.*/\1/p' "$1"
}

has_device() {
	nsenter --net="/proc/$1/ns/net" ip link show link0 >/dev/null 2>&1
}

# enter_namespaces TEST: as root or in a user namespace of our own; else the whole test is skipped.
enter_namespaces() {
	if [ "$(id -u)" -ne 0 ] && [ -z "${INSIDE:-}" ]; then
		if unshare -Urn true 2>/dev/null; then
			INSIDE=yes exec unshare -Urm "$0"
		fi
		skip "$1" "not root, and user namespaces are not allowed"
		exit 0
	fi
	if ! namespaces; then
		skip "$1" "no network namespaces here"
		exit 0
	fi
}
