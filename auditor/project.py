"""Projections: which sums a cell is in, with which sign, and the estimates that follow."""

import functools, itertools, math, statistics

import numpy as np
from blake3 import blake3

from . import where
from .shapes import ratio
from .wire import must, within


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
    return functools.reduce(lambda value, one: times(value, point) ^ one, reversed(coefficients), 0)


def room(held, domain):
    """How many bits a cell's number has, and whether that is its index among all cells."""
    bits = 64 - ((-(-held.rows // 64) if held.kind == "dense" else 1) - 1).bit_length()
    cells = domain.cells(domain.finest(d for d, _ in held.key))
    return bits, cells <= 1 << bits and not any(text for _, text in held.key)


def designed(held, squared, epsilon, delta):
    """Refuses other noise than a budget asks for at this sensitivity, and signs too little independent."""
    scale, wanted = float(held.scale), float(squared / (2 * held.budget))
    if held.noise == "laplace":
        must(delta is not None and epsilon, "Laplace noise of a projection is for ε with δ")
        wanted = math.sqrt(8 * squared * -math.log(delta)) / float(ratio(epsilon))
    must(abs(scale - wanted) <= wanted / 10**6, "the projection has other noise than its budget asks for")
    least = math.ceil(math.log2(held.queries * held.rows * max(held.buckets, 1) / (2 * held.failure)))
    enough = held.independence >= 2 * min(max(least, 2), 256)
    must(enough, "the projection's signs are less independent than its queries ask for")


class Projected:
    def __init__(self, release):
        self.held, self.domain = release.projection, release.domain
        self.values = [int(value) for part in release.rows.values for value in part]
        self.bits, self.indexed = room(self.held, self.domain)
        points = self.held.rows if self.held.kind == "sketch" else self.held.rows // 64
        within(points * self.held.independence <= 1 << 21, "signs of very many rows")

    def _polynomial(self, family):
        seed = self.held.seed + family.to_bytes(4, "little")
        data = derived("margins 2026 projection sign coefficients", seed, 8 * self.held.independence)
        return [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]

    def cell(self, parts):
        """The number of a cell, from a text or the index of a category for each part of the key."""
        if self.indexed:
            sizes = [self.domain[d].size(self.domain[d].finest) for d, _ in self.held.key]
            return functools.reduce(lambda index, axis: index * axis[0] + axis[1], zip(sizes, parts), 0)
        said = (derived("margins 2026 projection text", part.encode()) if isinstance(part, str)
                else part.to_bytes(8, "little") for part in parts)
        number = derived("margins 2026 projection cell", self.held.seed + b"".join(said))
        return int.from_bytes(number, "little") >> (64 - self.bits)

    def estimate(self, cells):
        """Estimate and variance of the sum of these cells."""
        return self._dense(cells) if self.held.kind == "dense" else (self._median(cells), None)

    def _dense(self, cells):
        """The variance is that with noise of the continuous law, as the documents say of projections."""
        rows, sums, polynomial = self.held.rows, [0] * self.held.rows, self._polynomial(0)
        for cell, block in itertools.product(cells, range(-(-rows // 64))):
            word = signs(polynomial, cell << (64 - self.bits) | block)
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
        for row, start in enumerate(range(0, len(self.values), self.held.buckets)):
            polynomial = self._polynomial(row)
            values = [signs(polynomial, cell) for cell in cells]
            told = {(value * self.held.buckets >> 64, 1 - 2 * (value & 1)) for value in values}
            if len({bucket for bucket, _ in told}) == len(told):
                found.append(sum(sign * self.values[start + bucket] for bucket, sign in told))
        within(len(found) >= 6, "the mean of a sketch's rows")
        return float(statistics.median(found))


def _parts(condition):
    """What stands between ANDs."""
    return [one for part in condition[1:] for one in _parts(part)] if condition[0] == "AND" else [condition]


def _values(condition, held, domain):
    """By dimension of the key what conditions of one dimension each leave of it: of texts, what they name."""
    texts = {d for d, is_text in held.key if is_text}
    found = {d: None if d in texts else range(domain[d].size(domain[d].finest)) for d, _ in held.key}
    for part in _parts(condition) if condition else []:
        (d, *more), equal = where.mentioned(part), part[1:] if part[0] == "OR" else [part]
        within(not more, "a projection asked for conditions of several dimensions with OR")
        must(d in found, "a dimension is not in the projection's key")
        if d in texts:
            within(all(one[0] == "=" for one in equal), "a projection asked for more of texts than = and IN")
            left = list(dict.fromkeys(text for _, _, _, (_, text) in equal))
        else:
            left = np.flatnonzero(where.met(part, domain, [d])).tolist()
        found[d] = [value for value in left if found[d] is None or value in found[d]]
    for d in texts:
        must(found[d] is not None, f"a text is asked for by name: {domain[d].name}")
    return found


def answer(projected, text):
    """Labels and estimates of SELECT … WHERE a = 'x' AND b IN (…) GROUP BY a, and variances."""
    asked, held, domain = where.Select(text, projected.domain), projected.held, projected.domain
    must(asked.figures == [("COUNT", None)], "a projection asked for another figure than COUNT(*)")
    values, groups, found = _values(asked.where, held, domain), [], []
    for d, level in asked.groups:
        must(d in values, "a dimension is not in the projection's key")
        labels, above = domain[d].levels[level].labels, domain[d].ancestors(domain[d].finest, level)
        groups.append({})
        for value in values[d]:
            groups[-1].setdefault(value if type(value) is str else labels[above[value]], []).append(value)
    for chosen in itertools.product(*[group.items() for group in groups]):
        kept = {d: members for (d, _), (_, members) in zip(asked.groups, chosen)}
        parts = [kept.get(d, values[d]) for d, _ in held.key]
        count = math.prod(map(len, parts))
        must(count <= held.sparsity, f"a query has {count} cells, and may have {held.sparsity}")
        labels = {domain[d].called(level): label for (d, level), (label, _) in zip(asked.groups, chosen)}
        cells = list(map(projected.cell, itertools.product(*parts)))
        found.append((labels, *(projected.estimate(cells) if cells else (0.0, 0.0))))
    return found
