# Shared by the system tests: sourced, not run. A test prints one line a check.
# shellcheck shell=bash

set -u
: "${BUILD:?run me through tests/run, or set BUILD to the build folder}"
BIN=$(cd "$BUILD/bin" && pwd)
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export BIN TOP
# Tests of the other runtimes are not to depend on whether an engine runs here.
export DOCKER=no-engine
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rttmatrix-test.XXXXXX")
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT

ok() {
	printf 'ok %s\n' "$1"
}

# not_ok NAME WHY
not_ok() {
	printf 'not ok %s: %s\n' "$1" "${2:-}"
}

# skip NAME WHY
skip() {
	printf 'skip %s: %s\n' "$1" "${2:-}"
}

# check NAME COMMAND...: ok when the command succeeds; else its output is the reason.
check() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name" "'$*' gave $?: $(printf '%s' "$output" | tail -n 3 | tr '\n' ' ')"
	fi
}

# equal NAME ACTUAL EXPECTED
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', expected '$3'"
	fi
}

# within ACTUAL LOW HIGH, as numbers
within() {
	awk -v x="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(x != "" && x + 0 >= l && x + 0 <= h) }'
}

# between NAME ACTUAL LOW HIGH
between() {
	if within "${@:2}"; then
		ok "$1"
	else
		not_ok "$1" "got '$2', expected $3 to $4"
	fi
}

# need COMMAND...: skip the whole script when one is missing
need() {
	local command
	for command in "$@"; do
		if ! command -v "$command" >/dev/null 2>&1; then
			skip "$(basename "$0" .sh)" "no $command here (ci/setup --all installs it)"
			exit 0
		fi
	done
}

# until_true SECONDS COMMAND...: try until it succeeds or the time is over
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -ge "$end" ] && return 1
		read -r -t 0.02 _ <> <(:) || true
	done
}

# in_tolerance CSV COMMAND...: a run of rttmatrix that leaves CSV; its exit status. A machine that is too busy for
# its links says nothing about the program: where only that fails, at most three times.
in_tolerance() {
	local csv=$1 status
	shift
	for _ in 1 2 3; do
		"$@"
		status=$?
		if [ "$status" -ne 1 ] || ! grep -q ',invalid_link,' "$csv"; then
			break
		fi
	done
	return "$status"
}

# but_for_links STATUS CSV: the exit status of a run that left CSV, had its links been in tolerance: for one that
# cannot be made again
but_for_links() {
	if [ "$1" -eq 1 ] && [ "$(csv_cells "$2" status | grep -vx ok | sort -u)" = invalid_link ]; then
		echo 0
	else
		echo "$1"
	fi
}

# csv_cells CSV COLUMN: that column of each cell
csv_cells() {
	python3 -c 'import csv, sys
cells = {row["cell"]: row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1]))}
print("\n".join(cells.values()))' "$@"
}

# Does this kernel have netem, for us?
has_netem() {
	[ "$("$BIN/rttlink" backends | sed -n 's/^info netem //p')" = ok ]
}

# real_netem SCRIPT ARGUMENT...: run a part of a test that needs a real netem, and network namespaces and
# a /run of its own: on this kernel if it has netem, else under User-Mode Linux.
real_netem() {
	# shellcheck disable=SC2016  # for the shell in the namespaces
	local output status own='mount -t tmpfs tmpfs /run && exec "$0" "$@"'
	if ! has_netem; then
		output=$(MEMORY=${MEMORY:-2048M} TIMEOUT=${TIMEOUT:-600} "$TOP/ci/uml" "$@")
	elif [ "$(id -u)" -eq 0 ]; then
		output=$(unshare -nm sh -c "$own" "$@" 2>&1)
	else
		output=$(unshare -Urnm sh -c "$own" "$@" 2>&1)
	fi
	status=$?
	case $status in
	0) printf '%s\n' "$output" ;;
	77) skip "real netem" "no User-Mode Linux here (ci/setup --all installs it)" ;;
	*) printf '%s\n' "$output" | grep -E '^(ok|not ok|skip) '
		not_ok "real netem" "$(printf '%s' "$output" | tail -n 3 | tr '\n' ' ')" ;;
	esac
}
