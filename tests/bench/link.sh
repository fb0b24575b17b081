#!/usr/bin/env bash
# How true the tun link is: round trips of a closed-loop echo against what was configured, over
# several fresh links each (a calibration of its own), and what one TCP flow gets through it.
. "$(dirname "$0")/../system/lib.sh"
need python3 unshare nsenter iperf3

python3 - "$BIN/rttlink" "$tmp" <<'EOF'
import json, os, statistics, subprocess, sys, time

rttlink, tmp = sys.argv[1:]


def namespace():
    """A process that holds a network namespace of its own; ended with its stdin."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo up; read _"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    return holder, f"/proc/{holder.pid}/ns/net"


class Link:
    def __init__(self, text):
        with open(f"{tmp}/bench.yaml", "w") as file:
            file.write("schema: 1\n" + text + "\n")
        (self.near_holder, self.near), (self.far_holder, self.far) = namespace(), namespace()
        self.ends = ["--near", self.near, "--far", self.far]
        self.up = subprocess.Popen([rttlink, "up", "--profile", f"{tmp}/bench.yaml", *self.ends],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.up.stdout:
            if line.startswith("ready"):
                return
        sys.exit("the link did not come up")

    def echo(self, count):
        out = subprocess.run([rttlink, "check", *self.ends, "--count", str(count), "--closed",
                              "--interval", "1ms", "--deadline", "60s"],
                             capture_output=True, text=True, check=True).stdout
        return [int(line.split()[3]) for line in out.splitlines()
                if line.startswith("sample echo ")]

    def iperf(self, seconds):
        server = subprocess.Popen(["nsenter", "--net=" + self.far, "iperf3", "-s", "-1",
                                   "--forceflush"],
                                  stdout=subprocess.PIPE, text=True)
        for line in server.stdout:
            if "listening" in line:
                break
        out = subprocess.run(["nsenter", "--net=" + self.near, "iperf3", "-c", "198.18.0.2",
                              "-t", str(seconds), "-J"], capture_output=True, text=True, timeout=60).stdout
        server.communicate(timeout=10)
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e6

    def down(self):
        """The end of the link; its final counters and lateness."""
        self.up.stdin.close()
        words = [line.split() for line in self.up.stdout]
        self.up.wait()
        for holder in (self.near_holder, self.far_holder):
            holder.stdin.close()
            holder.wait()
        return {word[1]: int(word[2]) for word in words}


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * q))]


def verdict(holds):
    return "holds" if holds else "misses"


for rtt_ms, links, count in ((0.5, 8, 50), (20, 8, 50), (50, 8, 30), (150, 8, 25)):
    samples, late = [], []
    for _ in range(links):
        link = Link(f"rtt: {rtt_ms}ms")
        samples += link.echo(count)
        late.append(link.down()["lateness_p99_ns"] / 1e3)
    p50, p99 = (quantile(samples, q) / 1e6 for q in (0.5, 0.99))
    allowed = max(rtt_ms / 100, 0.06)
    print(f"bench link echo at {rtt_ms} ms, p50 ms | {p50:.3f} | {rtt_ms} | {p50 / rtt_ms:.3f} | "
          f"{len(samples)} | within {allowed:.2f} ms | {verdict(abs(p50 - rtt_ms) <= allowed)}")
    if rtt_ms == 50:
        print(f"bench link echo at 50 ms, p99 - p50 ms | {p99 - p50:.3f} | - | - | "
              f"{len(samples)} | at most 0.5 | {verdict(p99 - p50 <= 0.5)}")
    print(f"at {rtt_ms} ms the emulator released 99% of packets within "
          f"{statistics.median(late):.0f} us of when they were due")

link = Link("rtt: 0ms")
rates = [link.iperf(3) for _ in range(3)]
dropped = link.down()["up_dropped"]
rate = statistics.median(rates)
print(f"bench link one TCP flow, Mbit/s | {rate:.0f} | - | - | {len(rates)} | at least 700 | "
      f"{verdict(rate >= 700)}")
print(f"in that the link dropped {dropped} packets")
EOF
