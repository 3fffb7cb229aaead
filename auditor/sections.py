"""The small sections: truncation, workload, copies, projection, exact tables."""

from dataclasses import dataclass
from fractions import Fraction
import struct

import numpy as np

from . import packed, texts
from .errors import must
from .wire import Wire


def truncation(data):
    """The scale of the noise and the noisy number of units that had more rows than count."""
    wire = Wire(data, "truncation")
    found = (wire.rational(), wire.signed(64))
    wire.end()
    return found


ASKED = {1: "prefixes", 2: "ranges", 3: "total"}


def workload(data, plan):
    """For each table of which more than cells is asked: by dimension the word for its sums, or the text of a query."""
    wire = Wire(data, "workload")

    def intervals(nodes):
        pairs = wire.list(lambda: (wire.unsigned(32), wire.unsigned(32)), 1, 4096)
        must(all(a <= b < nodes for a, b in pairs), "the workload is invalid: an interval that is none")
        return pairs

    def sums(cuboid):
        d = wire.unsigned(16)
        must(d in cuboid, "the workload is invalid: sums along a dimension that the table lacks")
        nodes, tag = plan.domain[d].size(cuboid[d]), wire.choice((1, 2, 3, 4))
        must(nodes <= {1: 65536, 2: 2048}.get(tag, nodes), "the workload is invalid: sums of too many nodes")
        return d, intervals(nodes) if tag == 4 else ASKED[tag]

    def entry():
        number = wire.unsigned(32)
        must(number < len(plan.workload), "the workload is invalid: a table that is not asked for")
        cuboid = dict(plan.workload[number][0])
        if wire.choice((1, 2)) == 2:
            return number, texts.harmless(wire.text(), lines=True)
        asked = wire.list(lambda: sums(cuboid), 1)
        must(all(a[0] < b[0] for a, b in zip(asked, asked[1:])), "the workload is invalid: dimensions do not ascend")
        return number, dict(asked)

    entries = wire.list(entry, 1)
    wire.end()
    must(all(a[0] < b[0] for a, b in zip(entries, entries[1:])), "the workload is invalid: tables do not ascend")
    return dict(entries)


MODES = {1: "nested", 2: "shifted", 3: "shifted"}


@dataclass
class Copies:
    """Which copy a file is: everything else in it, but for its integers, is that of the most precise one."""

    measuring: str
    mode: str
    spread: int
    mean: int
    mine: int
    budget: Fraction
    recipients: list
    truncation: Fraction
    steps: list

    @property
    def factor(self):
        return self.recipients[self.mine][1]


def copies(data, plan, truncated):
    """`truncated` is whether the release has a truncation section."""
    wire = Wire(data, "copies")
    measuring, tag, spread, mine = wire.take(16).hex(), wire.choice((1, 2, 3)), wire.unsigned(32), wire.unsigned(32)
    budget = wire.rational()
    recipients = wire.list(lambda: (texts.name(wire.text(), 64), wire.rational()), 1, 1000)
    scale = wire.rational(positive=truncated)
    steps = wire.list(lambda: wire.list(lambda: wire.rational(positive=False)))
    mean = wire.signed(32) if tag == 3 else spread if tag == 2 else 0
    wire.end()
    must((spread == 0) if tag == 1 else (1 <= spread <= 1 << 30), "the copies are invalid: centres so far from their mean")
    must(tag != 3 or (abs(mean) <= 1 << 30 and mean != spread), "the copies are invalid: the mean of a centre")
    must(mine < len(recipients), "the copies are invalid: no such recipient")
    factors = [factor for _, factor in recipients]
    must(factors[0] == 1 and factors == sorted(factors), "the copies are invalid: factors descend, or the first is not 1")
    must(len({name.lower() for name, _ in recipients}) == len(recipients), "the copies are invalid: two recipients of one name")
    must((scale > 0) == truncated, "the copies are invalid: the scale of the truncation section")
    must(budget == plan.budget, "the copies are invalid: the budget is not that of the plan")
    expected = mine if MODES[tag] == "nested" and plan.noise == "gaussian" else 0
    must(len(steps) == expected, "the copies are invalid: not as many steps as there are copies before")
    must(all(len(step) == len(plan.measurements) + truncated for step in steps), "the copies are invalid: a step with too few or too many scales")
    return Copies(measuring, MODES[tag], spread, mean, mine, budget, recipients, scale, steps)


@dataclass
class Projection:
    """How counts were summed with signs."""

    kind: str
    rows: int
    buckets: int
    key: list
    independence: int
    seed: bytes
    noise: str
    scale: Fraction
    budget: Fraction
    neighbours: str
    max_rows: int
    queries: int
    failure: Fraction
    sparsity: int
    norm: int

    @property
    def integers(self):
        return self.rows * (self.buckets or 1)


def projection(data, domain):
    wire = Wire(data, "projection")
    kind = wire.choice((1, 2))
    rows, buckets = wire.unsigned(32), wire.unsigned(32) if kind == 2 else 0
    key = wire.list(lambda: (wire.unsigned(16), wire.choice((0, 1))), 1)
    found = Projection(
        ("", "dense", "sketch")[kind], rows, buckets, key, wire.unsigned(32), wire.take(32), ("", "gaussian", "laplace")[wire.choice((1, 2))],
        wire.rational(), wire.rational(), ("", "add-remove", "substitute")[wire.choice((1, 2))], wire.unsigned(32), wire.unsigned(64), wire.rational(),
        wire.unsigned(32), wire.unsigned(64))
    wire.end()
    must(all(d < len(domain) for d, _ in key) and len({d for d, _ in key}) == len(key), "the projection is invalid: a dimension of the key")
    must(found.max_rows >= 1 and rows >= 1 and found.sparsity >= 1 and found.independence >= 4, "the projection is invalid: a size that none may have")
    return found


def exact(data, domain):
    """A cuboid and its counts."""
    must(data, "an exact table ends too early")
    end = 1 + 3 * data[0]
    must(len(data) > end, "an exact table ends too early")
    cuboid = tuple(struct.unpack("<HB", data[at:at + 3]) for at in range(1, end, 3))
    must(all(a[0] < b[0] for a, b in zip(cuboid, cuboid[1:])), "an exact table is invalid: dimensions do not ascend")
    must(all(d < len(domain) and 1 <= level <= domain[d].finest for d, level in cuboid), "an exact table is invalid: no such level")
    cells = domain.cells(cuboid)
    must(data[end] >= 1, "the packed values are malformed: an exact table has no width")
    must((cells * data[end] + 7) // 8 < len(data), "measurements cannot be decoded: the packed values are malformed")
    counts, after = packed.read(data, end, cells)
    must(after == len(data), "an exact table has bytes that nothing says what they are")
    must(not (np.asarray(counts) < 0).any(), "an exact table is invalid: a count is negative")
    return cuboid, counts
