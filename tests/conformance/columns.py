"""What `measure` left of one backend, as figures."""
import json
import os
import re
from statistics import median


class Way:
    """The datagrams of one direction."""

    def __init__(self, sent, sent_ns):
        self.sent = sent
        self.sent_ns = sent_ns  # from the first to the last
        self.numbers = []  # in order of arrival, copies included
        self.delays = {}   # of the first copy
        self.bad = 0
        self.unknown = 0   # of those, without even a number

    def arrive(self, kind, number, delay_ns):
        self.bad += kind == "bad"
        if number < 0:
            self.unknown += 1
            return
        self.numbers.append(number)
        self.delays.setdefault(number, delay_ns)

    def lost(self):
        return self.sent - len(self.delays) - self.unknown

    def copies(self):
        return len(self.numbers) - len(self.delays)

    def overtaken(self):
        """RFC 4737: arrived after one that was sent later. Copies do not count."""
        seen, highest, count = set(), -1, 0
        for number in self.numbers:
            if number not in seen:
                count += number < highest
                seen.add(number)
                highest = max(highest, number)
        return count

    def bursts(self):
        """Lengths of runs of lost numbers."""
        runs, run = [], 0
        for number in range(self.sent):
            if number not in self.delays:
                run += 1
            elif run:
                runs.append(run)
                run = 0
        return runs + [run] * (run > 0)


class Measured:
    """One profile on one backend."""

    def __init__(self, folder):
        self.folder = folder
        self.failed = self.text("failed").strip() or None
        self.ways = {}
        for line in self.text("datagrams").splitlines():
            word = line.split()
            if word[0] == "sent":
                self.ways[word[1]] = Way(int(word[2]), int(word[3]))
            elif word[0] in ("got", "bad"):
                self.ways[word[1]].arrive(word[0], int(word[2]), int(word[3]))
            else:
                self.failed = self.failed or line
        if not self.failed and len(self.ways) != 2:
            self.failed = "not measured"

    def text(self, name):
        try:
            with open(f"{self.folder}/{name}") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def ping_ns(self):
        """The median round trip; None without a reply."""
        times = [float(ms) * 1e6 for ms in re.findall(r"time=([0-9.]+) ms", self.text("ping"))]
        return median(times) if times else None

    def seconds_bps(self, name, skip):
        """What iperf3 received in each whole second but the first `skip` and the last."""
        try:
            seconds = [row["sum"] for row in json.loads(self.text(name + ".json"))["intervals"]]
        except (ValueError, KeyError):
            return []
        return [row["bits_per_second"] for row in seconds[skip:]
                if 0.9 < row["seconds"] < 1.1][:-1]

    def best_bps(self, name):
        """The rate of the best second: a limit is not passed even there, and a machine that was
        too busy to send for a while cannot lower it."""
        return max(self.seconds_bps(name, 1), default=None)

    def goodput_bps(self):
        """The mean over all links of the profile; None when any has no figure."""
        links = [self.seconds_bps(name[:-5], 3) for name in sorted(os.listdir(self.folder))
                 if re.fullmatch(r"goodput-\d+\.json", name)]
        if not links or not all(links):
            return None
        return sum(sum(link) / len(link) for link in links) / len(links)


class Column:
    """One backend on one kernel; `host` says that its figures are not inflated by UML."""

    def __init__(self, folder):
        self.folder = folder
        self.name = os.path.basename(folder)
        with open(f"{folder}/place") as file:
            self.place = file.read().strip()
        self.host = "User-Mode" not in self.place
        self.rows = {}

    def row(self, name):
        if name not in self.rows:
            self.rows[name] = Measured(f"{self.folder}/{name}")
        return self.rows[name]

    def base_ns(self, direction, delay_ns=5e6):
        """What a way costs besides the stated delay: as rtt10 shows, which has nothing else."""
        plain = self.row("rtt10")
        return 0 if plain.failed else median(plain.ways[direction].delays.values()) - delay_ns
