#!/usr/bin/env python3
"""What weights of nodes of their own for each component of the other dimensions gain, over one tree.

benches/own_weights.py [--margins FILE]         needs numpy and scipy, and no build but for what FILE plans
Real numbers in the place of factors: shared weights are those of src/planner/weights; own weights are one tree of precisions for each component, paid from one
budget a path. Both go down by L-BFGS with exact derivatives; the second problem is convex, the first is not. `planned` is what the plan of a build of margins
comes to, in whole factors, with one tree for each kind of components that are asked for beside the same levels.
"""

import argparse
import csv
import itertools
import json
import random
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import minimize


class Tree:
    """Nodes level by level; `par` is the number of each node's parent among all."""

    def __init__(self, parents):
        self.depth = len(parents) - 1
        ends = np.cumsum([0] + [len(level) for level in parents])
        self.nodes = int(ends[-1])
        self.at = [slice(ends[k], ends[k + 1]) for k in range(self.depth + 1)]
        self.sizes = [len(level) for level in parents]
        self.level = np.repeat(np.arange(self.depth + 1), self.sizes)
        self.par = np.concatenate([[0]] + [ends[k - 1] + np.array(parents[k]) for k in range(1, self.depth + 1)])

    def sums(self, k, values):
        """Of level k's values the sums by their parents."""
        return np.bincount(self.par[self.at[k]] - self.at[k - 1].start, values, self.sizes[k - 1])

    def up(self, w, depth):
        alpha, beta = w.copy(), np.zeros(self.nodes)
        for k in range(depth - 1, -1, -1):
            beta[self.at[k]] = 1 / self.sums(k + 1, 1 / alpha[self.at[k + 1]])
            alpha[self.at[k]] += beta[self.at[k]]
        omega, share = 1 / np.where(alpha > 0, alpha, 1), np.zeros(self.nodes)
        for k in range(1, depth + 1):
            share[self.at[k]] = omega[self.at[k]] * beta[self.par[self.at[k]]]
        return omega, share, beta

    def back(self, depth, omega, beta, g_omega, g_share):
        """Derivatives by the precisions from those by variances of noise and by shares."""
        g_beta, g = np.zeros(self.nodes), np.zeros(self.nodes)
        for k in range(1, depth + 1):
            own, above = self.at[k], self.par[self.at[k]]
            g_omega[own] += g_share[own] * beta[above]
            g_beta[self.at[k - 1]] += self.sums(k, g_share[own] * omega[own])
        for k in range(depth + 1):
            own = self.at[k]
            g[own] = -g_omega[own] * omega[own] ** 2
            if k < depth:
                g_omega[self.at[k + 1]] -= ((g_beta[own] + g[own]) * beta[own] ** 2)[self.par[self.at[k + 1]] - own.start]
        return g


class Workload:
    def __init__(self, tree, others, tables, weights):
        subsets = {frozenset(c) for _, b in tables for n in range(len(b) + 1) for c in itertools.combinations(sorted(b), n)}
        self.components = sorted(subsets, key=lambda a: (len(a), sorted(a)))
        self.price = np.array([np.prod([1 - 1 / others[i] for i in a]) for a in self.components])
        self.counts = np.zeros((tree.depth + 1, len(self.components)))
        for (k, b), weight in zip(tables, weights):
            for j, a in enumerate(self.components):
                if a <= b:
                    rest = np.prod([1 / others[i] for i in b - a])
                    self.counts[k, j] += weight * np.prod([others[i] for i in a]) * self.price[j] * rest
        self.deepest = [max(k for k in range(tree.depth + 1) if self.counts[k, j] > 0) for j in range(len(self.components))]


def descend(f, size):
    options = dict(maxiter=5000, maxfun=10000, maxcor=30, ftol=1e-13, gtol=1e-8)
    return float(np.exp(minimize(f, np.zeros(size), jac=True, method="L-BFGS-B", options=options).fun))


def own(tree, of):
    """The least total where each component has weights of its own."""
    n, parts, deep = tree.nodes, len(of.components), max(of.deepest)
    may = np.array([[k <= d for d in of.deepest] + [k < deep] for k in range(tree.depth + 1)])[tree.level]

    def f(x):
        x = np.where(may, x.reshape(n, parts + 1), -np.inf)
        x[tree.level > deep] = 0
        split = np.exp(x - x.max(1, keepdims=True))
        split /= split.sum(1, keepdims=True)
        left = np.ones(n)
        for k in range(1, deep + 1):
            above = tree.par[tree.at[k]]
            left[tree.at[k]] = left[above] * split[above, parts]
        w = left[:, None] * split[:, :parts] / of.price
        total, g = 0.0, np.zeros((n, parts))
        for j, depth in enumerate(of.deepest):
            omega, share, beta = tree.up(w[:, j], depth)
            v, g_v = omega.copy(), of.counts[tree.level, j].copy()
            for k in range(1, depth + 1):
                a, above = tree.at[k], tree.par[tree.at[k]]
                v[a] = share[a] ** 2 * v[above] + omega[a] * (1 - share[a])
            total += (g_v * v)[: tree.at[depth].stop].sum()
            g_omega, g_share = np.zeros(n), np.zeros(n)
            for k in range(depth, 0, -1):
                a, above = tree.at[k], tree.par[tree.at[k]]
                g_share[a] = g_v[a] * (2 * share[a] * v[above] - omega[a])
                g_omega[a] = g_v[a] * (1 - share[a])
                g_v[tree.at[k - 1]] += tree.sums(k, g_v[a] * share[a] ** 2)
            g_omega[0] += g_v[0]
            g[:, j] = tree.back(depth, omega, beta, g_omega, g_share)
        g_split = np.zeros((n, parts + 1))
        g_split[:, :parts] = g * left[:, None] / of.price
        g_left = (g / of.price * split[:, :parts]).sum(1)
        for k in range(deep, 0, -1):
            a, b = tree.at[k], tree.at[k - 1]
            sums = tree.sums(k, g_left[a])
            g_split[b, parts] += sums * left[b]
            g_left[b] += sums * split[b, parts]
        g_x = split * (g_split - (g_split * split).sum(1, keepdims=True))
        g_x[tree.level > deep] = 0
        return np.log(total), (g_x / total).ravel()

    return descend(f, n * (parts + 1))


def shared(tree, of):
    """The least total that was found where all components have the same weights, and scales of their own."""
    n, depth = tree.nodes, tree.depth

    def f(x):
        stay = 1 / (1 + np.exp(-x))
        stay[tree.at[depth]] = 1
        left = np.ones(n)
        for k in range(1, depth + 1):
            above = tree.par[tree.at[k]]
            left[tree.at[k]] = left[above] * (1 - stay[above])
        omega, share, beta = tree.up(left * stay, depth)
        v, of_level = np.zeros((depth + 1, n)), np.zeros((depth + 1, depth + 1))
        for l in range(depth + 1):
            v[l][tree.at[l]] = omega[tree.at[l]] * (1 - share[tree.at[l]])
            of_level[l, l] = v[l][tree.at[l]].sum()
            for k in range(l + 1, depth + 1):
                v[l][tree.at[k]] = share[tree.at[k]] ** 2 * v[l][tree.par[tree.at[k]]]
                of_level[l, k] = v[l][tree.at[k]].sum()
        each = np.maximum(of_level @ of.counts, 1e-300)
        roots = np.sqrt(each * of.price).sum(1)
        total = (roots**2).sum()
        by_level = (roots[:, None] * np.sqrt(of.price / each)) @ of.counts.T
        g_omega, g_share = np.zeros(n), np.zeros(n)
        for l in range(depth + 1):
            g_v = by_level[l][tree.level]
            for k in range(depth, l, -1):
                a = tree.at[k]
                g_share[a] += g_v[a] * 2 * share[a] * v[l][tree.par[a]]
                g_v[tree.at[k - 1]] += tree.sums(k, g_v[a] * share[a] ** 2)
            a = tree.at[l]
            g_omega[a] += g_v[a] * (1 - share[a])
            if l > 0:
                g_share[a] -= g_v[a] * omega[a]
        g = tree.back(depth, omega, beta, g_omega, g_share)
        g_stay, g_left = g * left, g * stay
        for k in range(depth, 0, -1):
            b, sums = tree.at[k - 1], tree.sums(k, g_left[tree.at[k]])
            g_stay[b] -= sums * left[b]
            g_left[b] += sums * (1 - stay[b])
        g_x = g_stay * stay * (1 - stay)
        g_x[tree.at[depth]] = 0
        return np.log(total), g_x / total

    return descend(f, n)


def listed(path):
    """The parents of every level of a hierarchy file."""
    rows = [tuple(reversed(row)) for row in list(csv.reader(open(path)))[1:]]
    ids, parents = [{(): 0}], [[0]]
    for k in range(1, len(rows[0]) + 1):
        nodes = list(dict.fromkeys(row[:k] for row in rows))
        parents.append([ids[-1][node[:-1]] for node in nodes])
        ids.append({node: i for i, node in enumerate(nodes)})
    return parents


def drawn(sizes, seed):
    pick, parents, above = random.Random(seed), [[0]], 1
    for size in sizes:
        pull = [pick.paretovariate(1.2) for _ in range(above)]
        parents.append(sorted(list(range(above)) + pick.choices(range(above), weights=pull, k=size - above)))
        above = size
    return parents


def planned(margins, parents, others, tables, weights):
    """The total of the plan that a build makes at ρ = 1/2, where a variance of one costs one."""
    names = [f"l{k}" for k in range(1, len(parents))]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/a.csv", "w") as out:
            out.write(",".join(reversed(names[:-1] + ["a"])) + "\n")
            for leaf in range(len(parents[-1])):
                row, node = [], leaf
                for k in range(len(parents) - 1, 0, -1):
                    row.append(f"{k}_{node}")
                    node = parents[k][node]
                out.write(",".join(row) + "\n")
        spec = 'name = "x"\ntitle = "X"\n[privacy]\nunit = "row"\nrho = 0.5\n[strategy]\nmeasure = "residual"\n'
        spec += '[[dimension]]\nname = "a"\nhierarchy = "a.csv"\n'
        for name, n in others.items():
            labels = ", ".join(f'"{i}"' for i in range(n))
            spec += f'[[dimension]]\nname = "{name}"\ncategories = [{labels}]\n'
        for (k, b), weight in zip(tables, weights):
            of = [] if k == 0 else ["a" if k == len(names) else f"a.{names[k - 1]}"]
            of = ", ".join(f'"{name}"' for name in of + sorted(b))
            spec += f'[[table]]\nof = [{of}]\nweight = "{1 if weight == 1 else f"1/{round(1 / weight)}"}"\n'
        Path(f"{folder}/x.toml").write_text(spec)
        told = json.loads(subprocess.check_output([margins, "plan", f"{folder}/x.toml", "--json"]))
    return told["strategies"][0]["weighted_variance"], told["own_weights"]


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--margins")
    margins = asked.parse_args().margins
    others = {"sex": 2, "age": 18, "race": 7}
    trees = {"specs/data/blocks.csv": listed(Path(__file__).parent.parent / "specs/data/blocks.csv"), "5-40-300": drawn([5, 40, 300], 3)}
    sex_age, all_of_them = frozenset(["sex", "age"]), frozenset(others)
    print(f"{'tree':<22} {'beside its levels, coarse to fine':<44} {'weights':<8} {'shared':>11} {'own':>11} {'gain':>8}" + (f" {'planned':>11} {'kinds':>5}" if margins else ""))
    for name, parents in trees.items():
        depth = len(parents) - 1
        specs = {
            "sex × age everywhere": [(k, sex_age) for k in range(depth + 1)],
            "each of three, everywhere": [(k, frozenset([d])) for k in range(1, depth + 1) for d in others],
            "all; sex × age; at the end age": [(0, all_of_them), (1, all_of_them)]
            + [(k, sex_age) for k in range(2, depth)]
            + [(depth, frozenset(["age"]))],
            "all; age; at the end nothing": [(1, all_of_them)] + [(k, frozenset(["age"])) for k in range(2, depth)] + [(depth, frozenset())],
        }
        for said, tables in specs.items():
            cells = [len(parents[k]) * np.prod([others[i] for i in b]) for k, b in tables]
            for weights, each in (("cells", [1.0] * len(tables)), ("tables", [1 / n for n in cells])):
                tree = Tree(parents)
                of = Workload(tree, others, tables, each)
                a, b = shared(tree, of), own(tree, of)
                line = f"{name:<22} {said:<44} {weights:<8} {a:11.3f} {b:11.3f} {100 * (a / b - 1):6.2f} %"
                if margins:
                    total, kinds = planned(margins, parents, others, tables, each)
                    line += f" {total:11.3f} {kinds['kinds'] if kinds else 1:>5}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
