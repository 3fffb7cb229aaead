#!/usr/bin/env python3
"""Whether weights of nodes pay under Laplace noise (docs/methods/trees.md): three ways to measure drawn trees with long tails, in real numbers.

    python3 benches/laplace_weights.py        (numpy, scipy; half a minute)

Every path from the root to a leaf spends ε = 1. Whole tables: each node's sum with noise of scale 1/ε_v, estimates by least squares. Residuals: of each group
of siblings only what the parent's sum does not tell, which costs a leaf as much, as absolute values leave nothing to save. Each with one ε a level, and with one a node.
"""

import numpy as np
from scipy.optimize import minimize


def tree(sizes, rng):
    """The parents of each level's nodes: children fall to parents by log-normal weights, at least one to each."""
    levels, above = [], 1
    for n in sizes:
        p = rng.lognormal(0, 1.2, above)
        parents = np.concatenate([np.arange(above), rng.choice(above, n - above, p=p / p.sum())])
        levels.append(np.sort(parents))
        above = n
    return levels


def spent(levels, shares):
    """The ε of every node, where each keeps a share of what is left of its path and hands on the rest."""
    left, found = np.ones(1), []
    for parents, share in zip(levels, shares):
        kept = 1 / (1 + np.exp(-share))
        found.append(left * kept)
        left = (left * (1 - kept))[parents]
    return found + [left]


def whole(levels, epsilons, weights):
    """Variances of all nodes by least squares, up the tree and down, summed with a weight a level."""
    w = [e * e / 2 for e in epsilons]
    alpha, beta = [w[-1]], []
    for parents, own in zip(levels[::-1], w[-2::-1]):
        beta.insert(0, 1 / np.bincount(parents, 1 / alpha[0], minlength=len(own)))
        alpha.insert(0, own + beta[0])
    above, total = np.zeros(1), weights[0] / alpha[0][0]
    for l, parents in enumerate(levels):
        others = (1 / beta[l])[parents] - 1 / alpha[l + 1]
        above = 1 / (1 / (above + w[l])[parents] + others)
        total += weights[l + 1] * (1 / (alpha[l + 1] + above)).sum()
    return total


def residuals(levels, epsilons, weights):
    """The same where a group of siblings tells only what its sum does not."""
    variance = 2 / epsilons[0] ** 2
    total = weights[0] * variance.sum()
    for parents, epsilon, weight in zip(levels, epsilons[1:], weights[1:]):
        own = 2 / epsilon**2
        u = own / np.bincount(parents, own)[parents]
        variance = u * u * variance[parents] + own * (1 - u)
        total += weight * variance.sum()
    return total


def best(levels, way, weights):
    """The least found with one ε a level, and with one a node."""
    sizes = [1] + [len(parents) for parents in levels[:-1]]
    spread = lambda x: [np.full(n, one) for n, one in zip(sizes, x)]
    split = lambda x: np.split(x, np.cumsum(sizes)[:-1])
    goal = lambda cut: lambda x: np.log(way(levels, spent(levels, cut(x)), weights))
    start = -np.log(np.arange(len(sizes), 0, -1))
    even = minimize(goal(spread), start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10, "maxiter": 20000})
    node = minimize(goal(split), np.concatenate(spread(even.x)), method="L-BFGS-B", options={"maxiter": 300, "maxfun": 10**6})
    return np.exp(even.fun), np.exp(node.fun)


rng = np.random.default_rng(1)
print("areas a level, weighed   whole tables by node   residuals by level, by node   (total variance; whole tables by level are 1)")
for sizes in [(5, 40), (4, 20, 120), (10, 100)]:
    levels = tree(sizes, rng)
    for name, weights in ("cells alike", [1] * (len(sizes) + 1)), ("levels alike", [1, *(1 / n for n in sizes)]):
        one, node = best(levels, whole, weights)
        even, own = best(levels, residuals, weights)
        print(f"{sizes}, {name}: {node / one:.3f}; {even / one:.3f}, {own / one:.3f}", flush=True)
