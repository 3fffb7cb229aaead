"""Dimensions, their levels, and what lies below what."""

import numpy as np

from . import texts
from .errors import Refused, must
from .wire import Wire


class Level:
    """A partition: labels, the node of the coarser level that holds each, and the numbers each stands for."""

    def __init__(self, name, labels, parents, bounds):
        self.name, self.labels, self.parents, self.bounds = name, labels, np.array(parents, dtype=np.int64), bounds

    def __len__(self):
        return len(self.labels)

    def same(self, other):
        return (self.name, self.labels, self.bounds) == (other.name, other.labels, other.bounds) and np.array_equal(self.parents, other.parents)


class Dimension:
    """Level 0 is the total, one node; the others are as stored."""

    def __init__(self, name, levels):
        self.name, self.levels = name, [Level("total", ["total"], [0], [])] + levels

    @property
    def finest(self):
        return len(self.levels) - 1

    def size(self, level):
        return len(self.levels[level])

    def called(self, level):
        return self.name if level == self.finest else f"{self.name}.{self.levels[level].name}"

    def ancestors(self, fine, coarse):
        """Of each node of the level `fine` the node of the level `coarse` above it."""
        nodes = np.arange(self.size(fine))
        for level in range(fine, coarse, -1):
            nodes = self.levels[level].parents[nodes] if level > 1 else np.zeros(len(nodes), dtype=np.int64)
        return nodes


class Domain(list):
    def name_of(self, cuboid):
        return " × ".join(self[d].called(level) for d, level in cuboid) or "total"

    def cells(self, cuboid):
        count = 1
        for d, level in cuboid:
            count *= self[d].size(level)
        return count


def decode(data):
    wire = Wire(data, "domain")

    def bound():
        tag = wire.choice((0, 1, 2))
        if tag == 0:
            return None
        low, high = wire.double(), wire.double()
        must(low <= high, "the domain is invalid: bounds in the wrong order")
        return (low, high, tag == 2)

    def level():
        return Level(wire.text(4096), wire.list(lambda: wire.text(4096), 1, 2_097_152), wire.list(lambda: wire.unsigned(32)), wire.list(bound))

    def dimension():
        return Dimension(wire.text(4096), wire.list(level, 1, 63))

    domain = Domain(wire.list(dimension, 0, 4096))
    wire.end()
    _check(domain)
    return domain


def _check(domain):
    distinct([dimension.name for dimension in domain], "dimensions")
    for dimension in domain:
        distinct([level.name for level in dimension.levels[1:]], "levels")
        texts.harmless(dimension.name)
        above = 1
        for level in dimension.levels[1:]:
            distinct(level.labels, "labels")
            for text in [level.name] + level.labels:
                texts.harmless(text)
            must(len(level.parents) == len(level), "the domain is invalid: not every label has a parent")
            must(len(np.unique(level.parents)) == above and level.parents.max() < above, "the domain is invalid: a node without children, or no such parent")
            must(len(level.bounds) in (0, len(level)), "the domain is invalid: not every label has bounds")
            above = len(level)


def distinct(names, what):
    if len(set(names)) != len(names):
        raise Refused(f"the domain is invalid: two {what} have one name")
