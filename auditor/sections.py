"""The small sections: truncation, workload, copies, projection, exact tables."""

import re
from types import SimpleNamespace

from . import texts
from .manifest import TEXTS
from .wire import Wire, ascend, packed


def truncation(data):
    """The scale of the noise and the noisy number of units that had more rows than count."""
    wire = Wire(data, "truncation section")
    found = (wire.rational(), wire.signed(64))
    wire.end()
    return found


def workload(data, plan):
    """By table of which more than cells is asked: by dimension a word for its sums, or a query's text."""
    wire = Wire(data, "workload")

    def interval(nodes):
        low, high = wire.unsigned(32), wire.unsigned(32)
        wire.must(low <= high < nodes, "has an interval that is none")
        return low, high

    def sums(table):
        d = wire.unsigned(16)
        wire.must(d in table, "has sums along a dimension that the table lacks")
        nodes, word = plan.domain[d].size(table[d]), wire.one_of("prefixes", "ranges", "total", "intervals")
        wire.must(nodes <= {"prefixes": 65536, "ranges": 2048}.get(word, nodes), "has sums of too many nodes")
        return d, wire.list(lambda: interval(nodes), 1, 4096) if word == "intervals" else word

    def entry():
        number = wire.unsigned(32)
        wire.must(number < len(plan.workload), "has a table that is not asked for")
        table = dict(plan.workload[number][0])
        if wire.one_of("sums", "query") == "query":
            return number, texts.harmless(wire.text(), lines=True)
        asked = wire.list(lambda: sums(table), 1)
        wire.must(ascend([d for d, _ in asked]), "has dimensions that do not ascend")
        return number, dict(asked)

    entries = wire.list(entry, 1)
    wire.end()
    wire.must(ascend([number for number, _ in entries]), "has tables that do not ascend")
    return dict(entries)


def copies(data, plan, truncated):
    """Which copy a file is. `truncated` is whether there is a truncation section."""
    wire = Wire(data, "section of copies")
    copies = SimpleNamespace(measuring=wire.take(16).hex())
    centres = wire.one_of("none", "from 0", "others")
    copies.mode = "nested" if centres == "none" else "shifted"
    copies.spread, mine, copies.budget = wire.unsigned(32), wire.unsigned(32), wire.rational()
    copies.recipients = wire.list(lambda: (wire.text(64), wire.rational()), 1, 1000)
    copies.truncation = wire.rational(positive=truncated)
    copies.steps = wire.list(lambda: wire.list(lambda: wire.rational(positive=False)))
    copies.mean = wire.signed(32) if centres == "others" else copies.spread
    wire.end()
    least, most = (0, 0) if centres == "none" else (1, 1 << 30)
    usual = centres != "others" or abs(copies.mean) <= 1 << 30 and copies.mean != copies.spread
    wire.must(least <= copies.spread <= most and usual, "has centres that it must not have")
    wire.must(mine < len(copies.recipients), "has no such recipient")
    copies.name, copies.factor = copies.recipients[mine]
    factors = [factor for _, factor in copies.recipients]
    wire.must(factors[0] == 1 and factors == sorted(factors), "has factors that descend, or a first but 1")
    names = {name.lower() for name, _ in copies.recipients if re.fullmatch(TEXTS["name"], name)}
    wire.must(len(names) == len(factors), "has two recipients of one name, or a name with strange signs")
    wire.must((copies.truncation > 0) == truncated, "has a scale of a truncation section that there is not")
    wire.must(copies.budget == plan.budget, "has another budget than the plan")
    before = mine if copies.mode == "nested" and plan.noise == "gaussian" else 0
    whole = all(len(step) == len(plan.blocks) + truncated for step in copies.steps)
    wire.must(len(copies.steps) == before and whole, "has too few or too many steps or scales")
    return copies


def projection(data, domain):
    """How counts were summed with signs."""
    wire = Wire(data, "projection")
    held = SimpleNamespace(kind=wire.one_of("dense", "sketch"), rows=wire.unsigned(32))
    held.buckets = wire.unsigned(32) if held.kind == "sketch" else 0
    held.key = wire.list(lambda: (wire.unsigned(16), wire.choice(0, 1)), 1)
    held.independence, held.seed = wire.unsigned(32), wire.take(32)
    held.noise, held.scale, held.budget = wire.one_of("gaussian", "laplace"), wire.rational(), wire.rational()
    held.neighbours, held.max_rows = wire.one_of("add-remove", "substitute"), wire.unsigned(32)
    held.queries, held.failure, held.sparsity = wire.unsigned(64), wire.rational(), wire.unsigned(32)
    held.norm = wire.unsigned(64)
    wire.end()
    dimensions = [d for d, _ in held.key]
    known = len(set(dimensions)) == len(dimensions) and max(dimensions) < len(domain)
    wire.must(known, "has a key with a dimension that it must not have")
    sound = min(held.max_rows, held.rows, held.sparsity) >= 1 and held.independence >= 4
    wire.must(sound, "has a size that none may have")
    return held


def exact(data, domain):
    """A table and its counts."""
    wire = Wire(data, "exact table")
    table = tuple((int.from_bytes(wire.take(2), "little"), wire.byte()) for _ in range(wire.byte()))
    wire.must(ascend([d for d, _ in table]), "has dimensions that do not ascend")
    known = all(d < len(domain) and 1 <= level <= domain[d].finest for d, level in table)
    wire.must(known, "has a level that does not exist")
    cells = domain.cells(table)
    wire.must(wire.byte() >= 1, "has cells of no width")
    counts, after = packed(data, wire.at - 1, cells)
    wire.must(after == len(data), "has bytes that nothing says what they are")
    wire.must((counts >= 0).all(), "has a count that is negative")
    return table, counts
