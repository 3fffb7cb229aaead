"""The plan: who is protected, what is asked, what is measured and with how much noise."""

from dataclasses import dataclass, field

import numpy as np

from .errors import must
from .wire import Wire

STRATEGIES = [None, "residual", "queries", "base", "hierarchy", "cluster", "tables", "given", "wavelet", "fourier", "matrix", "bases"]
BLOCKS = [None, "component", "table", "differences", "coefficients", "rows", "bases"]
SIBLINGS = "siblings"


@dataclass
class Block:
    """Something measured with one noise: `cuboid` is a tuple of (dimension, level)."""

    kind: str
    cuboid: tuple
    scale: object = None
    rows: list = field(default_factory=list)
    bases: list = field(default_factory=list)


class Plan:
    """As stored. `levels` are those in use, by dimension."""

    def __init__(self, data, domain):
        self.domain, wire = domain, Wire(data, "plan")
        self.noise = [None, "gaussian", "laplace"][wire.choice((1, 2))]
        self.budget = wire.rational()
        self.neighbours = [None, "add-remove", "substitute"][wire.choice((1, 2))]
        self.rows = wire.unsigned(32)
        must(self.rows >= 1, "the plan is invalid: a unit owns no row")
        self.strategy = STRATEGIES[wire.choice(range(1, 12))]
        self.rule = [None, "optimal", "uniform"][wire.choice((1, 2))]
        self.levels = wire.list(lambda: wire.list(wire.byte))
        must(len(self.levels) == len(domain), "the plan is invalid: levels are not told for each dimension")
        for dimension, levels in zip(domain, self.levels):
            must(levels[:1] == [0] and all(a < b for a, b in zip(levels, levels[1:])) and levels[-1] <= dimension.finest,
                 "the plan is invalid: levels in use do not exist, or do not ascend")
        self.workload = wire.list(lambda: (self.cuboid(wire), wire.rational(positive=False)), 0, 262_144)
        self._known = {}
        self.measurements = wire.list(lambda: self._measurement(wire), 0, 262_144)
        wire.end()
        self._once()

    def cuboid(self, wire):
        items = tuple(wire.list(lambda: (wire.unsigned(16), wire.byte())))
        must(all(a[0] < b[0] for a, b in zip(items, items[1:])), "the plan is invalid: the dimensions of a table do not ascend")
        for d, level in items:
            must(d < len(self.levels) and level >= 1 and level in self.levels[d], "the plan is invalid: a table is not made of levels in use")
        return items

    def coarser(self, d, level):
        """The next coarser level in use."""
        return self.levels[d][self.levels[d].index(level) - 1]

    def groups(self, d, level):
        """Of each node of a level which node of the next coarser level in use it is below."""
        return self.domain[d].ancestors(level, self.coarser(d, level))

    def _measurement(self, wire):
        kind = BLOCKS[wire.choice(range(1, 7))]
        block = Block(kind, self.cuboid(wire))
        cells = self.domain.cells(block.cuboid)
        must(cells <= 2**31, "the plan is invalid: a measured table has more cells than any may have")
        if kind == "rows":
            must(cells <= 1 << 20, "the plan is invalid: a table under rows has too many cells")
            block.rows = wire.list(lambda: self._row(wire, cells), 1)
        if kind == "bases":
            must(wire.unsigned(64) == len(block.cuboid), "the plan is invalid: bases are not told for each dimension")
            block.bases = [self._basis(wire, d, level) for d, level in block.cuboid]
        block.scale = wire.rational()
        must(block.scale <= (2**104 if self.noise == "gaussian" else 2**40), "the plan is invalid: a measurement has more noise than can be drawn")
        for d, level in block.cuboid:
            if kind == "differences":
                must(np.bincount(self.groups(d, level)).max() <= 2, "the plan is invalid: differences of groups of more than two")
            if kind == "coefficients":
                must(self.levels[d] == [0, level], "the plan is invalid: coefficients where there are several levels")
            if kind in ("component", "bases"):
                told = self._known.setdefault(("by", d, level), SIBLINGS if kind == "component" else block.bases[[c[0] for c in block.cuboid].index(d)])
                mine = SIBLINGS if kind == "component" else block.bases[[c[0] for c in block.cuboid].index(d)]
                must(told is mine or told == SIBLINGS and mine == SIBLINGS, "the plan is invalid: a level is told in two ways")
        return block

    def _row(self, wire, cells):
        row = wire.list(lambda: (wire.unsigned(32), wire.signed(32)), 1)
        must(all(a[0] < b[0] for a, b in zip(row, row[1:])) and row[-1][0] < cells and all(f for _, f in row), "the plan is invalid: a row is malformed")
        return row

    def _basis(self, wire, d, level):
        tag, known = wire.choice((1, 2, 3)), self._known.get((d, level))
        if tag == 1:
            return SIBLINGS
        must((known is None) == (tag == 3), "the plan is invalid: a basis is told twice, or never")
        if tag == 2:
            return known
        nodes, above = self.domain[d].size(level), self.domain[d].size(self.coarser(d, level))
        entries = wire.list(lambda: wire.signed(32))
        must(nodes <= 1024 and nodes > above and len(entries) == (nodes - above) * nodes, "the plan is invalid: a basis is of another size")
        must(max(map(abs, entries)) <= 1 << 20, "the plan is invalid: a basis has too large entries")
        basis = np.array(entries, dtype=np.int64).reshape(nodes - above, nodes)
        rollup = np.zeros((above, nodes))
        rollup[self.groups(d, level), np.arange(nodes)] = 1
        whole = np.vstack([rollup, basis / max(1, np.abs(basis).max())])
        must(np.linalg.cond(whole) < 1e12, "the plan is invalid: a basis is singular")
        self._known[(d, level)] = basis
        return basis

    def _once(self):
        parts = [b.cuboid for b in self.measurements if b.kind in ("component", "differences", "bases")]
        must(len(set(parts)) == len(parts), "the plan is invalid: a component is measured twice")
