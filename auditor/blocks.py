"""What a block measures in one dimension of its table, by the way it is taken there."""

import math
from collections import Counter
from functools import reduce

import numpy as np


def multiplier(sizes):
    """By what siblings in groups of these sizes are multiplied: their means get whole, or nearly so."""
    least = math.lcm(*map(int, set(sizes)))
    return least if least <= 4096 else 1 << (64 * int(max(sizes)) - 1).bit_length()


def contrasts(groups):
    """A column for each node that is not the first of its siblings: that node less the first one."""
    _, firsts, inverse = np.unique(groups, return_index=True, return_inverse=True)
    first = firsts[inverse]
    others = np.flatnonzero(first != np.arange(len(groups)))
    eye = np.eye(len(groups))
    return eye[:, others] - eye[:, first[others]]


def masks(nodes):
    """How many sets of the binary digits of nodes there are, without the empty one."""
    return (1 << (nodes - 1).bit_length()) - 1


def signs(nodes):
    """Walsh's signs: by set of digits and node whether an even number of these digits of the node is 1."""
    both = np.arange(1, masks(nodes) + 1)[:, None] & np.arange(nodes)
    return np.array([[(-1.0) ** int(one).bit_count() for one in row] for row in both]).reshape(both.shape)


def factors(plan, d, level, way):
    """Matrices `S` and `D` and a number `m`: of cells x and noise z (⊗D)(m·(⊗S)x + z) is released."""
    nodes = plan.domain[d].size(level)
    if isinstance(way, np.ndarray):
        return way.astype(float), np.eye(len(way)), 1
    if way == "table":
        return np.eye(nodes), np.eye(nodes), 1
    if way == "component":
        groups = plan.groups(d, level)
        return np.eye(nodes), contrasts(groups).T, multiplier(np.bincount(groups))
    rows = signs(nodes) if way == "coefficients" else contrasts(plan.groups(d, level)).T
    return rows, np.eye(len(rows)), 1


def count(plan, block):
    """How many integers a block has."""
    if block.kind == "rows":
        return len(block.rows)
    if block.kind == "table":
        return plan.domain.cells(block.table)
    if block.kind == "coefficients":
        return math.prod(masks(plan.domain[d].size(level)) for d, level in block.table)
    return math.prod(plan.new(d, level) for d, level in block.table)


def slices(plan, block):
    """Where the integers of each slice are among those of a long block; nothing where it is not cut."""
    total, ways = count(plan, block), getattr(block, "ways", None) or [block.kind] * len(block.table)
    if total <= 1 << 20 or block.kind not in ("table", "component", "bases"):
        return None
    groups = {at: plan.groups(d, level) for at, (d, level) in enumerate(block.table)
              if not isinstance(ways[at], np.ndarray)}
    # The last of those with the most groups.
    axis = max(groups, key=lambda at: (groups[at].max(), at), default=None)
    if axis is None or groups[axis].max() == 0:
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
    along = np.array(slice_of)[groups[axis]]
    if block.kind != "table":
        along = np.delete(along, np.unique(groups[axis], return_index=True)[1])
    behind = math.prod(len(ways[at]) if isinstance(ways[at], np.ndarray) else
                       plan.domain[d].size(level) if block.kind == "table" else plan.new(d, level)
                       for at, (d, level) in enumerate(block.table) if at > axis)
    own = np.tile(np.repeat(along, behind), total // (len(along) * behind))
    return [np.flatnonzero(own == one) for one in range(slice + 1)]


def products(plan, block):
    """By dimension of a block's table the inner products of a node's column with itself, and with another's;
    nothing where nodes are no siblings."""
    if block.kind == "rows":
        return []
    return [_products(plan, d, level, way) for (d, level), way in zip(block.table, block.ways)]


def _products(plan, d, level, way):
    nodes = plan.domain[d].size(level)
    same = [sum(copies * by**2 for by, copies in steps) for steps in set(moved(plan, d, level, way))]
    if isinstance(way, np.ndarray):
        return same, (way.astype(object).T @ way.astype(object))[~np.eye(nodes, dtype=bool)]
    if way == "component":
        return same, [-nodes] if multiplier(np.bincount(plan.groups(d, level))) == nodes else None
    return same, [0 if way == "table" else -1]


def moved(plan, d, level, way):
    """By node of a level by what a row there moves integers, and how many: sorted pairs."""
    nodes = plan.domain[d].size(level)
    if isinstance(way, np.ndarray):
        return [tuple(sorted(Counter(abs(int(entry)) for entry in row if entry).items())) for row in way.T]
    if way in ("table", "coefficients"):
        return [((1, masks(nodes) if way == "coefficients" else 1),)] * nodes
    sizes, groups = np.bincount(plan.groups(d, level)), plan.groups(d, level)
    m, by_size = multiplier(sizes), {}
    for size in map(int, set(sizes)):
        # A column is m times a node less m times its siblings' mean, rounded where that is not whole.
        mean = (2 * m + size) // (2 * size)
        found = Counter({1: int(size > 1)} if way == "differences" else {m - mean: 1})
        if way == "component":
            found[mean] += size - 1
        by_size[size] = tuple(sorted((by, copies) for by, copies in found.items() if by and copies))
    return [by_size[int(sizes[group])] for group in groups]


def columns(plan, block):
    """The factors of each cell in the sums of a block of rows."""
    found = np.zeros((plan.domain.cells(block.table), len(block.rows)), dtype=np.int64)
    for number, row in enumerate(block.rows):
        found[[cell for cell, _ in row], number] = [factor for _, factor in row]
    return found


def kron(matrices):
    return reduce(np.kron, matrices, np.ones((1, 1)))
