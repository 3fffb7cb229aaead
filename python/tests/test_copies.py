"""Answers as values: slices, copies, pickles, pictures, and what they rest on."""

import copy
import json
import math
import pickle

import pytest
from conftest import REPO, command

import margins

AGES = "SELECT sex, age.band, COUNT(*), AVG(age) AS mean FROM town GROUP BY sex, age.band"


def test_slices(town):
    answer = town.query(AGES)
    rows = answer.rows
    for at in (slice(2), slice(3, 7), slice(None, None, -3), slice(-2, None), slice(5, 2), slice(100)):
        part = answer[at]
        assert isinstance(part, margins.Answer) and part.rows == rows[at] and part.notes == answer.notes
    assert json.loads(answer[1:2].to_json())["rows"] == json.loads(answer.to_json())["rows"][1:2]
    with pytest.raises(TypeError, match="column"):
        answer["sex"]
    # Of questions below each other each row keeps its own status.
    both = town.query("SELECT COUNT(*) FROM town UNION ALL SELECT COUNT(*) FROM town WHERE sex = 'F'")
    assert both[1:].rows == both.rows[1:] and both[::-1].rows == both.rows[::-1]


@pytest.mark.parametrize("sql", [
    AGES,
    "SELECT COUNT(*) / COUNT(*) FILTER (WHERE age > 150) AS unbounded FROM town",
    "SELECT age, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY age) AS change FROM town GROUP BY age LIMIT 3",
    "SELECT sex, MEDIAN(age) FROM town GROUP BY sex",
    "SELECT sex, COUNT(*) FROM town GROUP BY ROLLUP (sex)",
])
def test_a_pickled_answer_is_the_same(town, sql):
    try:
        answer = town.query(sql, joint="MEDIAN" not in sql and "ROLLUP" not in sql and "LAG" not in sql)
    except margins.Error:
        answer = town.query(sql)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(answer, protocol))
        assert again.to_json() == answer.to_json() and again.to_csv() == answer.to_csv()
        assert str(again) == str(answer) and again.notes == answer.notes and again.caveats == answer.caveats
    assert copy.copy(answer) is answer and copy.deepcopy([answer])[0] is answer
    with pytest.raises(ValueError, match="no pickled answer"):
        margins.Answer._of({"rows": 1}, "{}")
    with pytest.raises(ValueError, match="no pickled answer"):
        margins.Answer._of({}, "nothing")


def test_frames_in_a_word(town):
    answer = town.query(AGES)
    assert answer.df.equals(answer.to_pandas()) and list(answer.df)[:3] == ["sex", "age.band", "count"]


def test_what_an_answer_rests_on(town, town_file):
    sql = "SELECT COUNT(*) FROM town WHERE sex = 'F'"
    theirs = json.loads(command("query", town_file, sql, "--explain", "--json").stdout)
    own = town.explain(sql)
    assert own == theirs["explain"] and math.isclose(sum(s["share"] for s in own[0]["sources"]), 1)
    with pytest.raises(margins.Error):
        town.explain("SELECT MEDIAN(age) FROM town")


def test_pictures(town):
    pytest.importorskip("matplotlib").use("Agg")
    bars = town.query("SELECT sex, work, COUNT(*) FROM town GROUP BY sex, work").plot()
    assert len(bars.patches) == 2 * len(town.query("SELECT work, COUNT(*) FROM town GROUP BY work"))
    assert bars.get_ylabel() == "count" and "95 % intervals" in bars.get_xlabel()
    band = town.query("SELECT sex, age, COUNT(*) AS n FROM town GROUP BY sex, age", level=0.9).plot()
    assert len(band.lines) == 2 and len(band.collections) == 2 and "90 % intervals" in band.get_xlabel()
    assert band is not town.query(AGES).plot(figure="mean") and town.query(AGES).plot(bars, figure="mean") is bars
    one = town.query("SELECT COUNT(*) FROM town").plot(kind="bars")
    assert len(one.patches) == 1
    open_ended = town.query("SELECT sex, COUNT(*) / COUNT(*) FILTER (WHERE age > 98) AS r FROM town GROUP BY sex")
    assert open_ended.plot() is not None
    with pytest.raises(ValueError, match="it has count, mean"):
        town.query(AGES).plot(figure="sex")
    with pytest.raises(ValueError, match="ORDER BY"):
        town.query("SELECT sex, COUNT(*) FROM town GROUP BY sex").plot(kind="band")
    with pytest.raises(ValueError, match="no rows"):
        town.query(AGES)[:0].plot()


def test_verbs(tmp_path, town, town_file, key):
    made = margins.keygen(tmp_path / "own.key", passphrase=False)
    assert (tmp_path / "own.pub").exists() and made
    with pytest.raises(margins.Error, match="own.pub exists"):
        margins.keygen(tmp_path / "own.key", passphrase=False)
    margins.export(town, tmp_path / "all", format="csv")
    margins.export(town_file, tmp_path / "one", table=["sex", "age.band"], format="csv")
    assert (tmp_path / "all/datapackage.json").exists() and (tmp_path / "one/sex_age-band.csv").exists() or list((tmp_path / "one").glob("*.csv"))
    (tmp_path / "rows.csv").write_text("sex,age\n" + "F,20\nM,30\n" * 50)
    drafted = margins.init(tmp_path / "rows.csv")["spec"]
    assert 'categories = ["F", "M"]' in drafted
    assert margins.init(tmp_path / "rows.csv", out=tmp_path / "rows.toml")["wrote"].endswith("rows.toml")
    report = margins.check(tmp_path / "rows.toml")
    assert not report["passed"] and "nobody has confirmed" in report["refused"]
    (tmp_path / "rows.toml").write_text((tmp_path / "rows.toml").read_text().replace("confirmed = false", "confirmed = true"))
    report = margins.check(tmp_path / "rows.toml")
    assert report["passed"] and report["rows"] == 100
    (tmp_path / "wrong.csv").write_text("sex,age\nX,20\n")
    assert not margins.check(tmp_path / "rows.toml", data=tmp_path / "wrong.csv")["passed"]
    with pytest.raises(margins.Error, match="cannot read the spec"):
        margins.check(tmp_path / "nowhere.toml")
    spec = tmp_path / "asked.toml"
    spec.write_text((REPO / "specs/town.toml").read_text().replace("data/", f"{REPO}/specs/data/"))
    answer = margins.ask(spec, "SELECT COUNT(*) FROM town", within=500, out=tmp_path / "out", ledger=tmp_path / "l.jsonl")
    assert answer["rows"]
