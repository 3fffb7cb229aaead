"""The small sections: truncation, workload, copies, projection, exact tables, sums."""

import re
from types import SimpleNamespace

from . import blocks
from .shapes import KINDS
from .plan import MOST, Plan
from .wire import ascend, decoded, harmless

# What rows add up to beside themselves, as the manifest calls it; the last two as `verify` does.
SUBJECTS = ["sums", "rows with a value", "sums of squares", "rows moved to low", "rows moved to high"]


def condition(wire):
    """A text of SQL, which is all that its section holds."""
    wire.must(len(wire.data) <= 65536, "is too long")
    return harmless(wire.take(len(wire.data)).decode("utf-8"), lines=True)


def workload(wire, plan):
    """By table of which more than cells is asked: by dimension a word for its sums, or a query's text."""
    def interval(nodes):
        low, high = wire.unsigned(32), wire.unsigned(32)
        wire.must(low <= high < nodes, "has an interval that is none")
        return low, high

    def sums(table):
        d = wire.unsigned(16)
        nodes, word = plan.domain[d].size(table[d]), wire.one_of("prefixes", "ranges", "total", "intervals")
        wire.must(nodes <= {"prefixes": 65536, "ranges": 2048}.get(word, nodes), "has sums of too many nodes")
        return d, wire.list(lambda: interval(nodes), 1, 4096) if word == "intervals" else word

    def entry():
        number = wire.unsigned(32)
        table = dict(plan.workload[number][0])
        if wire.one_of("sums", "query") == "query":
            return number, harmless(wire.text(), lines=True)
        return number, dict(wire.ascending(lambda: sums(table), 1))

    return dict(wire.ascending(entry, 1))


def copies(wire, plan, truncated, measured):
    """Which copy a file is, if there are `measured` measurements and, perhaps, a count of cut units."""
    copies, centres = SimpleNamespace(measuring=wire.take(16).hex()), wire.one_of("none", "from 0", "others")
    copies.mode = "nested" if centres == "none" else "shifted"
    copies.spread, mine, copies.budget = wire.unsigned(32), wire.unsigned(32), wire.rational()
    copies.recipients = wire.list(lambda: (wire.text(64), wire.rational()), 1, 1000)
    copies.truncation = wire.rational(positive=truncated)
    copies.steps = wire.list(lambda: wire.list(lambda: wire.rational(positive=False)))
    copies.mean = wire.signed(32) if centres == "others" else copies.spread
    least, most = (0, 0) if centres == "none" else (1, 1 << 30)
    usual = centres != "others" or abs(copies.mean) <= 1 << 30 and copies.mean != copies.spread
    wire.must(least <= copies.spread <= most and usual, "has centres that it must not have")
    copies.name, copies.factor = copies.recipients[mine]
    factors = [factor for _, factor in copies.recipients]
    wire.must(factors[0] == 1 and factors == sorted(factors), "has factors that descend, or a first but 1")
    names = {name.lower() for name, _ in copies.recipients if re.fullmatch(KINDS["name"], name)}
    wire.must(len(names) == len(factors), "has two recipients of one name, or a name with strange signs")
    wire.must((copies.truncation > 0) == truncated, "has a scale of a truncation section that there is not")
    wire.must(copies.budget == plan.budget, "has another budget than the plan")
    before = mine if copies.mode == "nested" and plan.noise == "gaussian" else 0
    wire.must(list(map(len, copies.steps)) == [measured] * before, "has too few or too many steps or scales")
    return copies


def projection(wire, domain):
    """How counts were summed with signs."""
    held = SimpleNamespace(kind=wire.one_of("dense", "sketch"), rows=wire.unsigned(32))
    held.buckets = wire.unsigned(32) if held.kind == "sketch" else 0
    held.key = wire.list(lambda: (wire.unsigned(16), wire.choice(0, 1)), 1)
    held.independence, held.seed = wire.unsigned(32), wire.take(32)
    held.noise, held.scale, held.budget = wire.one_of("gaussian", "laplace"), wire.rational(), wire.rational()
    held.neighbours, held.max_rows = wire.one_of("add-remove", "substitute"), wire.unsigned(32)
    held.queries, held.failure, held.sparsity = wire.unsigned(64), wire.rational(), wire.unsigned(32)
    held.norm_bound = wire.unsigned(64)
    known = ascend([d for d, _ in held.key]) and held.key[-1][0] < len(domain)
    known &= held.rows % 64 == 0 if held.kind == "dense" else held.buckets.bit_count() == 1 < held.buckets
    least = min(held.max_rows, held.rows, held.sparsity, held.queries, held.independence - 3)
    known &= least >= 1 and held.scale <= MOST[held.noise] and held.independence <= 512
    few = held.rows * max(held.buckets, 1) <= 1 << 22 and held.sparsity <= 1 << 20
    wire.must(known and few, "has a dimension or a size that it must not have")
    wire.must(any(held.seed) and held.failure < 1, "has no seed, or signs that are good for nothing")
    return held


def exact(wire, domain, least=0):
    """A table and its counts, or sums, none of them below `least`."""
    table = tuple((int.from_bytes(wire.take(2), "little"), wire.byte()) for _ in range(wire.byte()))
    wire.must(all(level for _, level in table) and ascend([d for d, _ in table]), "has a table out of order")
    counts = wire.packed(domain.cells(table))
    wire.must(least is None or (counts >= least).all(), "has a count that is negative")
    return table, counts


def steps(of):
    """From the low to the high bound of a number."""
    return (of["high"] - of["low"]) // of["step"]


def sums(wire, file_plan):
    """What is added up of which number, as the manifest has it; plan, integers, exact tables, questions."""
    tag, domain = wire.choice(1, 11), file_plan.domain
    wire.must(tag <= 5 or tag > 8, "has a choice that does not exist")
    found = SimpleNamespace(subject=SUBJECTS[tag % 8 - 1], exact=[], asked={})
    of = {"name": harmless(wire.text(4096)), "low": wire.signed(64), "high": wire.signed(64)}
    of |= {"step": wire.unsigned(64), "places": wire.byte()}
    weighing, missing = divmod(wire.byte(), 16)
    zero, weighing = divmod(weighing, 4)
    usual = weighing <= 2 and 1 <= missing <= (2 if weighing else 3) and of["places"] <= 9 and of["step"] > 0
    usual = usual and of["low"] % of["step"] == of["high"] % of["step"] == 0 < steps(of) <= 1 << 24
    usual = usual and (missing != 2 or of["low"] <= 0 <= of["high"])
    # What is told beside sums from zero would need the middle.
    usual = usual and zero <= 1 and not (zero and (weighing or missing == 3 or tag % 8 == 3))
    wire.must(usual, "has a number that none may be")
    of["missing"] = ["stop", "zero", "skip"][missing - 1]
    of |= {"weighing": ["", "weight", "weighted"][weighing]} if weighing else {}
    of |= {"from": "zero"} if zero else {}
    for key in "unit", "description":
        of |= {key: text for text in wire.list(lambda: harmless(wire.text(), key == "description"), 0, 1)}
    # How far a row moves a sum: from the middle in halves of a step, from zero in steps.
    far = max(abs(of["low"]), abs(of["high"])) // of["step"] if zero else steps(of)
    found.of, found.reach = of, {1: far, 3: far**2}.get(tag % 8, 1)
    found.plan = decoded(wire.bytes(), "plan", Plan, domain)
    for key in ("noise", "budget", "neighbours", "max_rows", "strategy", "rule", "levels"):
        wire.must(getattr(found.plan, key) == getattr(file_plan, key), f"has another {key} than the plan")
    wire.must(all(block.kind != "rows" for block in found.plan.blocks), "has rows of its own")
    counts = [blocks.count(found.plan, block) for block in found.plan.blocks]
    each = lambda inner: [inner.packed(count, 127) for count in counts]
    found.values = decoded(wire.bytes(), "section of sums", each)
    if tag > 8:
        least = 0 if found.subject == "rows with a value" else None
        found.exact = wire.list(lambda: decoded(wire.bytes(), "exact table", exact, domain, least))
        asked = wire.bytes()
        found.asked = decoded(asked, "workload", workload, found.plan) if asked else {}
        wire.must((found.exact or asked) and not (zero and found.exact), "has exact sums that none may have")
    return found
