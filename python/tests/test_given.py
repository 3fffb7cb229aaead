"""What is given to calls, and how it is refused: in Python's words and names."""

import pytest

import margins


def refusals(town, survey, tmp_path):
    """Calls with what they do not take, and what stands in the refusal."""
    sql = "SELECT COUNT(*) FROM town"
    yield lambda: town.query(7), "sql is text, not int"
    yield lambda: town.query(sql, level="high"), "level is a number, not str"
    yield lambda: town.query(sql, level=True), "level is a number, not bool"
    yield lambda: town.query(sql, prob=3), "prob is text, not int"
    yield lambda: town.query(sql, test="0"), "test is a number, not str"
    yield lambda: town.query(sql, prior=1.5), "prior is text, not float"
    yield lambda: town.query(sql, joint=1), "joint is True or False, not int"
    yield lambda: town.query(sql, complete="yes"), "complete is True or False, not str"
    yield lambda: town.table("sex", 3), "a level is text, not int"
    yield lambda: town.describe(tables="all"), "tables is a whole number, not str"
    yield lambda: town.describe(tables=-1), "tables is a whole number from 0"
    yield lambda: town.verify(3), "public_key is a path, not int"
    yield lambda: margins.open(3), "path is a path, not int"
    yield lambda: margins.open([3]), "a path is a path, not int"
    yield lambda: margins.plan(3), "a spec is a path or a dict, not int"
    yield lambda: margins.plan(survey, compare="all"), "compare is True or False, not str"
    yield lambda: margins.plan(survey, effort=1.5), "effort is a whole number, not float"
    yield lambda: margins.plan(survey, effort=10**30), "effort is a whole number from 0"
    yield lambda: margins.plan(survey, effort=10**9), "effort is at most"
    yield lambda: margins.plan(survey, memory="1 GB"), "memory is a whole number, not str"
    yield lambda: margins.release(survey, threads=10**6), "threads is a whole number from 0"
    yield lambda: margins.release(survey, out=3), "out is a path, not int"
    yield lambda: margins.release(survey, key=3), "key is a path, not int"
    yield lambda: margins.release(survey, replace="yes"), "replace is True or False, not str"
    yield lambda: margins.release(survey, passphrase=3), "passphrase is text, not int"
    yield lambda: margins.release(survey, out=tmp_path, ledger=tmp_path / "l"), "give its file as key"


def test_refusals_are_sentences(town, survey, tmp_path):
    for call, said in refusals(town, survey, tmp_path):
        with pytest.raises((TypeError, ValueError, margins.Error)) as refused:
            call()
        text = str(refused.value)
        assert said in text, text
        for foreign in ("argument '", "cannot be converted", "object", "--", "PyO3"):
            assert foreign not in text, text


def test_options_have_pythons_names(town, survey, key, tmp_path):
    kids = tmp_path / "kids.csv"
    kids.write_text("kids\n1\n")
    dimension = {"name": "kids", "range": [0, 2], "missing": "unknown"}
    spec = {**survey, "name": "kids", "dimension": [dimension], "table": [{"of": ["kids"]}]}
    made = margins.release(spec, kids, key=key, out=tmp_path, ledger=tmp_path / "k.jsonl").open()
    with pytest.raises(margins.Error, match="leave out complete=True") as refused:
        made.query("SELECT SUM(kids) FROM kids", complete=True)
    assert "--" not in str(refused.value)
    frame = tmp_path / "rows.csv"
    frame.write_text("sex,age\nF,1\n")
    where = {"key": key, "out": tmp_path, "ledger": tmp_path / "l.jsonl"}
    with pytest.raises(margins.Error, match=r"give data, a path or a data frame"):
        margins.release(survey, **where)
    margins.release(survey, frame, **where)
    with pytest.raises(margins.Error, match="replace=True") as refused:
        margins.release(survey, frame, **where)
    assert "--" not in str(refused.value)


def test_memory_is_a_limit_of_one_call(survey, key, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("sex,age\nF,1\n")
    where = {"key": key, "out": tmp_path, "ledger": tmp_path / "l.jsonl"}
    for work in (lambda: margins.plan(survey, memory=10**6), lambda: margins.release(survey, rows, memory=10**6, **where)):
        with pytest.raises(margins.Error, match="more than the limit of 1 MB"):
            work()
    assert not (tmp_path / "l.jsonl").exists()
    assert margins.release(survey, rows, threads=2, memory=10**9, **where).path.exists()


def test_levels_jointly(town):
    sql = "SELECT sex, COUNT(*) FROM town GROUP BY sex"
    alone, both = town.query(sql), town.query(sql, joint="bonferroni")
    width = lambda answer: answer[0]["count"].high - answer[0]["count"].low
    assert width(both) > width(alone)
    with pytest.raises(ValueError, match="bonferroni"):
        town.query(sql, joint="together")
