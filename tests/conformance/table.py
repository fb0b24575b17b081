"""The table of profiles, and what each promises: read here by itself, not with the project's reader."""
import re
from dataclasses import dataclass, field

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "bit": 1, "kbit": 1e3, "mbit": 1e6, "b": 1, "kib": 1024,
         "%": 0.01, "": 1}


def number(text):
    value, unit = re.fullmatch(r"([0-9.]+)([a-z%]*)", text).groups()
    return float(value) * UNITS[unit]


@dataclass
class Path:
    """What one direction does to packets."""
    delay_ns: float = 0
    jitter_ns: float = 0
    distribution: str = "uniform"
    loss: float = 0
    burst: float = 0
    gemodel: dict = None
    duplicate: float = 0
    corrupt: float = 0
    reorder: float = 0
    gap: int = 1
    rate_bps: float = 0
    queue: float = 0  # bytes
    limit: int = 0    # packets

    def chain(self):
        """(to bad, to good, loss when bad, loss when good) of the two-state model."""
        if self.gemodel:
            model = self.gemodel
            return model["p"], model["r"], model.get("bad", 1), model.get("good", 0)
        if self.burst:
            to_good = 1 / self.burst
            return self.loss * to_good / (1 - self.loss), to_good, 1, 0
        return None


@dataclass
class Row:
    name: str
    quick: bool
    count: int
    interval: str
    size: int
    tools: list
    profile: str
    path: dict = field(default_factory=dict)

    def yaml(self):
        return "\n".join(["schema: 1", *(key.strip() for key in self.profile.split(";"))]) + "\n"

    def interval_ns(self):
        return number(self.interval)

    def longest_ms(self):
        """After so long a quiet nothing more comes, even through a queue of a second."""
        longest = max(path.delay_ns + 8 * path.jitter_ns for path in self.path.values())
        return int(longest / 1e6) + 300

    def way_back_ns(self):
        return sum(path.delay_ns for path in self.path.values())


def mapping(text):
    """{a: 1, b: 2} without its braces, as pairs of text."""
    return dict(re.findall(r"(\w+): ([^,]+)", text.strip("{} ")))


def set_key(path, key, text):
    if key == "rtt":
        path.delay_ns = number(text) / 2
    elif key == "gemodel":
        path.gemodel = {name: number(value) for name, value in mapping(text).items()}
    elif key == "distribution":
        path.distribution = text
    elif key in ("delay", "jitter"):
        setattr(path, key + "_ns", number(text))
    elif key == "rate":
        path.rate_bps = number(text)
    elif key in ("gap", "limit"):
        setattr(path, key, int(text))
    else:
        setattr(path, key, number(text))


def read_row(line):
    name, quick, count, interval, size, tools, profile = line.split("\t")
    row = Row(name, bool(quick), int(count), interval, int(size), tools.split(), profile)
    row.path = {"up": Path(), "down": Path()}
    for key, text in (part.strip().split(": ", 1) for part in profile.split(";")):
        if key in row.path:
            for own, value in mapping(text).items():
                set_key(row.path[key], own, value)
        else:
            for path in row.path.values():
                set_key(path, key, text)
    return row


def read_table(file):
    with open(file) as lines:
        return [read_row(line.rstrip("\n")) for line in lines if not line.startswith("#")]
