"""What somebody signed whom this program believed and the command did not: work without end, exact tables that contradict each other, levels of
one's own, another plan beside a projection, a dataset in an old file, too much noise, an ε that is a digit too large."""

import time
from fractions import Fraction

import numpy as np
import pytest

from auditor import blocks, loss, where
from auditor.container import File
from auditor.domain import Dimension, Domain, Level
from auditor.plan import Block
from auditor.release import Release
from auditor.tests import forge
from auditor.tests.forge import number
from auditor.tests.test_alike import OLD, PLAIN
from auditor.tests.test_rules import both, forged, projected, section
from auditor.tests.test_spec import PEOPLE, PROJECTION, ROW, judged, outcomes, released, sealed, signs  # noqa: F401
from auditor.verify import Report
from auditor.wire import Beyond


def failing(path):
    """The first thing that this program finds wrong, and what it says."""
    return next((check["what"], check["detail"]) for check in Report(str(path)).checks if check["outcome"] == "failed")


# All fail at `content`.
WORK = {
    "signs of very many coefficients": projected(independence=lambda _: 100_000_000),
    "two coefficients too many": projected(independence=lambda _: 514),
    "a number of sums that fills no word": projected(rows=lambda rows: rows - 1),
    "very many sums": projected(rows=lambda _: 1 << 31),
    "queries of very many cells": projected(sparsity=lambda _: (1 << 20) + 1),
    "noise that nobody draws": projected(scale=lambda _: Fraction((1 << 104) + 1)),
}


@pytest.mark.parametrize("change", WORK)
def test_work_without_end(change, signs, tmp_path):
    begun = time.monotonic()
    assert judged(forged(signs, WORK[change], tmp_path)) == ("content", "content")
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("rows, buckets", [(8, 24), (1 << 20, 8), (8, 1), (0, 8)])
def test_sketches_of_strange_sizes(rows, buckets, tmp_path):
    """Buckets are a power of two, and there are at most 2^22 of them in all rows."""
    (path,) = released(tmp_path / "made", PROJECTION.replace("[projection]", '[projection]\nkind = "sketch"'))
    held = Release(File(path.read_bytes())).projection
    before, after = (b"\x02" + number(a) + number(b) for a, b in ((held.rows, held.buckets), (rows, buckets)))
    assert judged(forged(path, section(8, lambda body: after + body.removeprefix(before)), tmp_path)) == ("content", "content")


def test_a_table_that_the_file_has_no_room_for(tmp_path):
    """2^33 cells, which would be cut into slices: nothing is made for them before the integers are there."""
    names, levels = "abc", 'range = [0, 2047]\nlevels = [{ name = "k", width = 1024 }]'
    spec = ROW.split("[[dimension]]")[0] + "".join(f'[[dimension]]\nname = "{name}"\ncolumn = "age"\n{levels}\n[[table]]\nof = ["{name}"]\n[[table]]\nof = ["{name}.k"]\n' for name in names)
    (path,) = released(tmp_path / "made", spec.replace("base", "queries"))
    domain = Release(File(path.read_bytes())).domain

    def huge(parts, manifest):
        plan = next(one for one in parts if one[0] & 0xFF == 2)
        plan[2], _ = forge.blocks(plan[2], domain, lambda some: [("table", ((0, 2), (1, 2), (2, 2)), some[0][2])] + some[1:])

    path = forged(path, huge, tmp_path)
    assert judged(path) == ("content", "content") and "strange sizes" in failing(path)[1]


EXACT = '''name = "small"
title = "Small"
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = 1
''' + PEOPLE + '''[[amount]]
name = "pay"
low = 0
high = 10
step = 1
MORE
[[table]]
of = ["sex", "age"]
sum = ["pay"]
[[table]]
of = ["sex"]
sum = ["pay"]
exact = true
reason = "the law"
[[table]]
of = ["age.band"]
sum = ["pay"]
exact = true
reason = "the law"
'''


def listed(values):
    """Two whole numbers, packed."""
    coded = [2 * v if v >= 0 else -2 * v - 1 for v in map(int, values)]
    width = max(coded).bit_length()
    return bytes([width]) + sum(v << width * at for at, v in enumerate(coded)).to_bytes((2 * width + 7) // 8, "little")


def another(subject, change):
    """Other exact numbers by sex."""
    def changed(parts, manifest):
        release = Release(File(forge.make(2, parts, manifest)))
        number_of = [one.subject for one in release.channels].index(subject)
        (table, counts), *_ = release.channels[number_of].exact
        assert table == ((0, 1),)
        some = [part for part in parts if part[0] & 0xFF == (12 if number_of else 6)][max(number_of - 1, 0)]
        old, new = (b"\x01\x00\x00\x01" + listed(values) for values in (counts, change(counts)))
        assert some[2].count(old) == 1 and len(old) == len(new)
        some[2] = some[2].replace(old, new)
    return changed


CONTRADICTIONS = {
    "rows": ("missing = 'zero'", another("rows", lambda n: n + [0, 2])),
    "sums": ("missing = 'zero'", another("sums", lambda t: t + [2, 0])),
    "rows with a value": ("missing = 'skip'", another("rows with a value", lambda n: n - [1, 0])),
    "sums of squares": ("square = true", another("sums of squares", lambda q: q + [16, 0])),
}


@pytest.mark.parametrize("subject", CONTRADICTIONS)
def test_exact_tables_that_contradict_each_other(subject, tmp_path):
    """Of whatever they are, by sex and by bands of ages: their totals differ."""
    more, change = CONTRADICTIONS[subject]
    (path,) = released(tmp_path / "made", EXACT.replace("MORE", more))
    mine, theirs = outcomes(path)
    assert mine == theirs and Report(str(path)).verdict == "verified"
    path = forged(path, change, tmp_path)
    assert judged(path) == ("content", "content") and "contradict" in failing(path)[1]


def test_exact_tables_that_meet_in_more_than_a_total():
    """Two tables that agree in the total, and not where they meet; sums that 64 bits do not hold."""
    class Made(Release):
        def __init__(self, *exact):
            self.domain = type("Cells", (), {"cells": lambda _, table: 2 ** len(table), "above": self.above, "name_of": str})()
            self.channels = [type("Channel", (), {"exact": [(table, np.array(values)) for table, values in exact]})()]

        @staticmethod
        def above(_, fine, coarse):
            digits = [[cell >> len(fine) - 1 - at & 1 for at in range(len(fine))] for cell in range(2 ** len(fine))]
            axes = [fine.index(axis) for axis in coarse]
            return np.array([sum(row[axis] << len(axes) - 1 - place for place, axis in enumerate(axes)) for row in digits])

    one, two = ((0, 1), (1, 1)), ((0, 1), (2, 1))
    Made((one, [1, 2, 3, 4]), (two, [0, 3, 7, 0])).agree()
    with pytest.raises(Exception, match="contradict"):
        Made((one, [1, 2, 3, 4]), (two, [3, 0, 6, 1][::-1])).agree()
    most = (1 << 63) - 1
    with pytest.raises(Exception, match="contradict"):
        Made((one, [most] * 4), (two, [most, most, most, -most - 2])).agree()


def text(said):
    return number(len(said.encode())) + said.encode()


def half(name):
    """A level of the domain by another name, as halves are called, which the spec has not."""
    def change(parts, manifest):
        domain = next(one for one in parts if one[0] & 0xFF == 1)
        for old, new in [("l", name), ("0-3", "0 … 3"), ("4-7", "4 … 7")]:
            assert domain[2].count(text(old)) == 1
            domain[2] = domain[2].replace(text(old), text(new))
    return both(change, sealed('levels = [{ name = "l", width = 4 }]\n', ""))


@pytest.mark.parametrize("strategy", ["base", "queries", "residual", "hierarchy", "tables", "cluster"])
@pytest.mark.parametrize("name", ["half1", "halfwit"])
def test_halves_that_the_strategy_does_not_make(strategy, name, tmp_path):
    """Neither wavelets, nor sums that are asked for."""
    spec = ROW.format('range = [0, 7]\nlevels = [{ name = "l", width = 4 }]').replace("base", strategy)
    (path,) = released(tmp_path / "made", spec)
    assert judged(forged(path, half(name), tmp_path)) == ("spec", "spec")


@pytest.mark.parametrize("old, new, what", [("half1", "half3", "manifest's claims"), ("half1", "third", "manifest's claims"), ("4 … 7", "5 … 7", "spec"), ("0 … 1", "1 … 1", "spec")])
def test_other_halves(old, new, what, tmp_path):
    """Where there are some, each is just the one that follows."""
    (path,) = released(tmp_path / "made", ROW.format("range = [0, 7]").replace("base", "wavelet"))
    change = section(1, lambda body: body.replace(text(old), text(new), 1))
    mine, theirs = outcomes(path)
    assert mine == theirs and Report(str(path)).verdict == "verified"
    assert judged(forged(path, change, tmp_path)) == (what, what)


SEX = '[[dimension]]\nname = "sex"\ncategories = ["F", "M"]\n[[table]]\nof = ["sex"]\n'
ASKED = {
    "hierarchy": ('ask = { age = "ranges" }\n' + SEX, True), "hierarchy without sums": (SEX, False), "tables": ('ask = { age = ["0-2", "3-10"] }\n', True),
    "tables of two dimensions": ('ask = { age = "ranges" }\n' + SEX, False), "cluster": ('ask = { age = "ranges" }\n', False),
    "hierarchy of a question": (SEX + '[[query]]\nsql = "SELECT COUNT(*) FROM t WHERE age < 5"\n', False),
}


@pytest.mark.parametrize("way", ASKED)
def test_halves_that_the_strategy_makes(way, tmp_path):
    """Of eleven ages and bands of three and less of them; where sums are asked for, and for `tables` of one dimension alone."""
    more, halves = ASKED[way]
    spec = ROW.format('range = [0, 10]\nlevels = [{ name = "half1", cuts = [3, 7] }]').replace("base", way.split()[0]) + more
    (path,) = released(tmp_path, spec)
    names = [level.name for level in Release(File(path.read_bytes())).domain[0].levels]
    assert names == ["total", *["half2"] * halves, "half1", *["half3"] * halves, "age"]
    mine, theirs = outcomes(path)
    assert mine == theirs and Report(str(path)).verdict == "verified"


@pytest.mark.parametrize("change", [lambda plan: b"\x02" + plan[1:], lambda plan: plan.replace(b"\x03\x02", b"\x03\x01")])
def test_a_plan_beside_a_projection(change, signs, tmp_path):
    """Of other noise than the projection, or with another rule for budgets; nothing else of the file is wrong."""
    path = forged(signs, section(2, change), tmp_path)
    assert judged(path) == ("plan", "plan")
    assert [one["what"] for one in Report(str(path)).checks if one["outcome"] == "failed"] == ["plan"]


@pytest.mark.parametrize("said", ['id = "people"', 'id = "small"\nperiod = "2026"'])
def test_a_dataset_in_format_1(said, tmp_path):
    """Its manifest has none, and so the spec has none."""
    (path,) = released(tmp_path / "made", PLAIN.replace("[privacy]", f"[dataset]\n{said}\n[privacy]"))
    change = both(OLD, lambda _, manifest: manifest.pop("dataset"))
    assert judged(forged(path, change, tmp_path, version=1)) == ("spec", "spec")


COPIES = ROW.format("range = [0, 7]").replace("rho = 1", "rho = 2") + "".join(f'[[recipient]]\nname = "{name}"\nrho = {rho}\n' for name, rho in (("one", 2), ("two", 1), ("three", '"1/2"')))


def stepped(at, scale):
    """Another noise that a nested copy adds to the one before."""
    def change(parts, manifest):
        ratio = lambda value: number(value.numerator) + number(value.denominator)
        held = Release(File(forge.make(2, parts, manifest))).copies
        steps = lambda some: number(len(some)) + b"".join(number(len(step)) + b"".join(map(ratio, step)) for step in some)
        body = next(part for part in parts if part[0] & 0xFF == 11)
        assert body[2].endswith(steps(held.steps))
        body[2] = body[2].removesuffix(steps(held.steps)) + steps([[*step[:-1], Fraction(scale)] if n == at else step for n, step in enumerate(held.steps)])
    return change


@pytest.mark.parametrize("at, scale, what", [(1, 1 << 103, None), (1, (1 << 104) + 1, "content"), (0, 1 << 104, "content"), (1, 1 << 104, "content")])
def test_copies_with_too_much_noise(at, scale, what, tmp_path):
    """A step of 2^104 is one that may be, but not on top of others."""
    path = next(path for path in released(tmp_path / "made", COPIES) if "three" in path.name)
    mine, theirs = judged(forged(path, stepped(at, scale), tmp_path))
    assert mine == theirs and (mine == what if what else mine not in (None, "content"))


LAW = ROW.format('range = [0, 7]\nlevels = [{ name = "l", cuts = [3] }]').replace('of = ["age"]', 'of = ["sex", "age"]') + '[[table]]\nof = ["age"]\n' + SEX


@pytest.mark.parametrize("budget", ["rho = 1", 'rho = "1/10"', "rho = 3", "epsilon = 4\ndelta = 1e-6", "epsilon = 12\ndelta = 1e-9"])
@pytest.mark.parametrize("strategy", ["queries", "residual"])
def test_the_last_digit(strategy, budget, tmp_path):
    """Of a law of few coarse noises ε is just one number, for both programs."""
    (path,) = released(tmp_path / "made", LAW.replace("rho = 1", budget).replace("base", strategy))
    _, _, manifest = forge.take(path.read_bytes())
    near = manifest["privacy"]["approximate"]
    assert near["accounting"] == "exact" and judged(path) == (None, None)
    places = len(near["epsilon"].partition(".")[2])
    for more in (-1, 1, 2):
        epsilon = f"{float(near['epsilon']) + more / 10**places:.{places}f}"
        change = lambda _, said: said["privacy"]["approximate"].update(epsilon=epsilon)
        assert judged(forged(path, change, tmp_path)) == ("manifest's claims", "manifest's claims"), epsilon


def test_a_digit_that_nobody_can_tell(monkeypatch):
    """Few coarse noises that are not listed have but a bound: nothing is said to be right, and nothing wrong."""
    law, goal = {(1, 8.0 + n): 1 for n in range(12)}, 1e-9
    monkeypatch.setattr(loss, "laws", lambda _: iter([law]))
    low, enough = 10_000, 100_000
    while enough - low > 1:
        middle = (low + enough) // 2
        low, enough = (low, middle) if loss.delta(law, middle / 10_000) <= goal else (middle, enough)
    for epsilon in (enough - 1, enough, enough + 1):
        with pytest.raises(Beyond):
            loss.confirmed(None, f"{epsilon / 10_000:.4f}", goal)


def test_conditions_of_very_many_cells():
    """Each may tell 2^23 cells apart, and not all that there are in a file."""
    domain = Domain(Dimension(f"d{n}", [Level(f"d{n}", ["F", "M"], [0, 0])]) for n in range(23))
    domain.left = 1 << 27
    text = " AND ".join(f"d{n} = 'F'" for n in range(10))
    for _ in range(100):
        where.parse(text, domain)
    with pytest.raises(Beyond, match="very many cells"):
        where.parse(" AND ".join(f"d{n} = 'F'" for n in range(23)), domain)


def test_rows_over_very_many_cells():
    """A few bytes each, over a table of a million cells."""
    plan, block = type("Plan", (), {"domain": Domain(Dimension(f"d{n}", [Level("d", ["F", "M"], [0, 0])]) for n in range(20))}), Block("rows", tuple((n, 1) for n in range(20)))
    block.rows = [[(0, 1)]] * 1000
    with pytest.raises(Beyond, match="very many cells"):
        blocks.columns(plan, block)


def test_categories_of_one_file_for_all(tmp_path):
    """A dimension more with a hierarchy, read again, is one too many; nor has any more levels than a domain may have."""
    spec = ROW.format('hierarchy = "areas.csv"').replace('"age"', '"area"')
    areas = "area,part\n" + "".join(f"a{n},p{n % 2}\n" for n in range(20_000))
    (path,) = released(tmp_path / "made", spec, areas)
    many = "".join(f'[[dimension]]\nname = "d{n}"\nhierarchy = "areas.csv"\n' for n in range(2000))
    begun = time.monotonic()
    assert judged(forged(path, sealed("[[dimension]]", many + "[[dimension]]"), tmp_path))[0] == "spec"
    levels = ", ".join(f'{{ name = "l{n}", map = {{ x = ["a0"] }} }}' for n in range(63))
    assert judged(forged(path, sealed("[[table]]", f"levels = [{levels}]\n[[table]]"), tmp_path)) == ("spec", "spec")
    assert time.monotonic() - begun < 40


def test_laws_of_many_narrow_noises(tmp_path):
    """The command's bound is loose there: its ε is some digits more than that of the law, and no lie."""
    names = [f"d{n}" for n in range(4)]
    spec = ROW.split("[[dimension]]")[0].replace("rho = 1", "rho = 8").replace("base", "queries") + "".join(f'[[dimension]]\nname = "{name}"\ncolumn = "sex"\ncategories = ["F", "M"]\n' for name in names)
    for number_of in range(1, 16):
        some = [name for at, name in enumerate(names) if number_of >> at & 1]
        spec += f"[[table]]\nof = {some}\nweight = {number_of**2}\n".replace("'", '"')
    (path,) = released(tmp_path, spec)
    outcome = {check["what"]: check["outcome"] for check in Report(str(path)).checks}
    assert outcome["manifest's claims"] in ("passed", "unchecked") and "failed" not in outcome.values()
