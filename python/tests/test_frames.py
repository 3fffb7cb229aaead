"""Answers in other people's data frames, without this package knowing them."""

import json

import pytest

import margins

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

SQL = "SELECT sex, age, COUNT(*) FROM town GROUP BY sex, age"
NAMES = ["sex", "age", "count", "estimate", "std_error", "low", "high"]


@pytest.fixture(scope="module")
def answer(town):
    return town.query(SQL)


@pytest.fixture(scope="module")
def rows(answer):
    return json.loads(answer.to_json())["rows"]


def test_polars(answer, rows):
    frame = polars.DataFrame(answer)
    assert frame.columns == NAMES == list(rows[0])
    assert frame.schema["sex"] == polars.String and frame.schema["age"] == polars.Int64
    assert all(frame.schema[name] == polars.Float64 for name in NAMES[2:])
    assert frame.to_dicts() == rows


def test_pandas(answer, rows):
    frame = pandas.DataFrame.from_arrow(answer)
    assert list(frame.columns) == NAMES
    assert frame.to_dict("records") == rows


def test_pyarrow(answer, rows):
    table = pyarrow.table(answer)
    assert table.to_pylist() == rows
    assert table.schema.metadata[b"margins.level"] == b"0.95"
    assert pyarrow.schema(answer) == table.schema


def test_duckdb(answer):
    connection = duckdb.connect()
    connection.register("answer", answer)
    sql = "SELECT SUM(estimate), MIN(low), COUNT(*) FROM answer WHERE sex = 'F'"
    found = [row["count"] for row in answer if row["sex"] == "F"]
    expected = (pytest.approx(sum(f.estimate for f in found)), min(f.low for f in found), len(found))
    assert connection.sql(sql).fetchall() == [expected]
    # A relation runs again for every call, so the answer gives its rows again.
    assert connection.sql(sql).fetchall() == [expected]


def test_an_empty_answer_keeps_its_types(town):
    answer = town.query(SQL + " LIMIT 0")
    frame = polars.DataFrame(answer)
    assert frame.shape == (0, len(NAMES)) and frame.columns == NAMES
    assert frame.schema["sex"] == polars.String and frame.schema["high"] == polars.Float64
    assert len(pandas.DataFrame.from_arrow(answer)) == 0


def test_a_frame_can_be_made_twice_and_outlive_the_answer(town):
    answer = town.query(SQL)
    first, second = pyarrow.table(answer), pyarrow.table(answer)
    del answer
    assert first.equals(second)


def test_caveats_travel_as_a_column(survey, tmp_path):
    survey["demo"] = True
    survey["privacy"]["unit"] = {"column": "id", "max_rows": 1}
    people = polars.DataFrame({"id": [1, 1, 2], "sex": ["F", "M", "F"], "age": [1, 2, 3]})
    release = margins.release(survey, people, out=tmp_path, ledger=tmp_path / "l.jsonl").open()
    frame = polars.DataFrame(release.table("sex"))
    assert frame["status"].to_list() == ["truncated", "truncated"]


def test_a_projection(visits):
    sql = "SELECT code, COUNT(*) FROM visits WHERE code IN ('D00.0', 'Z99.9') GROUP BY code"
    frame = polars.DataFrame(visits.query(sql))
    assert frame.columns == ["code", "count", "estimate", "std_error", "low", "high"]
    assert frame["code"].to_list() == ["D00.0", "Z99.9"]
