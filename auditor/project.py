"""Projections: which sums a cell is in, with which sign, and the estimates that follow."""

import itertools
import math
import statistics

from blake3 import blake3

from . import where
from .wire import Beyond, must, within


def derived(context, data, length=8):
    return blake3(data, derive_key_context=context).digest(length=length)


def times(a, b):
    """In GF(2)[z] modulo z^64 + z^4 + z^3 + z + 1."""
    out = 0
    while b:
        out ^= a if b & 1 else 0
        b >>= 1
        a = (a << 1) ^ (0x1_0000_0000_0000_001B if a >> 63 else 0)
    return out


def signs(coefficients, point):
    """The value of the polynomial of one family: 0 of a dense projection, or the row of a sketch."""
    value = 0
    for coefficient in reversed(coefficients):
        value = times(value, point) ^ coefficient
    return value


def room(held, domain):
    """How many bits a cell's number has, and whether that is its index among all cells."""
    bits = 64 - ((-(-held.rows // 64) if held.kind == "dense" else 1) - 1).bit_length()
    cells = math.prod(domain[d].size(domain[d].finest) for d, _ in held.key)
    return bits, cells <= 1 << bits and not any(text for _, text in held.key)


class Projected:
    def __init__(self, release):
        self.held, self.domain = release.projection, release.domain
        self.values = [int(value) for part in release.rows.values for value in part]
        self.bits, self.indexed = room(self.held, self.domain)
        families = range(self.held.rows) if self.held.kind == "sketch" else [0]
        self.polynomials = list(map(self._polynomial, families))

    def _polynomial(self, family):
        seed = self.held.seed + family.to_bytes(4, "little")
        data = derived("margins 2026 projection sign coefficients", seed, 8 * self.held.independence)
        return [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]

    def cell(self, parts):
        """The number of a cell, from a text or the index of a category for each part of the key."""
        if self.indexed:
            index = 0
            for (d, _), part in zip(self.held.key, parts):
                index = index * self.domain[d].size(self.domain[d].finest) + part
            return index
        data = self.held.seed
        for part in parts:
            if isinstance(part, str):
                data += derived("margins 2026 projection text", part.encode())
            else:
                data += part.to_bytes(8, "little")
        return int.from_bytes(derived("margins 2026 projection cell", data), "little") >> (64 - self.bits)

    def estimate(self, cells):
        """Estimate and variance of the sum of these cells."""
        return self._dense(cells) if self.held.kind == "dense" else (self._median(cells), None)

    def _dense(self, cells):
        """The variance is that with noise of the continuous law, as the documents say of projections."""
        rows, sums = self.held.rows, [0] * self.held.rows
        for cell, block in itertools.product(cells, range(-(-rows // 64))):
            word = signs(self.polynomials[0], cell << (64 - self.bits) | block)
            for row in range(64 * block, min(64 * block + 64, rows)):
                sums[row] += 1 - 2 * (word >> (row % 64) & 1)
        found = sum(a * v for a, v in zip(sums, self.values)) / rows
        noise = float(self.held.scale if self.held.noise == "gaussian" else 2 * self.held.scale**2)
        norm = max(0.0, sum(v * v for v in self.values) / rows - noise)
        other = max(0.0, len(cells) * norm + (1 - 2 / len(cells)) * found**2)
        return found, other / rows + sum(a * a for a in sums) * noise / rows**2

    def _median(self, cells):
        """Of the rows of a sketch in which no two cells cancel out."""
        found = []
        for polynomial, start in zip(self.polynomials, itertools.count(0, self.held.buckets)):
            values = [signs(polynomial, cell) for cell in cells]
            told = {(value * self.held.buckets >> 64, 1 - 2 * (value & 1)) for value in values}
            if len({bucket for bucket, _ in told}) == len(told):
                found.append(sum(sign * self.values[start + bucket] for bucket, sign in told))
        within(len(found) >= 6, "the mean of a sketch's rows")
        return float(statistics.median(found))


def _listed(condition):
    """Of a condition made of =, IN and AND the values by dimension."""
    head, *parts = condition
    if head == "=":
        return {parts[0]: [parts[2][1]]}
    if head in ("AND", "OR"):
        a, b = map(_listed, parts)
        if head == "AND" and not set(a) & set(b):
            return {**a, **b}
        if head == "OR" and set(a) == set(b) and len(a) == 1:
            return {d: list(dict.fromkeys(a[d] + b[d])) for d in a}
    raise Beyond("a projection asked for more than = and IN")


def answer(projected, text):
    """Labels and estimates of SELECT … WHERE a = 'x' AND b IN (…) GROUP BY a, and variances."""
    asked, held, domain = where.Select(text, projected.domain), projected.held, projected.domain
    values = _listed(asked.condition) if asked.condition else {}
    for d, is_text in held.key:
        must(d in values or not is_text, f"a text is asked for by name: {domain[d].name}")
        if not is_text:
            labels = domain[d].levels[-1].labels
            values[d] = [labels.index(value) for value in values.get(d, labels) if value in labels]
    groups = [d for d, _ in asked.groups]
    found = []
    for chosen in itertools.product(*[values[d] for d in groups]):
        kept = dict(zip(groups, chosen))
        cells = list(itertools.product(*[[kept[d]] if d in kept else values[d] for d, _ in held.key]))
        must(len(cells) <= held.sparsity, f"a query has {len(cells)} cells, and may have {held.sparsity}")
        labels = {}
        for d, value in kept.items():
            labels[domain[d].name] = value if isinstance(value, str) else domain[d].levels[-1].labels[value]
        found.append((labels, *projected.estimate([projected.cell(parts) for parts in cells])))
    return found
