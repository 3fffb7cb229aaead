"""SELECT a, COUNT(*) FROM t WHERE … GROUP BY a: what is asked, over the cells of the coarsest table that tells it."""

import itertools

import numpy as np

from . import where
from .errors import Beyond, Refused, must


class Select:
    """What is asked: `condition`, a tree of conditions or nothing, and `groups`, pairs of a dimension and a level."""

    def __init__(self, text, domain):
        found = where.tokens(text)
        if found and found[-1] == ("sign", ";"):
            found.pop()
        self.domain, reader = domain, where.Reader(found, domain)
        reader.expect("SELECT")
        columns, counts = [], 0
        while True:
            if reader.accept("COUNT"):
                [reader.expect(sign) for sign in "(*)"]
                counts += 1
                if reader.accept("AS"):
                    reader.next("word", "name")
            else:
                columns.append(self._plain(reader))
            if not reader.accept(","):
                break
        if not reader.accept("FROM") or counts != 1:
            raise Beyond("more than groups and one COUNT(*)")
        reader.next("word", "name")
        self.condition = reader.either() if reader.accept("WHERE") else None
        self.groups = []
        if reader.accept("GROUP"):
            reader.expect("BY")
            self.groups.append(self._plain(reader))
            while reader.accept(","):
                self.groups.append(self._plain(reader))
        if reader.at < len(found) or len({d for d, _ in self.groups}) < len(self.groups):
            raise Beyond("more than WHERE and GROUP BY of plain columns")
        must(set(columns) <= set(self.groups), "a column is selected and not grouped by")

    @staticmethod
    def _plain(reader):
        if reader.at + 1 < len(reader.tokens) and reader.tokens[reader.at + 1] == ("sign", "(") or reader.peek("CASE", "DISTINCT", "*"):
            raise Beyond("other figures than COUNT(*)")
        return reader.column()

    def rows(self, levels):
        """The table at levels in use that is asked, and for each row its labels and a weight for each cell."""
        domain = self.domain
        axes = sorted((where.mentioned(self.condition) if self.condition else set()) | {d for d, _ in self.groups})
        shape = [domain[d].size(domain[d].finest) for d in axes]
        if np.prod(shape, dtype=float) > where.ROOM:
            raise Beyond("a question that tells very many cells apart")
        met = np.ones(shape, dtype=bool)
        if self.condition:
            met = np.broadcast_to(where.nodes(self.condition, domain, axes), shape)
        cuboid = []
        for axis, d in enumerate(axes):
            group = dict(self.groups).get(d, 0)
            level = next((level for level in levels[d] if level >= group and self._constant(met, axis, d, level)), None)
            if level is None:
                raise Refused("no level in use tells that")
            met = np.take(met, np.unique(domain[d].ancestors(domain[d].finest, level), return_index=True)[1], axis=axis)
            cuboid.append((d, level))
        for nodes in itertools.product(*[range(domain[d].size(level)) for d, level in self.groups]):
            chosen = met
            for (d, group), node in zip(self.groups, nodes):
                axis = axes.index(d)
                inside = domain[d].ancestors(cuboid[axis][1], group) == node
                chosen = chosen & inside.reshape([-1 if a == axis else 1 for a in range(len(axes))])
            if chosen.any() or not self.groups:
                labels = {domain[d].called(level): domain[d].levels[level].labels[node] for (d, level), node in zip(self.groups, nodes)}
                kept = tuple((d, level) for d, level in cuboid if level)
                yield kept, labels, chosen.reshape(-1).astype(float)

    def _constant(self, met, axis, d, level):
        to = self.domain[d].ancestors(self.domain[d].finest, level)
        _, first, inverse = np.unique(to, return_index=True, return_inverse=True)
        return np.array_equal(np.take(met, first[inverse], axis=axis), met)


def answer(answers, text):
    """Rows of labels, estimate and variance."""
    found = []
    for cuboid, labels, weights in Select(text, answers.plan.domain).rows(answers.plan.levels):
        row = answers.table(cuboid, weights[None, :])[0]
        if row is None:
            raise Refused("no combination of what was measured tells that")
        found.append((labels, *row))
    return found
