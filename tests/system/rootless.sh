#!/usr/bin/env bash
# The main job without root: in a user namespace, as a user with no privileges at all.
. "$(dirname "$0")/lib.sh"
need python3 setpriv

if [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2016  # $0 and $@ are for the inner shell
	# As nobody, with a /dev/net/tun that everyone may open, in a mount namespace of our own.
	as_user() {
		unshare -m sh -c 'if [ -c /dev/net/tun ]; then
				mknod -m 666 "$0/tun" c 10 200 2>/dev/null || [ -c "$0/tun" ]
				mount --bind "$0/tun" /dev/net/tun || exit 99
			fi
			exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' "$tmp" "$@"
	}
else
	as_user() {
		"$@"
	}
fi
mkdir -m 777 "$tmp/home"
cp -r "$BIN" "$tmp/home/bin"
chmod -R a+rX "$tmp/home/bin"
mkdir "$tmp/home/netem"
printf 'schema: 1\nloopback: true\n' >"$tmp/home/netem/localhost.yaml"
# So far that an emulator without SCHED_FIFO is punctual enough on a busy machine, too.
printf 'schema: 1\nrtt: 100ms\n' >"$tmp/home/netem/far.yaml"
cat >"$tmp/home/m.yaml" <<'EOF'
schema: 1
name: rootless
repeats: 1
profiles: [localhost, far]
families: [4]
samples: { localhost: 20, far: 5 }
cells:
  - probe: handshake
    expect: [ { metric: connect, profile: far, rtts: [0.95, 1.10] } ]
EOF
export HOME=$tmp/home

if ! as_user unshare -Urn true 2>"$tmp/err"; then
	skip rootless "no user namespaces: $(tail -n 1 "$tmp/err")"
	exit 0
fi
as_user "$tmp/home/bin/rttmatrix" doctor >"$tmp/doctor" 2>&1
status=$?
check 'doctor says how' grep -q 'without root, in a user namespace' "$tmp/doctor"
if [ "$status" -ne 0 ]; then
	skip 'a rootless run' "$(tail -n 1 "$tmp/doctor")"
	exit 0
fi
in_tolerance "$tmp/home/results/latest/matrix.csv" as_user "$tmp/home/bin/rttmatrix" run "$tmp/home/m.yaml" \
	--output "$tmp/home/results" --quiet >"$tmp/summary" 2>"$tmp/err"
equal 'a rootless run exits 0' $? 0
equal 'all cells ok' "$(tail -n +2 "$tmp/home/results/latest/matrix.csv" | grep -c ',ok,')" \
	"$(tail -n +2 "$tmp/home/results/latest/matrix.csv" | wc -l)"
if [ "$(id -u)" -eq 0 ]; then
	equal 'the results are the user'\''s own' \
		"$(stat -c %u "$tmp/home/results/latest/matrix.csv")" 65534
	# Without access to /dev/net/tun, and no netem: refused, with the command that mends it.
	if [ "$(stat -c %a /dev/net/tun)" = 600 ] && ! "$BIN/rttlink" backends | grep -q 'netem ok'; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/home/bin/rttmatrix" run \
			"$tmp/home/m.yaml" --output "$tmp/home/results" --quiet >/dev/null 2>"$tmp/err"
		equal 'no access to /dev/net/tun exits 4' $? 4
		check 'and says what mends it' grep -q 'chmod' "$tmp/err"
	fi
fi
