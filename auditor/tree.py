"""The cube: a table as the sum of its components, with a column for each unknown.

In a dimension the functions on a level's nodes are those that the coarser level has, shared evenly among siblings, and those that sum to zero among
siblings. A component picks a level in each dimension; its unknowns are the values of the nodes that are not the first of their siblings.
"""

import itertools
from functools import cached_property

import numpy as np

from .blocks import firsts, kron
from .errors import Beyond

MOST = 6000


class Cube:
    def __init__(self, plan, cuboids):
        """Over the components at or below the `cuboids`."""
        self.plan, self.domain = plan, plan.domain
        found = set()
        for cuboid in cuboids:
            choices = [[(d, level) for level in plan.levels[d] if level <= top] for d, top in cuboid]
            if np.prod([len(c) for c in choices], dtype=float) + len(found) > MOST:
                raise Beyond("more components than this program lists")
            for component in itertools.product(*choices):
                found.add(tuple((d, level) for d, level in component if level))
        self.components, self.start, width = sorted(found, key=lambda c: (len(c), c)), {}, 0
        for component in self.components:
            self.start[component] = width
            width += self.width(component)
        if width > MOST:
            raise Beyond(f"{width} unknowns, more than the {MOST} for which this program solves dense equations")
        self.unknowns = width

    def width(self, component):
        count = 1
        for d, level in component:
            count *= self.domain[d].size(level) - self.domain[d].size(self.plan.coarser(d, level))
        return count

    def contrast(self, d, level):
        """Nodes × unknowns: a first sibling is what the others leave."""
        if level == 0:
            return np.ones((1, 1))
        groups = self.plan.groups(d, level)
        first = firsts(groups)
        others = np.flatnonzero(first != np.arange(len(groups)))
        matrix = np.zeros((len(groups), len(others)))
        matrix[others, np.arange(len(others))] = 1
        matrix[first[others], np.arange(len(others))] = -1
        return matrix

    def shared(self, d, component, level):
        """What the unknowns of the component's level add to each node of `level`, a finer one or the same."""
        key = (d, component, level)
        if key not in self._shared:
            matrix = self.contrast(d, component)
            used = self.plan.levels[d]
            for finer in used[used.index(component) + 1:used.index(level) + 1]:
                groups = self.plan.groups(d, finer)
                matrix = matrix[groups] / np.bincount(groups)[groups][:, None]
            self._shared[key] = matrix
        return self._shared[key]

    @cached_property
    def _shared(self):
        return {}

    def rows(self, cuboid, sums=None):
        """The sums of cells of a table as rows over the unknowns: by dimension of the table the matrix in `sums`, or each cell."""
        sums = sums or [None] * len(cuboid)
        counts = [self.domain[d].size(level) if s is None else len(s) for (d, level), s in zip(cuboid, sums)]
        out = np.zeros((int(np.prod(counts)), self.unknowns))
        for component in itertools.product(*[[l for l in self.plan.levels[d] if l <= top] for d, top in cuboid]):
            name = tuple((d, level) for (d, _), level in zip(cuboid, component) if level)
            width = self.width(name)
            if width:
                parts = [self.shared(d, low, top) if s is None else s @ self.shared(d, low, top) for (d, top), low, s in zip(cuboid, component, sums)]
                out[:, self.start[name]:self.start[name] + width] = kron(parts)
        return out
