"""What a release costs, from its blocks and scales alone: a sum of terms rounded up to 96 fractional bits."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from . import blocks
from .wire import within

SUM, CELLS = "the sum over all blocks", "the exact maximum over all cells"
PAIRS, BOUND = "the exact maximum over all pairs of cells", "an upper bound over all {}"


def up(value):
    """In units of 2^-96."""
    return -(-value.numerator * (1 << 96) // value.denominator)


def total(costs):
    """Exact where both numbers have 128 bits; otherwise each cost is rounded up."""
    exact = sum(costs, Fraction(0))
    fits = max(exact.numerator, exact.denominator) < 1 << 128
    return exact if fits else Fraction(sum(map(up, costs)), 1 << 96)


def binary(value, digits, rounded):
    """A ratio above 0 with so many binary digits, as `rounded` makes it whole."""
    above, below = value.as_integer_ratio()
    power = (above // below).bit_length() or 1 - ((below - 1) // above).bit_length()
    unit = Fraction(2) ** (power - digits)
    return rounded(value / unit) * unit


def proven(layers):
    """The parameter of one discrete Gaussian that costs no less than a sum of independent ones."""
    best, total, bits = max(layers), layers[0], []
    for layer in layers[1:]:
        bits.append(max(14 * min(int(min(total, layer)), 1 << 20) - 3, 0))
        total += layer
    if bits:
        left = min(bits) - (len(layers) - 1).bit_length() - (2 * math.ceil(total) - 1).bit_length()
        e = min(max(left, 0) // 2, 40)
        if e >= 3:
            down = functools.partial(binary, digits=40, rounded=math.floor)
            best = max(best, down(down(total) * Fraction(1 << (e - 2), (1 << (e - 2)) + 1)))
    return best


class Cost:
    """What all channels cost in `total`, and what `case` of a worst case that is; `each` block's sensitivity
    and cost by itself; what blocks of each channel beside rows cost, and the counts of what was moved.

    Sensitivities are squares under Gaussian noise, and absolute values under Laplace noise."""

    def __init__(self, release, factor=None):
        """Of this copy, or of one that is measured by itself with `factor` times the first one's scales."""
        held = release.held
        self.gaussian = held.noise == "gaussian"
        if release.projection:
            squared = held.rows * (held.max_rows * (2 if held.neighbours == "substitute" else 1)) ** 2
            self.total = squared / (2 * held.scale if self.gaussian else 2 * held.scale**2)
            self.each, self.sums, self.case = [(squared, self.total)], [], SUM
            return
        budget = release.budget if factor is None else release.copies.budget / factor
        parts = [Part(channel, factor) for channel in release.channels if not channel.moved]
        self.each = list(parts[0].each.values())
        self.sums = [[cost for _, cost in part.each.values()] for part in parts[1:]]
        # The dearest cells of two channels need not be the same.
        cases = [part.case for part in parts if part.case != SUM]
        single = held.neighbours == "add-remove" and release.file.version > 1
        bound = BOUND.format("cells" if single else "pairs of cells")
        self.case = bound if len(cases) > 1 or BOUND in cases else (cases or [SUM])[0]
        cut = release.cut_layers(factor)
        # Beside the cut units, of which one moves the count by one, each row may be moved to an end.
        ends, self.moved = [Part(channel, factor) for channel in release.channels if channel.moved], {}
        for low, high in zip(ends[::2], ends[1::2]):
            both = sorted([low.alone, high.alone])
            self.moved[low.channel.of["name"]] = both[held.neighbours == "add-remove":]
        extra = sum(self.moved.values(), [parts[0].price(1, parts[0].one(cut))] if cut else [])
        self.total = Fraction(sum(part.worst for part in parts) + sum(map(up, extra)), 1 << 96)
        if self.total > budget == sum(part.alone for part in parts) + sum(extra):
            self.total = budget


class Part:
    """What one channel costs."""

    def __init__(self, channel, factor):
        self.channel, self.plan, self.gaussian = channel, channel.plan, channel.plan.noise == "gaussian"
        self.one, plan = proven if self.gaussian else sum, self.plan
        layers = (channel.layers(number, factor) for number in range(len(plan.blocks)))
        self.scales = dict(zip(plan.blocks, map(self.one, layers)))
        self.lengths = functools.cache(functools.partial(blocks.lengths, plan))
        self.same = functools.cache(lambda *axis: (min(self.lengths(*axis)), max(self.lengths(*axis))))
        self.other = functools.cache(functools.partial(blocks.products, plan))
        units = {block: self.unit(block) for block in plan.blocks}
        self.each = {block: (unit, self.price(unit, self.scales[block])) for block, unit in units.items()}
        self.alone = sum(cost for _, cost in self.each.values())
        self.worst, self.case = self._worst()

    def price(self, sensitivity, scale):
        return Fraction(sensitivity) / ((2 if self.gaussian else 1) * scale)

    def together(self, blocks, sensitivity):
        """What blocks cost, of which one moves by `sensitivity(block)` for one row, in units of 2^-96."""
        rows = self.plan.max_rows**2 if self.gaussian else self.plan.max_rows
        return sum(up(self.price(sensitivity(block) * rows, self.scales[block])) for block in blocks)

    def unit(self, block):
        """How far a unit moves a block, whatever else it moves."""
        reach = self.plan.max_rows * self.channel.reach
        rows = reach**2 if self.gaussian else reach
        if self.plan.neighbours == "add-remove" or self.channel.moved:
            return rows * self.added(block)
        plain = block.kind == "table" and not self.channel.summed
        return rows * (2 if plain else self.added(block) * (4 if self.gaussian else 2))

    def added(self, block):
        """How far one row more moves a block."""
        if block.kind == "rows":
            return max(map(self.norm, blocks.columns(self.plan, block)))
        return math.prod(self.same(*axis)[1] for axis in block.axes())

    def apart(self, block, dimensions):
        """How far two rows in cells that differ in just these dimensions are apart."""
        squares, low, high = 1, 1, 1
        for d, level, way in block.axes():
            same, other = self.same(d, level, way), self.other(d, level, way)
            within(other is not None, "components of dimensions of more than 4096 categories")
            squares *= same[1]
            ends = [a * b for a in (low, high) for b in (other if d in dimensions else same)]
            low, high = min(ends), max(ends)
        return (2 if self.gaussian or block.kind == "table" else 1) * (squares - low)

    def _worst(self):
        """What a unit costs at most, in units of 2^-96, and how that is known: of rows over each table, and
        of all other blocks."""
        rows = [block for block in self.plan.blocks if block.kind == "rows"]
        others = [block for block in self.plan.blocks if block.kind != "rows"]
        tables = dict.fromkeys(block.table for block in rows)
        parts = [self._of_rows([block for block in rows if block.table == table]) for table in tables]
        if others or not parts:
            parts.append(self._of_others(others, alone=not parts))
        return sum(cost for cost, _ in parts), parts[0][1] if len(parts) == 1 else BOUND

    def _of_others(self, others, alone):
        plan, total = self.plan, sum(up(self.each[block][1]) for block in others)
        if any(block.weighted() for block in others):
            return self._of_weights(others), CELLS if plan.neighbours == "add-remove" else BOUND
        if plan.neighbours == "add-remove" or all(block.kind == "table" for block in others):
            return total, SUM
        used = sorted({d for block in others for d, _ in block.table})
        plain = all(len(plan.levels[d]) == 2 for d in used) and alone and not self.channel.summed
        if not plain or len(used) > 24 or len(others) << len(used) > 1 << 24:
            return total, BOUND
        bases = any(isinstance(way, blocks.Basis) for block in others for way in block.ways)
        apart = [set(some) for size in range(1, len(used) + 1) for some in itertools.combinations(used, size)]
        pairs = (self.together(others, lambda block: self.apart(block, some)) for some in apart)
        worst = max(pairs, default=0)
        if plan.max_rows > 1:
            worst = max(worst, self.together(others, self.added))
        return worst, BOUND if bases else PAIRS

    def _of_weights(self, others):
        """Where nodes have weights cells differ. What a squared length of one costs is rounded up."""
        domain, worst = self.plan.domain, 0
        dimensions = sorted({d for block in others for d, _, _ in block.weighted()})
        finest = [(d, domain[d].finest) for d in dimensions]
        within(domain.cells(finest) <= 1 << 22, "weights of nodes over more than 2^22 cells")

        def lengths(d, level, way):
            found = np.array(self.lengths(d, level, way), dtype=object)
            shape = [-1 if other == d else 1 for other in dimensions]
            return found[domain[d].ancestors(domain[d].finest, level)].reshape(shape)

        for block in others:
            own = [lengths(*axis) for axis in block.weighted()]
            unit = Fraction(self.each[block][0], math.prod(some.max() for some in own))
            worst = worst + up(self.price(unit, self.scales[block])) * math.prod(own)
        return int(np.max(worst))

    def norm(self, column):
        """The squared length of a column, or the sum of its absolute values."""
        return sum(abs(int(entry)) ** (2 if self.gaussian else 1) for entry in column)

    def _of_rows(self, rows):
        """Of rows over one table; cells with equal columns are alike."""
        columns = {block: blocks.columns(self.plan, block) for block in rows}
        whole = np.hstack(list(columns.values()))
        distinct = np.unique(whole, axis=0, return_index=True)[1]

        def cost(one, two=None):
            other = {block: 0 if two is None else columns[block][two] for block in rows}
            return self.together(rows, lambda block: self.norm(columns[block][one] - other[block]))

        single = max(map(cost, distinct))
        if self.plan.neighbours == "add-remove":
            return single, CELLS
        if len(distinct) * int((whole[distinct] != 0).sum()) > 1 << 25:
            return single * (4 if self.gaussian else 2), BOUND
        worst = max(itertools.starmap(cost, itertools.combinations(distinct, 2)), default=0)
        return max(worst, single if self.plan.max_rows > 1 else 0), PAIRS


def joint(release):
    """What all copies together cost: of nested copies the first one tells what all do."""
    number = 1 if release.copies.mode == "nested" else None
    return sum(Cost(release, factor).total for _, factor in release.copies.recipients[:number])
