"""SELECT a, COUNT(*) FROM t WHERE … GROUP BY a, or SUM(x), over the cells of the coarsest table that tells it."""

import itertools

import numpy as np

from . import where
from .errors import Beyond, Refused, must


class Select:
    """What is asked: `condition`, a tree or nothing, and `groups`, pairs of a dimension and a level."""

    def __init__(self, text, domain):
        self.domain, self.reader = domain, where.Reader(text.strip().removesuffix(";"), domain)
        reader = self.reader
        reader.expect("SELECT")
        columns, self.figures = [], []
        reader.many(lambda: self._figure() or columns.append(self._plain()))
        if not reader.accept("FROM") or len(self.figures) != 1:
            raise Beyond("more than groups and one COUNT, SUM or AVG")
        reader.name()
        self.condition = reader.condition() if reader.accept("WHERE") else None
        self.groups = []
        if reader.accept("GROUP"):
            reader.expect("BY")
            self.groups = reader.many(self._plain)
        if reader.at < len(reader.tokens) or len({d for d, _ in self.groups}) < len(self.groups):
            raise Beyond("more than WHERE and GROUP BY of plain columns")
        must(set(columns) <= set(self.groups), "a column is selected and not grouped by")

    def _figure(self):
        """Whether a figure stands here: its name and of what, nothing of `*`, is kept."""
        reader = self.reader
        if not reader.peek("COUNT", "SUM", "AVG") or not reader.peek("(", ahead=1):
            return False
        figure, _ = reader.name().upper(), reader.expect("(")
        plain = figure == "COUNT" and reader.accept("*")
        self.figures.append((figure, None if plain else reader.name()))
        if not reader.accept(")"):
            raise Beyond("figures of more than a number's name")
        if reader.accept("AS"):
            reader.name()
        return True

    def _plain(self):
        reader = self.reader
        if reader.peek("(", ahead=1) or reader.peek("CASE", "DISTINCT", "*") or reader.peek("*", "/", ahead=1):
            raise Beyond("other figures than COUNT, SUM and AVG")
        return reader.column()

    def rows(self, levels):
        """The table at levels in use that is asked, and by row its labels and a weight for each cell."""
        domain, groups = self.domain, dict(self.groups)
        axes = sorted({*groups, *(where.mentioned(self.condition) if self.condition else ())})
        table, met = {d: domain[d].finest for d in axes}, where.met(self.condition, domain, axes)
        for d in axes:
            fine = [level for level in levels[d] if level >= groups.get(d, 0)]
            table, met = self._coarsest(table, met, d, fine)
        table = tuple(table.items())
        inside = domain.above(table, self.groups)
        nodes = itertools.product(*[range(domain[d].size(level)) for d, level in self.groups])
        kept = tuple((d, level) for d, level in table if level)
        for number, row in enumerate(nodes):
            weights = met & (inside == number)
            if weights.any() or not self.groups:
                names = {}
                for (d, level), node in zip(self.groups, row):
                    names[domain[d].called(level)] = domain[d].levels[level].labels[node]
                yield kept, names, weights

    def _coarsest(self, table, met, d, levels):
        """The table with the first of these levels in a dimension that still tells which cells are met."""
        for level in levels:
            coarse = {**table, d: level}
            above = self.domain.above(tuple(table.items()), tuple(coarse.items()))
            size = self.domain.cells(coarse.items())
            every, some = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
            np.logical_and.at(every, above, met)
            np.logical_or.at(some, above, met)
            if np.array_equal(every, some):
                return coarse, every
        raise Refused("no level in use tells that")


def answer(answers, text):
    """Rows of labels, estimate and variance."""
    found = []
    asked = Select(text, answers.plan.domain)
    for table, labels, weights in asked.rows(answers.plan.levels):
        row = answers.figure(table, weights.astype(float), *asked.figures[0])
        must(row is not None, "no combination of what was measured tells that")
        found.append((labels, *row))
    return found
