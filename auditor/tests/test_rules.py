"""What one program let through and the other did not, of files behind a good signature; and how the compiler writes what few specs have."""

import base64
import hashlib
from fractions import Fraction

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from auditor import blocks, loss
from auditor.claims import Claims, decimal
from auditor.container import File
from auditor.release import Release
from auditor.tests import forge, generate
from auditor.tests.forge import number
from auditor.tests.test_spec import AROUND, PEOPLE, PROJECTION, ROW, SPEC, TEXT, honest, judged, outcomes, released, sealed, signs, told  # noqa: F401
from auditor.verify import Report


def both(*changes):
    return lambda *file: [change(*file) for change in changes]


def section(tag, change):
    """Other bytes of the first section of this kind."""
    def changed(sections, manifest):
        found = next(one for one in sections if one[0] & 0xFF == tag)
        assert change(found[2]) != found[2]
        found[2] = change(found[2])
    return changed


def forged(path, change, folder, version=2):
    _, sections, manifest = forge.take(path.read_bytes())
    change(sections, manifest)
    (folder / path.name).write_bytes(forge.make(version, sections, manifest))
    return folder / path.name


SUM, AREA = 'sum = ["pay"]', 'of = ["area"]'
UNIT = 'column = "id", max_rows = 2'
# Rules of the spec language; all fail at `spec`.
RULES = {
    "a weight of what is not summed": sealed("weight = 3", "weight = { pay = 3, more = 2 }"),
    "a margin of what is not summed": sealed("weight = 3", "weight = 3\nmargin = { more = 2 }"),
    "a margin of one number beside sums": sealed("weight = 3", "weight = 3\nmargin = 200"),
    "a name twice": sealed(SUM, 'sum = ["pay", "pay"]'),
    "neither count nor sum": sealed(AREA, AREA + "\ncount = false"),
    "a level of 1": sealed(AREA, AREA + "\nmargin = 200\nlevel = 1"),
    "an unknown dimension that is asked": sealed(AREA, AREA + '\nask = { here = "cells" }'),
    "another level that is asked": sealed(AREA, AREA + '\nask = { "area.part" = "cells" }'),
    "a dimension that is asked twice": sealed(AREA, AREA + '\nask = { area = "cells", "area.area" = "cells" }'),
    "an interval of nothing": sealed(AREA, AREA + '\nask = { sex = ["Q"] }'),
    "a key twice": sealed(TEXT, TEXT + "\n" + TEXT),
    "targets that are none": sealed('measure = "residual"', 'measure = "residual"\nobjective = "targets"'),
    "shares that nothing has": sealed('measure = "residual"', 'measure = "residual"\nshares = [{ of = ["sex"], share = 1 }]'),
    "five factors": sealed('name = "pay"', 'name = "pay"\ncolumn = ["a", "b", "c", "d", "e"]'),
    "weighted by nothing": sealed('name = "pay"', 'name = "pay"\nweighted = true'),
    "a ratio of two numbers below 0": sealed("weight = 3", 'weight = "-3/-1"'),
    "a ratio of too large numbers": sealed("weight = 3", 'weight = "3e40/1e40"'),
    "a step that is a ratio": sealed("step = 1", 'step = "1/1"'),
    "an order by one column twice": both(sealed(UNIT, UNIT + ', order = ["age", "age"]'), told("privacy", "order", value=["age", "age"])),
}


@pytest.mark.parametrize("rule", RULES)
def test_rules(rule, honest, tmp_path):
    assert judged(forged(honest, RULES[rule], tmp_path)) == ("spec", "spec")


@pytest.mark.parametrize("change", [sealed("width = 4 }", "width = 4, }"), sealed(TEXT, 'title = "\\x53mall"'), sealed("low = 0", "low = 0x0")])
def test_another_toml(change, honest, tmp_path):
    report = Report(str(forged(honest, change, tmp_path)))
    assert report.verdict == "whole" and ("spec", "unchecked") in [(one["what"], one["outcome"]) for one in report.checks]


def projected(**fields):
    """Another projection, and claims that fit."""
    def change(sections, manifest):
        h = Release(File(forge.make(2, sections, manifest))).projection
        vars(h).update({name: value(getattr(h, name)) for name, value in fields.items()})
        ratio = lambda value: number(value.numerator) + number(value.denominator)
        key = number(len(h.key)) + b"".join(number(d) + bytes([text]) for d, text in h.key)
        section(8, lambda _: b"\x01" + number(h.rows) + key + number(h.independence) + h.seed + b"\x01" + ratio(h.scale) + ratio(h.budget)
                + b"\x01" + number(h.max_rows) + number(h.queries) + ratio(h.failure) + number(h.sparsity) + number(h.norm_bound))(sections, manifest)
        try:
            claims = Claims(Release(File(forge.make(2, sections, manifest))))._derived()
        except Exception:
            return
        for part in ("privacy", "plan", "projection"):
            manifest[part].update({key: value for key, value in claims[part].items() if value is not None})
        manifest["account"]["charged"] = manifest["privacy"]["cost"]
    return change


def also(line):
    return sealed("sparsity = 64", "sparsity = 64\n" + line)


PROJECTIONS = {
    "twice the noise": ("spec", projected(scale=lambda scale: 2 * scale)),
    "a thousand times the noise": ("spec", projected(scale=lambda scale: 1000 * scale)),
    "a hair more noise": (None, projected(scale=lambda scale: scale * (1 + Fraction(1, 10**9)))),
    "signs less independent": ("spec", projected(independence=lambda r: r - 2)),
    "signs more independent": (None, projected(independence=lambda r: r + 2)),
    "more queries": ("spec", both(projected(queries=lambda _: 1 << 62), also(f"queries = {1 << 62}"))),
    "no seed": ("content", projected(seed=lambda _: bytes(32))),
    "sure to fail": ("content", both(projected(failure=lambda _: Fraction(1)), also("failure = 1"))),
    "a key in another order": ("content", projected(key=lambda key: [key[1], key[0], key[2]])),
    "another order in the spec": (None, sealed('of = ["sex", "age", "word"]', 'of = ["word", "sex", "age"]')),
}


@pytest.mark.parametrize("change", PROJECTIONS)
def test_projections(change, signs, tmp_path):
    what, change = PROJECTIONS[change]
    assert judged(forged(signs, change, tmp_path)) == (what, what)


def test_a_projection_under_laplace_noise(tmp_path):
    """The published algorithm has noise of its own."""
    (path,) = released(tmp_path, PROJECTION.replace("rho = 1", "epsilon = 1\ndelta = 1e-6").replace("[projection]", '[projection]\nnoise = "laplace"'))
    mine, theirs = outcomes(path)
    assert mine == theirs and Report(str(path)).verdict == "verified"


ROWS = ROW.format("codes = 2").replace('measure = "base"', 'measure = "matrix"\nbudgets = "uniform"\nrows = { file = "areas.csv", of = ["age"] }').replace('"age"', '"sex"').replace("codes = 2", 'categories = ["F", "M"]')
FIRST = b"\x02\x02\x00\x02\x01\x02\x01\x00\x02"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The sum of two cells, and the first of them."""
    (path,) = released(tmp_path_factory.mktemp("rows"), ROWS, "1,1\n1,0\n")
    assert Report(str(path)).verdict == "verified"
    return path


@pytest.mark.parametrize("text", ["1,0_1\n1,0\n", "1,\u0661\n1,0\n", "1,1\r1,0\n", "1,1\x0b1,0\n", "1,1\u20281,0\n", "1,1\x1c\n1,0\n", "1.0,1\n1,0\n", "1.5,1\n1,0\n", "1,1,0\n1,0,0\n", "1,1\n1,0\n0,0\n", '"1",1\n1,0\n', "4294967296,1\n1,0\n"])
def test_rows_of_a_file(text, rows, tmp_path):
    assert judged(forged(rows, section(4, lambda _: text.encode()), tmp_path)) == ("spec", "spec")


@pytest.mark.parametrize("name, what", [("areas.CSV", None), ("areas.txt", "spec")])
def test_the_name_of_a_file_of_rows(name, what, rows, tmp_path):
    marked = section(4, lambda text: b"\xef\xbb\xbf+" + text.replace(b"\n", b" \r\n\r\n"))
    renamed = both(sealed("areas.csv", name), told("sources", "attachments", 0, "name", value=name), marked)
    assert judged(forged(rows, renamed, tmp_path)) == (what, what)


def test_rows_that_tell_too_little(rows, tmp_path):
    """One sum twice tells no cell, whatever the strategy is called."""
    twice = section(2, lambda plan: plan.replace(FIRST, FIRST[:1] + 2 * FIRST[1:6]))
    path = forged(rows, both(twice, section(4, lambda _: b"1,1\n1,1\n")), tmp_path)
    assert [one["what"] for one in Report(str(path)).checks if one["outcome"] == "failed"] == ["answers"]
    difference = section(2, lambda plan: plan.replace(FIRST, b"\x02" + 2 * b"\x02\x00\x02\x01\x01"))
    assert judged(forged(rows, both(difference, section(4, lambda _: b"1,-1\n1,-1\n")), tmp_path)) == ("answers", "answers")


def test_rows_that_the_spec_does_not_name(rows, tmp_path):
    def unnamed(sections, manifest):
        sections[:] = [one for one in sections if one[0] != 4]
        sealed('measure = "matrix"\nbudgets = "uniform"\nrows = { file = "areas.csv", of = ["sex"] }', 'budgets = "uniform"')(sections, manifest)
    assert judged(forged(rows, unnamed, tmp_path)) == ("spec", "spec")


def test_questions_that_are_measured(tmp_path):
    """No table is asked for, and the first of them is answered."""
    asked = ROW.format("codes = 8").replace('[strategy]\nmeasure = "base"\n', "").replace('[[table]]\nof = ["age"]\n', '[asked]\nqueries = ["SELECT COUNT(*) FROM small WHERE age < 3"]\n')
    (path,) = released(tmp_path, asked)
    assert ("answers", "passed") in outcomes(path)[0]


GIVEN = ROW.format("codes = 8").replace('"base"', '"given"\nshares = [{ of = ["age"], share = "2/3" }, { of = [], share = "1/3" }]')


@pytest.mark.parametrize("old, new", [('"2/3" }, { of = [], share = "1/3"', '"1/3" }, { of = [], share = "1/6"'), ('"2/3" }, { of = [], share = "1/3"', '20 }, { of = [], share = 10'),
                                      ('share = "1/3" }', 'share = "1/3" }, { of = [], share = "1/3" }')])
def test_shares(old, new, tmp_path):
    (path,) = released(tmp_path / "given", GIVEN)
    assert Report(str(path)).verdict == "verified"
    assert judged(forged(path, sealed(old, new), tmp_path)) == ("spec", "spec")


def wide(width):
    """An exact table of two counts in so many bits."""
    def change(body):
        return body[:4] + bytes([width]) + (2 * 60 << width).to_bytes((2 * width + 7) // 8, "little")
    return section(6, change)


def test_widths(honest, tmp_path):
    assert judged(forged(honest, wide(64), tmp_path)) == (None, None)
    assert judged(forged(honest, wide(65), tmp_path)) == ("content", "content")


def test_no_rows_at_all(tmp_path):
    """An exact table of nothing but zeros has no width."""
    (tmp_path / "rows.csv").write_text("sex,age\n")
    spec = ROW.format("codes = 8").replace('"small"', '"none"') + '[[table]]\nof = []\nexact = true\nreason = "the law"\n'
    (tmp_path / "spec.toml").write_text(spec)
    (path,), done = generate.released(tmp_path, "spec.toml", "out")
    assert done.returncode == 0 and Report(path).verdict == "verified", done.stderr


def test_zero_outside_the_bounds(tmp_path):
    spec = SPEC.replace("low = 0", "low = 1").replace("measure_clamping = true\n", "")
    (path,) = released(tmp_path / "made", spec)
    lie = both(section(12, lambda body: body.replace(b"\x02\x14\x01\x00\x01", b"\x02\x14\x01\x00\x02")), sealed("step = 1\n", 'step = 1\nmissing = "zero"\n'),
               told("plan", "sums", 0, "of", "missing", value="zero"))
    assert judged(forged(path, lie, tmp_path)) == ("content", "content")


def test_reliability_in_format_1(tmp_path):
    (path,) = released(tmp_path / "made", ROW.format("codes = 8").replace("rho = 1", 'rho = 1\nneighbours = "substitute"'))
    old = both(told("format", value=1), lambda _, manifest: manifest.pop("account"), told("about", "reliability", value=["10"]),
               sealed("[privacy]", "[release]\nreliability = [10]\n[privacy]"))
    assert judged(forged(path, old, tmp_path, version=1)) == ("file", "file")


TWO = ROW.format("codes = 8").replace('of = ["age"]', 'of = ["sex", "age"]') + "[[dimension]]" + PEOPLE.split("[[dimension]]")[1] + "".join(
    f'[[table]]\nof = ["{of}"]\nexact = true\nreason = "the law"\n' for of in ("sex", "age"))
SUMS = ROW.format("codes = 8").replace('of = ["age"]', 'of = ["age"]\nsum = ["pay", "more"]').replace('"base"', '"queries"') + "".join(
    f'[[amount]]\nname = "{name}"\ncolumn = "pay"\nlow = 0\nhigh = 10\nstep = 1\n' for name in ("pay", "more"))


def swapped(tag):
    def change(sections, manifest):
        one, two = [one for one in sections if one[0] & 0xFF == tag]
        one[2], two[2] = two[2], one[2]
        manifest["declared"]["invariants"].reverse()
        manifest["plan"].get("sums", []).reverse()
    return change


def reordered(sections, manifest):
    """The tables of the plan, age first and then the total."""
    section(2, lambda plan: plan.replace(b"\x01\x00\x01\x01\x01\x00\x01\x01", b"\x00\x01\x01\x01\x00\x01\x01\x01"))(sections, manifest)
    names = manifest["plan"]["workload"]
    names[0], names[1] = names[1], names[0]


@pytest.mark.parametrize("spec, change", [(TWO, swapped(6)), (SUMS, swapped(12)), (ROW.format("codes = 8") + "[[table]]\nof = []\n", reordered)], ids=["exact tables", "sums", "tables"])
def test_another_order(spec, change, tmp_path):
    (path,) = released(tmp_path / "made", spec)
    assert Report(str(path)).verdict == "verified"
    assert judged(forged(path, change, tmp_path)) == ("spec", "spec")


SEVERAL = """[[table]]
of = ["age"]
sum = ["more"]
count = false
[[table]]
of = ["area"]
sum = ["pay"]
count = false
[[table]]
of = ["area"]
exact = true
sum = ["pay"]
reason = "one"
[[table]]
up_to = 2
among = ["area.part", "sex", "age.band"]
sum = ["pay"]
[[table]]
of = ["sex"]
exact = true
sum = ["pay", "more"]
reason = "two"
[[table]]
of = ["sex"]
exact = true
sum = ["more"]
reason = "three"
"""


def test_the_order_of_tables(tmp_path):
    """Of each number where it is first summed; of counts first those for their own sake."""
    amounts = "".join(f'[[amount]]\nname = "{name}"\ncolumn = "pay"\nlow = 0\nhigh = 10\nmeasure_clamping = true\n' for name in ("pay", "more"))
    spec = ROW.format("codes = 8").split("[[dimension]]")[0].replace("base", "residual") + AROUND + amounts + SEVERAL
    (path,) = released(tmp_path, spec)
    assert judged(path) == (None, None) and Report(str(path)).verdict == "verified"


ASKED = '[[query]]\nsql = "SELECT age, COUNT(*) FROM x WHERE age < 3 GROUP BY age"\nweight = {}\n'


def test_another_text_of_a_question(tmp_path):
    (path,) = released(tmp_path / "made", ROW.format("codes = 8") + ASKED.format(2))
    blank = section(10, lambda body: body.replace(b"COUNT(*) FROM", b"COUNT(*)\nFROM"))
    nobody = both(section(10, lambda body: body.replace(b"< 3", b"< 0")), sealed("< 3", "< 0"), told("plan", "workload", 1, value="SELECT age, COUNT(*) FROM x WHERE age < 0 GROUP BY age"))
    for lie in (blank, sealed("SELECT age", 'SELECT \\"age\\"'), nobody):
        assert judged(forged(path, lie, tmp_path)) == ("spec", "spec")


def test_a_key_that_everybody_can_sign_for(honest, tmp_path, monkeypatch):
    """Multiples of the identity are the identity: any point and its number sign anything."""
    seed, order = bytes(32), 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little") & (1 << 254) - 8 | 1 << 254
    point = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    monkeypatch.setattr(forge, "KEY", base64.b64encode(b"Ed" + forge.NUMBER + (1).to_bytes(32, "little")).decode())
    monkeypatch.setattr(forge, "SECRET", type("Nobody", (), {"sign": lambda *_: point + (scalar % order).to_bytes(32, "little")})())
    assert judged(forged(honest, lambda *_: None, tmp_path)) == ("file", "file")


def test_the_largest_budget():
    for epsilon, delta in [(1, 1e-6), (0.1, 1e-9), (20, 1e-3)]:
        rho = loss.crossing(lambda rho: 1 if not loss.converts(rho, epsilon, delta, 0) else -1, 1e-9, 100.0)
        assert loss.is_largest(rho * (1 - 5e-10), epsilon, delta) and loss.is_largest(rho, epsilon, delta)
        assert not loss.is_largest(rho * (1 - 2e-9), epsilon, delta) and not loss.is_largest(rho * (1 + 2e-9), epsilon, delta)


@pytest.mark.parametrize("epsilon, said, lie", [("0.1", "0.10000", "0.1000"), ("0.05", "0.05000", "0.0500"), ("0.2", "0.2000", "0.20000")])
def test_small_epsilon(epsilon, said, lie, tmp_path):
    (path,) = released(tmp_path / "made", ROW.format("codes = 8").replace("rho = 1", f"epsilon = {epsilon}\ndelta = 1e-9"))
    assert forge.take(path.read_bytes())[2]["privacy"]["approximate"]["epsilon"] == said
    assert Report(str(path)).verdict == "verified"
    assert judged(forged(path, told("privacy", "approximate", "epsilon", value=lie), tmp_path)) == ("manifest's claims", "manifest's claims")


def test_how_delta_is_written():
    for text in ["1e-9", "1.25e-5", "5e-1", "9.5367431640625e-7", "3e-25", "1e-37", "1e-22"]:
        assert decimal(Fraction(text)) == text
    for value in [Fraction(1, 3), Fraction(1, 1 << 30), Fraction("1e-23"), Fraction("1e-25"), Fraction("1e-30"), Fraction("1.23456789012345678e-9")]:
        assert decimal(value) == str(value)


CALLED = ROW.format("codes = 8").replace('of = ["age"]', 'of = ["age", "SEX"]') + '[[dimension]]\nname = "SEX"\ncolumn = "sex"\ncategories = ["F", "M"]\n'
ZERO = "[[zero]]\nwhere = \"age = 0 AND {}sex = 'M'{}\"\n"
PLACE = '[[dimension]]\nname = "place"\ncolumn = "area"\nhierarchy = "places.csv"\nlabels = "names.csv"\n'
MADE = {
    "a δ that no double is": ("verified", ROW.format("codes = 8").replace("rho = 1", "epsilon = 1\ndelta = 1e-23")),
    "an empty cell twice": ("verified", CALLED.replace("SEX", "sex").replace('column = "sex"\n', "") + 2 * ZERO.format("", "")),
    "a name in other capitals": ("verified", CALLED + ZERO.format("", "")),
    "a name that is put in quotes": ("verified", CALLED.replace("SEX", "my sex") + ZERO.format("my ", "")),
    "a name that is no ASCII": ("verified", CALLED.replace("SEX", "größe") + '[[zero]]\nwhere = "größe = \'M\' AND age = 0"\n' + '[[query]]\nsql = "SELECT größe, COUNT(*) FROM x GROUP BY größe"\n'),
    "a name that begins with a digit": ("verified", CALLED.replace("SEX", "2nd") + '[[query]]\nsql = "SELECT age, COUNT(*) FROM x WHERE 2nd = \'M\' GROUP BY age"\n'),
    "a plain name in quotes beside another": ("verified", CALLED.replace("SEX", "my sex") + "[[zero]]\nwhere = '''\"age\" = 0 AND my sex = 'M' '''\n"),
    "a comment": ("whole", CALLED + ZERO.format("", " /* none */")),
    "a number before a sign": ("whole", CALLED + ZERO.format("", " AND 1 = 1")),
    "a truth": ("whole", CALLED + ZERO.format("TRUE AND ", "")),
    "a question twice": ("verified", ROW.format("codes = 8") + ASKED.format(2) + ASKED.format(5)),
    "labels of two hierarchies": ("verified", ROW.format("codes = 8") + AROUND.split("[[dimension]]")[3].join(["[[dimension]]", 'labels = "names.csv"\n']) + PLACE.replace("names", "others") + '[[table]]\nof = ["place", "area"]\n'),
    "a text of two lines": ("verified", ROW.format("codes = 8").replace('of = ["age"]', 'of = ["age"]\nsum = ["pay"]') + '[[amount]]\nname = "pay"\nlow = 0\nhigh = 10\ndescription = "a\\nb"\n'),
    "a name with a colon": ("verified", CALLED.replace("SEX", "a: b") + '[[table]]\nof = ["a: b"]\nexact = true\nreason = "x: y"\n'),
}


@pytest.mark.parametrize("way", MADE)
def test_what_is_made(way, tmp_path):
    """What the command releases is no lie."""
    verdict, spec = MADE[way]
    (tmp_path / "places.csv").write_text("area,land\n" + "".join(f"a{n},q{n // 3}\n" for n in range(6)))
    for name in ("names", "others"):
        (tmp_path / f"{name}.csv").write_text("code,label\na1,The first\n")
    (path,) = released(tmp_path, spec)
    report = Report(str(path))
    assert report.verdict == verdict, report.checks
    assert "failed" not in dict(outcomes(path)[1]).values()


def test_scales_of_large_groups():
    """What the command multiplies such siblings by: the same list is in `component.rs`."""
    assert [blocks.multiplier(sizes) for sizes in ([5000, 1], [64, 81, 6000], [6000, 64, 81], [4095, 4097])] == [5000, 5184, 6000, 1 << 19]
