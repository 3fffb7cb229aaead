"""Dense generalised least squares: the best linear unbiased answers, and their variances."""

import math
from functools import cached_property

import numpy as np

from . import blocks, where
from .errors import Beyond, Refused
from .tree import Cube


def gaussian_variance(scale):
    """Of the discrete Gaussian, P(x) ∝ exp(-x²/(2 scale)): its parameter, but where it is small."""
    s = float(scale)
    if s > 64:
        return s
    weights = [(x * x, math.exp(-x * x / (2 * s))) for x in range(1, int(40 * math.sqrt(s)) + 10)]
    return 2 * math.fsum(x * w for x, w in weights) / (1 + 2 * math.fsum(w for _, w in weights))


def laplace_variance(scale):
    """Of the discrete Laplace law, P(x) ∝ exp(-|x|/b): 2q/(1-q)² with q = exp(-1/b)."""
    return 0.5 / math.sinh(0.5 / float(scale)) ** 2


class Answers:
    """The equations of a release of tables, solved once."""

    def __init__(self, release):
        self.release, self.plan = release, release.plan
        self.cube = Cube(self.plan, [b.cuboid for b in self.plan.measurements] + [c for c, _ in release.exact])
        variance = gaussian_variance if self.plan.noise == "gaussian" else laplace_variance
        self.blocks = []
        for number, block in enumerate(self.plan.measurements):
            spread = sum(map(variance, release.layers(number)))
            self.blocks.append(self._block(block, np.array(release.values[number], dtype=float), spread))
        self._solve()

    def _block(self, block, values, variance):
        """White rows and values, and by row of these what one and the same shift of all noises adds."""
        if block.kind == "rows":
            sums = np.zeros((len(block.rows), self.plan.domain.cells(block.cuboid)))
            for number, row in enumerate(block.rows):
                for cell, factor in row:
                    sums[number, cell] = factor
            rows, root = sums @ self.cube.rows(block.cuboid), [np.eye(len(sums))]
            shift = np.ones(len(sums))
        else:
            parts = blocks.factors(self.plan, block)
            rows = math.prod(m for _, _, m in parts) * self.cube.rows(block.cuboid, [D @ S for S, D, _ in parts])
            root = [np.linalg.cholesky(D @ D.T) for _, D, _ in parts]
            shift = blocks.kron([D.sum(axis=1)[:, None] for _, D, _ in parts])[:, 0]
        centre = self.release.copies.mean if self.release.copies else 0
        white = blocks.kron([np.linalg.inv(part) for part in root]) / math.sqrt(variance)
        shift = white @ shift
        return white @ rows, white @ values - centre * shift, shift

    @cached_property
    def _known(self):
        """Rows that are known: exact tables, and the cells that are empty whatever the data."""
        rows, values = [np.zeros((0, self.cube.unknowns))], [np.zeros(0)]
        for cuboid, counts in self.release.exact:
            rows.append(self.cube.rows(cuboid))
            values.append(np.array(counts, dtype=float))
        if self.release.zeros:
            conditions = [where.parse(text, self.plan.domain) for text in self.release.zeros]
            for cuboid in self.finest():
                empty = where.everywhere(conditions, self.plan.domain, cuboid)
                rows.append(self.cube.rows(cuboid)[empty])
                values.append(np.zeros(int(empty.sum())))
        return np.vstack(rows), np.concatenate(values)

    def finest(self):
        """The components below no other."""
        def below(a, b):
            return a != b and all(dict(b).get(d, 0) >= level for d, level in a)
        return [a for a in self.cube.components if not any(below(a, b) for b in self.cube.components)]

    def _solve(self):
        """With the known rows C θ = d, θ = θ₀ + Bφ; φ by least squares of the white rows."""
        unknowns = self.cube.unknowns
        known, values = self._known
        self.start, self.free = np.zeros(unknowns), np.eye(unknowns)
        if len(known):
            u, s, vt = np.linalg.svd(known, full_matrices=True)
            rank = int((s > 1e-10 * max(s[0], 1)).sum()) if len(s) else 0
            self.start = vt[:rank].T @ ((u[:, :rank].T @ values) / s[:rank])
            if np.abs(known @ self.start - values).max(initial=0) > 1e-6 * (1 + np.abs(values).max(initial=0)):
                raise Refused("what is exact and what is empty contradict each other")
            self.free = vt[rank:].T
        rows = np.vstack([np.zeros((0, unknowns))] + [rows for rows, _, _ in self.blocks])
        self.values = np.concatenate([np.zeros(0)] + [v for _, v, _ in self.blocks]) - rows @ self.start
        self.shift = np.concatenate([np.zeros(0)] + [s for _, _, s in self.blocks])
        u, s, self.vt = np.linalg.svd(rows @ self.free, full_matrices=False)
        keep = s > 1e-11 * s.max(initial=0)
        self.u, self.s, self.vt = u[:, keep], s[keep], self.vt[keep]

    def answer(self, queries):
        """Estimate and variance of each row of `queries`, over the unknowns; None where the release does not determine it."""
        found = []
        for query in queries:
            free = query @ self.free
            turned = self.vt @ free
            scale = max(np.abs(free).max(initial=0), 1e-300)
            if np.abs(free - self.vt.T @ turned).max(initial=0) > 1e-8 * max(1.0, scale):
                found.append(None)
                continue
            weights = self.u @ (turned / self.s)
            centred = float(weights @ self.shift)
            radius = self.release.copies.spread if self.release.copies else 0
            found.append((float(query @ self.start + weights @ self.values), float(weights @ weights) + centred**2 * radius * (radius + 1) / 3))
        return found

    def table(self, cuboid, weights):
        """Answers to queries over the cells of a table at levels in use: `weights` has a row for each."""
        tops = [c for c in self.finest() if all(dict(c).get(d, 0) >= level for d, level in cuboid)]
        if not tops:
            raise Refused("no table of this release tells that")
        return self.answer(weights @ self.cube.rows(cuboid))
