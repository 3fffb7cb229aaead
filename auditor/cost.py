"""What a release costs, from its blocks and scales alone: a sum of terms rounded up to 96 fractional bits."""

import functools, itertools, math
from fractions import Fraction

import numpy as np

from . import blocks
from .shapes import ratio
from .wire import must, within

SUM, CELLS = "the sum over all blocks", "the exact maximum over all cells"
PAIRS, BOUND = "the exact maximum over all pairs of cells", "an upper bound over all {}"


def up(value):
    """In units of 2^-96."""
    return -(-value.numerator * (1 << 96) // value.denominator)


def total(costs):
    """Exact where 128 bits do for each step before it is reduced; otherwise each cost is rounded up."""
    exact = Fraction(0)
    for cost in costs:
        below = math.lcm(exact.denominator, cost.denominator)
        above = sum(one.numerator * (below // one.denominator) for one in (exact, cost))
        if max(above, below) >= 1 << 128:
            return Fraction(sum(map(up, costs)), 1 << 96)
        exact += cost
    return exact


def binary(value, digits, rounded):
    """A ratio above 0 with so many binary digits, as `rounded` makes it whole."""
    above, below = value.as_integer_ratio()
    power = (above // below).bit_length() or 1 - ((below - 1) // above).bit_length()
    return rounded(value / (unit := Fraction(2) ** (power - digits))) * unit


def scale_within(plan, said):
    """The scale of a count that takes its part of the budget, rounded up to 32 binary digits; 0 if none."""
    part = Fraction(said, 100) if isinstance(said, bool) else ratio(said)
    must(part < 1, "a count takes the whole budget")
    spent = plan.budget * part * plan.power
    return binary(Fraction(1.0 / float(spent) * (1.0 + 1e-9)), 32, math.ceil) if spent else 0


def proven(layers):
    """The parameter of one discrete Gaussian that costs no less than a sum of independent ones."""
    totals = list(itertools.accumulate(layers))
    bits = (max(14 * min(int(min(pair)), 1 << 20) - 3, 0) for pair in zip(totals, layers[1:]))
    fewer = (len(layers) - 1).bit_length() + (2 * math.ceil(totals[-1]) - 1).bit_length()
    e = min(max(min(bits, default=0) - fewer, 0) // 2, 40)
    if e < 3:
        return max(layers)
    down = functools.partial(binary, digits=40, rounded=math.floor)
    return max(*layers, down(down(totals[-1]) * Fraction(1 << (e - 2), (1 << (e - 2)) + 1)))


class Cost:
    """What all channels cost in `total`, and what `case` of a worst case that is; `each` block's sensitivity
    and cost by itself; what blocks of each channel beside rows cost, and the counts of what was moved.

    Sensitivities are squares under Gaussian noise, and absolute values under Laplace noise."""

    def __init__(self, release, factor=None):
        """Of this copy, or of one that is measured by itself with `factor` times the first one's scales."""
        held = release.held
        if release.projection:
            squared = held.rows * (held.max_rows * (2 if held.neighbours == "substitute" else 1)) ** 2
            self.total = squared / (2 * (held.scale if held.noise == "gaussian" else held.scale**2))
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
        self.channel, self.plan, self.power, plan = channel, channel.plan, channel.plan.power, channel.plan
        self.one = proven if self.power == 2 else sum
        layers = (channel.layers(number, factor) for number in range(len(plan.blocks)))
        self.scales = dict(zip(plan.blocks, map(self.one, layers)))
        self.lengths = functools.cache(functools.partial(blocks.lengths, plan))
        self.same = functools.cache(lambda *axis: (min(self.lengths(*axis)), max(self.lengths(*axis))))
        self.other = functools.cache(functools.partial(blocks.products, plan))
        units = {block: self.unit(block) for block in plan.blocks}
        self.each = {block: (unit, self.price(unit, self.scales[block])) for block, unit in units.items()}
        self.alone = sum(cost for _, cost in self.each.values())
        # A unit may own fewer rows than the most, and a row may be changed to one without a value.
        self.may_be_less = plan.max_rows > 1 or channel.subject != "rows"
        self.worst, self.case = self._worst()

    def price(self, sensitivity, scale):
        return Fraction(sensitivity) / (self.power * scale)

    def together(self, blocks, sensitivity):
        """What blocks cost, of which one moves by `sensitivity(block)` for one row, in units of 2^-96."""
        rows = self.plan.max_rows**self.power
        return sum(up(self.price(sensitivity(block) * rows, self.scales[block])) for block in blocks)

    def unit(self, block):
        """How far a unit moves a block, whatever else it moves."""
        rows = (self.plan.max_rows * self.channel.reach) ** self.power
        if self.plan.neighbours == "add-remove" or self.channel.moved:
            return rows * self.added(block)
        plain = block.kind == "table" and not self.channel.summed
        return rows * (2 if plain else self.added(block) * 2**self.power)

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
        return (2 if self.power == 2 or block.kind == "table" else 1) * (squares - low)

    def _worst(self):
        """What a unit costs at most, in units of 2^-96, and how that is known: of rows over each table, and
        of all other blocks."""
        groups = {}
        for block in self.plan.blocks:
            groups.setdefault(block.table if block.kind == "rows" else None, []).append(block)
        parts = [self._of_others(some, alone=len(groups) == 1) if table is None else self._of_rows(some)
                 for table, some in groups.items()] or [(0, SUM)]
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
        some = (some for size in range(1, len(used) + 1) for some in itertools.combinations(used, size))
        moves = (functools.partial(self.apart, dimensions=d) for d in some)
        moves = itertools.chain(moves, [self.added] * self.may_be_less)
        bases = any(isinstance(way, blocks.Basis) for block in others for way in block.ways)
        return max((self.together(others, move) for move in moves), default=0), BOUND if bases else PAIRS

    def _of_weights(self, others):
        """Where nodes have weights cells differ. What a squared length of one costs is rounded up."""
        domain, worst = self.plan.domain, 0
        finest = domain.finest(sorted({d for block in others for d, _, _ in block.weighted()}))
        within(domain.cells(finest) <= 1 << 22, "weights of nodes over more than 2^22 cells")
        for block in others:
            own = [np.array(self.lengths(d, level, way), dtype=object)[domain.above(finest, ((d, level),))]
                   for d, level, way in block.weighted()]
            unit = Fraction(self.each[block][0], math.prod(some.max() for some in own))
            worst = worst + up(self.price(unit, self.scales[block])) * math.prod(own)
        return int(np.max(worst))

    def norm(self, column):
        """The squared length of a column, or the sum of its absolute values."""
        return sum(abs(int(entry)) ** self.power for entry in column)

    def _of_rows(self, rows):
        """Of rows over one table; cells with equal columns are alike."""
        cells = np.unique(np.hstack([blocks.columns(self.plan, block) for block in rows]), axis=0)
        ends = list(itertools.accumulate(len(block.rows) for block in rows))

        def cost(moved):
            parts = dict(zip(rows, np.split(moved, ends)))
            return self.together(rows, lambda block: self.norm(parts[block]))

        single = max(map(cost, cells))
        if self.plan.neighbours == "add-remove":
            return single, CELLS
        if len(cells) * int((cells != 0).sum()) > 1 << 25:
            return single * 2**self.power, BOUND
        worst = max((cost(one - two) for one, two in itertools.combinations(cells, 2)), default=0)
        return max(worst, single if self.may_be_less else 0), PAIRS
