"""The plan: who is protected, what is asked, what is measured and with how much noise."""

import itertools, math

import numpy as np

from .blocks import Basis, Siblings

STRATEGIES = ("residual queries base hierarchy cluster tables given wavelet fourier matrix bases "
              "together").split()
# The most noise that is drawn.
MOST = {"gaussian": 2**104, "laplace": 2**40}
KINDS = "component table differences coefficients rows basis".split()


class Block:
    """Something measured with one noise. `ways` says by dimension of the table what is taken there. A block
    of rows has its sums in `rows`."""

    def __init__(self, kind, table):
        self.kind, self.table, self.ways, self.rows, self.scale = kind, table, [kind] * len(table), [], None

    def axes(self):
        return [(*pair, way) for pair, way in zip(self.table, self.ways)]

    def weighted(self):
        """The axes whose nodes have weights."""
        return [axis for axis in self.axes() if isinstance(axis[-1], Siblings) and axis[-1].name == "weights"]


class Plan:
    """As stored. `levels` are those in use, by dimension."""

    def __init__(self, wire, domain, version=2):
        self.domain, self.wire, self.version, self._told = domain, wire, version, {}
        self.noise, self.budget = wire.one_of("gaussian", "laplace"), wire.rational()
        # Noise hides the square of what a row moves by, or what it moves by.
        self.power = 2 if self.noise == "gaussian" else 1
        self.neighbours, self.max_rows = wire.one_of("add-remove", "substitute"), wire.unsigned(32)
        wire.must(self.max_rows >= 1, "gives a unit no row")
        self.strategy, self.rule = wire.one_of(*STRATEGIES), wire.one_of("optimal", "uniform")
        self.levels = wire.list(lambda: wire.ascending(wire.byte))
        some = [own[:1] == [0] and own[-1] <= dimension.finest for own, dimension in zip(self.levels, domain)]
        whole = len(self.levels) == len(domain) and all(some)
        wire.must(whole, "does not say for each dimension which levels are in use, total and others")
        asked = lambda: (self._table(coarser=version > 1), wire.rational(positive=False))
        self.workload, self.blocks = wire.list(asked, 0, 262_144), wire.list(self._block, 0, 262_144)
        parts = [block.table for block in self.blocks if block.kind in ("component", "differences", "basis")]
        wire.must(len(set(parts)) == len(parts), "measures a component twice")
        several = {d for (d, _), ways in self._told.items() if len(ways) > 1}
        wire.must(len(several) <= 1, "has several weights of one level in two dimensions")

    def coarser(self, d, level):
        """The next coarser level in use."""
        return self.levels[d][self.levels[d].index(level) - 1]

    def new(self, d, level):
        """How many nodes more a level has than the next coarser one in use."""
        return self.domain[d].size(level) - self.domain[d].size(self.coarser(d, level))

    def groups(self, d, level):
        """Of each node of a level which node of the next coarser level in use it is below."""
        return self.domain[d].ancestors(level, self.coarser(d, level))

    def told(self, table):
        """The table of the coarsest levels in use whose cells tell those of this one."""
        return tuple((d, min(own for own in self.levels[d] if own >= level)) for d, level in table)

    def own(self, table):
        """The component that a table has of its own, at the finest levels where nodes have siblings."""
        told = [(d, [own for own in self.levels[d][1:] if own <= level and self.new(d, own)])
                for d, level in table]
        return tuple((d, levels[-1]) for d, levels in told if levels)

    def _table(self, coarser=False):
        """What is asked may be coarser than the levels in use, in files of format 2."""
        wire = self.wire
        table = tuple(wire.ascending(lambda: (wire.unsigned(16), wire.byte())))
        used = all(d < len(self.levels) and 1 <= level <= self.levels[d][-1] for d, level in table)
        used = used and (coarser or all(level in self.levels[d] for d, level in table))
        wire.must(used, "has a table that is not made of levels in use")
        return table

    def _block(self):
        wire = self.wire
        block = Block(wire.one_of(*KINDS), self._table())
        wire.must(self.power == 2 or block.kind not in ("component", "basis"), "has Laplace components")
        cells = self.domain.cells(block.table)
        wire.must(cells <= 1 << (20 if block.kind == "rows" else 34), "measures a table of too many cells")
        if block.kind == "rows":
            row = lambda: wire.ascending(lambda: (wire.unsigned(32), wire.signed(32)), 1)
            block.rows = wire.list(row, 1)
            sound = all(row[-1][0] < cells and all(factor for _, factor in row) for row in block.rows)
            wire.must(sound, "has a row that is malformed")
        if block.kind == "basis":
            wire.must(wire.unsigned(64) == len(block.table), "does not say of each dimension how")
        if block.kind in ("component", "basis"):
            block.ways = [self._way(*pair, block.kind) for pair in block.table]
        block.scale = wire.rational()
        wire.must(block.scale <= MOST[self.noise], "has too much noise to draw")
        for d, level in block.table:
            pairs = block.kind != "differences" or np.bincount(self.groups(d, level)).max() <= 2
            plain = block.kind != "coefficients" or self.levels[d] == [0, level]
            wire.must(pairs and plain, f"measures {block.kind} of a level that has none such")
        return block

    def _way(self, d, level, kind):
        """How a level is told: what is new is followed by its numbers, what is known is not."""
        wire, told = self.wire, self._told.setdefault((d, level), [])
        tags = ("siblings", "again", "basis", "weights", "other weights", "known weights")
        tag = "siblings" if kind == "component" else wire.one_of(*tags[:3 if self.version == 1 else 6])
        number, first = wire.byte() if tag == "known weights" else 0, not told
        if first or tag == "other weights":
            wire.must(tag not in ("again", "known weights"), "tells a level as before, and did not before")
            number, alike = len(told), lambda d, level: Siblings(self.groups(d, level))
            told.append({"siblings": alike, "basis": self._basis}.get(tag, self._weights)(d, level))
        name = told[0].name
        fits = {"siblings": name == "siblings", "again": name != "siblings",
                "other weights": name == "weights" and not first, "known weights": 1 <= number < len(told)}
        wire.must(fits.get(tag, first), "tells a level in another way than before")
        return told[number]

    def _weights(self, d, level):
        wire, nodes = self.wire, self.domain[d].size(level)
        runs = wire.list(lambda: (wire.unsigned(32), wire.unsigned(32)), 1)
        apart = all(times > 0 and 1 <= factor <= 1 << 24 for times, factor in runs)
        apart = apart and all(one[1] != two[1] for one, two in itertools.pairwise(runs))
        wire.must(apart and sum(times for times, _ in runs) == nodes, "has weights that are malformed")
        new = Siblings(self.groups(d, level), [factor for times, factor in runs for _ in range(times)])
        for _, own in new.families():
            alone = len(own) > 1 or own == (1,)
            wire.must(alone and math.lcm(*own) <= math.gcd(*own) << 32, "has weights that none may be")
        known = [old.factors for old in self._told[d, level] if old.name == "weights"]
        wire.must(new.factors not in known, "has weights twice")
        return new

    def _basis(self, d, level):
        wire, rows, nodes = self.wire, self.new(d, level), self.domain[d].size(level)
        entries = wire.list(lambda: wire.signed(32))
        wire.must(0 < rows < nodes <= 1024 and len(entries) == rows * nodes, "has a basis of another size")
        wire.must(max(map(abs, entries)) <= 1 << 20, "has a basis with too large entries")
        basis = np.array(entries, dtype=np.int64).reshape(rows, nodes)
        parts = [np.eye(nodes - rows)[:, self.groups(d, level)], basis / max(1, np.abs(basis).max())]
        wire.must(np.linalg.cond(np.vstack(parts)) < 1e12, "has a basis that is singular")
        return Basis(basis)
