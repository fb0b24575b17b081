#!/usr/bin/env bash
# mahimahi's mm-delay and our tun link side by side: see mahimahi.py. Debian had mahimahi last in
# bullseye, so it runs in a root made of that (a minute, once a build folder).
. "$(dirname "$0")/../system/lib.sh"
need python3 mmdebstrap unshare chroot iperf3 ping
root=$BUILD/mahimahi
if [ "$(id -u)" -ne 0 ]; then
	echo "left out: needs root"
	exit 0
fi
if [ ! -x "$root/usr/bin/mm-delay" ]; then
	rm -rf "$root"
	if ! timeout 300 mmdebstrap --quiet --variant=minbase --include=mahimahi,iperf3,iputils-ping \
		bullseye "$root" http://deb.debian.org/debian >"$tmp/log" 2>&1; then
		echo "left out: no root of bullseye: $(tail -n 1 "$tmp/log")"
		exit 0
	fi
fi

# Both need a namespace they may change: its mounts, its addresses, its packet filter.
# shellcheck disable=SC2016
exec unshare -m -n sh -eu -c '
	mount --bind /dev "$1/dev"
	mount -t proc proc "$1/proc"
	mount -t sysfs sysfs "$1/sys"
	ip link set lo up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo "nameserver 127.0.0.1" >"$1/etc/resolv.conf"
	chroot "$1" sh -c "update-alternatives --set iptables /usr/sbin/iptables-nft
		id mm || useradd -m mm" >/dev/null 2>&1
	exec python3 "$2" "$1" "$3"
' sh "$root" "$TOP/tests/bench/mahimahi.py" "$BIN/rttlink"
