"""What is looked at in a profile: one function an aspect, each (row, columns) -> Line or None."""
import math
from statistics import median

import stats

RARE = 0.001
WAYS = ("up", "down")
HEADERS = 28  # IPv4 and UDP
SEGMENT, PACKET = 1448, 1500  # what TCP carries in a full packet
# User-space and UML's own costs, ns: a median is off by so much at most, and so wide may delays
# without jitter be from the 10th to the 90th percentile.
OFF_NS = {True: 150e3, False: 400e3}
WIDE_NS = {True: 500e3, False: 1500e3}
GOODPUT = 0.10  # between backends
ONE_WAY, JITTER, RTT = "one-way delay, ms", "jitter: 5%, 50%, 95%, ms", "RTT by ping, ms"
TCP_GOODPUT = "TCP goodput (12 Reno flows), Mbit/s"
RATES = {"udp": "rate by iperf3 (UDP, up), Mbit/s", "tcp": "rate by iperf3 (TCP, down), Mbit/s"}
OVERTAKEN = "reordered (RFC 4737)"
TIMES = {ONE_WAY, JITTER, RTT, OVERTAKEN, TCP_GOODPUT, *RATES.values()}
OTHER_WAY_SHARE = 0.05  # of a queue's rate that acknowledgements may take


class Line:
    """One aspect of one profile: what is expected, what each column shows, and whether it holds."""

    def __init__(self, row, aspect, expected):
        self.row, self.aspect, self.expected = row, aspect, expected
        self.cells, self.between, self.wrong, self.ps = {}, "", [], []

    def show(self, column, text):
        cell = self.cells.get(column.name)
        self.cells[column.name] = f"{cell}, {text}" if cell else text

    def require(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def chance(self, p, what):
        self.ps.append((p, what))

    def compare(self, p, what="backends differ"):
        self.chance(p, what)
        text = f"p {p:.2g}"
        self.between = f"{self.between}, {text}" if self.between else text

    def verdict(self, alpha):
        wrong = self.wrong + [f"{what} (p {p:.1g})" for p, what in self.ps if p < alpha]
        if wrong:
            return "FAIL: " + "; ".join(wrong)
        rare = [what for p, what in self.ps if p < RARE]
        return "ok (rare: " + "; ".join(rare) + ")" if rare else "ok"


def ms(ns):
    return f"{ns / 1e6:.2f}"


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def stated_ns(row, path):
    """One way, with the time the datagram itself takes on the wire."""
    wire = (row.size + HEADERS) * 8e9 / path.rate_bps if path.rate_bps else 0
    return path.delay_ns + wire


def shares(ways):
    return ", ".join(f"{way} {text}" for way, text in ways)


def delay(row, columns):
    if row.interval_ns() < 1e6 or any(path.reorder for path in row.path.values()):
        return None
    plain = [way for way in WAYS if not row.path[way].jitter_ns]
    if not plain:
        return None
    line = Line(row, ONE_WAY, shares(
        (way, ms(stated_ns(row, row.path[way]))) for way in plain))
    for column in columns:
        for way in plain:
            delays = list(column.row(row.name).ways[way].delays.values())
            middle, wide = median(delays), quantile(delays, 0.9) - quantile(delays, 0.1)
            line.show(column, f"{way} {ms(middle)}")
            off = middle - stated_ns(row, row.path[way])
            line.require(abs(off) <= OFF_NS[column.host], f"{column.name} {way} off by {ms(off)} ms")
            line.require(wide <= WIDE_NS[column.host],
                         f"{column.name} {way} spreads over {ms(wide)} ms")
    return line


def spread(path):
    """The distribution of uniform and normal jitter around 0; the others are known by tables."""
    if path.distribution == "uniform":
        return lambda x: max(0.0, min(1.0, (x / path.jitter_ns + 1) / 2))
    if path.distribution == "normal":
        return lambda x: 0.5 * math.erfc(-x / path.jitter_ns / math.sqrt(2))
    return None


def jitter(row, columns):
    jittery = [way for way in WAYS if row.path[way].jitter_ns]
    if not jittery:
        return None
    line = Line(row, JITTER, shares(
        (way, f"{ms(row.path[way].delay_ns)} ± {ms(row.path[way].jitter_ns)} "
              f"{row.path[way].distribution}") for way in jittery))
    for way in jittery:
        path, samples = row.path[way], []
        # Closer together than the jitter they bunch up, and tell of each other.
        apart = min(1.0, row.interval_ns() / (2 * path.jitter_ns))
        for column in columns:
            base = column.base_ns(way) + stated_ns(row, path)
            sample = [delay - base for delay in column.row(row.name).ways[way].delays.values()]
            samples.append(sample)
            line.show(column, way + " " + " ".join(
                ms(quantile(sample, q) + path.delay_ns) for q in (0.05, 0.5, 0.95)))
            if spread(path) and apart == 1:
                line.chance(stats.ks_one(sample, spread(path))[1],
                            f"{column.name} {way} is not {path.distribution}")
        line.compare(stats.ks_two(*samples, effective=apart)[1], f"{way} differs")
    return line


def missing(row, path):
    """What share is lost: also where a flipped bit hits a header."""
    share = stats.Chain(*path.chain()).loss if path.chain() else path.loss
    return share + (1 - share) * path.corrupt * HEADERS / (row.size + HEADERS)


def loss(row, columns):
    lossy = [way for way in WAYS if missing(row, row.path[way])]
    if not lossy:
        return None
    line, expected = Line(row, "lost (99.9% band)", ""), []
    for way in lossy:
        path = row.path[way]
        chain = stats.Chain(*path.chain()) if path.chain() else None
        n, p = row.count, missing(row, path)
        low, high = (stats.normal_band(n * p, chain.variance(n)) if chain else
                     stats.binomial_band(n, p))
        expected.append((way, f"{low}..{high} of {n}"))
        for column in columns:
            lost = column.row(row.name).ways[way].lost()
            line.show(column, f"{way} {lost}")
            line.chance(stats.normal_p(lost, n * p, chain.variance(n)) if chain else
                        stats.binomial_p(lost, n, p), f"{column.name} {way} lost {lost}")
    line.expected = shares(expected)
    return line


def mean_burst(chain, path):
    if chain:
        return sum(chain.tail(k) for k in range(1, 500))
    return 1 / (1 - path.loss)


def bursts(row, columns):
    lossy = [way for way in WAYS if row.count * missing(row, row.path[way]) >= 50 and
             not row.path[way].corrupt]
    if not lossy:
        return None
    line, expected = Line(row, "mean burst of losses", ""), []
    for way in lossy:
        path, lengths = row.path[way], []
        chain = stats.Chain(*path.chain()) if path.chain() else None
        expected.append((way, f"{mean_burst(chain, path):.2f}"))
        for column in columns:
            runs = column.row(row.name).ways[way].bursts()
            lengths.append(runs)
            line.require(runs, f"{column.name} {way} lost nothing")
            if not runs:
                return line
            line.show(column, f"{way} {sum(runs) / len(runs):.2f}")
            tail = chain.tail if chain else lambda k, loss=path.loss: loss ** (k - 1)
            line.chance(stats.chi_square_lengths(runs, tail), f"{column.name} {way} lengths")
        line.compare(stats.chi_square_two(*lengths), f"{way} lengths differ")
    line.expected = shares(expected)
    return line


def counted(row, columns, aspect, share, count):
    """A share that is binomial: `share(path)` expected, `count(way)` gives (how many, of)."""
    ways = [way for way in WAYS if share(row.path[way])]
    if not ways:
        return None
    line = Line(row, aspect, shares((way, f"{share(row.path[way]):.2%}") for way in ways))
    for way in ways:
        for column in columns:
            k, n = count(column.row(row.name).ways[way], row.path[way])
            line.show(column, f"{way} {k / n:.2%}")
            line.chance(stats.binomial_p(k, n, share(row.path[way])),
                        f"{column.name} {way} {k} of {n}")
    return line


def duplicates(row, columns):
    return counted(row, columns, "duplicates", lambda path: path.duplicate,
                   lambda way, path: (way.copies(), len(way.delays)))


def corrupt(row, columns):
    payload = row.size / (row.size + HEADERS)
    return counted(row, columns, "one bit flipped", lambda path: path.corrupt * payload,
                   lambda way, path: (way.bad, way.sent))


def ahead(row, columns):
    """Sent on at once: of each gap-th and later since the last one, so a renewal process."""
    ways = [way for way in WAYS if row.path[way].reorder]
    if not ways:
        return None
    line, expected = Line(row, "sent on at once", ""), []
    for way in ways:
        path = row.path[way]
        cycle = path.gap - 1 + 1 / path.reorder
        variance = row.count * (1 - path.reorder) / path.reorder ** 2 / cycle ** 3
        expected.append((way, f"{1 / cycle:.2%}"))
        for column in columns:
            delays = column.row(row.name).ways[way].delays.values()
            early = sum(delay < path.delay_ns / 2 for delay in delays)
            line.show(column, f"{way} {early / row.count:.2%}")
            line.chance(stats.normal_p(early, row.count / cycle, variance),
                        f"{column.name} {way} {early} of {row.count}")
    line.expected = shares(expected)
    return line


def overtaken(row, columns):
    """Reordered as RFC 4737 counts it. Those that one packet overtakes come together, so fewer
    are independent."""
    ways = [way for way in WAYS if row.path[way].reorder]
    if not ways:
        return None
    line = Line(row, OVERTAKEN, "the same")
    for way in ways:
        together = 1 + row.path[way].delay_ns / row.interval_ns()
        counts = [column.row(row.name).ways[way].overtaken() for column in columns]
        for column, count in zip(columns, counts):
            line.show(column, f"{way} {count / row.count:.2%}")
            line.require(count, f"{column.name} {way} reordered nothing")
        share = sum(counts) / (2 * row.count)
        variance = 2 * share * (1 - share) * row.count * together
        if variance:
            line.compare(stats.normal_p(counts[0] - counts[1], 0, variance), f"{way} differs")
    return line


def strays(row, columns):
    """What no key asks for does not happen, not even once."""
    line = Line(row, "lost, doubled, reordered, corrupted unasked", "0")
    for column in columns:
        found = 0
        for way in WAYS:
            path, seen = row.path[way], column.row(row.name).ways[way]
            found += seen.sent != row.count
            if not (missing(row, path) or path.limit or path.queue):
                found += seen.lost()
            found += 0 if path.duplicate else seen.copies()
            found += 0 if path.reorder else seen.overtaken()
            found += 0 if path.corrupt else seen.bad
        line.show(column, str(found))
        line.require(found == 0, f"{column.name}: {found}")
    return line


def queue(row, columns):
    """A burst into a slow link: what there is room for comes through, and it is the first ones."""
    path = row.path["up"]
    if not (path.limit or path.queue):
        return None
    room = path.limit or int(path.queue // (row.size + HEADERS))
    line = Line(row, "of a burst, through the queue", f"the first {room} of {row.count}")
    for column in columns:
        for way in WAYS:
            numbers = column.row(row.name).ways[way].numbers
            line.show(column, f"{way} {len(numbers)}")
            more = 0
            if path.queue:
                # While a slow machine still sends, what has left makes room for a later one.
                wire_ns = (row.size + HEADERS) * 8e9 / row.path[way].rate_bps
                left = column.row(row.name).ways[way].sent_ns / wire_ns
                # A tbf bounds the bytes in netem, and its bucket lets one packet go at once.
                more = 1 + math.ceil(left) if column.place.startswith("netem") else int(left)
            line.require(numbers[:room] == list(range(room)) and len(numbers) <= room + more,
                         f"{column.name} {way}: {len(numbers)} of {room}, or others")
    return line


def round_trip(row, columns):
    if "ping" not in row.tools:
        return None
    wires = sum(84 * 8e9 / path.rate_bps for path in row.path.values() if path.rate_bps)
    stated = row.way_back_ns() + wires
    line = Line(row, RTT, ms(stated))
    jitters = sum(path.jitter_ns for path in row.path.values())
    for column in columns:
        rtt = column.row(row.name).ping_ns()
        line.require(rtt is not None, f"{column.name}: no reply")
        if rtt is None:
            continue
        line.show(column, ms(rtt))
        # The median of 25 is good for a quarter of the standard deviation, three times over.
        slack = 2 * OFF_NS[column.host] + 0.75 * jitters
        line.require(abs(rtt - stated) <= slack, f"{column.name} off by {ms(rtt - stated)} ms")
    return line


def rate(row, columns, tool, way, carried, low, high):
    if tool not in row.tools:
        return None
    stated = row.path[way].rate_bps
    line = Line(row, RATES[tool], f"{stated / 1e6:g}")
    for column in columns:
        bps = column.row(row.name).best_bps("tcp-client" if tool == "tcp" else tool)
        line.require(bps, f"{column.name}: iperf3 gave no figure")
        if bps:
            line.show(column, f"{bps / carried / 1e6:.2f}")
            line.require(low <= bps / carried / stated <= high,
                         f"{column.name} {bps / carried / stated:.1%} of it")
    return line


def udp_rate(row, columns):
    return rate(row, columns, "udp", "up", row.size / (row.size + HEADERS), 0.98, 1.01)


def tcp_rate(row, columns):
    return rate(row, columns, "tcp", "down", SEGMENT / PACKET, 1 - OTHER_WAY_SHARE, 1.02)


def goodput(row, columns):
    if "goodput" not in row.tools:
        return None
    line = Line(row, TCP_GOODPUT, f"within {GOODPUT:.0%} of each other")
    figures = [column.row(row.name).goodput_bps() for column in columns]
    for column, bps in zip(columns, figures):
        line.require(bps, f"{column.name}: iperf3 gave no figure")
        if bps:
            line.show(column, f"{bps / 1e6:.1f}")
    if all(figures):
        ratio = figures[0] / figures[1]
        line.between = f"ratio {ratio:.2f}"
        line.require(1 - GOODPUT <= ratio <= 1 / (1 - GOODPUT), f"ratio {ratio:.2f}")
    return line


ASPECTS = (round_trip, delay, jitter, loss, bursts, duplicates, corrupt, ahead, overtaken, queue,
           udp_rate, tcp_rate, goodput, strays)
