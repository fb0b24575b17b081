"""The tests that decide: exact binomial bands, Kolmogorov-Smirnov, chi-square, the two-state chain."""
import math


def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def binomial(n, p):
    """The probabilities of 0 .. n."""
    if p in (0, 1):
        return [float(k == n * p) for k in range(n + 1)]
    odds, start = math.log(p), math.log1p(-p)
    return [math.exp(log_choose(n, k) + k * odds + (n - k) * start) for k in range(n + 1)]


def binomial_p(k, n, p):
    """Two-sided: how likely is a count as far out as k, or further?"""
    mass = binomial(n, p)
    return min(1.0, 2 * min(sum(mass[:k + 1]), sum(mass[k:])))


def binomial_band(n, p, outside=0.001):
    """The smallest low..high with at most half of `outside` on each side."""
    mass, low, high, below, above = binomial(n, p), 0, n, 0.0, 0.0
    while below + mass[low] <= outside / 2:
        below += mass[low]
        low += 1
    while above + mass[high] <= outside / 2:
        above += mass[high]
        high -= 1
    return low, high


def normal_p(value, mean, variance):
    return math.erfc(abs(value - mean) / math.sqrt(2 * variance))


def normal_band(mean, variance):
    """99.9%."""
    reach = 3.2905 * math.sqrt(variance)
    return max(0, math.ceil(mean - reach)), math.floor(mean + reach)


def kolmogorov_p(d, n):
    """Asymptotic, with Stephens' correction for a finite n."""
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * d
    if x < 0.2:
        return 1.0
    return max(0.0, min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2)
                                     for k in range(1, 101))))


def ks_two(a, b, effective=1.0):
    """Largest distance of two samples' distributions, and its p. `effective`: what share of
    the values is independent of the others."""
    a, b = sorted(a), sorted(b)
    i = j = 0
    d = 0.0
    while i < len(a) and j < len(b):
        value = min(a[i], b[j])
        while i < len(a) and a[i] == value:
            i += 1
        while j < len(b) and b[j] == value:
            j += 1
        d = max(d, abs(i / len(a) - j / len(b)))
    return d, kolmogorov_p(d, effective * len(a) * len(b) / (len(a) + len(b)))


def ks_one(sample, cdf):
    d, n = 0.0, len(sample)
    for i, value in enumerate(sorted(sample)):
        d = max(d, abs(cdf(value) - i / n), abs((i + 1) / n - cdf(value)))
    return d, kolmogorov_p(d, n)


def chi_square_p(x, freedom):
    """Upper tail; the finite sums for whole and half-whole shapes."""
    half = x / 2
    if freedom % 2 == 0:
        return sum(math.exp(-half + i * math.log(half) - math.lgamma(i + 1)) if half else i == 0
                   for i in range(freedom // 2))
    tail = math.erfc(math.sqrt(half))
    for i in range((freedom - 1) // 2):
        if half:
            tail += math.exp(-half + (i + 0.5) * math.log(half) - math.lgamma(i + 1.5))
    return tail


def bins(lengths, expected_tail, total):
    """Counts of lengths 1, 2 … and of those beyond, cut where less than 5 are expected."""
    last = 1
    while total * expected_tail(last + 1) >= 5:
        last += 1
    counts = [0] * last
    for length in lengths:
        counts[min(length, last) - 1] += 1
    return counts


def chi_square_lengths(lengths, tail):
    """Do these lengths follow the distribution whose P(length >= k) is tail(k)?"""
    n = len(lengths)
    counts = bins(lengths, tail, n)
    last = len(counts)
    x = 0.0
    for k in range(1, last + 1):
        expected = n * (tail(k) - (tail(k + 1) if k < last else 0))
        x += (counts[k - 1] - expected) ** 2 / expected
    return chi_square_p(x, last - 1) if last > 1 else 1.0


def chi_square_two(a, b):
    """Do two samples of lengths come from one distribution?"""
    both = a + b
    least = min(len(a), len(b))
    counts = [bins(sample, lambda k: sum(1 for x in both if x >= k) / len(both), least)
              for sample in (a, b)]
    x = 0.0
    for pair in zip(*counts):
        for count, sample in zip(pair, (a, b)):
            expected = sum(pair) * len(sample) / len(both)
            if expected:
                x += (count - expected) ** 2 / expected
    freedom = len(counts[0]) - 1
    return chi_square_p(x, freedom) if freedom else 1.0


class Chain:
    """Loss by two states (to bad, to good, loss when bad, loss when good), in the long run."""

    def __init__(self, to_bad, to_good, bad, good):
        self.turn, self.lose = (to_bad, to_good), (good, bad)
        self.in_bad = to_bad / (to_bad + to_good)
        self.loss = self.in_bad * bad + (1 - self.in_bad) * good

    def variance(self, n):
        """Of the number lost among n: neighbours are alike, so more than binomial."""
        memory = 1 - sum(self.turn)
        alike = (self.lose[1] - self.lose[0]) ** 2 * self.in_bad * (1 - self.in_bad)
        pairs = sum((n - k) * memory ** k for k in range(1, min(n, 2000)))
        return n * self.loss * (1 - self.loss) + 2 * alike * pairs

    def step(self, state, lost):
        """Weights of the two states after a packet that was lost or was not."""
        weight = [s * (x if lost else 1 - x) for s, x in zip(state, self.lose)]
        to_bad, to_good = self.turn
        return [weight[0] * (1 - to_bad) + weight[1] * to_good,
                weight[0] * to_bad + weight[1] * (1 - to_good)]

    def tail(self, k):
        """P(a burst of losses is k long or longer)."""
        state = self.step([1 - self.in_bad, self.in_bad], False)
        first = sum(self.step(state, True))
        for _ in range(k):
            state = self.step(state, True)
        return sum(state) / first
