"""A reader's own areas: from a file, from columns and from data frames, as `margins query --areas` answers."""

import json

import pytest
from conftest import command

import margins

ROWS = [("H01", "North"), ("H02", "North"), ("H03", "South"), ("H05", "South"), ("H06", "South")]
COLUMNS = {"area": [label for label, _ in ROWS], "school": [school for _, school in ROWS]}
SQL = "SELECT school, COUNT(*) FROM town GROUP BY school"


@pytest.fixture(scope="module")
def schools(tmp_path_factory):
    path = tmp_path_factory.mktemp("areas") / "schools.csv"
    path.write_text("area,school\n" + "".join(f"{label},{school}\n" for label, school in ROWS))
    return path


def test_as_the_command(town, town_file, schools):
    answer = town.query(SQL, areas=schools)
    assert json.loads(answer.to_json()) == json.loads(
        command("query", town_file, "--areas", schools, SQL, "--json").stdout
    )
    assert answer.column("school") == ["North", "South"]
    assert answer.notes == ["Only of the 5 listed categories of area, 2 by school."]
    # The districts are those sums; and other questions know nothing of them.
    north = town.query("SELECT COUNT(*) FROM town WHERE area IN ('H01', 'H02')")
    assert answer[0]["count"].estimate == pytest.approx(north[0]["count"].estimate)
    assert answer[0]["count"].std_error == pytest.approx(north[0]["count"].std_error)
    with pytest.raises(margins.Error, match="school"):
        town.query(SQL)


def test_columns_and_frames(town, schools):
    wanted = town.query(SQL, areas=str(schools)).rows
    given = [COLUMNS, {"area": (label for label in COLUMNS["area"]), "school": tuple(COLUMNS["school"])}]
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(COLUMNS)
    given += [frame, frame.astype("category"), frame[frame["area"] != "H09"].set_axis(range(3, 8))]
    given += [polars.DataFrame(COLUMNS), polars.DataFrame(COLUMNS).with_columns(polars.col("school").cast(polars.Categorical))]
    given += [pyarrow.table(COLUMNS), {"area": frame["area"], "school": frame["school"].to_numpy()}]
    for areas in given:
        assert town.query(SQL, areas=areas).rows == wanted, type(areas)
    listed = town.query("SELECT COUNT(*) FROM town", areas={"area": COLUMNS["area"]})
    assert listed[0]["count"].estimate == pytest.approx(sum(row["count"].estimate for row in wanted))
    assert listed.notes == ["Only of the 5 listed categories of area."]


def test_whole_numbers_are_labels(town):
    by_age = {"age": list(range(0, 6)), "school": [1, 1, 1, 2, 2, 2]}
    answer = town.query("SELECT school, COUNT(*) FROM town GROUP BY school", areas=by_age)
    assert answer.column("school") == ["1", "2"]
    first = town.query("SELECT COUNT(*) FROM town WHERE age < 3")
    assert answer[0]["count"].estimate == pytest.approx(first[0]["count"].estimate)


def test_options_go_with_them(town, schools):
    joint = town.query(SQL, 0.9, areas=schools, joint=True, prob="> 10")
    alone = town.query(SQL, 0.9, areas=schools)
    assert joint[0]["count"].high > alone[0]["count"].high and len(joint.columns) > len(alone.columns)


def test_what_makes_no_areas(town, visits, schools, tmp_path):
    wrong = [
        ({"area": ["H01", "X99"]}, margins.Error, "areas: line 2: area has no category `X99`"),
        ({"area": ["H01", None]}, margins.Error, "line 2: the label of area is empty"),
        ({"area": ["H01", "H01"], "school": ["a", "b"]}, margins.Error, "may not overlap"),
        ({"street": ["H01"]}, margins.Error, "must name a dimension or a level, not `street`"),
        ({"area": ["H01"], "sex": ["a"]}, margins.Error, "as a dimension or a level is"),
        ({"area": []}, margins.Error, "lists no areas"),
        ({}, margins.Error, "areas has 0 columns: it has a column of labels"),
        ({"a": [], "b": [], "c": []}, margins.Error, "areas has 3 columns"),
        ({"area": ["H01"], "school": []}, ValueError, "differ in length"),
        ({"area": "H01"}, TypeError, "a column of areas is a list"),
        ({"area": [1.5]}, TypeError, "named by text, not float"),
        ({"area": [True]}, TypeError, "not bool"),
        ({7: ["H01"]}, margins.Error, "not `7`"),
        (7, TypeError, "a path, a dict of columns or a data frame, not int"),
        (["H01"], TypeError, "not list"),
        (tmp_path / "none.csv", margins.Error, "none.csv"),
    ]
    for areas, kind, text in wrong:
        with pytest.raises(kind, match=text):
            town.query(SQL, areas=areas)
    with pytest.raises(margins.Error, match="are for releases of tables"):
        visits.query("SELECT COUNT(*) FROM visits", areas=schools)
    # And the release still answers.
    assert len(town.query(SQL, areas=schools)) == 2


def test_the_file_that_was_opened_answers(town_file, schools, tmp_path):
    """What lies at its path by now has no part in it."""
    path = tmp_path / "town.margins"
    path.write_bytes(town_file.read_bytes())
    own = margins.open(path)
    before = own.query(SQL, areas=schools).rows
    path.unlink()
    path.write_text("something else")
    assert own.query(SQL, areas={"area": ["H01"], "school": ["North"]}).column("school") == ["North"]
    assert own.query(SQL, areas=schools).rows == before
