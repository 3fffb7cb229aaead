"""What a release costs, from its blocks and scales alone: a sum of terms rounded up to 96 fractional bits."""

import itertools
import math
from fractions import Fraction

import numpy as np

from . import blocks
from .wire import within

SUM = "the sum over all blocks"
CELLS = "the exact maximum over all cells"
PAIRS = "the exact maximum over all pairs of cells"
BOUND = "an upper bound over all pairs of cells"


def up(value):
    """In units of 2^-96."""
    return -(-value.numerator * (1 << 96) // value.denominator)


def total(costs):
    """Exact where both numbers have 128 bits; otherwise each cost is rounded up."""
    exact = sum(costs, Fraction(0))
    fits = max(exact.numerator, exact.denominator) < 1 << 128
    return exact if fits else Fraction(sum(map(up, costs)), 1 << 96)


def down(value):
    """Rounded down to 40 binary digits."""
    shift = 40 - (value.numerator // value.denominator).bit_length()
    while value * Fraction(2) ** shift < 1 << 39:
        shift += 1
    return Fraction(int(value * Fraction(2) ** shift)) / Fraction(2) ** shift


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
        self.each = parts[0].each
        self.sums = [[cost for _, cost in part.each] for part in parts[1:]]
        self.case = max((part.case for part in parts), key=[SUM, CELLS, PAIRS, BOUND].index)
        cut = release.cut_layers(factor)
        # Beside the cut units, of which one moves the count by one, each row may be moved to an end.
        ends = [Part(channel, factor) for channel in release.channels if channel.moved]
        self.moved = {}
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
        self.scales = [self.one(channel.layers(number, factor)) for number in range(len(plan.blocks))]
        self.products = {block: blocks.products(plan, block) for block in plan.blocks}
        sensitivities = [self.unit(block) for block in plan.blocks]
        self.each = list(zip(sensitivities, map(self.price, sensitivities, self.scales)))
        self.alone = sum(cost for _, cost in self.each)
        self.worst, self.case = self._worst()

    def price(self, sensitivity, scale):
        return Fraction(sensitivity) / ((2 if self.gaussian else 1) * scale)

    def together(self, sensitivity):
        """What all blocks cost, of which one moves by `sensitivity(block)` for one row, in units of 2^-96."""
        rows = self.plan.max_rows**2 if self.gaussian else self.plan.max_rows
        moved = ((sensitivity(block) * rows, scale) for block, scale in zip(self.plan.blocks, self.scales))
        return sum(up(self.price(*one)) for one in moved)

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
        return math.prod(int(max(same)) for same, _ in self.products[block])

    def apart(self, block, dimensions):
        """How far two rows in cells that differ in just these dimensions are apart."""
        if block.kind == "table":
            return 2 * any(d in dimensions for d, _ in block.table)
        squares, low, high = 1, 1, 1
        for (d, _), (same, other) in zip(block.table, self.products[block]):
            within(other is not None, "components of dimensions of more than 4096 categories")
            seen = other if d in dimensions else same
            squares *= int(max(same))
            ends = [a * b for a in (low, high) for b in (int(min(seen)), int(max(seen)))]
            low, high = min(ends), max(ends)
        return 2 * (squares - low) if self.gaussian else squares - low

    def _worst(self):
        """What a unit costs at most, in units of 2^-96, and how that is known."""
        plan, alone = self.plan, sum(up(cost) for _, cost in self.each)
        kinds = {block.kind for block in plan.blocks}
        if "rows" in kinds:
            return self._of_rows()
        if plan.neighbours == "add-remove" or kinds <= {"table"}:
            return alone, SUM
        used = sorted({d for block in plan.blocks for d, _ in block.table})
        plain = all(len(plan.levels[d]) == 2 for d in used)
        if self.channel.summed or not plain or len(used) > 24 or len(plan.blocks) << len(used) > 1 << 24:
            return alone, BOUND
        bases = any(isinstance(way, np.ndarray) for block in plan.blocks for way in block.ways)
        apart = [set(some) for size in range(1, len(used) + 1) for some in itertools.combinations(used, size)]
        worst = max((self.together(lambda block: self.apart(block, some)) for some in apart), default=0)
        if plan.max_rows > 1:
            worst = max(worst, self.together(self.added))
        return worst, BOUND if bases or self.channel.of else PAIRS

    def norm(self, column):
        """The squared length of a column, or the sum of its absolute values."""
        return sum(abs(int(entry)) ** (2 if self.gaussian else 1) for entry in column)

    def _of_rows(self):
        """Cells of the table of all dimensions under rows; those with equal columns are alike."""
        plan, domain = self.plan, self.plan.domain
        within(all(block.kind == "rows" for block in plan.blocks), "rows beside other blocks")
        join = domain.join(block.table for block in plan.blocks)
        within(domain.cells(join) <= 1 << 20, "rows over more than 2^20 cells together")
        columns = {one: blocks.columns(plan, one)[domain.above(join, one.table)] for one in plan.blocks}
        whole = np.hstack(list(columns.values()))
        distinct = np.unique(whole, axis=0, return_index=True)[1]

        def cost(one, two=None):
            other = {block: 0 if two is None else columns[block][two] for block in plan.blocks}
            return self.together(lambda block: self.norm(columns[block][one] - other[block]))

        single = max(map(cost, distinct))
        if plan.neighbours == "add-remove":
            return single, CELLS
        if len(distinct) * int((whole[distinct] != 0).sum()) > 1 << 25:
            return single * (4 if self.gaussian else 2), BOUND
        worst = max(itertools.starmap(cost, itertools.combinations(distinct, 2)), default=0)
        return max(worst, single if plan.max_rows > 1 else 0), PAIRS


def joint(release):
    """What all copies together cost: of nested copies the first one tells what all do."""
    number = 1 if release.copies.mode == "nested" else None
    return sum(Cost(release, factor).total for _, factor in release.copies.recipients[:number])
