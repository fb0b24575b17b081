#!/usr/bin/env bash
# How true and how fast the tun link is, and mahimahi's on the same machine: see link.py.
. "$(dirname "$0")/../system/lib.sh"
need python3 unshare nsenter iperf3 ping chrt
exec python3 "$TOP/tests/bench/link.py" "$BIN/rttlink" "$tmp"
