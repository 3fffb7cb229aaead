"""Answers in other people's data frames, without this package knowing them."""

import json
import traceback

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


def whole(error):
    """All that a log would have of an error: its text, its causes, what it was raised in."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__)) + repr(error.args)


def test_values_are_in_no_error(survey, tmp_path):
    survey["demo"] = True
    mixed = [1, "SECRET-HIV", 2.5]
    good = {"sex": ["F", "M", "F"], "age": [1, 2, 3]}
    making = {"out": tmp_path, "ledger": tmp_path / "l.jsonl"}
    # A column that the spec names.
    for column in good:
        with pytest.raises(margins.Error) as refused:
            margins.release(survey, pandas.DataFrame({**good, column: mixed}), **making)
        said = whole(refused.value)
        assert "SECRET" not in said and "cannot be read" in said, said
        assert refused.value.__cause__ is None and refused.value.__context__ is None
    # One that it does not name is not looked at.
    class Strange:
        def __repr__(self):
            return "SECRET-REPR"

    frame = pandas.DataFrame({**good, "note": mixed, "thing": [Strange()] * 3})
    margins.release(survey, frame, **making)

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("SECRET-STREAM") from KeyError("SECRET-CAUSE")

    with pytest.raises(margins.Error) as refused:
        margins.release(survey, Raises(), **making)
    assert "SECRET" not in whole(refused.value)
    relation = duckdb.sql("SELECT 'F' AS sex, CAST(x AS INTEGER) AS age FROM (VALUES ('1'), ('SECRET-CAST')) t(x)")
    with pytest.raises(margins.Error) as refused:
        margins.release(survey, relation, **making)
    assert "SECRET" not in whole(refused.value)


def test_only_named_columns_of_every_kind_of_frame(survey, tmp_path):
    survey["demo"] = True
    columns = {"age": [1, 2, 3], "sex": ["F", "M", "F"], "a note": ["x", "y", "z"]}
    arrow = pyarrow.table(columns)
    relation = duckdb.sql("FROM arrow")
    frames = [pandas.DataFrame(columns), polars.DataFrame(columns), arrow, arrow.to_batches()[0], arrow.to_reader(), relation]
    for at, frame in enumerate(frames):
        made = margins.release({**survey, "name": f"s{at}"}, frame, out=tmp_path, ledger=tmp_path / f"{at}.jsonl")
        assert made.open().query(f"SELECT COUNT(*) FROM s{at}").to_json()


def test_frames_in_one_word(town):
    answer = town.query(f'SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM "{town.name}" GROUP BY sex')
    wanted = ["sex", "n", "n_std_error", "n_low", "n_high", "mean", "mean_std_error", "mean_low", "mean_high"]
    for columns in (answer.to_arrow().column_names, list(answer.to_pandas().columns), answer.to_polars().columns):
        assert columns[: len(wanted)] == wanted
    assert answer.to_polars()["n"].to_list() == [row["n"].estimate for row in answer]


def test_reliability_and_labels_are_columns(town):
    sql = f'SELECT sex, COUNT(*) AS n FROM "{town.name}" GROUP BY sex'
    answer = town.query(sql, reliability=True, labels=True)
    for row in answer:
        assert abs(row["cv"] - 100 * row["n"].std_error / abs(row["n"].estimate)) < 1e-9 and row["reliability"] in "ABC"
    # No code of this release has a label.
    assert [column for column in answer.columns if column.endswith("label")] == []
    assert town.query(sql, labels="only").column("sex") == answer.column("sex")
