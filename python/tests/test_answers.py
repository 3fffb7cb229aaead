"""Answers: the command's digits, as rows, text, HTML, CSV and JSON."""

import json
import math
import threading

import pytest
from conftest import command

import margins

SQL = "SELECT sex, COUNT(*) FROM town WHERE age < 20 GROUP BY sex"


def test_rows_are_the_command_s(town, town_file):
    answer = town.query(SQL)
    theirs = json.loads(command("query", town_file, SQL, "--json").stdout)
    assert json.loads(answer.to_json()) == theirs
    assert answer.columns == ["sex", "count"] and len(answer) == 2
    for row, other in zip(answer, theirs["rows"]):
        figure = row["count"]
        assert row["sex"] == other["sex"]
        assert (figure.estimate, figure.std_error, figure.low, figure.high) == (
            other["estimate"],
            other["std_error"],
            other["low"],
            other["high"],
        )
        assert float(figure) == figure.estimate and figure.low < figure.estimate < figure.high
    assert answer[-1] == answer.rows[1] and answer.column("sex") == ["F", "M"]
    with pytest.raises(IndexError):
        answer[2]
    with pytest.raises(IndexError):
        answer[-3]
    with pytest.raises(KeyError, match="it has sex, count"):
        answer.column("age")
    assert repr(answer) == command("query", town_file, SQL).stdout.rstrip("\n")
    assert answer.to_csv() == command("query", town_file, SQL, "--csv").stdout.replace("\n", "\r\n")


def test_levels_and_options(town):
    narrow, wide = town.query(SQL, level=0.5), town.query(SQL, 0.999)
    assert narrow.level == 0.5 and wide.level == 0.999
    assert narrow[0]["count"].high < wide[0]["count"].high
    for level in (0, 1, -1, 2, math.nan, math.inf):
        with pytest.raises(margins.Error, match="between 0 and 1"):
            town.query(SQL, level=level)
    joint = town.query("SELECT age, COUNT(*) FROM town GROUP BY age", joint=True)
    alone = town.query("SELECT age, COUNT(*) FROM town GROUP BY age")
    assert joint[0]["count"].high > alone[0]["count"].high
    assert [row["age"] for row in alone][:3] == [0, 1, 2], "ages are whole numbers"
    tested = town.query(SQL, prob="> 100", test=100.0)
    assert any(0 <= value <= 1 for value in tested[0].values() if isinstance(value, float))
    assert len(town.query(SQL, prior="non-negative").columns) > 2
    with pytest.raises(margins.Error, match="is no prior"):
        town.query(SQL, prior="guess")


def test_questions_that_have_no_answer(town, town_file):
    for sql in ("", "SELEC", "SELECT COUNT(*) FROM elsewhere", "SELECT shoe, COUNT(*) FROM town GROUP BY shoe"):
        with pytest.raises(margins.Error) as wrong:
            town.query(sql)
        said = command("query", town_file, sql).stderr.removeprefix("error: ")
        assert " ".join(str(wrong.value).split()) == " ".join(said.split())


def test_tables(town):
    table = town.table("sex", "age.band")
    assert table.columns == ["sex", "age.band", "count"] and len(table) == 40
    total = town.table()
    assert len(total) == 1
    assert sum(row["count"].estimate for row in table) == pytest.approx(total[0]["count"].estimate)
    with pytest.raises(margins.Error, match="shoe"):
        town.table("shoe")
    with pytest.raises(margins.Error):
        town.table('sex" FROM town; --')


def test_an_empty_answer(town):
    answer = town.query("SELECT sex, age, COUNT(*) FROM town GROUP BY sex, age LIMIT 0")
    assert len(answer) == 0 and answer.rows == [] and list(answer) == []
    assert answer.to_csv().count("\r\n") == 1
    assert json.loads(answer.to_json())["rows"] == []
    assert "<tbody>\n</tbody>" in answer._repr_html_()
    with pytest.raises(IndexError):
        answer[0]


def test_long_answers_are_cut_where_they_are_only_shown(town):
    answer = town.query("SELECT sex, age, COUNT(*) FROM town GROUP BY sex, age")
    assert len(answer) == 200
    assert repr(answer).endswith("… and 100 more rows")
    assert len(str(answer).splitlines()) >= 202
    assert answer._repr_html_().count("<tr>") == 101


def test_hostile_labels_are_text(survey, tmp_path):
    evil = "<script>alert('x')</script>&\""
    survey["demo"] = True
    survey["title"] = "<script>alert('x')</script>"
    survey["dimension"][0]["categories"] = [evil, "F"]
    rows = tmp_path / "rows.csv"
    rows.write_text("sex,age\nF,1\n")
    made = margins.release(survey, rows, out=tmp_path, ledger=tmp_path / "l.jsonl")
    release = made.open()
    answer = release.table("sex")
    assert answer[0]["sex"] == evil, "as data it is what it is"
    for html in (answer._repr_html_(), release.describe()._repr_html_(), made._repr_html_()):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_caveats_are_told(survey, tmp_path):
    survey["demo"] = True
    survey["privacy"]["unit"] = {"column": "id", "max_rows": 1}
    rows = tmp_path / "rows.csv"
    rows.write_text("id,sex,age\n1,F,1\n1,M,2\n2,F,3\n")
    release = margins.release(survey, rows, out=tmp_path, ledger=tmp_path / "l.jsonl").open()
    answer = release.table("sex")
    assert answer.caveats[0]["status"] == "truncated" and answer.caveats[0]["max_rows"] == 1
    assert "at most 1 row of each id" in answer.notes[0]
    assert "at most 1 row of each id" in answer._repr_html_()
    assert answer.to_csv().splitlines()[0].endswith(",status")


def test_threads_share_a_release(town):
    expected = town.query(SQL).to_json()
    found = []
    threads = [threading.Thread(target=lambda: found.append(town.query(SQL).to_json())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8
