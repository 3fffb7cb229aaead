"""ρ as (ε, δ), and the exact law of a plan's privacy loss: δ at an ε, from above (docs/methods/loss.md).

A unit moves integers by whole numbers `v` that noise of parameter `s²` is added to: the loss is `±ρ + S`,
with `S = Σ (v/s²)z`. δ is the integral of the generating function of S along a line. To the noises one more
is added, continuous and so wide that it is worth next to nothing: whoever sees more loses no less, and the
integrand ends soon.
"""

import functools, itertools, math, re
from collections import Counter
from fractions import Fraction

import numpy as np

from .blocks import moved
from .wire import must, within

# How much of itself δ may be too large: by the additional noise, and by rounding of exponents up to `LARGE`.
MORE, ROUNDED, LARGE, NOTHING, CHUNK, KINDS = 1e-7, 1e-8, 1e7, -60.0, 1 << 13, 64
# What is too near to tell, nine digits, how many are few, and how much δ may be above itself in the manifest.
NEAR, NINTH, FEW, TIGHT, LOOSE = 1e-4, 1e-9, 20, 1e-6, 0.25


def has_law(release):
    """Whether a release has a law of its own: tables of one recipient, of units that come and go with one
    row, whose cells are of few kinds; and rows beyond either end of a number count alike."""
    plan, ends, plain = release.plan, Counter(), not (release.projection or release.copies)
    plain = plain and [plan.noise, plan.neighbours, plan.max_rows] == ["gaussian", "add-remove", 1]
    plain = plain and not any(block.kind == "rows" or block.weighted() for block in plan.blocks)
    for channel in release.channels:
        if channel.moved:
            ends[channel.of["name"], channel.plan.blocks[0].scale] += 1
    return plain and all(n == 2 for n in ends.values()) and math.prod(map(len, _told(release)[1])) <= KINDS


def _told(release):
    """How often blocks are measured in which ways, how far a row at an end of its numbers moves what they add
    up, with which s², and by dimension the kinds of its cells. Nobody is beyond both ends of a number."""
    plan, blocks = release.plan, Counter(((), 1, float(scale)) for scale in release.cut_layers())
    for channel in (one for one in release.channels if one.subject != "rows moved to high"):
        for block in channel.plan.blocks:
            blocks[tuple(block.axes()), channel.reach, float(block.scale)] += 1
    ways = [{} for _ in release.domain]
    for axis in {axis for axes, *_ in blocks for axis in axes}:
        ways[axis[0]][axis] = moved(plan, *axis)
    return blocks, list(map(_kinds, release.domain, ways))


def laws(release):
    """For every kind of cell the noises that hide a unit there: `(v, s²)` and how many."""
    must(has_law(release), "there is no law of the release's own loss")
    blocks, kinds = _told(release)
    for kind in itertools.product(*kinds):
        alike, found = Counter(), Counter()
        for (axes, reach, variance), times in blocks.items():
            alike[tuple(sorted(kind[axis[0]][axis] for axis in axes)), reach, variance] += times
        for (steps, reach, variance), times in alike.items():
            for chosen in itertools.product(*steps):
                copies = math.prod(copies for _, copies in chosen)
                found[math.prod((by for by, _ in chosen), start=reach), variance] += times * copies
        yield found


def _kinds(dimension, ways):
    """The kinds of cells of a dimension: for each the steps of every way."""
    finest = max((level for _, level, _ in ways), default=0)
    above = {level: dimension.ancestors(finest, level) for _, level, _ in ways}
    nodes = range(dimension.size(finest))
    cells = ({axis: steps[above[axis[1]][node]] for axis, steps in ways.items()} for node in nodes)
    return list({tuple(cell.values()): cell for cell in cells}.values()) if ways else [{}]


class _Noises:
    """Noises of one kind, tilted by θ: discrete Gaussian ones around the middle vθ."""

    def __init__(self, v, variance, copies, theta):
        self.copies, self.variance, self.middle, self.step = copies, variance, v * theta, v / variance
        self.reach = math.ceil(10 * math.sqrt(variance)) + 1 if variance < 1 else 0
        self.nearest, around = round(self.middle), np.arange(-self.reach, self.reach + 1)
        self.weights = np.exp(-((around + self.nearest - self.middle) ** 2) / (2 * variance))
        if variance < 1:
            self.mass, whole = self.weights.sum(), np.exp(-(around**2) / (2 * variance)).sum()
        else:
            # By Poisson's sum.
            once = 2 * math.exp(-2 * math.pi**2 * variance)
            self.mass, whole = 1 + once * math.cos(2 * math.pi * self.middle), 1 + once
        self.height = copies * (self.middle**2 / (2 * variance) + math.log(self.mass / whole))

    def turned(self, t):
        """`ln M(θ+it)/M(θ)`."""
        angle = self.step * t
        r = angle - 2 * math.pi * np.round(angle / (2 * math.pi))
        if self.variance < 1:
            # A polynomial of one turn, whose powers begin below 0.
            log, sums = 1j * (self.nearest - self.reach) * r, np.polyval(self.weights[::-1], np.exp(1j * r))
            extra = sums / self.mass
        else:
            turn, s = 2j * math.pi * self.middle, 2 * math.pi * self.variance
            log = 1j * self.middle * r - self.variance * r * r / 2
            extra = (1 + np.exp(-s * (math.pi + r) + turn) + np.exp(-s * (math.pi - r) - turn)) / self.mass
        return self.copies * (log + np.log(np.where(abs(extra) < ROUNDED**2, ROUNDED**2, extra)))


def delta(parts, epsilon):
    """No less than the δ of these noises at this ε, and more only by about `MORE` of itself, but at steps of
    it."""
    epsilon = float(epsilon)
    spread = math.fsum(copies * v * v / variance for (v, variance), copies in parts.items())
    if not spread:
        return 0.0

    def tilted(theta):
        return [_Noises(v, variance, copies, theta) for (v, variance), copies in parts.items()]

    def height(theta):
        raised = sum(noises.height for noises in tilted(theta))
        return raised - theta * (epsilon - spread / 2) - math.log(theta * (theta + 1))

    # Near the least of a convex function of θ: any θ proves, a good one rounds least.
    slope = lambda log: height(math.exp(log + 1e-4)) - height(math.exp(log))
    guess = math.log(max(epsilon / spread, 1 / math.sqrt(spread)))
    theta = math.exp(crossing(slope, guess - 8, guess + 8))
    noises, more = sorted(tilted(theta), key=lambda noises: noises.step), 2 * MORE / (theta * (theta + 1))
    x = epsilon - (spread + more) / 2
    top = sum(one.height for one in noises) + more * theta * theta / 2 - theta * x
    # Sampling at this step adds only what is not negative, and little of it: coarse noise has values that lie
    # far apart. Beyond the end the noise that was added leaves e^-45.
    wide = sum(one.copies * one.step**2 * max(one.variance, 0.5) for one in noises)
    step, end = 2 * math.pi / (45 / theta + 10 * math.sqrt(wide / 2)), math.sqrt(90 / more)
    within((spread * (theta + 1) + epsilon) * end <= LARGE, "a law with exponents beyond what doubles tell")
    total = size = 0.0
    for first in range(0, math.ceil(end / step), CHUNK):
        t = step * np.arange(first, first + CHUNK)
        log, alive = more * (1j * theta * t - t * t / 2) - 1j * t * x, np.arange(CHUNK)
        for one in noises:
            log[alive] += one.turned(t[alive])
            alive = alive[log.real[alive] > NOTHING]
            if not len(alive):
                break
        values = np.exp(log) / ((theta + 1j * t) * (theta + 1 + 1j * t))
        values[0] /= 1 + (first == 0)
        total, size = total + values.real.sum(), size + np.abs(values).sum()
    return min(1.0, math.exp(top) * ((total + ROUNDED * size) * step + math.exp(-45) / end) / math.pi)


def listed(parts, epsilon):
    """δ to nine digits, where the sums of noises of each scale are few values; nothing elsewhere."""
    lattices, halves = {}, [(np.zeros(1), np.ones(1))] * 2
    far = x = float(epsilon) - sum(copies * v * v / s for (v, s), copies in parts.items()) / 2
    for (v, variance), copies in parts.items():
        reach = math.ceil(15 * math.sqrt(variance))
        far = abs(far) + copies * reach * v / variance
        if far > 600 or copies * reach * v > 1 << 12:
            return None
        steps = np.zeros(2 * reach * v + 1)
        steps[::v] = np.exp(-np.arange(-reach, reach + 1) ** 2 / (2 * variance))
        some = [lattices.get(variance, [1.0])] + [steps / steps.sum()] * copies
        lattices[variance] = functools.reduce(np.convolve, some)
    for variance, masses in lattices.items():
        values = np.arange(-(len(masses) // 2), len(masses) // 2 + 1) / variance
        (a, p), other = sorted(halves, key=lambda half: len(half[0]))
        if len(a) * len(values) > 1 << 20:
            return None
        halves = [(np.add.outer(a, values).ravel(), np.multiply.outer(p, masses).ravel()), other]
    (a, p), (b, q) = halves
    b, q = b[(order := np.argsort(b)[::-1])], q[order]
    # What is far enough beyond the values of the other half, and that times its e^-b.
    beyond, weighed = (np.append(0, np.cumsum(some)) for some in (q, q * np.exp(-b)))
    at = np.searchsorted(-b, a - x, "left")
    return float((p * (beyond[at] - np.exp(x - a) * weighed[at])).sum())


def _bounds(laws, epsilon, near):
    """Between what the largest δ of these laws lies, and how much it may be in a manifest. What is not listed
    is known to the part `near` of itself; of few coarse noises, which have steps, there is but a bound."""
    every = []
    for law in laws:
        found, scales = listed(law, epsilon), {variance for _, variance in law}
        narrow = {variance for variance in scales if sum(law.values()) <= FEW > variance}
        most = delta(law, epsilon) if found is None else found * (1 + NINTH)
        unsure = 2 * NINTH if found is not None else 1 if narrow == scales else near
        more = LOOSE if len(narrow) > 4 or narrow == scales and found is None else TIGHT
        every.append((most * (1 - unsure), most, most * (1 + more)))
    return map(max, zip(*every))


def is_within(release, epsilon, goal):
    """Whether the largest δ of a kind of cell is no more than `goal`, if that is not too near to tell."""
    least, most, _ = _bounds(laws(release), epsilon, NEAR)
    within(most <= goal or least > goal, "a δ that is too near to what is allowed")
    return most <= goal


def confirmed(release, text, goal):
    """What a manifest says is the ε of its own law, if it is: four decimals, of a small number four digits;
    one less in the last place would be too few."""
    must(re.fullmatch(r"\d+\.\d{4,}", text) is not None, "the ε of the exact law is no decimal number")
    epsilon, places = Fraction(text), len(text.partition(".")[2])
    must(places == 4 if 10 * epsilon > 1 else 1000 < epsilon * 10**places <= 10_000, "an ε has other digits")
    must(is_within(release, epsilon, goal), f"all noises together have more δ at ε = {text} than is said")
    least, _, said = _bounds(laws(release), epsilon - Fraction(1, 10**places), TIGHT)
    must(said > goal, f"the law has less ε than {text}")
    within(least > goal, "the last digit of an ε")
    return text


def crossing(rising, low, high):
    """Where a rising function gets to 0, or next above."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high


def log_delta(rho, epsilon):
    """The least ln δ; x = α - 1 solves (2x+1)ρ - ε - ln(1+1/x) = 0."""
    slope = lambda log: (2 * math.exp(log) + 1) * rho - epsilon - math.log1p(math.exp(-log))
    x = math.exp(crossing(slope, -690, 690))
    return x * ((x + 1) * rho - epsilon) - math.log(x) - (x + 1) * math.log1p(1 / x)


def epsilon(rho, delta):
    """The least ε at this δ."""
    must(0 < delta < 1, "δ is not a probability that can be reckoned with")
    rho, goal, high = float(rho), math.log(delta), 1.0
    while log_delta(rho, high) > goal:
        high *= 2
    return crossing(lambda epsilon: goal - log_delta(rho, epsilon), 0.0, high)


def shown(value, version):
    """Rounded up to four decimals, since version 2 to four digits where it is below 0.1."""
    decimals = 4 if version == 1 or value >= 0.1 else 3 - math.floor(math.log10(value))
    return f"{math.ceil(round(value * 10**decimals, 7)) / 10**decimals:.{decimals}f}"


def converts(rho, eps, delta, slack=1e-9):
    """Whether ρ has no more than this δ, as far as doubles tell."""
    return log_delta(float(rho), float(eps)) <= math.log(delta) + slack * (1 + abs(math.log(delta)))


def is_largest(rho, eps, delta):
    """Whether ρ is the largest for (ε, δ), to nine digits."""
    most = crossing(lambda rho: log_delta(rho, float(eps)) - math.log(delta), 0.0, float(rho) * 2)
    return abs(float(rho) - most) <= 1e-9 * most
