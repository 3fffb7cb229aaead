"""What a release costs, from its blocks and scales alone: a sum in which each term is rounded up to 96 fractional bits."""

import itertools
from fractions import Fraction

import numpy as np

from . import blocks
from .errors import Beyond
from .plan import SIBLINGS

SUM, CELLS, PAIRS, BOUND = "the sum over all blocks", "the exact maximum over all cells", "the exact maximum over all pairs of cells", "an upper bound over all pairs of cells"
DIGITS = 40


def up(value):
    return -(-value.numerator * (1 << 96) // value.denominator)


def down(value, digits=DIGITS):
    """Rounded down to so many binary digits."""
    shift = digits - (value.numerator // value.denominator).bit_length()
    while value * Fraction(2) ** shift < 1 << (digits - 1):
        shift += 1
    return Fraction(int(value * Fraction(2) ** shift)) / Fraction(2) ** shift


def proven(layers):
    """The parameter of one discrete Gaussian that costs no less than the sum of independent ones with these."""
    best, total, bits = max(layers), layers[0], None
    for layer in layers[1:]:
        least = min(total, layer)
        own = max(14 * min(int(least), 1 << 20) - 3, 0)
        bits = own if bits is None else min(bits, own)
        total += layer
    if bits is not None:
        left = bits - (len(layers) - 1).bit_length() - (2 * -(-total.numerator // total.denominator) - 1).bit_length()
        e = min(max(left, 0) // 2, 40)
        if e >= 3:
            best = max(best, down(down(total) * Fraction(1 << (e - 2), (1 << (e - 2)) + 1)))
    return best


class Cost:
    """`each` block's sensitivity and cost by itself, the `total`, and what kind of worst case it is."""

    def __init__(self, release):
        self.release, self.plan, held = release, release.plan, release.projection
        if held:
            self._projection(held)
            return
        self.gaussian, self.rows = self.plan.noise == "gaussian", self.plan.rows
        self.scales = [self._one(release.layers(number)) for number in range(len(self.plan.measurements))]
        self.each = []
        for block, scale in zip(self.plan.measurements, self.scales):
            sensitivity = self.alone(block)
            self.each.append((sensitivity, self.price(sensitivity, scale)))
        extra = [Fraction(1, 2 if self.gaussian else 1) / self._one(release.truncation_layers())] if release.truncation else []
        total, self.case = self._worst()
        total += sum(map(up, extra))
        self.total = Fraction(total, 1 << 96)
        if self.total > release.budget == sum(cost for _, cost in self.each) + sum(extra):
            self.total = release.budget

    def _projection(self, held):
        reach = held.max_rows * (2 if held.neighbours == "substitute" else 1)
        noise = 2 * held.scale if held.noise == "gaussian" else 2 * held.scale**2
        self.each = [(held.rows * reach**2, Fraction(held.rows * reach**2) / noise)]
        self.total, self.case = self.each[0][1], None

    def _one(self, layers):
        return proven(layers) if self.plan.noise == "gaussian" else sum(layers)

    def price(self, sensitivity, scale):
        return Fraction(sensitivity) / ((2 if self.gaussian else 1) * scale)

    def reach(self, squared):
        """Of entries that move by ±1 or 0 the sensitivity in the norm of the noise, for all rows of a unit."""
        return squared * (self.rows**2 if self.gaussian else self.rows)

    def alone(self, block):
        """How far a unit moves a block by itself: in squares under Gaussian noise, in absolute values under Laplace noise."""
        if self.plan.neighbours == "add-remove":
            return self.reach(self.added(block))
        if block.kind == "table":
            return self.reach(2)
        return self.reach(self.added(block) * (4 if self.gaussian else 2))

    def added(self, block):
        """How far one row more moves a block."""
        if block.kind == "rows":
            return max(sum(abs(f) ** (2 if self.gaussian else 1) for _, f in column) for column in self._columns(block).values())
        out = 1
        for place, (d, level) in enumerate(block.cuboid):
            nodes = self.plan.domain[d].size(level)
            if block.kind == "coefficients":
                out *= (1 << (nodes - 1).bit_length()) - 1
            elif block.kind in ("component", "bases"):
                basis = block.bases[place] if block.bases else SIBLINGS
                out *= blocks.sibling_squares(self.plan, d, level) if basis is SIBLINGS else int((basis.astype(object) ** 2).sum(axis=0).max())
        return out

    @staticmethod
    def _columns(block):
        columns = {}
        for number, row in enumerate(block.rows):
            for cell, factor in row:
                columns.setdefault(cell, []).append((number, factor))
        return columns

    def _worst(self):
        """In units of 2^-96."""
        kinds = {block.kind for block in self.plan.measurements}
        if "rows" in kinds:
            if kinds != {"rows"}:
                raise Beyond("rows beside other blocks")
            return self._of_rows()
        alone = sum(up(cost) for _, cost in self.each)
        if self.plan.neighbours == "add-remove" or kinds <= {"table"}:
            return alone, SUM
        used = sorted({d for block in self.plan.measurements for d, _ in block.cuboid})
        plain = all(len(self.plan.levels[d]) == 2 for d in used)
        if not plain or len(used) > 24 or len(self.plan.measurements) << len(used) > 1 << 24:
            return alone, BOUND
        worst = 0
        for size in range(1, len(used) + 1):
            for apart in itertools.combinations(used, size):
                moved = (self.price(self.reach(self.apart(block, set(apart))), scale) for block, scale in zip(self.plan.measurements, self.scales))
                worst = max(worst, sum(map(up, moved)))
        if self.rows > 1:
            worst = max(worst, sum(up(self.price(self.reach(self.added(block)), scale)) for block, scale in zip(self.plan.measurements, self.scales)))
        bases = any(basis is not SIBLINGS for block in self.plan.measurements for basis in block.bases)
        return worst, BOUND if bases else PAIRS

    def apart(self, block, dimensions):
        """How far two rows in cells that differ in just these dimensions are apart."""
        if block.kind == "table":
            return 2 * any(d in dimensions for d, _ in block.cuboid)
        squares, low, high = 1, 1, 1
        for place, (d, level) in enumerate(block.cuboid):
            n = self.plan.domain[d].size(level)
            basis = block.bases[place] if block.bases else SIBLINGS
            if basis is not SIBLINGS:
                gram = basis.astype(object).T @ basis.astype(object)
                same, other = np.diag(gram), gram[~np.eye(n, dtype=bool)]
            elif block.kind == "coefficients":
                same, other = np.array([(1 << (n - 1).bit_length()) - 1]), np.array([-1])
            elif block.kind == "differences":
                same, other = np.array([1]), np.array([-1])
            else:
                if n > 4096:
                    raise Beyond("components of dimensions of more than 4096 categories")
                same, other = np.array([n * (n - 1)]), np.array([-n])
            squares *= int(same.max())
            seen = other if d in dimensions else same
            ends = [a * b for a in (low, high) for b in (int(seen.min()), int(seen.max()))]
            low, high = min(ends), max(ends)
        return 2 * (squares - low) if self.gaussian else squares - low

    def _of_rows(self):
        """Cells with equal columns are alike: columns are told over the table of all dimensions under rows."""
        domain = self.plan.domain
        finest = {}
        for d, level in (pair for block in self.plan.measurements for pair in block.cuboid):
            finest[d] = max(level, finest.get(d, 0))
        join = tuple(sorted(finest.items()))
        if domain.cells(join) > 1 << 20:
            raise Beyond("rows over more than 2^20 cells together")
        columns = np.zeros((domain.cells(join), sum(len(b.rows) for b in self.plan.measurements)), dtype=object)
        prices, start = [], 0
        for block, scale in zip(self.plan.measurements, self.scales):
            index = np.zeros([domain[d].size(level) for d, level in join], dtype=np.int64)
            for d, level in block.cuboid:
                axis = [e for e, _ in join].index(d)
                shape = [1] * len(join)
                shape[axis] = -1
                index = index * domain[d].size(level) + domain[d].ancestors(join[axis][1], level).reshape(shape)
            table = np.zeros((domain.cells(block.cuboid), len(block.rows)), dtype=object)
            for number, row in enumerate(block.rows):
                for cell, factor in row:
                    table[cell, number] = factor
            columns[:, start:start + len(block.rows)] = table[index.reshape(-1)]
            prices.append((start, start + len(block.rows), scale))
            start += len(block.rows)
        distinct = [np.array(c, dtype=object) for c in dict.fromkeys(map(tuple, columns))]

        def cost(column):
            power = np.abs(column) ** (2 if self.gaussian else 1)
            return sum(up(self.price(self.reach(int(power[a:b].sum())), scale)) for a, b, scale in prices)
        single = max(map(cost, distinct))
        if self.plan.neighbours == "add-remove":
            return single, CELLS
        factors = sum(int((column != 0).sum()) for column in distinct)
        if len(distinct) * factors > 1 << 25:
            return single * (4 if self.gaussian else 2), BOUND
        worst = max((cost(a - b) for a, b in itertools.combinations(distinct, 2)), default=0)
        return max(worst, single if self.rows > 1 else 0), PAIRS


class _As:
    """The same release as the copy of another recipient would be: nested copies are asked for the first one's only."""

    def __init__(self, release, number):
        self.plan, self.projection, self.truncation, self.factor = release.plan, None, release.truncation, release.copies.recipients[number][1]
        self.first, self.budget = release.copies.truncation, release.copies.budget / self.factor

    def layers(self, number):
        return [self.plan.measurements[number].scale * self.factor]

    def truncation_layers(self):
        return [self.first * self.factor]


def joint(release):
    """What all copies together cost."""
    number = 1 if release.copies.mode == "nested" else len(release.copies.recipients)
    return sum(Cost(_As(release, one)).total for one in range(number))
