"""The frozen release files, against the answers that were written down when they were made; no other program takes part."""

import json
import math
from pathlib import Path

import pytest

from auditor import wire
from auditor.__main__ import ask
from auditor.container import File
from auditor.domain import Dimension, Domain, Level
from auditor.plan import Plan
from auditor.tests import forge
from auditor.verify import Report

TESTS = Path(__file__).parents[2] / "tests"
VECTORS = sorted(TESTS.glob("vectors/v?/*.margins"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_answers(path):
    asked = 0
    for question in json.loads(path.with_suffix(".json").read_text()):
        try:
            rows = ask(path, question["sql"])
        except wire.Beyond:
            continue
        asked += 1
        assert len(rows) == len(question["rows"])
        for row in question["rows"]:
            mine = next(one for one in rows if all(row[key] == value for key, value in one.items() if key not in ("estimate", "std_error")))
            assert math.isclose(mine["estimate"], row["estimate"], rel_tol=1e-9, abs_tol=1e-9)
            assert (mine["std_error"] is None) == (row["std_error"] is None)
            assert row["std_error"] is None or math.isclose(mine["std_error"] ** 2, row["std_error"] ** 2, rel_tol=1e-9, abs_tol=1e-9)
    assert asked >= (1 if path.stem == "v2-amount" else 3)


def test_sums():
    """Three figures of one question, one by one."""
    path = TESTS / "vectors/v2/v2-amount.margins"
    known = next(one["rows"] for one in json.loads(path.with_suffix(".json").read_text()) if "COUNT(pay)" in one["sql"])
    for figure in ("SUM(pay)", "AVG(pay)", "COUNT(pay)"):
        rows = ask(path, f"SELECT sex, {figure} FROM pay GROUP BY sex")
        assert len(rows) == len(known) == 2
        for mine, row in zip(rows, known):
            assert mine["sex"] == row["sex"] and math.isclose(mine["estimate"], row[figure], rel_tol=1e-9)
            assert math.isclose(mine["std_error"], row[f"{figure}_std_error"], rel_tol=1e-9)


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_checks(path):
    """They were made from a known seed, and fail for that reason alone."""
    failed = [check["what"] for check in Report(str(path)).checks if check["outcome"] in ("failed", "unchecked")]
    assert failed == ["privacy", "signer", "plan"]


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_byte_counts(path):
    """A file with one byte changed does not open."""
    data = path.read_bytes()
    for at in range(0, len(data), 7):
        with pytest.raises(wire.Refused):
            file = File(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:])
            [section.read() for section in file.sections]
    for other in (data[:-1], data + b"\n", b""):
        with pytest.raises(wire.Refused):
            File(other)


LIES = [
    ("v1-base", 3, b'name       = "sex"', b'name       = "sex"\nconfirmed = false', "the spec is a draft"),
    ("v1-base", 3, b"[strategy]", b"#? a suggestion\n[strategy]", "the spec is a draft"),
    ("v1-base", 3, b'measure = "base"', b'measure = "queries"', "the strategy is not what the spec says"),
    ("v2-amount", 3, b"step             = 0.5", b"step             = 5", "sums of pay are not what the spec says"),
    ("v2-amount", 3, b"square           = true", b"square           = false", "what is measured of pay is not what the spec says"),
    ("v2-amount", 3, b'sum = ["pay"]', b'weight = 2\nsum = ["pay"]', "the weights of rows are not what the spec says"),
    ("v2-amount", 3, b'unit             = "EUR"', b'unit             = "USD"', "sums of pay are not what the spec says"),
    ("v2-sketch", 3, b"rows     = 1024", b"rows     = 4096", "the number of sums is not what the spec says"),
]


@pytest.mark.parametrize("stem, tag, old, new, why", LIES)
def test_lies_about_the_spec(stem, tag, old, new, why, tmp_path):
    """Signed again, with another spec."""
    version, sections, manifest = forge.take(next(path for path in VECTORS if path.stem == stem).read_bytes())
    changed = [[one, index, body.replace(old, new) if one == tag else body] for one, index, body in sections]
    assert changed != sections
    path = tmp_path / "lie.margins"
    path.write_bytes(forge.make(version, changed, manifest))
    failed = [check["detail"] for check in Report(str(path)).checks if check["outcome"] == "failed"]
    assert failed == [why]


def test_lies_about_sums(tmp_path):
    """Signed again, with any bit of what a section says of its number changed: kind, name, bounds, step, missing, unit."""
    version, sections, manifest = forge.take((TESTS / "vectors/v2/v2-amount.margins").read_bytes())
    place = next(at for at, (tag, _, _) in enumerate(sections) if tag & 0xFF == 12)
    body, path = sections[place][2], tmp_path / "lie.margins"
    for bit in range(8 * (body.index(b"EUR") + 3)):
        changed = bytearray(body)
        changed[bit // 8] ^= 1 << bit % 8
        some = [[*one[:2], bytes(changed)] if at == place else one for at, one in enumerate(sections)]
        path.write_bytes(forge.make(version, some, manifest))
        assert Report(str(path)).verdict == "failed", bit


def sums(number, change):
    """The file of amounts, signed again, with another section of sums; none where the change is nothing."""
    version, sections, manifest = forge.take((TESTS / "vectors/v2/v2-amount.margins").read_bytes())
    first = next(at for at, (tag, _, _) in enumerate(sections) if tag & 0xFF == 12)
    body = change(sections[first + number][2])
    sections[first + number:] = [[*one[:2], body] for one in sections[first + number:first + number + 1] if body] + [
        [tag, index - (body is None), other] for tag, index, other in sections[first + number + 1:]]
    return forge.make(version, sections, manifest)


@pytest.mark.parametrize("number, why", [*enumerate(["beside its sums", "counted amiss", "", "at one end", "at one end"])])
def test_a_number_without_a_part(number, why, tmp_path):
    """Without its sums, the rows with a value, its squares, or the values that were moved to one end."""
    path = tmp_path / "lie.margins"
    path.write_bytes(sums(number, lambda body: None))
    failed = [check for check in Report(str(path)).checks if check["outcome"] == "failed"]
    assert failed[0]["what"] == ("content" if why else "manifest's claims") and why in failed[0]["detail"]


@pytest.mark.parametrize("number", range(5))
def test_a_hidden_exact_table(number, tmp_path):
    """What is exact of one kind of a number is exact of all, but for what was moved, and is declared."""
    exact = bytes([2, 0, 0, 1, 1, 0, 1, 8, *[34] * 6])
    path = tmp_path / "lie.margins"
    path.write_bytes(sums(number, lambda body: bytes([body[0] + 8]) + body[1:] + bytes([1, len(exact), *exact, 0])))
    failed = [check for check in Report(str(path)).checks if check["outcome"] == "failed"]
    why = "other tables of one number are exact" if number < 3 else "a choice that does not exist"
    assert [check["what"] for check in failed] == ["content"] and why in failed[0]["detail"]


@pytest.mark.parametrize("path", sorted(TESTS.glob("hostile/sound/*.margins")), ids=lambda path: path.stem)
def test_sound(path):
    """Honest files of every kind of section. Two have specs with questions, of which this program leaves out something."""
    left_out = path.stem.startswith("asked")
    assert Report(str(path)).verdict == ("whole" if left_out else "verified")


@pytest.mark.parametrize("path", sorted(TESTS.glob("hostile/frozen/*.margins")), ids=lambda path: path.stem)
def test_hostile(path):
    assert Report(str(path)).verdict == "failed"


def test_levels_that_are_not_in_use():
    """In files of format 2 a table may be asked for at a level that is coarser than one in use."""
    domain = Domain([Dimension("a", [Level("half", ["l", "r"], [0, 0]), Level("a", list("wxyz"), [0, 0, 1, 1])])])
    body = bytes([1, 1, 1, 1, 1, 3, 1]) + bytes([1, 2, 0, 2]) + bytes([1, 1, 0, 1, 1, 1]) + bytes([0])
    assert wire.decoded(body, "plan", Plan, domain, 2).workload == [(((0, 1),), 1)]
    with pytest.raises(wire.Refused, match="not made of levels in use"):
        wire.decoded(body, "plan", Plan, domain, 1)
