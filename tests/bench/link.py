"""How true the tun link is and what it costs.

Round trips are those of a closed-loop echo against what was configured, over several fresh links
each (a calibration of its own), asleep and with the cores kept awake; then what one TCP flow and
a stream of small packets get through it, and what that takes of the emulator's CPU.
"""
import json
import os
import statistics
import subprocess
import sys
import time

rttlink, tmp = sys.argv[1:]


def namespace():
    """A process that holds a network namespace of its own; ended with its stdin."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up; echo up; read _"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    return holder, f"/proc/{holder.pid}/ns/net"


class Awake:
    """One SCHED_IDLE loop a core while it is open, as `rttmatrix run --awake on` has them."""

    def __enter__(self):
        self.loops = [subprocess.Popen(["chrt", "-i", "0", "taskset", "-c", str(core), "sh", "-c",
                                        "while :; do :; done"])
                      for core in sorted(os.sched_getaffinity(0))]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


class Asleep:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class Link:
    def __init__(self, text, sysctl=()):
        with open(f"{tmp}/bench.yaml", "w") as file:
            file.write("schema: 1\n" + text + "\n")
        (self.near_holder, self.near), (self.far_holder, self.far) = namespace(), namespace()
        for space in (self.near, self.far):
            for setting in sysctl:
                subprocess.run(["nsenter", "--net=" + space, "sysctl", "-qw", setting], check=True)
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

    def cpu_s(self):
        """What the emulator has used: not in ticks, beside which a burst a millisecond falls."""
        with open(f"/proc/{self.up.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e9

    def calls(self):
        """Its reads, writes and sleeps so far."""
        with open(f"/proc/{self.up.pid}/io") as file:
            io = dict(line.split(": ") for line in file.read().splitlines())
        with open(f"/proc/{self.up.pid}/status") as file:
            naps = next(int(line.split()[1]) for line in file
                        if line.startswith("voluntary_ctxt_switches"))
        return int(io["syscr"]) + int(io["syscw"]) + naps

    def iperf(self, *arguments):
        server = subprocess.Popen(["nsenter", "--net=" + self.far, "iperf3", "-s", "-1",
                                   "--forceflush"],
                                  stdout=subprocess.PIPE, text=True)
        for line in server.stdout:
            if "listening" in line:
                break
        out = subprocess.run(["nsenter", "--net=" + self.near, "iperf3", "-c", "198.18.0.2",
                              "-J", *arguments], capture_output=True, text=True, timeout=60).stdout
        server.communicate(timeout=10)
        return json.loads(out)["end"]

    def down(self):
        """The end of the link; its final counters and lateness."""
        self.up.stdin.close()
        words = [line.split() for line in self.up.stdout]
        self.up.wait()
        for holder in (self.near_holder, self.far_holder):
            holder.stdin.close()
            holder.wait()
        return {word[1]: int(word[2]) for word in words if word[2].isdigit()}


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * q))]


def row(name, ours, peer, n, target, holds, ratio="-"):
    verdict = "-" if holds is None else "holds" if holds else "misses"
    print(f"bench {name} | {ours} | {peer} | {ratio} | {n} | {target} | {verdict}", flush=True)


def accuracy(awake, rtt_ms, links, count):
    """The echo's p50 and p99 in ms."""
    samples = []
    for _ in range(links):
        with Awake() if awake else Asleep():
            link = Link(f"rtt: {rtt_ms}ms")
            samples += link.echo(count)
            link.down()
    return [quantile(samples, q) / 1e6 for q in (0.5, 0.99)] + [len(samples)]


def accuracies():
    for rtt_ms, links, count in ((0.5, 8, 50), (20, 8, 50), (50, 8, 30), (150, 8, 25), (600, 4, 10)):
        p50, _, n = accuracy(False, rtt_ms, links, count)
        allowed = max(rtt_ms * 0.005, 0.04)
        row(f"link echo at {rtt_ms} ms, p50 ms", f"{p50:.3f}", rtt_ms, n,
            f"within {allowed:.2f} ms", abs(p50 - rtt_ms) <= allowed, f"{p50 / rtt_ms:.3f}")
    for rtt_ms, links, count, low, high, most in ((0.5, 8, 50, 0.50, 0.54, 0.65),
                                                  (50, 8, 30, 50.00, 50.10, 50.30)):
        p50, p99, n = accuracy(True, rtt_ms, links, count)
        row(f"link echo at {rtt_ms} ms, awake, p50 ms", f"{p50:.3f}", rtt_ms, n,
            f"{low:.2f} to {high:.2f}", low <= p50 <= high, f"{p50 / rtt_ms:.3f}")
        row(f"link echo at {rtt_ms} ms, awake, p99 ms", f"{p99:.3f}", "-", n,
            f"at most {most:.2f}", p99 <= most)


def flow(rtt, target, *, windows=False):
    """One TCP flow, three times."""
    buffers = ["net.ipv4.tcp_wmem=4096 65536 67108864", "net.ipv4.tcp_rmem=4096 131072 67108864"]
    rates, costs, calls = [], [], []
    dropped = 0
    for _ in range(3):
        link = Link(f"rtt: {rtt}", buffers if windows else ())
        before, calls_before = link.cpu_s(), link.calls()
        end = link.iperf("-t", "4" if windows else "3", *(["-O", "2"] if windows else []))
        used, called = link.cpu_s() - before, link.calls() - calls_before
        counted = link.down()
        rates.append(end["sum_received"]["bits_per_second"] / 1e6)
        packets = counted["up_packets"] + counted["down_packets"]
        costs.append(used * 1e3 / (packets_bytes(counted) / 1e6))
        calls.append(called / packets)
        dropped += counted["up_dropped"] + counted["down_dropped"]
    rate, cost = statistics.median(rates), statistics.median(costs)
    row(f"link one TCP flow, {rtt}, Mbit/s", f"{rate:.0f}", "-", len(rates),
        f"at least {target}", rate >= target)
    row(f"link one TCP flow, {rtt}, CPU ms a MB", f"{cost:.2f}", "-", len(costs), "at most 5",
        cost <= 5)
    print(f"one TCP flow, {rtt}: {statistics.median(calls):.2f} system calls a packet, {dropped} dropped")


def packets_bytes(counted):
    """Bytes of a bulk flow: full packets one way, bare ACKs the other."""
    return counted["up_packets"] * 1500 + counted["down_packets"] * 52


def small_packets():
    """36 bytes in UDP are packets of 64: as many as one sender can offer, for three seconds."""
    rates, costs = [], []
    for _ in range(3):
        link = Link("rtt: 0ms\nlimit: 1000")
        before, start = link.cpu_s(), time.monotonic()
        end = link.iperf("-u", "-l", "36", "-b", "0", "-t", "3")
        seconds, used = time.monotonic() - start, link.cpu_s() - before
        counted = link.down()
        carried = counted["up_packets"] - counted["up_dropped"]
        rates.append(carried / end["sum"]["seconds"])
        costs.append(used * 1e6 / (counted["up_packets"] + counted["down_packets"]))
        print(f"small packets: {counted['up_packets']} offered, {counted['up_dropped']} dropped in "
              f"{seconds:.1f} s, emulator busy {used:.1f} s")
    rate = statistics.median(rates)
    row("link packets of 64 bytes one way, a second", f"{rate:.0f}", "-", len(rates),
        "at least 150000", rate >= 150000)
    row("link packets of 64 bytes, CPU us a packet", f"{statistics.median(costs):.2f}", "-",
        len(costs), "-", None)


def delay_costs_nothing():
    """The same stream over links of 0.5 to 600.5 ms: CPU per packet. iperf3 sends in bursts, one a
    millisecond, so with the half everywhere a burst leaves each link equally far from when another
    comes: whether one wake of the emulator serves both is not the delay's doing."""
    costs = {}
    for rtt in ("0.5ms", "50.5ms", "600.5ms"):
        runs = []
        for _ in range(7):
            link = Link(f"rtt: {rtt}")
            before = link.cpu_s()
            link.iperf("-u", "-l", "1400", "-b", "224M", "-t", "2")
            used, counted = link.cpu_s() - before, link.down()
            runs.append(used * 1e6 / counted["up_packets"])
        costs[rtt] = statistics.median(runs)
        row(f"link CPU us a packet at {rtt}, 20000/s", f"{costs[rtt]:.2f}", "-", len(runs), "-", None)
    print("a link longer than 0.8 ms takes one wake more for each burst: see src/link/pace.c")
    ratio = costs["600.5ms"] / costs["0.5ms"]
    row("link CPU us a packet, 600.5 ms : 0.5 ms", f"{costs['600.5ms']:.2f}", f"{costs['0.5ms']:.2f}", 7,
        "at most 1.30", ratio <= 1.3, f"{ratio:.2f}")


accuracies()
flow("0ms", 1200)
flow("50ms", 1000, windows=True)
small_packets()
delay_costs_nothing()
