"""Plans and releases, from files, dicts and data frames."""

import json
import pathlib
from decimal import Decimal
from fractions import Fraction

import pytest
from conftest import REPO, command

import margins

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

TOWN = REPO / "specs/town.toml"


def counts(release, *levels):
    return [row["count"] for row in release.table(*levels)]


def near(figures, truth):
    """Within seven standard errors: once in a hundred thousand million."""
    return all(abs(f.estimate - t) <= 7 * f.std_error + 1e-9 for f, t in zip(figures, truth))


def test_plan_is_the_command_s():
    plan = margins.plan(TOWN)
    assert repr(plan) == command("plan", TOWN).stdout.rstrip("\n")
    assert plan.to_dict() == json.loads(command("plan", TOWN, "--json").stdout)
    assert "&lt;" not in plan._repr_html_() or "<pre>" in plan._repr_html_()
    assert len(repr(margins.plan(TOWN, compare=True))) > len(repr(plan))
    visits = REPO / "specs/visits.toml"
    assert repr(margins.plan(visits)) == command("plan", visits).stdout.rstrip("\n")


def test_a_dict_is_a_spec(survey):
    plan = margins.plan(survey).to_dict()
    assert plan["name"] == "survey" and plan["budget"] == "1"
    for budget in (Fraction(1, 3), Decimal("0.1"), "1/7", 2):
        survey["privacy"]["epsilon"] = budget
        assert margins.plan(survey).to_dict()["budget"] == str(Fraction(budget))
    survey["dimension"][1]["range"] = range(0, 2)
    assert margins.plan(survey)


def test_mistakes_in_a_dict_have_places(survey):
    survey["dimension"][0]["catgories"] = survey["dimension"][0].pop("categories")
    with pytest.raises(margins.Error, match="catgories") as wrong:
        margins.plan(survey)
    assert "\u001b" not in str(wrong.value)
    for value in (None, object(), {1: 2}, float("nan"), 2**70):
        survey["title"] = value
        with pytest.raises(margins.Error):
            margins.plan(survey)
    deep = []
    deep.append(deep)
    survey["title"] = deep
    with pytest.raises(margins.Error, match="too deep"):
        margins.plan(survey)
    with pytest.raises(margins.Error, match="a path or a dict"):
        margins.plan(7)
    with pytest.raises(margins.Error, match="cannot read the spec"):
        margins.plan("nowhere.toml")


@pytest.mark.parametrize("effort", [-1, 2**40])
def test_strange_numbers_are_refused(survey, effort):
    with pytest.raises(ValueError):
        margins.plan(survey, effort=effort)


PEOPLE = {"sex": ["F", "M", "F", "F"] * 500, "age": [0, 1, 2, 9] * 500, "name": ["a,b", 'q"', "", "x\n"] * 500}


def frames():
    frame = pandas.DataFrame(PEOPLE)
    yield "pandas", frame
    yield "pandas categories", frame.astype({"sex": "category", "age": "int8"})
    yield "polars", polars.DataFrame(PEOPLE)
    yield "polars categories", polars.DataFrame(PEOPLE).cast({"sex": polars.Categorical, "age": polars.UInt16})
    yield "pyarrow", pyarrow.table(PEOPLE)
    yield "pyarrow batches", pyarrow.Table.from_batches(pyarrow.table(PEOPLE).to_batches(max_chunksize=7))


@pytest.mark.parametrize("kind, frame", list(frames()), ids=lambda value: value if isinstance(value, str) else "")
def test_rows_of_a_frame_are_counted(survey, key, tmp_path, kind, frame):
    made = margins.release(survey, frame, key=key, out=tmp_path, ledger=tmp_path / "l.jsonl")
    release = made.open(key.with_suffix(".pub"))
    assert near(counts(release, "sex"), [1500, 500]), kind
    assert near(counts(release, "age"), [500, 500, 500, 0, 0, 0, 0, 0, 0, 500]), kind
    assert sorted(p.name for p in tmp_path.iterdir()) == ["l.jsonl", "survey.margins", "survey.margins.minisig"]


def test_a_file_and_a_frame_are_the_same(survey, key, tmp_path):
    path = tmp_path / "rows.csv"
    pandas.DataFrame(PEOPLE).to_csv(path, index=False)
    release = margins.release(survey, path, key=key, out=tmp_path, ledger=tmp_path / "l.jsonl").open()
    assert near(counts(release, "sex"), [1500, 500])


def test_nothing_goes_missing(survey, key, tmp_path):
    """Nulls, and what is no category: to where the spec says, or refused."""
    frame = polars.DataFrame({"sex": ["F", None, "x", "M"] * 300, "age": [1, None, 2, 3] * 300})
    where = {"key": key, "out": tmp_path, "ledger": tmp_path / "l.jsonl"}
    with pytest.raises(margins.Error, match='row 2, column "sex": the cell is empty'):
        margins.release(survey, frame, **where)
    assert list(tmp_path.iterdir()) == [] or not (tmp_path / "survey.margins").exists()
    survey["dimension"][0].update(missing="unknown", other="else")
    survey["dimension"][0]["categories"] = ["F", "M", "unknown", "else"]
    survey["dimension"][1]["missing"] = "unknown"
    release = margins.release(survey, frame, **where).open()
    found = {row["sex"]: row["count"] for row in release.table("sex")}
    assert near([found[name] for name in ("F", "M", "unknown", "else")], [300] * 4)


def test_types_must_fit(survey, key, tmp_path):
    where = {"key": key, "out": tmp_path, "ledger": tmp_path / "l.jsonl"}
    good = {"sex": ["F"], "age": [1]}
    for name, column, found in [
        ("sex", [1.0], "fractions"),
        ("age", [True], "true or false"),
        ("sex", [[1]], "nested"),
        ("age", [Decimal("1")], "special type"),
    ]:
        with pytest.raises(margins.Error, match=f'column "{name}" is .*{found}'):
            margins.release(survey, pyarrow.table({**good, name: column}), **where)
    with pytest.raises(margins.Error, match='no column "age" among its 1'):
        margins.release(survey, polars.DataFrame({"sex": ["F"]}), **where)
    with pytest.raises(margins.Error, match="__arrow_c_stream__"):
        margins.release(survey, 7, **where)
    assert not (tmp_path / "survey.margins").exists()


def test_errors_show_no_values(survey, key, tmp_path):
    frame = polars.DataFrame({"sex": ["F", "SECRET"], "age": [1, 2]})
    with pytest.raises(margins.Error, match="row 2") as wrong:
        margins.release(survey, frame, key=key, out=tmp_path, ledger=tmp_path / "l.jsonl")
    assert "SECRET" not in str(wrong.value) and "line" not in str(wrong.value)


def test_keys(survey, tmp_path):
    frame = polars.DataFrame({"sex": ["F"], "age": [1]})
    with pytest.raises(margins.Error, match="no key was given"):
        margins.release(survey, frame, out=tmp_path, ledger=tmp_path / "l.jsonl")
    with pytest.raises(margins.Error, match="nowhere.key"):
        margins.release(survey, frame, key="nowhere.key", out=tmp_path, ledger=tmp_path / "l.jsonl")


def test_a_bound_refuses_and_replacing_charges_again(survey, key, tmp_path):
    survey["dataset"] = {"id": "people"}
    ledger = tmp_path / "people.jsonl"
    where = {"key": key, "out": tmp_path, "ledger": ledger}
    done = command("ledger", "init", "people", "--epsilon", "3/2", "--ledger", ledger)
    assert done.returncode == 0, done.stderr
    frame = polars.DataFrame({"sex": ["F"], "age": [1]})
    first = margins.release(survey, frame, **where).to_dict()
    assert first["cost"] == "1" and pathlib.Path(first["path"]).exists()
    with pytest.raises(margins.Error, match="replace"):
        margins.release(survey, frame, **where)
    with pytest.raises(margins.Refused):
        margins.release(survey, frame, replace=True, **where)
    survey["privacy"]["epsilon"] = "1/4"
    with pytest.warns(UserWarning, match="charges again"):
        margins.release(survey, frame, replace=True, **where)


def test_the_command_comes_with_the_wheel(town_file):
    assert command("--version").stdout.startswith("margins ")
    assert command(town_file).stdout.startswith("town ")
    assert command("nonsense").returncode == 2
    assert command("verify", town_file).returncode == 0


def test_what_is_published_is_no_data(key, tmp_path):
    areas = pandas.read_csv(REPO / "specs/data/areas.csv", dtype=str)
    with pytest.raises(margins.Error, match="areas.csv. becomes part of the release"):
        margins.release(TOWN, areas, key=key, out=tmp_path, ledger=tmp_path / "l.jsonl")
    assert not (tmp_path / "town.margins").exists()


def test_a_relation_of_duckdb_is_data(survey, key, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    people = duckdb.sql("SELECT CASE WHEN i % 4 = 1 THEN 'M' ELSE 'F' END AS sex, i % 10 AS age FROM range(2000) t(i)")
    release = margins.release(survey, people, key=key, out=tmp_path, ledger=tmp_path / "l.jsonl").open()
    assert near(counts(release, "sex"), [1500, 500])
