"""What a block measures in one dimension of its table, by the way it is taken there: `table`, `differences`
or `coefficients`, a basis, or siblings."""

import functools, math
from collections import Counter

import numpy as np

from .wire import within


class Basis:
    """Sums of nodes, the rows of a matrix of whole numbers."""

    def __init__(self, entries):
        self.entries, self.name = entries, "sums"


class Siblings:
    """Nodes times factors, less the first of their siblings: weights that a plan has for them, or one factor
    for all."""

    def __init__(self, groups, factors=None):
        self.groups, self.name = groups, "weights" if factors else "siblings"
        self.factors = factors or [multiplier(np.bincount(groups))] * len(groups)

    def families(self):
        """The nodes of each group, and their factors."""
        order, ends = np.argsort(self.groups, kind="stable"), np.cumsum(np.bincount(self.groups))
        for nodes in np.split(order, ends[:-1]):
            yield nodes, tuple(self.factors[node] for node in nodes)

    def moved(self):
        """As `moved` below."""
        found = [()] * len(self.groups)
        for nodes, factors in self.families():
            steps = _hidden(factors)
            for node, factor in zip(nodes, factors):
                found[node] = steps[factor]
        return found


@functools.cache
def _hidden(factors):
    """By factor of a node what noise has to hide of a row there. Contrasts of siblings do not see the vector
    k = L/c, L the least common multiple of their factors c: it is taken off as often as leaves least."""
    multiple = math.lcm(*factors)
    squares = sum((multiple // factor) ** 2 for factor in factors)
    times = (2 * multiple + squares) // (2 * squares)
    every, found = Counter(times * multiple // factor for factor in factors), {}
    for factor in set(factors):
        own = times * multiple // factor
        steps = every - Counter([own]) + Counter([abs(factor - own)])
        found[factor] = tuple(sorted((by, copies) for by, copies in steps.items() if by))
    return found


def multiplier(sizes):
    """By what siblings in groups of these sizes are multiplied: their means get whole, or nearly so."""
    largest, least = int(max(sizes)), 1
    for size in dict.fromkeys(map(int, sizes)):
        least = math.lcm(least, size) if least <= 4096 else least
    return least if least <= max(4096, largest) else 1 << (64 * largest - 1).bit_length()


def contrasts(groups, factors=None):
    """A column for each node that is not the first of its siblings: that node less the first one, each times
    its factor over what both factors have in common."""
    _, firsts, inverse = np.unique(groups, return_index=True, return_inverse=True)
    first = firsts[inverse]
    others = np.flatnonzero(first != np.arange(len(groups)))
    factors = np.ones(len(groups), dtype=np.int64) if factors is None else np.array(factors)
    nodes, common = np.diag(factors).astype(float), np.gcd(factors[others], factors[first[others]])
    return (nodes[:, others] - nodes[:, first[others]]) / common


def masks(nodes):
    """How many sets of the binary digits of nodes there are, without the empty one."""
    return (1 << (nodes - 1).bit_length()) - 1


def signs(nodes):
    """Walsh's signs: by set of digits and node whether an even number of these digits of the node is 1."""
    return kron([np.array([[1.0, 1.0], [1.0, -1.0]])] * (nodes - 1).bit_length())[1:, :nodes]


def factors(plan, d, level, way):
    """Matrices `S` and `D`: of cells x and noise z (⊗D)((⊗S)x + z) is released."""
    if isinstance(way, Siblings):
        return np.diag(way.factors).astype(float), contrasts(way.groups, way.factors).T
    nodes = plan.domain[d].size(level)
    if isinstance(way, Basis):
        sums = way.entries.astype(float)
    elif way == "differences":
        sums = contrasts(plan.groups(d, level)).T
    else:
        sums = signs(nodes) if way == "coefficients" else np.eye(nodes)
    return sums, np.eye(len(sums))


def along(plan, kind, d, level):
    """How many integers a block of this kind has along a dimension."""
    if kind == "table":
        return plan.domain[d].size(level)
    return masks(plan.domain[d].size(level)) if kind == "coefficients" else plan.new(d, level)


def count(plan, block):
    """How many integers a block has."""
    each = (along(plan, block.kind, *pair) for pair in block.table)
    return len(block.rows) if block.kind == "rows" else math.prod(each)


def slices(plan, block):
    """Where the integers of each slice are among those of a long block; nothing where it is not cut."""
    total = count(plan, block)
    if total <= 1 << 20 or block.kind not in ("table", "component", "basis"):
        return None
    groups = {at: plan.groups(d, level) for at, (d, level) in enumerate(block.table)
              if not isinstance(block.ways[at], Basis)}
    # The last of those with the most groups.
    axis = max(groups, key=lambda at: (groups[at].max(), at), default=None)
    if axis is None:
        return None
    nodes = np.bincount(groups[axis])
    beside, slice_of, slice, held = plan.domain.cells(block.table) // nodes.sum(), [], 0, 0
    for own in map(int, nodes):
        if held and (held + own) * beside > 1 << 20:
            slice, held = slice + 1, 0
        held += own
        slice_of.append(slice)
    if slice == 0:
        return None
    nodes = np.array(slice_of)[groups[axis]]
    if block.kind != "table":
        nodes = np.delete(nodes, np.unique(groups[axis], return_index=True)[1])
    behind = math.prod(along(plan, block.kind, *pair) for pair in block.table[axis + 1:])
    own = np.tile(np.repeat(nodes, behind), total // (len(nodes) * behind))
    return [np.flatnonzero(own == one) for one in range(slice + 1)]


def moved(plan, d, level, way):
    """By node of a level by what a row there moves integers, and how many: sorted pairs."""
    if isinstance(way, Siblings):
        return way.moved()
    if isinstance(way, Basis):
        columns = (Counter(abs(int(entry)) for entry in column if entry) for column in way.entries.T)
        return [tuple(sorted(column.items())) for column in columns]
    if way == "differences":
        groups = plan.groups(d, level)
        return [((1, 1),) if many else () for many in (np.bincount(groups) > 1)[groups]]
    nodes = plan.domain[d].size(level)
    return [((1, masks(nodes) if way == "coefficients" else 1),)] * nodes


def lengths(plan, d, level, way):
    """The squared length of what a row moves, by node of a level."""
    of = functools.cache(lambda steps: sum(copies * by**2 for by, copies in steps))
    return list(map(of, moved(plan, d, level, way)))


def products(plan, d, level, way):
    """Inner products of what rows in two nodes of a plain dimension move; nothing where not whole."""
    nodes = plan.domain[d].size(level)
    if isinstance(way, Basis):
        return (way.entries.astype(object).T @ way.entries.astype(object))[~np.eye(nodes, dtype=bool)]
    if isinstance(way, Siblings):
        return [-nodes] if way.factors[0] == nodes else None
    return [0 if way == "table" else -1]


def spread(plan):
    """How much noise each block, or each sum of its rows, has for what a row moves it by."""
    length = functools.cache(lambda *axis: max(lengths(plan, *axis)))
    for block in plan.blocks:
        each = (length(*axis) for axis in block.axes() if block.kind in ("component", "basis"))
        moved, most = math.prod(each), [max(abs(factor) for _, factor in row) for row in block.rows] or [1]
        yield from (block.scale / (moved * by**plan.power) for by in most)


def columns(plan, block):
    """The factors of each cell in the sums of a block of rows."""
    cells = plan.domain.cells(block.table)
    within(cells * len(block.rows) <= 1 << 25, "rows over very many cells")
    found = np.zeros((cells, len(block.rows)), dtype=np.int64)
    for number, row in enumerate(block.rows):
        found[[cell for cell, _ in row], number] = [factor for _, factor in row]
    return found


def kron(matrices):
    return functools.reduce(np.kron, matrices, np.ones((1, 1)))
