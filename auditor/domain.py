"""Dimensions, their levels, and what lies below what."""

import math

import numpy as np

from .wire import harmless, must


class Level:
    """A partition: labels, the node of the coarser level that holds each, and the numbers each stands for."""

    def __init__(self, name, labels, parents, bounds=()):
        self.name, self.labels, self.bounds = name, labels, list(bounds)
        self.parents = np.array(parents, dtype=np.int64)

    def __len__(self):
        return len(self.labels)


class Dimension:
    """Level 0 is the total, one node; the others are as stored."""

    def __init__(self, name, levels):
        self.name, self.levels = name, [Level("total", ["total"], [0], [])] + levels
        self.finest, self.missing = len(levels), None

    def size(self, level):
        return len(self.levels[level])

    def called(self, level):
        return self.name if level == self.finest else f"{self.name}.{self.levels[level].name}"

    def ancestors(self, fine, coarse):
        """Of each node of the level `fine` the node of the level `coarse` above it, or its only one below."""
        if fine < coarse:
            return np.argsort(self.ancestors(coarse, fine))
        nodes = np.arange(self.size(fine))
        for level in range(fine, coarse, -1):
            nodes = self.levels[level].parents[nodes]
        return nodes


class Domain(list):
    """A table is a tuple of (dimension, level); the last dimension of its cells runs fastest. In `left` cells
    conditions of this domain are looked at."""

    left = 1 << 30

    def name_of(self, table):
        return " × ".join(self[d].called(level) for d, level in sorted(table)) or "total"

    def columns(self):
        """By name the dimension and the level that it stands for."""
        known = {f"{one.name}.{level.name}": (d, at) for d, one in enumerate(self)
                 for at, level in enumerate(one.levels) if at}
        return known | {one.name: (d, one.finest) for d, one in enumerate(self)}

    def column(self, name):
        must(name in self.columns(), f"there is no dimension or level {name}")
        return self.columns()[name]

    def finest(self, dimensions):
        """The finest table of some dimensions."""
        return tuple((d, self[d].finest) for d in dimensions)

    def cells(self, table):
        return math.prod(self[d].size(level) for d, level in table)

    def above(self, fine, coarse):
        """Of each cell of the table `fine` the number of the cell of the table `coarse` that it is in."""
        axes = [d for d, _ in fine]
        index = np.zeros([self[d].size(level) for d, level in fine], dtype=np.int64)
        for d, level in coarse:
            axis = axes.index(d)
            shape = [-1 if a == axis else 1 for a in range(len(axes))]
            index = index * self[d].size(level) + self[d].ancestors(fine[axis][1], level).reshape(shape)
        return index.reshape(-1)


class Tables:
    """Which tables some tell: those of no finer levels."""

    def __init__(self, some):
        self.all, self.finer = set(some), {}
        for table in self.all:
            for d, level in table:
                for coarse in range(1, level + 1):
                    self.finer.setdefault((d, coarse), set()).add(table)

    def tell(self, table):
        """Those that tell this one."""
        sets = sorted((self.finer.get(axis, set()) for axis in table if axis[1]), key=len)
        return set.intersection(*sets) if sets else self.all


def decode(wire):
    def bound():
        tag = wire.choice(0, 2)
        low, high = (wire.double(), wire.double()) if tag else (0, 0)
        wire.must(low <= high, "has bounds in the wrong order")
        return (low, high, tag == 2) if tag else None

    text, number = lambda: harmless(wire.text(4096)), lambda: wire.unsigned(32)
    level = lambda: Level(text(), wire.list(text, 1, 1 << 24), wire.list(number), wire.list(bound))
    domain = Domain(wire.list(lambda: Dimension(text(), wire.list(level, 1, 63)), 0, 4096))
    names = [[dimension.name for dimension in domain]]
    for dimension in domain:
        names.append([level.name for level in dimension.levels[1:]])
        for above, level in zip(dimension.levels, dimension.levels[1:]):
            names.append(level.labels)
            whole = len(level.parents) == len(level) and len(level.bounds) in (0, len(level))
            whole = whole and np.array_equal(np.unique(level.parents), range(len(above)))
            wire.must(whole, "does not give every label bounds and a parent, and every node a child")
    wire.must(all(len(set(some)) == len(some) for some in names), "has a name twice")
    return domain
