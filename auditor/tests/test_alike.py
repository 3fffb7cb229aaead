"""What both programs read alike, and what neither takes: keys, days, attachments, old files, questions that are told by little."""

import base64
import contextlib
import json
import math

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from auditor import container
from auditor.__main__ import ask
from auditor.tests import forge, generate
from auditor.tests.test_rules import ASKED, both, forged, section
from auditor.tests.test_spec import PROJECTION, ROW, SPEC, honest, judged, outcomes, released, sealed, signs, told  # noqa: F401
from auditor.verify import Report
from auditor.wire import Refused

P, D = container.PRIME, -121665 * pow(121666, -1, container.PRIME)


def added(one, two):
    """Two points of Ed25519: -x² + y² = 1 + Dx²y²."""
    (a, b), (c, d), more = one, two, D * one[0] * two[0] * one[1] * two[1]
    return (a * d + b * c) * pow(1 + more, -1, P) % P, (b * d + a * c) * pow(1 - more, -1, P) % P


def weak():
    """The points whose y is refused."""
    for y in container.WEAK:
        square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        root = pow(square, (P + 3) // 8, P)
        root = root if root * root % P == square else root * pow(2, (P - 1) // 4, P) % P
        assert root * root % P == square
        yield from ((x, y) for x in {root, -root % P})


def line(y, sign=0):
    """A public key."""
    return base64.b64encode(b"Ed" + forge.NUMBER + (y | sign << 255).to_bytes(32, "little")).decode()


def test_points_of_small_order():
    """There are eight, and eight times each is the point that adds nothing."""
    assert len({*weak()}) == 8
    for point in weak():
        for _ in range(3):
            point = added(point, point)
        assert point == (0, 1)
    written = {y.to_bytes(32, "little").hex() for y in container.WEAK}
    assert {"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"} < written
    for y in [*container.WEAK, *range(P, 1 << 255)]:
        for sign in (0, 1):
            with pytest.raises(Refused, match="everybody can sign for"):
                container.public(line(y, sign))
    for y in (2, P - 2, 9):
        assert container.public(line(y, 1))


def test_a_signature_without_a_secret(honest, tmp_path, monkeypatch):
    """By a point of order 8: one of its multiples signs two texts in five."""
    every = [(y | (x & 1) << 255).to_bytes(32, "little") for x, y in weak()]
    key = Ed25519PublicKey.from_public_bytes(container.EIGHT.to_bytes(32, "little"))

    def sign(_, data):
        for point in every:
            with contextlib.suppress(InvalidSignature):
                key.verify(point + bytes(32), data)
                return point + bytes(32)
        raise InvalidSignature

    monkeypatch.setattr(forge, "KEY", line(container.EIGHT))
    monkeypatch.setattr(forge, "SECRET", type("Nobody", (), {"sign": sign})())
    made = None
    for number in range(200):
        with contextlib.suppress(InvalidSignature):
            made = made or forged(honest, told("about", "errata", value=str(number)), tmp_path)
    (check,) = Report(str(made)).checks
    assert check["what"] == "file" and "everybody can sign for" in check["detail"]


# What had no law of its own, and might be of format 1.
PLAIN = ROW.format("codes = 8").replace("rho = 1", 'rho = 1\nneighbours = "substitute"')
OLD = both(told("format", value=1), lambda _, manifest: manifest.pop("account"))


@pytest.mark.parametrize("field, value", [(["without"], "own"), (["without"], "drop"), (["approximate", "accounting"], "exact")])
def test_later_fields_in_format_1(field, value, tmp_path):
    (path,) = released(tmp_path / "made", PLAIN)
    assert Report(str(forged(path, OLD, tmp_path, version=1))).verdict == "verified"
    (check,) = Report(str(forged(path, both(OLD, told("privacy", *field, value=value)), tmp_path, version=1))).checks
    assert check["what"] == "file" and "format 1 has none" in check["detail"]


def test_later_sections_in_format_1(tmp_path):
    """Their tags are unknown there."""
    (path,) = released(tmp_path / "made", PLAIN + ASKED.format(2))
    assert judged(forged(path, OLD, tmp_path, version=1)) == ("section 10 0", "section 10 0")
    for tag in (0x8000_000A, 0x8000_000B):
        critical = lambda sections, _: next(one for one in sections if one[0] == 10).__setitem__(0, tag)
        assert judged(forged(path, both(OLD, critical), tmp_path, version=1)) == ("file", "file")


@pytest.mark.parametrize("day, what", [("0000-01-01", None), ("0000-02-29", None), ("0000-02-30", "file"), ("0100-02-29", "file"), ("00000101", "file")])
def test_early_years(day, what, honest, tmp_path):
    assert judged(forged(honest, told("created", value=day), tmp_path)) == (what, what)


def test_a_ratio_in_other_terms(honest, tmp_path):
    """It is what it says, and fails for how it is written alone."""
    mine, theirs = outcomes(forged(honest, told("privacy", "budget", "amount", value="2/4"), tmp_path))
    assert mine == theirs and [what for what, outcome in mine if outcome == "failed"] == ["manifest"]


def test_a_unit_called_row(tmp_path):
    """Of which several rows count."""
    (path,) = released(tmp_path / "made", SPEC.replace("measure_truncation = true\n", ""))

    def called(sections, manifest):
        manifest["privacy"].update(unit="row", note=manifest["privacy"]["note"].replace("every id,", "every row,"))
        manifest["account"]["unit"] = "row"

    mine, theirs = outcomes(forged(path, both(called, sealed('column = "id"', 'column = "row"')), tmp_path))
    assert mine == theirs and ("rows left out", "warning") in mine and ("spec", "failed") in mine


def answered(path, question):
    """How many rows both programs answer with, which are alike; nothing where neither answers."""
    theirs = generate.run("query", path, question, "--json")
    try:
        mine = ask(path, question)
    except Refused:
        assert theirs.returncode == 2, theirs.stdout
        return None
    rows, numbers = json.loads(theirs.stdout)["rows"], ("estimate", "std_error")
    assert len(rows) == len(mine)
    for row, own in zip(rows, mine):
        assert all(math.isclose(own[key], row[key], rel_tol=1e-6, abs_tol=1e-6) if key in numbers else own[key] == row[key] for key in own)
    return len(mine)


TWICE = 'codes = 8\nlevels = [{ name = "k", width = 4 }, { name = "l", map = { x = [4, 5, 6, 7], y = [0, 1, 2, 3] } }]'
ONE = '[[dimension]]\nname = "one"\ncolumn = "sex"\ncategories = ["F"]\nother = "F"\n'


@pytest.mark.parametrize("strategy", ["residual", "queries"])
def test_levels_of_as_many_nodes(strategy, tmp_path):
    """What one of them tells, the other does, in whatever order; a dimension of one category is told by every table."""
    spec = ROW.format(TWICE).replace('["age"]', '["age.l", "one"]').replace("base", strategy) + ONE + '[[table]]\nof = ["one"]\n'
    (path,) = released(tmp_path, spec)
    assert Report(str(path)).verdict == "verified"
    for groups in ("one", "age.l", "age.k", "one, age.k"):
        assert answered(path, f"SELECT {groups}, COUNT(*) FROM small GROUP BY {groups}") == (1 if groups == "one" else 2)
    assert answered(path, "SELECT age.k, COUNT(*) FROM small WHERE age.l <> 'x' AND one = 'F' GROUP BY age.k") == 1


def test_what_no_cell_meets(honest):
    """A table must tell it all the same."""
    nobody = "SELECT {0}, COUNT(*) FROM small WHERE sex = 'F' AND sex = 'M' GROUP BY {0}"
    assert answered(honest, nobody.format("area")) == 0
    assert answered(honest, nobody.format("sex, area")) is None


def test_a_declared_norm(tmp_path):
    (path,) = released(tmp_path, PROJECTION.replace("sparsity = 64", "sparsity = 64\nnorm_bound = 10"))
    assert answered(path, "SELECT sex, COUNT(*) FROM signs WHERE word IN ('w1', 'w2') GROUP BY sex") == 2


@pytest.mark.parametrize("old, new", [(b"any text", b"HIV only"), (b"word\x01", b"more\x01")])
def test_any_text(old, new, signs, tmp_path):
    """The one category has that name, and the level that of the dimension."""
    change = lambda text: new.join(text.rsplit(old, 1))
    assert judged(forged(signs, section(1, change), tmp_path)) == ("spec", "spec")


def test_any_text_in_tables(tmp_path):
    one = 'categories = ["any text"]\nother = "any text"'
    (path,) = released(tmp_path / "made", ROW.format("codes = 8") + f'[[dimension]]\nname = "word"\n{one}\n')
    assert judged(forged(path, sealed(one, "text = true"), tmp_path)) == ("spec", "spec")


LISTED = ROW.format('hierarchy = "areas.csv"').replace('"age"', '"area"')


def test_a_hierarchy_in_an_unusual_hand(tmp_path):
    """Blanks around quotation marks and inside, text behind them, marks inside a field, all ends of lines."""
    areas = '"area" , part\r\n\r\n"a0"\t,"p 0 "\n a1,p"1\r"a""2",p"1\n"a""3"x"y",p"1\n' + "".join(f'a{n} ,"p" 0\n' for n in range(2, 6))
    (path,) = released(tmp_path, LISTED + '[[table]]\nof = ["area.part"]\n', areas)
    report = Report(str(path))
    assert report.verdict == "verified", report.checks
    assert judged(path) == (None, None)


@pytest.mark.parametrize("change", [lambda text: text + b'"', lambda text: text.replace(b"a1", b"a1\x1c"), lambda text: text.replace(b"a5\n", b"\"a5\n")])
def test_a_hierarchy_that_is_none(change, tmp_path):
    """A quotation mark that takes what follows, and a character that is no blank."""
    (path,) = released(tmp_path / "made", LISTED, "area\n" + "".join(f"a{n}\n" for n in range(6)))
    assert judged(path) == (None, None)
    assert judged(forged(path, section(4, change), tmp_path)) == ("spec", "spec")


def test_columns_without_commas(tmp_path):
    """One column, with a name in which other marks than commas divide several."""
    (path,) = released(tmp_path / "made", LISTED, "area\n" + "".join(f"a{n}\n" for n in range(6)))
    lie = both(section(4, lambda text: text.replace(b"area", b"a;ea")), section(1, lambda text: b"a;ea".join(text.rsplit(b"area", 1))))
    assert judged(forged(path, lie, tmp_path)) == ("spec", "spec")
