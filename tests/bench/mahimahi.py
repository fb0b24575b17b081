"""mahimahi's mm-delay and our tun link side by side, each as its users have it: a shell behind it.

The round trips that ping reads at 50 ms, what one TCP flow gets without delay, and what that takes
of the emulator's CPU; in turns.
"""
import json
import os
import statistics
import subprocess
import sys

root, rttlink = sys.argv[1:]
TICK = os.sysconf("SC_CLK_TCK")
PING_ROUNDS, PINGS = 3, 60
FLOW_ROUNDS = 9


class Mahimahi:
    name, process, far = "mahimahi", "mm-delay", "$MAHIMAHI_BASE"

    @staticmethod
    def shell(one_way_ms, command):
        return ["chroot", root, "su", "mm", "-c", f"mm-delay {one_way_ms} sh -c '{command}'"]


class Ours:
    name, process, far = "ours", "rttlink", "$RTTLINK_FAR"

    @staticmethod
    def shell(one_way_ms, command):
        return [rttlink, "run", "--yaml", f"{{schema: 1, rtt: {2 * one_way_ms}ms}}", "--", "sh",
                "-c", command]


def cpu_s(process):
    """What all processes of that name have used."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == process:
            fields = rest.split()
            total += int(fields[11]) + int(fields[12])
    return total / TICK


def pings(link):
    out = subprocess.run(link.shell(25, f"ping -n -c {PINGS} -i 0.2 {link.far}"),
                         capture_output=True, text=True, timeout=60).stdout
    return [float(word[5:]) for word in out.split() if word.startswith("time=")]


def flow(link):
    """Mbit/s, and CPU ms of the emulator a MB."""
    server = subprocess.Popen(["iperf3", "-s", "-1", "--forceflush"], stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if "listening" in line:
            break
    # The shell stays until we have seen what its emulator used.
    shell = subprocess.Popen(
        link.shell(0, f"iperf3 -c {link.far} -t 3 -J </dev/null; echo; echo end; read _"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    text = ""
    for line in shell.stdout:
        if line == "end\n":
            break
        text += line
    used = cpu_s(link.process)
    shell.communicate("\n", timeout=20)
    server.communicate(timeout=10)
    received = json.loads(text)["end"]["sum_received"]
    return received["bits_per_second"] / 1e6, used * 1e3 / (received["bytes"] / 1e6)


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * q))]


seen = {link: {"ping": [], "rate": [], "cpu": []} for link in (Ours, Mahimahi)}
for _ in range(PING_ROUNDS):
    for link, figures in seen.items():
        figures["ping"] += pings(link)
for _ in range(FLOW_ROUNDS):
    for link, figures in seen.items():
        rate, cpu = flow(link)
        figures["rate"].append(rate)
        figures["cpu"].append(cpu)


def row(name, key, figure, digits, better):
    ours, theirs = (figure(seen[link][key]) for link in (Ours, Mahimahi))
    n = "/".join(str(len(seen[link][key])) for link in (Ours, Mahimahi))
    print(f"bench {name} : mahimahi | {ours:.{digits}f} | {theirs:.{digits}f} | {ours / theirs:.3f} | {n} | "
          f"{'more' if better > 0 else 'less'} than mahimahi | "
          f"{'holds' if (ours - theirs) * better > 0 else 'misses'}")


row("ping at 50 ms, p50 ms", "ping", statistics.median, 3, -1)
row("ping at 50 ms, p99 ms", "ping", lambda values: quantile(values, 0.99), 3, -1)
row("one TCP flow, 0 ms, Mbit/s", "rate", statistics.median, 0, 1)
row("one TCP flow, 0 ms, CPU ms a MB", "cpu", statistics.median, 2, -1)
