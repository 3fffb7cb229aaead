"""Projections: which sums a cell is in, with which sign, and the estimates that follow."""

import itertools
import statistics

from blake3 import blake3

from . import select
from .errors import Beyond, must


def derived(context, data, length=32):
    return blake3(data, derive_key_context=context).digest(length=length)


def times(a, b):
    """In GF(2)[z] modulo z^64 + z^4 + z^3 + z + 1."""
    out = 0
    while b:
        if b & 1:
            out ^= a
        b >>= 1
        a = (a << 1) ^ (0x1_0000_0000_0000_001B if a >> 63 else 0)
    return out


class Signs:
    """One polynomial: family 0 of a dense projection, or the row of a sketch."""

    def __init__(self, seed, family, independence):
        data = derived("margins 2026 projection sign coefficients", seed + family.to_bytes(4, "little"), 8 * independence)
        self.coefficients = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]

    def at(self, point):
        value = 0
        for coefficient in reversed(self.coefficients):
            value = times(value, point) ^ coefficient
        return value


def room(held, domain):
    """How many bits a cell's number has, and whether that is its index among all cells."""
    blocks, combinations = -(-held.rows // 64) if held.kind == "dense" else 1, 1
    bits = 64 - (blocks - 1).bit_length()
    for d, text in held.key:
        combinations *= domain[d].size(domain[d].finest)
    return bits, not any(text for _, text in held.key) and combinations <= 1 << bits


class Projected:
    def __init__(self, release):
        self.held, self.domain = release.projection, release.domain
        self.values = [int(v) for part in release.values for v in part]
        self.bits, self.indexed = room(self.held, self.domain)
        self.low = 64 - self.bits
        families = range(self.held.rows) if self.held.kind == "sketch" else [0]
        self.signs = [Signs(self.held.seed, family, self.held.independence) for family in families]

    def cell(self, parts):
        """The number of a cell, from a text or the index of a category for each part of the key."""
        if self.indexed:
            index = 0
            for (d, _), part in zip(self.held.key, parts):
                index = index * self.domain[d].size(self.domain[d].finest) + part
            return index
        data = self.held.seed
        for part in parts:
            data += derived("margins 2026 projection text", part.encode())[:8] if isinstance(part, str) else part.to_bytes(8, "little")
        return int.from_bytes(derived("margins 2026 projection cell", data)[:8], "little") >> (64 - self.bits)

    def estimate(self, cells):
        """Of the sum of these cells the estimate and its variance, by a dense projection, or the median of a sketch's rows, which has none."""
        if self.held.kind == "dense":
            sums = [0] * self.held.rows
            for cell in cells:
                for block in range(-(-self.held.rows // 64)):
                    word = self.signs[0].at(cell << self.low | block)
                    for bit in range(min(64, self.held.rows - 64 * block)):
                        sums[64 * block + bit] += -1 if word >> bit & 1 else 1
            rows, found = self.held.rows, sum(a * v for a, v in zip(sums, self.values)) / self.held.rows
            variance = float(self.held.scale if self.held.noise == "gaussian" else 2 * self.held.scale**2)
            norm = max(0.0, sum(v * v for v in self.values) / rows - variance)
            other = max(0.0, len(cells) * norm + (1 - 2 / len(cells)) * found**2)
            return found, other / rows + sum(a * a for a in sums) * variance / rows**2
        rows = [row for row in (self._row(number, cells) for number in range(self.held.rows)) if row is not None]
        if len(rows) < 6:
            raise Beyond("the mean of a sketch's rows")
        return float(statistics.median(rows)), None

    def _row(self, number, cells):
        buckets = {}
        for cell in cells:
            value = self.signs[number].at(cell)
            buckets.setdefault(value * self.held.buckets >> 64, set()).add(-1 if value & 1 else 1)
        if any(len(signs) > 1 for signs in buckets.values()):
            return None
        return sum(signs.pop() * self.values[number * self.held.buckets + bucket] for bucket, signs in buckets.items())


def _listed(condition):
    """Of a condition made of =, IN and AND the values by dimension."""
    head = condition[0]
    if head == "is" and condition[3] == "=":
        return {condition[1]: [condition[4][1]]}
    if head in ("and", "or"):
        a, b = map(_listed, condition[1:])
        if head == "and" and not set(a) & set(b):
            return {**a, **b}
        if head == "or" and set(a) == set(b) and len(a) == 1:
            return {d: a[d] + [v for v in b[d] if v not in a[d]] for d in a}
    raise Beyond("a projection asked for more than = and IN")


def answer(projected, text):
    """Labels and estimates of SELECT … WHERE a = 'x' AND b IN (…) GROUP BY a, and variances."""
    asked, held, domain = select.Select(text, projected.domain), projected.held, projected.domain
    values = _listed(asked.condition) if asked.condition else {}
    for d, is_text in held.key:
        must(d in values or not is_text, f"a text is asked for by name: {domain[d].name}")
        labels = domain[d].levels[-1].labels
        values[d] = [v if is_text else labels.index(v) for v in values.get(d, labels) if is_text or v in labels]
    groups = [d for d, _ in asked.groups]
    found = []
    for chosen in itertools.product(*[values[d] for d in groups]):
        kept = dict(zip(groups, chosen))
        cells = list(itertools.product(*[[kept[d]] if d in kept else values[d] for d, _ in held.key]))
        must(len(cells) <= held.sparsity, f"{len(cells)} cells, more than the {held.sparsity} that a query may have")
        labels = {domain[d].name: v if isinstance(v, str) else domain[d].levels[-1].labels[v] for d, v in kept.items()}
        found.append((labels, *projected.estimate([projected.cell(parts) for parts in cells])))
    return found
