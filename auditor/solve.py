"""Dense generalised least squares: the best linear unbiased answers, and their variances."""

import functools, itertools, math

import numpy as np

from . import blocks, where
from .domain import Tables
from .wire import Beyond, must, within

MOST = 6000


def variance(noise, scale):
    """Of the discrete Gaussian, P(x) ∝ exp(-x²/(2 scale)), or the discrete Laplace law, ∝ exp(-|x|/scale)."""
    s, x = float(scale), np.arange(-600, 601)
    if noise == "laplace":
        return 0.5 / math.sinh(0.5 / s) ** 2
    weights = np.exp(-(x**2) / (2 * min(s, 64)))
    return s if s > 64 else float((x**2 * weights).sum() / weights.sum())


class Unknowns:
    """What the cells of tables are sums of.

    In a dimension a level's nodes are told by those of the coarser level, each shared evenly by its children,
    and by a number for each node but the first of its siblings, which that first one is less by. A table's
    unknowns are products of those of its dimensions; with the total in one, those of the table without it."""

    def __init__(self, plan, tables):
        self.plan, self.numbers, self.tables = plan, {}, Tables(tables)
        self.tops = [table for table in sorted(self.tables.all) if self.tables.tell(table) == {table}]
        for table in self.tops:
            if plan.domain.cells(table) <= MOST:
                for name in self.names(table):
                    self.numbers.setdefault(name, len(self.numbers))
            within(max(len(self.numbers), plan.domain.cells(table)) <= MOST, "equations of too many unknowns")

    def names(self, table):
        for chosen in itertools.product(*[range(self.plan.domain[d].size(level)) for d, level in table]):
            yield tuple((d, column) for (d, _), column in zip(table, chosen) if column)

    @functools.cache
    def matrix(self, d, level):
        """The nodes of a level by the unknowns of their dimension."""
        if level == 0:
            return np.ones((1, 1))
        groups, coarser = self.plan.groups(d, level), self.matrix(d, self.plan.coarser(d, level))
        return np.hstack([coarser[groups] / np.bincount(groups)[groups][:, None], blocks.contrasts(groups)])

    def rows(self, table, sums=None):
        """Sums of a table's cells over the unknowns: in each dimension those of a matrix, or each node."""
        parts = [self.matrix(d, top) for d, top in table]
        rows = blocks.kron([a @ b for a, b in zip(sums, parts)] if sums else parts)
        found = np.zeros((len(rows), len(self.numbers)))
        found[:, [self.numbers[name] for name in self.names(table)]] = rows
        return found


class Answers:
    """Least squares of each channel that is asked for."""

    def __init__(self, release):
        self.release, self.plan, self.solved = release, release.plan, functools.cache(Solved)

    def figure(self, table, weights, figure, name):
        """Estimate and variance of COUNT, SUM or AVG; None where the release does not determine it."""
        above, below = self._parts(figure, name)
        told = {channel: self.solved(channel).table(table, weights) for channel in {**above, **below}}
        if None in told.values():
            return None
        value = lambda parts: sum(times * told[channel][0] for channel, times in parts.items())
        total, count = value(above), value(below) if below else 1
        # Of nobody there is no mean.
        count = count if abs(count) > 1e-7 else math.nan
        spread = sum((above.get(channel, 0) - total / count * below.get(channel, 0)) ** 2 * variance
                     for channel, (_, variance) in told.items())
        return total / count, spread / count**2

    def _parts(self, figure, name):
        """How often which channels are in a figure, and in what it is divided by."""
        weight, sums = self.release.weight, self.release.of(name) if name else self.release.weight
        within(not name or sums, "sums along dimensions")
        by_weight = sums if not name else sums.of.get("weighing") == "weighted"
        count = self._sum(weight) if by_weight else {self._counts(name): 1}
        return (count, {}) if figure == "COUNT" else (self._sum(sums), count if figure == "AVG" else {})

    def _counts(self, name):
        return self.release.of(name, "rows with a value") or self.release.rows

    def _sum(self, sums):
        """A sum around 0 needs no count."""
        of, unit = sums.of, 0.1 ** sums.of["places"] / 2
        if "from" in of:
            return {sums: 2 * of["step"] * unit}
        middle = (of["low"] + of["high"]) * unit
        return {sums: of["step"] * unit} | ({self._counts(of["name"]): middle} if middle else {})


class Solved:
    """The equations of a channel, solved once."""

    def __init__(self, channel):
        self.release, self.channel, self.plan = channel.release, channel, channel.plan
        copies = self.release.copies if channel.subject == "rows" else None
        self.centre, self.radius = (copies.mean, copies.spread) if copies else (0, 0)
        measured = [block.table for block in self.plan.blocks]
        self.unknowns = Unknowns(self.plan, measured + [table for table, _ in channel.exact])
        try:
            self._solve(itertools.starmap(self._equations, enumerate(self.plan.blocks)))
        except (np.linalg.LinAlgError, OverflowError):
            raise Beyond("equations that doubles do not solve") from None

    def _equations(self, number, block):
        """White rows and values, and by row what is added where all noises of the block are one more."""
        spread = sum(variance(self.plan.noise, scale) for scale in self.channel.layers(number))
        within(spread, "equations with next to no noise")
        if block.kind == "rows":
            sums = blocks.columns(self.plan, block).T
            rows, noise = sums @ self.unknowns.rows(block.table), [np.eye(len(sums))]
        else:
            parts = [blocks.factors(self.plan, *axis) for axis in block.axes()]
            rows = self.unknowns.rows(block.table, [D @ S for S, D in parts])
            noise = [D for _, D in parts]
        white = blocks.kron([np.linalg.inv(np.linalg.cholesky(D @ D.T)) for D in noise]) / math.sqrt(spread)
        shift = white @ blocks.kron([D.sum(axis=1)[:, None] for D in noise])[:, 0]
        return white @ rows, white @ self.channel.values[number].astype(float) - self.centre * shift, shift

    def _known(self):
        """Rows that are known: exact tables, and the cells that are empty whatever the data."""
        domain, known = self.plan.domain, [(np.zeros((0, len(self.unknowns.numbers))), np.zeros(0))]
        known += [(self.unknowns.rows(table), counts.astype(float)) for table, counts in self.channel.exact]
        conditions = [where.parse(text, domain) for text in self.release.zeros]
        for table in self.unknowns.tops if conditions else ():
            empty = where.everywhere(conditions, domain, table)
            known.append((self.unknowns.rows(table)[empty], np.zeros(empty.sum())))
        return tuple(map(np.concatenate, zip(*known)))

    def _solve(self, equations):
        """With the known rows C θ = d, θ = θ₀ + Pφ, where P takes off what C sees; φ by least squares."""
        unknowns, (known, values) = len(self.unknowns.numbers), self._known()
        # Without singular values that are next to nothing.
        told = np.linalg.pinv(known, 1e-11)
        self.start, self.free = told @ values, np.eye(unknowns) - told @ known
        off, most = (np.abs(some).max(initial=0) for some in (known @ self.start - values, values))
        must(off <= 1e-6 * (1 + most), "exact tables and empty cells contradict each other")
        nothing = (np.zeros((0, unknowns)), np.zeros(0), np.zeros(0))
        rows, values, self.shift = map(np.concatenate, zip(nothing, *equations))
        self.values, self.rows = values - rows @ self.start, rows @ self.free
        self.inverse = np.linalg.pinv(self.rows, 1e-11)

    def _weights(self, queries):
        """By how much values are in what queries leave free; None where they do not determine it."""
        free = queries @ self.free
        weights = free @ self.inverse
        off = np.abs(free - weights @ self.rows).max(initial=0)
        return weights if off <= 1e-8 * np.abs(free).max(initial=1) else None

    def follow(self):
        """Of all that is asked for whether it follows: cells of tables, sums of them, rows of questions."""
        for number, (table, _) in enumerate(self.plan.workload):
            asked, told, sums = self.channel.asked.get(number, {}), self.plan.told(table), []
            must(self.unknowns.tables.tell(told), "no table of this release tells one that was asked for")
            question = isinstance(asked, str)
            for (d, level), (_, fine) in zip(table, told):
                own, how = np.eye(self.plan.domain[d].size(level)), None if question else asked.get(d)
                own = own[:, self.plan.domain[d].ancestors(fine, level)]
                own = own.sum(axis=0, keepdims=True) if how == "total" else own
                some = isinstance(how, list)
                sums.append(np.array([own[a:b + 1].sum(axis=0) for a, b in how]) if some else own)
            within(math.prod(map(len, sums)) <= MOST, "equations of too many questions")
            found = self._weights(self.unknowns.rows(told, sums)) is not None
            if question and not found:
                rows = where.Select(asked, self.plan.domain).rows(self.plan.levels)
                found = all(self.table(kept, cells.astype(float)) is not None for kept, _, cells in rows)
            yield found

    def table(self, table, weights):
        """Estimate and variance of a sum of a table's cells; None where the release does not determine it."""
        told = self.plan.told(table)
        must(self.unknowns.tables.tell(told), "no table of this release tells that")
        query = np.asarray(weights)[self.plan.domain.above(told, table)] @ self.unknowns.rows(told)
        weights = self._weights(query)
        if weights is None:
            return None
        centre = float(weights @ self.shift) ** 2 * self.radius * (self.radius + 1) / 3
        return float(query @ self.start + weights @ self.values), float(weights @ weights) + centre
