"""What each kind of block is: how many integers, how far a unit moves them, and which sums of cells they are."""

from functools import reduce
from math import lcm

import numpy as np

from .plan import SIBLINGS


def multiplier(sizes):
    """By what sibling groups of these sizes are multiplied, so that their means are whole numbers or nearly so."""
    least = lcm(*map(int, set(sizes)))
    return least if least <= 4096 else 1 << (64 * int(max(sizes)) - 1).bit_length()


def group_sizes(plan, d, level):
    return np.bincount(plan.groups(d, level))


def firsts(groups):
    """Of each node the first one of its group."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return first[inverse]


def sibling_rows(groups):
    """Differences of each node to the first one of its group."""
    first = firsts(groups)
    nodes = np.flatnonzero(first != np.arange(len(groups)))
    rows = np.zeros((len(nodes), len(groups)))
    rows[np.arange(len(nodes)), nodes] = 1
    rows[np.arange(len(nodes)), first[nodes]] -= 1
    return rows


def sign_rows(nodes):
    """Walsh's signs of the codes of these nodes, for all masks but the empty one."""
    masks = 1 << (nodes - 1).bit_length()
    return np.array([[(-1) ** bin(mask & node).count("1") for node in range(nodes)] for mask in range(1, masks)], dtype=float).reshape(masks - 1, nodes)


def factors(plan, block):
    """By dimension of the block's table a matrix `S` on its nodes, a matrix `D`, and `m`: released is (⊗D)(m·(⊗S)x + z), with ⊗S the identity where D is not."""
    found = []
    for place, (d, level) in enumerate(block.cuboid):
        nodes, basis = plan.domain[d].size(level), block.bases[place] if block.bases else None
        eye = np.eye(nodes)
        if block.kind == "component" or (block.kind == "bases" and basis is SIBLINGS):
            found.append((eye, sibling_rows(plan.groups(d, level)), multiplier(group_sizes(plan, d, level))))
        elif block.kind == "bases":
            found.append((basis.astype(float), np.eye(len(basis)), 1))
        elif block.kind == "differences":
            rows = sibling_rows(plan.groups(d, level))
            found.append((rows, np.eye(len(rows)), 1))
        elif block.kind == "coefficients":
            rows = sign_rows(nodes)
            found.append((rows, np.eye(len(rows)), 1))
        else:
            found.append((eye, eye, 1))
    return found


def count(plan, block):
    """How many integers a block has."""
    if block.kind == "rows":
        return len(block.rows)
    total = 1
    for place, (d, level) in enumerate(block.cuboid):
        nodes, above = plan.domain[d].size(level), plan.domain[d].size(plan.coarser(d, level))
        if block.kind == "coefficients":
            total *= (1 << (nodes - 1).bit_length()) - 1
        elif block.kind != "table":
            total *= nodes - above
        else:
            total *= nodes
    return total


def kron(matrices):
    return reduce(np.kron, matrices, np.ones((1, 1)))


def sibling_squares(plan, d, level):
    """The largest squared length of w, by group size: how far the noise of one dimension must hide a unit."""
    sizes = group_sizes(plan, d, level)
    m = multiplier(sizes)

    def square(c):
        mean = (2 * m + c) // (2 * c)
        return (m - mean) ** 2 + (c - 1) * mean**2
    return max(square(int(c)) for c in set(sizes))
