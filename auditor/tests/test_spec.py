"""Sealed specs that say too much, too little or something else, and specs that are written in unusual ways: the `margins` command judges each, too."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from auditor.container import File
from auditor.release import Release
from auditor.tests import forge, generate
from auditor.verify import Report
from auditor.__main__ import ask
from auditor.wire import Refused

PEOPLE = '''[[dimension]]
name = "sex"
categories = ["F", "M"]
[[dimension]]
name = "age"
range = [0, 7]
levels = [{ name = "band", width = 4 }]
'''
SPEC = '''name = "small"
title = "Small"
[data]
path = "rows.csv"
[privacy]
unit = { column = "id", max_rows = 2 }
rho = "1/2"
measure_truncation = true
''' + PEOPLE + '''[[dimension]]
name = "area"
hierarchy = "areas.csv"
[[amount]]
name = "pay"
low = 0
high = 10
step = 1
measure_clamping = true
[[table]]
of = ["sex", "age"]
sum = ["pay"]
weight = 3
[[table]]
of = ["age.band"]
exact = true
reason = "the law"
[[table]]
of = ["area"]
[[zero]]
where = "age.band = '0-3' AND sex = 'M'"
[strategy]
measure = "residual"
'''
PROJECTION = '''name = "signs"
title = "Signs"
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = 1
''' + PEOPLE + '''[[dimension]]
name = "word"
text = true
[projection]
of = ["sex", "age", "word"]
rows = 256
sparsity = 64
'''
AREAS = "area,part\n" + "".join(f"a{n},p{n % 2}\n" for n in range(6))


def released(folder, spec, areas=AREAS):
    """All files that a spec becomes, with rows that fit all specs here."""
    folder.mkdir(exist_ok=True)
    rows = [f"{n // 3},{'FM'[n % 2]},{4 + n % 4},a{n % 6},{n % 13 - 1},w{n % 3}" for n in range(60)]
    (folder / "rows.csv").write_text("\n".join(["id,sex,age,area,pay,word", *rows]) + "\n")
    (folder / "areas.csv").write_text(areas)
    (folder / "spec.toml").write_bytes(spec if isinstance(spec, bytes) else spec.encode())
    files, done = generate.released(folder, "spec.toml", ".")
    assert done.returncode == 0, done.stderr
    return [Path(file) for file in files]


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    (path,) = released(tmp_path_factory.mktemp("small"), SPEC)
    assert Report(str(path)).verdict == "verified"
    return path


class Late(BaseException):
    """Nothing else stops it."""


@contextlib.contextmanager
def stopped(seconds):
    def late(*_):
        raise Late(f"it takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judged(path):
    """What failed first by this program and by the command. Minutes are no end: who takes those is stopped."""
    with stopped(60):
        report = Report(str(path))
    theirs = json.loads(generate.run("verify", path, "--json").stdout)
    first = lambda checks: next((check["what"] for check in checks if check["outcome"] == "failed"), None)
    assert report.verdict == theirs["verdict"]
    return first(report.checks), first(theirs["checks"])


def outcomes(path):
    """What this program and the command say of each check, but for the plan, which this one does not make again."""
    theirs = json.loads(generate.run("verify", path, "--json").stdout)["checks"]
    return [[(check["what"], check["outcome"]) for check in checks if check["what"] != "plan"] for checks in (Report(str(path)).checks, theirs)]


def sealed(old, new, times=1):
    """Another spec."""
    def change(sections, manifest):
        for section in sections:
            if section[0] == 3:
                assert old in section[2].decode()
                section[2] = section[2].decode().replace(old, new, times).encode()
    return change


def told(*path, value):
    """Another field of the manifest."""
    def change(sections, manifest):
        for key in path[:-1]:
            manifest = manifest[key]
        manifest[path[-1]] = value
    return change


def noted(without, old, new):
    def change(sections, manifest):
        privacy = manifest["privacy"]
        assert old in privacy["note"]
        privacy.update(without=without, note=privacy["note"].replace(old, new, 1))
    return change


def laplace(sections, manifest):
    """Components under the other noise."""
    plan = next(section for section in sections if section[0] & 0xFF == 2)
    assert plan[2][0] == 1
    plan[2] = b"\x02" + plan[2][1:]


def attached(change_areas, hidden=None):
    def change(sections, manifest):
        at = next(at for at, section in enumerate(sections) if section[0] == 4)
        sections[at][2] = change_areas(sections[at][2])
        if hidden is not None:
            sections[at][1] = 1
            sections.insert(at, [4, 0, hidden])
            manifest["sources"]["attachments"] *= 2
    return change


def legend(dimension="sex", **says):
    """What people read of sex, in manifest and spec."""
    def change(sections, manifest):
        manifest["legends"] = [{"dimension": dimension, **says}]
        told = {"labels": {"F": says["labels"][0]["of"][0][1]}} if "labels" in says else says
        lines = [f"{key} = {json.dumps(value).replace(':', ' =')}" for key, value in told.items()]
        sealed('categories = ["F", "M"]', "\n".join(['categories = ["F", "M"]', *lines]).replace('{"F"', "{F"))(sections, manifest)
    return change


def period(text):
    def change(sections, manifest):
        manifest["dataset"] = {"id": "small", "period": text}
        sealed("[privacy]", f'[dataset]\nid = "small"\nperiod = "{text}"\n[privacy]')(sections, manifest)
    return change


TEXT = "title = \"Small\""
LIES = {
    "rows without a unit are said to be units": ("spec", noted("own", "rows count", "rows count, and for every single row without one")),
    "rows without a unit are said to be left out": ("spec", noted("drop", ". ", ". Rows without a id are left out. ")),
    "a file of rows before one of the same name": ("spec", attached(bytes, b"id,pay\n1,3\n")),
    "components under Laplace noise": ("content", laplace),
    "a file twice": ("spec", attached(bytes, AREAS.encode())),
    "a field more in a line of a hierarchy": ("spec", attached(lambda data: data.replace(b"a3,p1", b"a3,p1,17"))),
    "a quotation mark in the last line": ("spec", attached(lambda data: data + b'"')),
    "a quotation mark that is open": ("spec", attached(lambda data: data.replace(b"a5,", b"\"a5,"))),
    "an unknown key": ("spec", sealed(TEXT, TEXT + "\nrows = '1,2'")),
    "an unknown table": ("spec", sealed("[strategy]", "[more]\nrows = '1,2'\n[strategy]")),
    "an unknown key of a dimension": ("spec", sealed("categories", "rows = '1,2'\ncategories")),
    "an unknown key of a level": ("spec", sealed("width = 4", "width = 4, rows = '1,2'")),
    "an unknown key of a table": ("spec", sealed("weight = 3", "weight = 3\nrows = '1,2'")),
    "an unknown key of the data": ("spec", sealed('path = "rows.csv"', 'path = "rows.csv"\nrows = "1,2"')),
    "data without a path": ("spec", sealed('path = "rows.csv"', "")),
    "a delimiter of two characters": ("spec", sealed('path = "rows.csv"', 'path = "rows.csv"\ndelimiter = "ab"')),
    "one mark for two things": ("spec", sealed('path = "rows.csv"', 'path = "rows.csv"\ndelimiter = ";"\nquote = ";"')),
    "marks of text in Parquet": ("spec", sealed('path = "rows.csv"', 'path = "rows.parquet"\ndecimal = ","')),
    "columns without those that are read": ("spec", sealed('path = "rows.csv"', 'path = "rows.csv"\ncolumns = ["id", "sex"]')),
    "a category that stands for no value": ("spec", sealed('path = "rows.csv"', 'path = "rows.csv"\nempty = ["F"]')),
    "a projection beside tables": ("spec", sealed("[strategy]", "[projection]\nrows = 64\n[strategy]")),
    "a number in no table": ("spec", sealed("[[table]]", '[[amount]]\nname = "q"\nlow = 0\nhigh = 1\n[[table]]')),
    "copies for nobody": ("spec", sealed("[strategy]", '[recipients]\nmode = "nested"\n[strategy]')),
    "another rule for the budget": ("spec", sealed("[strategy]", '[strategy]\nbudgets = "uniform"')),
    "another noise": ("spec", sealed("rho =", "epsilon =")),
    "another part for the count of cut units": ("spec", sealed("measure_truncation = true", "measure_truncation = 0.02")),
    "no count of cut units": ("spec", sealed("measure_truncation = true\n", "")),
    "another part for values that were moved": ("spec", sealed("measure_clamping = true", 'measure_clamping = "1/50"')),
    "a text that is a number": ("spec", sealed(TEXT, "title = 7")),
    "a truth that is a number": ("spec", sealed("exact = true", "exact = 1")),
    "a number that is a truth": ("spec", sealed("max_rows = 2", "max_rows = true")),
    "a map of a category that there is not": ("spec", sealed("width = 4", 'map = { x = ["0", "9"] }')),
    "tables of more dimensions than there are": ("spec", sealed('of = ["area"]', "up_to = 4")),
    "no account": ("manifest", told("account", value=None)),
    "no line of an account": ("file", told("account", "line", value=None)),
    "no legends": ("manifest", told("legends", value=[])),
    "a description of two lines": ("content", legend(description="a\nb")),
    "a description of 2,001 letters": ("content", legend(description="a" * 2001)),
    "a unit of 301 letters": ("content", legend(unit="a" * 301)),
    "a unit of blanks": ("content", legend(unit=" ")),
    "a label of two lines": ("content", legend(labels=[{"level": "sex", "of": [["F", "a\nb"]]}])),
    "a label of no category": ("content", legend(labels=[{"level": "sex", "of": [["X", "a"]]}])),
    "a label of no level": ("content", legend(labels=[{"level": "six", "of": [["F", "a"]]}])),
    "a legend of no dimension": ("content", legend("size", description="a")),
    "a legend that says nothing": ("content", legend()),
    "a period of a blank": ("spec", period(" ")),
    "a level called total": ("spec", sealed('"band"', '"total"')),
    "a level called as its dimension": ("spec", sealed('"band"', '"age"')),
    "a number called count": ("spec", sealed('"pay"', '"count"', 2)),
    "a number called as a level": ("spec", sealed('"pay"', '"AGE.band"', 2)),
    "max_rows is true": ("file", told("privacy", "max_rows", value=True)),
    "places are false": ("file", told("plan", "sums", 0, "of", "places", value=False)),
    "a step is true": ("file", told("plan", "sums", 0, "of", "step", value=True)),
    "a low bound is false": ("file", told("plan", "sums", 0, "of", "low", value=False)),
    "a cost that is not in lowest terms": ("manifest", lambda sections, said: said["privacy"]["cost"].update(amount="2/4")),
    "a cost with a blank": ("manifest", lambda sections, said: said["privacy"]["cost"].update(amount=" 1/2")),
    "a cost that is a number": ("file", told("privacy", "cost", "amount", value=1)),
    "a cost below 0": ("file", told("privacy", "cost", "amount", value="-1")),
    "an account of no unit": ("file", told("account", "unit", value="")),
    "another scale of the count of cut units": ("content", told("privacy", "truncation", "scale", value="77")),
    "another charge": ("account", told("account", "charged", "amount", value="1/3")),
    "another cost": ("account", told("privacy", "cost", "amount", value="1/3")),
    "an unknown field": ("manifest", told("privacy", "spent", value="1")),
    "a cost of 5,000 digits": ("file", told("privacy", "cost", "amount", value="1" * 5000)),
    "a charge of 5,000 digits": ("file", told("account", "charged", "amount", value="1" * 5000)),
    "lists in lists": ("spec", sealed(TEXT, TEXT + "\nzz = " + "[" * 3000 + "]" * 3000)),
    "bands of nothing": ("spec", sealed("width = 4", "width = 0")),
    "a hundred million categories": ("spec", sealed("range = [0, 7]", "range = [0, 99999999]")),
    "ten thousand years": ("spec", sealed("range = [0, 7]", 'dates = ["0001-01-01", "9999-12-31"]')),
    "no dates": ("spec", sealed("range = [0, 7]", 'dates = ["2020-02-30", "2020-03-01"]')),
    "δ without ε": ("spec", sealed('rho = "1/2"', "delta = 1e-9")),
    "a budget of a thousand million digits": ("spec", sealed('"1/2"', "1e999999999")),
    "a budget without end": ("spec", sealed('"1/2"', "inf")),
    "a weight of a hundred million digits": ("spec", sealed("weight = 3", "weight = 1e99999999")),
    "three thousand dimensions": ("spec", sealed('of = ["area"]', "up_to = 3000")),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies(lie, honest, tmp_path):
    """Both programs fail the file, at the same check."""
    version, sections, manifest = forge.take(honest.read_bytes())
    what, change = LIES[lie]
    change(sections, manifest)
    (tmp_path / "small.margins").write_bytes(forge.make(version, sections, manifest))
    mine, theirs = judged(tmp_path / "small.margins")
    assert mine == theirs == what


def test_rows_through_a_pipe(honest, tmp_path):
    """What is on standard input the command may say."""
    version, sections, manifest = forge.take(honest.read_bytes())
    sealed('path = "rows.csv"', 'path = "-"')(sections, manifest)
    (tmp_path / "small.margins").write_bytes(forge.make(version, sections, manifest))
    assert judged(tmp_path / "small.margins") == (None, None)


def conditioned(honest, where, folder):
    """The release with another condition of empty cells in section, manifest and spec."""
    version, sections, manifest = forge.take(honest.read_bytes())
    for section in sections:
        if section[0] & 0xFF == 7:
            section[2] = where.encode()
    manifest["declared"]["constraints"] = [where]
    sealed("age.band = '0-3' AND sex = 'M'", where)(sections, manifest)
    made = folder / "small.margins"
    made.write_bytes(forge.make(version, sections, manifest))
    return made


@pytest.mark.parametrize("where, what", [
    ("age.band = '0-3' AND sex = 'X'", "content"), ("sex = 'M'; SELECT 1", "content"), ("nothing = 1", "content"), ("age > 'x'", "content"),
    # Tables tell bands and areas apart, and none tells both.
    ("age.band = '0-3' AND area = 'a1'", "answers"),
])
def test_conditions(where, what, honest, tmp_path):
    assert judged(conditioned(honest, where, tmp_path)) == (what, what)


@pytest.mark.parametrize("where", ["(" * 20000 + "age = 1 AND sex = 'M'" + ")" * 20000, "NOT " * 15000 + "(age = 1 AND sex = 'M')",
                                   "(" * 65 + "age = 1 AND sex = 'M'" + ")" * 65], ids=["brackets", "NOT", "brackets too many"])
def test_deep_conditions(where, honest, tmp_path):
    assert all(judged(conditioned(honest, where, tmp_path)))


ROW = '''name = "small"
title = "Small"
[privacy]
unit = "row"
rho = 1
[data]
path = "rows.csv"
[strategy]
measure = "base"
[[dimension]]
name = "age"
{}
[[table]]
of = ["age"]
'''
LEVEL = '[[table]]\nof = ["age.l"]\n'
WAYS = {
    "a mark of the order of bytes": b"\xef\xbb\xbf" + SPEC.encode(),
    "ends of lines as on Windows": SPEC.replace("\n", "\r\n"),
    "blanks in a ratio": ROW.format("range = [0, 7]").replace("rho = 1", 'rho = " 1 / 2 "'),
    "negative bands": ROW.format('range = [-5, 7]\nlevels = [{ name = "l", width = 4 }]') + LEVEL,
    "negative cuts": ROW.format('range = [-5, 7]\nlevels = [{ name = "l", cuts = [-2, 3] }]') + LEVEL,
    "cuts of bins": ROW.format('bins = [-1.5, 0, 5, 100]\nlevels = [{ name = "l", cuts = [5] }]') + LEVEL,
    "large bins": ROW.format("bins = [-1e-7, 5, 1e16, 1.5e300]"),
    "levels from coarse to fine": ROW.format('codes = 9\nlevels = [{ name = "k", cuts = [4] }, { name = "l", width = 2 }]') + LEVEL,
    "a map in another order": ROW.format('codes = 8\nlevels = [{ name = "l", map = { 7 = "x", 6 = "y", 5 = "x", 4 = "z", 0 = "x", 1 = "y", 2 = "x", 3 = "z" } }]') + LEVEL,
    "a map of a map": ROW.format('codes = 8\nlevels = [{ name = "k", map = { p = ["m"], q = ["n", "o"] } },'
                                 ' { name = "l", map = { o = [7, 6], n = [0, 1], m = [2, 3, 4, 5] } }]') + LEVEL,
    "labels": ROW.format('codes = 8\nother = "else"\nlevels = [{ name = "l", width = 4 }]\nlabels = { 0 = "none", l = { 0-3 = "young" } }') + LEVEL,
    "days": ROW.format('dates = [2024-01-30, "2024-03-02"]\nother = "else"') + '[[table]]\nof = ["age.month"]\n',
    "halves of numbers that lie scattered": ROW.format('codes = 8\nlevels = [{ name = "l", map = { a = [0, 2, 4, 6], b = [1, 3, 5, 7] } }]').replace("base", "wavelet") + LEVEL,
    "halves of neighbours": ROW.format('codes = 9\nother = "else"\nlevels = [{ name = "l", width = 5 }]').replace("base", "wavelet") + LEVEL,
    "intervals of numbers": ROW.format("range = [-3, 7]\nmissing = 'none'").replace('"base"', '"bases"') + 'ask = { age = ["-3--1", "-2 – 3", "5+", ["none", "none"], ["-1", 7]] }\n',
    "intervals of bins": ROW.format("bins = [0, 4, 20, 50]").replace('"base"', '"bases"') + 'ask = { age = ["0-4", "4-50", ["[0, 4)", 20], "0+", "[20, 50]"] }\n',
    "intervals of names with dashes": ROW.format('categories = ["4", "5-6", "5", "6", "7"]').replace('"base"', '"bases"') + 'ask = { age = ["4-5-6", "5-6", "5-6-7", ["5-6", "6"]] }\n',
    "intervals of a level": ROW.format('range = [0, 7]\nlevels = [{ name = "l", width = 2 }]') + LEVEL + 'ask = { "age.l" = ["0-3", "2+"] }\n',
    "empty cells of whatever age": ROW.format("range = [0, 7]").replace('of = ["age"]', 'of = ["sex", "age"]') + '[[dimension]]\nname = "sex"\ncategories = ["F", "M", "X"]\n[[zero]]\nwhere = "sex = \'X\' AND age >= 0"\n',
    "totals that are asked for": ROW.format("range = [0, 7]") + '[[table]]\nup_to = 2\nask = { age = "total" }\n[[dimension]]\nname = "sex"\ncategories = ["F", "M"]\n',
    "one exact table for two reasons": ROW.format("codes = 8") + '[[table]]\nof = []\nexact = true\nreason = "one"\n[[table]]\nof = []\nexact = true\nreason = "two"\n',
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_write(way, tmp_path):
    """What the command releases is verified."""
    (path,) = released(tmp_path, WAYS[way])
    report = Report(str(path))
    assert report.verdict == "verified", [check for check in report.checks if check["outcome"] == "failed"]
    mine, theirs = outcomes(path)
    assert mine == theirs


MATRIX = ROW.format("codes = 8").replace('measure = "base"', 'measure = "matrix"\nrows = { file = "areas.csv", of = ["age"] }').replace("areas.csv", "areas.mtx")
COORDINATES = "%%MatrixMarket matrix coordinate {} general\n% c\n9 8 10\n" + "".join(f"{n} {n}{{}}\n" for n in range(8, 0, -1)) + "9 2{}\n9 1{}\n"


@pytest.mark.parametrize("kind, factor", [("integer", " 3"), ("real", " -2.0e0"), ("pattern", "")])
def test_coordinates(kind, factor, tmp_path):
    """Rows of a Matrix Market file, and others than those that are measured."""
    (tmp_path / "areas.mtx").write_text(COORDINATES.format(kind, *[factor] * 10))
    (path,) = released(tmp_path, MATRIX)
    assert Report(str(path)).verdict == "verified"
    fine = [(b"% c", b" % c"), (b"\n9 2", b"\n\n\t+9  2"), (b"\n", b"\r\n"), (b"%%MatrixMarket matrix", b"\xef\xbb\xbf%%MATRIXmarket  matrix")]
    bad = [(b"9 2", b"9 3"), (b"9 2", b"9 1"), (b"9 8 10", b"10 8 10"), (b"9 8 10", b"9 8 11"), (b"9 8 10", b"9 8"), (b"9 2", b"9 2 3"), (b"9 2", b"0_9 2"), (b"9 2", "9 \u0662".encode()),
           (b"9 2", b"9\x1c2"), (b"\n9 2", b"\r9 2"), (b"\n9 1", b"\n10 1"), (b"general", b"symmetric"), (b"coordinate", b"coordinate complex"), (b"%%Mat", b"\n%%Mat"), (b"Mark", "Mar\u212a".encode())]
    for (old, new), what in [(pair, None) for pair in fine] + [(pair, "spec") for pair in bad]:
        version, sections, manifest = forge.take(path.read_bytes())
        attachment = next(section for section in sections if section[0] == 4)
        assert attachment[2] != attachment[2].replace(old, new)
        attachment[2] = attachment[2].replace(old, new)
        (tmp_path / "lie.margins").write_bytes(forge.make(version, sections, manifest))
        assert judged(tmp_path / "lie.margins") == (what, what), new


def test_the_exact_law(tmp_path):
    """ε that is a digit less or more than what the law of all noises gives."""
    spec = ROW.format("range = [0, 7]").replace("rho = 1", "epsilon = 1\ndelta = 1e-9") + '[[table]]\nof = []\n'
    (path,) = released(tmp_path / "law", spec)
    version, sections, manifest = forge.take(path.read_bytes())
    near = manifest["privacy"]["approximate"]
    assert near["accounting"] == "exact"
    epsilon = int(near["epsilon"].replace(".", ""))
    for more, verdict in [(0, "verified"), (-1, "failed"), (1, "failed"), (2, "failed"), (5, "failed")]:
        near["epsilon"] = f"{(epsilon + more) / 10000:.4f}"
        (tmp_path / "small.margins").write_bytes(forge.make(version, sections, manifest))
        assert Report(str(tmp_path / "small.margins")).verdict == verdict, near["epsilon"]


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    (path,) = released(tmp_path_factory.mktemp("signs"), PROJECTION)
    assert Report(str(path)).verdict == "verified"
    return path


@pytest.mark.parametrize("question", [
    "SELECT age.band, COUNT(*) FROM signs WHERE word = 'w1' GROUP BY age.band",
    "SELECT sex, age.band, COUNT(*) FROM signs WHERE word IN ('w1', 'w2') GROUP BY sex, age.band",
    "SELECT COUNT(*) FROM signs WHERE age.band = '0-3' AND word = 'w0'",
    "SELECT age, COUNT(*) FROM signs WHERE age BETWEEN 2 AND 5 AND sex = 'F' AND word = 'w0' GROUP BY age",
    "SELECT COUNT(*) FROM signs WHERE NOT age = 3 AND sex IN ('F', 'M') AND word = 'w2'",
    "SELECT word, COUNT(*) FROM signs WHERE word IN ('w0', 'w1') AND age >= 4 GROUP BY word",
    "SELECT COUNT(*) FROM signs WHERE sex IN ('F', 'X') AND word = 'w0'",
    "SELECT COUNT(*) FROM signs WHERE sex = 'F' AND sex = 'M' AND word = 'w0'",
    "SELECT COUNT(*) FROM signs WHERE age.band = '0-4' AND word = 'w0'",
    "SELECT COUNT(*) FROM signs WHERE sex = 'F'",
    "SELECT SUM(pay) FROM signs WHERE word = 'w0'",
])
def test_projections(question, signs):
    theirs = generate.run("query", signs, question, "--json")
    try:
        mine = ask(signs, question)
    except Refused:
        assert theirs.returncode == 2
        return
    rows = json.loads(theirs.stdout)["rows"]
    assert len(rows) == len(mine)
    for row, own in zip(rows, mine):
        near = {"estimate", "std_error"}
        assert all(abs(row[key] - own[key]) < 1e-6 if key in near else str(row[key]) == str(own[key]) for key in own)


ZERO = '''name = "sums"
title = "Sums"
[data]
path = "rows.csv"
[privacy]
unit = "row"
epsilon = 1
''' + PEOPLE + '''[[amount]]
name = "pay"
low = -2
high = 10
step = 0.5
measure_clamping = true
[[table]]
of = ["sex", "age"]
sum = ["pay"]
count = false
'''


def test_sums_from_zero(tmp_path):
    """A release without counts: both programs answer alike, and find another origin that is said in the manifest, in the section or in both."""
    (path,) = released(tmp_path, ZERO)
    release = Release(File(path.read_bytes()))
    sums = release.of("pay")
    assert (sums.of["from"], sums.reach, release.plan.blocks) == ("zero", 20, [])
    mine, theirs = outcomes(path)
    assert mine == theirs and Report(str(path)).verdict == "verified"
    question = "SELECT sex, SUM(pay) FROM sums GROUP BY sex"
    rows = json.loads(generate.run("query", path, question, "--json").stdout)["rows"]
    for row, own in zip(rows, ask(path, question), strict=True):
        assert all(abs(row[key] - own[key]) < 1e-9 * row["std_error"] for key in ("estimate", "std_error"))
    for count in ("COUNT(*)", "AVG(pay)"):
        assert generate.run("query", path, f"SELECT {count} FROM sums").returncode == 2
        with pytest.raises(Refused):
            ask(path, f"SELECT {count} FROM sums")
    for section, manifest in [(True, False), (False, True), (True, True)]:
        version, sections, said = forge.take(path.read_bytes())
        for body in sections:
            if section and body[0] & 0xFF == 12:
                body[2] = bytes(b ^ 64 if b == 65 else b for b in body[2])
        if manifest:
            said["plan"]["sums"][0]["of"].pop("from")
        (tmp_path / "other.margins").write_bytes(forge.make(version, sections, said))
        assert Report(str(tmp_path / "other.margins")).verdict == "failed"


def test_a_copy_by_another_name(tmp_path):
    copies = '[[recipient]]\nname = "one"\nrho = 1\n[[recipient]]\nname = "two"\nrho = 0.5\n'
    one, two = released(tmp_path, ROW.format("codes = 8") + copies)
    assert Report(str(two)).verdict == "verified"
    assert "file name" not in [check["what"] for check in Report(str(two)).checks]
    called = two.rename(tmp_path / "else.margins")
    mine, theirs = outcomes(called)
    assert ("file name", "warning") in mine
    assert mine == theirs


def test_a_component_told_in_two_ways(honest, tmp_path):
    """A block of components as one of bases, each dimension told as siblings: the same integers, in one file with blocks of the other kind."""
    version, sections, manifest = forge.take(honest.read_bytes())
    plan = next(section for section in sections if section[0] & 0xFF == 2)
    blocks = Release(File(honest.read_bytes())).plan.blocks
    block = next(block for block in blocks if len(block.table) == 1)
    cuboid = b"\x01" + bytes(block.table[0])
    at = plan[2].rindex(b"\x01" + cuboid)
    plan[2] = plan[2][:at] + b"\x06" + cuboid + b"\x01\x01" + plan[2][at + 4:]
    (tmp_path / "small.margins").write_bytes(forge.make(version, sections, manifest))
    assert [block.kind for block in Release(File((tmp_path / "small.margins").read_bytes())).plan.blocks].count("basis") == 1


@pytest.mark.parametrize("key", ["none.pub", ""])
def test_a_key_that_is_not_there(key, honest, tmp_path):
    done = program(honest, "--key", key and tmp_path / key)
    assert done.returncode == 2 and "error: " in done.stderr and key in done.stderr, done.stderr


@pytest.mark.parametrize("text, known", [
    ("{}", True), ("{}\n", True), ("comment\n{}\r\n", True), ("comment\n\n {} \n\n", True), ("", False), ("\n", False), ("!", False), ("Ä\n", False),
    ("comment\n", False), ("{}\nmore\n", False), ("one\ntwo\n{}\n", False),
])
def test_files_of_keys(text, known, honest, tmp_path):
    """One line, alone or below one of comment. Any other file has no key, which is not as if none were given."""
    (tmp_path / "some.pub").write_text(text.format(File(honest.read_bytes()).key), newline="")
    mine = json.loads(program(honest, "--key", tmp_path / "some.pub", "--json").stdout)
    theirs = json.loads(generate.run("verify", honest, "--pubkey", tmp_path / "some.pub", "--json").stdout)
    of = lambda report: next(check["outcome"] for check in report["checks"] if check["what"] == "signer")
    assert of(mine) == of(theirs) == ("passed" if known else "failed") and mine["verdict"] == theirs["verdict"]
    assert known or any("the given public key is unreadable" in check["detail"] for check in mine["checks"])


def program(*words):
    """The program as people run it."""
    words = [sys.executable, "-m", "auditor", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)


@pytest.mark.parametrize("what", ["pipe", "folder", "device", "long", "none"])
def test_what_is_no_file(what, honest, tmp_path):
    """It is refused in a sentence, and not read."""
    path = Path("/dev/zero") if what == "device" else tmp_path / what
    make = {"pipe": os.mkfifo, "folder": os.mkdir, "long": lambda path: (path.touch(), os.truncate(path, (1 << 32) + 1))}
    make.get(what, str)(path)
    for words in [(path,), (path, "--json"), (path, "--query", "SELECT COUNT(*) FROM small"), (honest, "--key", path)]:
        done = program(*words)
        assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    if what != "none":
        made = tmp_path / "small.margins"
        made.write_bytes(honest.read_bytes())
        (tmp_path / "small.margins.minisig").symlink_to(path)
        # A signature beside a file is none of what it says.
        assert judged(made) == ("whole-file signature", "whole-file signature") and program(made).returncode == 1


def test_json(honest):
    """Keys have the order that they have from the command."""
    mine, theirs = json.loads(program(honest, "--json").stdout), json.loads(generate.run("verify", honest, "--json").stdout)
    assert list(mine) == list(theirs) and {tuple(one) for one in mine["checks"]} == {tuple(one) for one in theirs["checks"]}


def test_second_signatures(honest, tmp_path):
    """They are not read, and the verdict does not rest on them."""
    made = tmp_path / "small.margins"
    made.write_bytes(honest.read_bytes())
    before = Report(str(made))
    (tmp_path / "small.margins.2.minisig").write_text("of somebody else")
    after = Report(str(made))
    more = [check for check in after.checks if check not in before.checks]
    assert [(check["what"], check["outcome"]) for check in more] == [("signatures", "unchecked")]
    assert after.verdict == before.verdict == "verified"


@pytest.mark.parametrize("budget", ["rho = 50", "rho = 100", "rho = 1000", "epsilon = 50\ndelta = 1e-9"])
def test_next_to_no_noise(budget, tmp_path):
    """What doubles do not tell is left open, and not called a lie."""
    (path,) = released(tmp_path, ROW.format("codes = 8").replace("rho = 1", budget))
    assert {outcome for _, outcome in outcomes(path)[1]} <= {"passed", "warning"}
    report = Report(str(path))
    left = {check["what"] for check in report.checks if check["outcome"] == "unchecked"}
    assert left <= {"manifest's claims", "guarantee", "answers", "delta", "spec", "plan"}
    # Of one table the law is listed, if its values can be.
    assert report.verdict == ("whole" if budget == "rho = 1000" else "verified")


EARLIER = ROW.replace('"small"', '"earlier"').replace("[privacy]", '[dataset]\nid = "small"\n[privacy]').replace('measure = "base"\n', "") + '[[table]]\nof = ["sex", "age"]\n[[table]]\nof = ["area"]\n'
AROUND = PEOPLE + '[[dimension]]\nname = "area"\nhierarchy = "areas.csv"\n'
NOW = """name = "now"
title = "Now"
[data]
path = "rows.csv"
[dataset]
id = "small"
[privacy]
unit = "row"
{budget}
{dimensions}[[table]]
of = []
[[table]]
of = ["sex"]
weight = "2/3"
[[table]]
of = ["sex", "{age}"]
weight = 0.5
[[table]]
of = ["sex"]
[[table]]
of = ["area"]
exact = true
reason = "the law"
[strategy]
measure = "{measure}"
objective = "relative"
expected = {{ file = "earlier.margins", floor = {floor} }}
{more}"""
RELATIVE = {
    "components": dict(budget='rho = "1/50"', measure="residual"),
    "a floor that is a ratio": dict(budget="epsilon = 1", measure="queries", floor='"1/3"'),
    "a floor above all counts": dict(budget="rho = 1", measure="base", floor=1e9),
    "a tree": dict(budget="rho = 1", measure="tables", age="age.band"),
    "weights of nodes": dict(budget="rho = 1", measure="auto", age="age.band"),
    "halves of siblings that lie scattered": dict(budget="rho = 1", measure="wavelet"),
    "copies": dict(budget="rho = 1", measure="residual", more='[[recipient]]\nname = "one"\nrho = 1\n[[recipient]]\nname = "two"\nrho = 0.5\n'),
    "a category that was not there": dict(budget="rho = 1", measure="residual", dimensions=AROUND.replace('["F", "M"]', '["F", "M", "X"]')),
}


def relative(folder, **spec):
    """The release of a year, and what is planned by its counts."""
    made = released(folder, EARLIER.replace("[[dimension]]\nname = \"age\"\n{}", AROUND).replace('[[table]]\nof = ["age"]\n', ""))
    assert [path.name for path in made] == ["earlier.margins"]
    spec = {"age": "age", "floor": 2, "dimensions": AROUND, "more": "", **spec}
    return [path for path in released(folder, NOW.format(**spec)) if path.name.startswith("now")]


@pytest.mark.parametrize("kind", RELATIVE)
def test_relative(kind, tmp_path):
    """Weights of tables follow from the counts that were expected, which stand beside the spec."""
    for path in relative(tmp_path, **RELATIVE[kind]):
        mine, theirs = outcomes(path)
        assert mine == theirs and ("spec", "passed") in mine


def counted(old, new):
    """Another line of what is expected."""
    def change(sections, manifest):
        at = next(section for section in sections if section[0] == 4 and section[2].startswith(b"margins expected"))
        assert old in at[2]
        at[2] = at[2].replace(old, new, 1)
    return change


OF = "expected 1: max(count, 2)"
UNEXPECTED = {
    "another weight": sealed("weight = 0.5", "weight = 0.6"),
    "another floor": sealed("floor = 2", "floor = 3"),
    "another floor in both": lambda *file: [change(*file) for change in (sealed("floor = 2", "floor = 3"), counted(OF.encode(), OF.replace("2", "3").encode()))],
    "a floor in the attachment alone": counted(OF.encode(), OF.replace("2", "3").encode()),
    "another count": counted(b" sex\n", b"9 sex\n"),
    "no counts of a table": counted(b" sex\n", b" sec\n"),
    "a count too many": counted(b" sex\n", b",1 sex\n"),
    "very many counts": counted(b" sex\n", b"*999999999999 sex\n"),
    "a count that is none": counted(b" sex\n", b",nan sex\n"),
    "no objective": sealed('objective = "relative"', ""),
    "another objective": sealed('objective = "relative"', 'objective = "total"'),
    "nothing expected": sealed("expected = {", "# {"),
}


@pytest.fixture(scope="module")
def expecting(tmp_path_factory):
    (path,) = relative(tmp_path_factory.mktemp("relative"), **RELATIVE["components"])
    return path


@pytest.mark.parametrize("lie", UNEXPECTED)
def test_what_was_not_expected(lie, expecting, tmp_path):
    version, sections, manifest = forge.take(expecting.read_bytes())
    UNEXPECTED[lie](sections, manifest)
    (tmp_path / "now.margins").write_bytes(forge.make(version, sections, manifest))
    mine, theirs = judged(tmp_path / "now.margins")
    assert mine == theirs == "spec"


MEASURED = """name = "small"
title = "Small"
[data]
path = "rows.csv"
[privacy]
unit = {{ column = "id", max_rows = 2 }}
{budget}
{dimensions}[[table]]
of = ["sex", "age.band"]
{more}
[[table]]
of = ["age"]
{more}
[strategy]
measure = "{measure}"
budgets = "{budgets}"
"""
PAY = '[[amount]]\nname = "pay"\nlow = -4\nhigh = 10\nstep = 1\n'
EXACT = '[[table]]\nof = ["{}"]\nexact = true\nreason = "the law"\n'
AREA = dict(also='[[table]]\nof = ["area"]\n')


def without(*table):
    return lambda blocks: [one for one in blocks if one[1] != table]


def beside(*table):
    """One more, and less noise for none."""
    return lambda blocks: [(kind, of, 4 * scale) for kind, of, scale in blocks] + [(blocks[0][0], table, 64 * blocks[0][2])]


def noisier(times):
    return lambda blocks: blocks[:-1] + [(*blocks[-1][:2], blocks[-1][2] * times)]


SAME, MORE = noisier(1), [1 + Fraction(1, 10**digits) for digits in (8, 5)]
# Sex is dimension 0, age 1 with bands as its level 1, area 2 with parts as its level 1.
OTHERS = {
    "components as they are": ("residual", SAME, None),
    "no component of one dimension": ("residual", without((0, 1)), "answers"),
    "no component of two dimensions": ("residual", without((0, 1), (1, 1)), "answers"),
    "no total": ("residual", without(), "answers"),
    "a component of another dimension": ("residual", beside((0, 1), (2, 2)), "spec", AREA),
    "a component of a finer level": ("residual", beside((0, 1), (1, 2)), "spec"),
    "a component of an exact table": ("residual", beside((0, 1)), "spec", dict(also=EXACT.format("sex"))),
    "no component of sums": ("residual", without((1, 1)), "answers", dict(amount=PAY)),
    "a component of sums too many": ("residual", beside((0, 1), (1, 2)), "spec", dict(amount=PAY)),
    "sums as they are": ("residual", SAME, None, dict(amount=PAY)),
    "no table": ("queries", without((1, 2)), "answers"),
    "no table of sums": ("queries", without((1, 2)), "answers", dict(amount=PAY)),
    "a coarser base": ("base", lambda blocks: [("table", ((1, 2),), blocks[0][2])], "answers"),
    "a table of another dimension": ("hierarchy", beside((2, 2)), "spec", dict(also=EXACT.format("area"))),
    "tables that tell less": ("hierarchy", lambda blocks: [("table", ((0, 1), (1, 1)), blocks[0][2])], "answers"),
    "a merged table of another dimension": ("cluster", beside((2, 2)), "spec", dict(also=EXACT.format("area"))),
    "no differences": ("wavelet", without((0, 1)), "answers"),
    "differences too many": ("wavelet", beside((0, 1), (1, 2)), "spec"),
    "no coefficients": ("fourier", without((0, 1)), "answers", AREA),
    "coefficients too many": ("fourier", beside((0, 1), (2, 2)), "spec", AREA),
    "less for one component": ("residual", noisier(2), "spec", dict(budgets="uniform")),
    "next to as much for one component": ("residual", noisier(MORE[0]), None, dict(budgets="uniform")),
    "less for one table": ("queries", noisier(MORE[1]), "spec", dict(budgets="uniform")),
    "less for one table of sums": ("queries", noisier(2), "spec", dict(budgets="uniform", amount=PAY)),
    "less for differences": ("wavelet", noisier(2), "spec", dict(budgets="uniform")),
    "less for coefficients": ("fourier", noisier(2), "spec", dict(budgets="uniform")),
    "less for one component, where that may be": ("residual", noisier(2), None),
    "less for one table that was searched for": ("tables", noisier(2), None, dict(budgets="uniform")),
}


@pytest.mark.parametrize("way", OTHERS)
def test_what_is_measured(way, tmp_path):
    """Other blocks than those that follow from the spec, in a file whose claims fit them."""
    measure, change, what, *more = OTHERS[way]
    more = {"budgets": "optimal", "amount": "", "also": "", **dict(*more)}
    budget = "epsilon = 1" if measure in ("wavelet", "fourier") else "rho = 1"
    spec = MEASURED.format(measure=measure, dimensions=AROUND, budget=budget, budgets=more["budgets"], more='sum = ["pay"]' if more["amount"] else "")
    if measure == "fourier":
        spec = spec.replace('levels = [{ name = "band", width = 4 }]', "").replace("age.band", "age")
    (path,) = released(tmp_path, spec.replace("[[table]]", more["amount"] + more["also"] + "[[table]]", 1))
    (tmp_path / "other.margins").write_bytes(forge.measured(path.read_bytes(), change, bool(more["amount"])))
    assert judged(tmp_path / "other.margins") == (what, what)
    if what != "answers":
        mine, theirs = outcomes(tmp_path / "other.margins")
        assert mine == theirs


@pytest.mark.parametrize("asked", [
    "every = 12", "every = 20", "up_to = 24", "up_to = 3", "every = 23\nask = { d0 = 'total', d1 = 'total' }",
    "up_to = 24\nask = {" + ", ".join(f"d{n} = 'total'" for n in range(24)) + " }",
])
def test_very_many_tables(asked, tmp_path):
    """They are counted before any is made."""
    wide = ROW.format("codes = 2").replace('"age"', '"d0"').replace("rho = 1", 'rho = 1\nneighbours = "substitute"') + "".join(f'[[dimension]]\nname = "d{n}"\ncodes = 2\n' for n in range(1, 24))
    (tmp_path / "rows.csv").write_text(",".join(f"d{n}" for n in range(24)) + "\n" + ",".join("1" * 24) + "\n")
    (tmp_path / "spec.toml").write_text(wide)
    (path,), _ = generate.released(tmp_path, "spec.toml", ".")
    version, sections, manifest = forge.take(Path(path).read_bytes())
    sealed('of = ["d0"]', f'of = ["d0"]\n[[table]]\n{asked}')(sections, manifest)
    (tmp_path / "many.margins").write_bytes(forge.make(version, sections, manifest))
    with stopped(20):
        assert [one["what"] for one in Report(str(tmp_path / "many.margins")).checks if one["outcome"] == "failed"] == ["spec"]
    assert judged(tmp_path / "many.margins") == ("spec", "spec")


def test_a_budget_that_the_law_cannot_prove(tmp_path):
    """What ρ converts to proves it."""
    (path,) = released(tmp_path, ROW.format("range = [0, 7]").replace("rho = 1", "epsilon = 1000000\ndelta = 1e-9"))
    mine, theirs = map(dict, outcomes(path))
    assert mine["delta"] == theirs["delta"] == "passed"
