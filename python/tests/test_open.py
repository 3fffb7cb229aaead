"""What a file says of itself, and what is refused."""

import json
import pathlib
import shutil

import pytest
from conftest import REPO, command

import margins


def test_a_file_explains_itself(town, town_file):
    assert town.name == "town"
    assert town.has_own_key
    assert [d.name for d in town.dimensions] == ["area", "sex", "age", "education", "work"]
    sex = town.dimensions[1]
    assert sex.levels[0].name == "sex" and sex.levels[0].categories == ["F", "M"]
    assert any(t.levels == ["sex", "age"] or "sex" in t.levels for t in town.tables)
    assert all(t.cells > 0 and not t.exact for t in town.tables)
    shown = command("describe", town_file)
    assert repr(town.describe()) == shown.stdout.rstrip("\n")
    as_json = json.loads(command("describe", town_file, "--json").stdout)
    assert town.describe().to_dict() == as_json
    assert str(town_file) in repr(town)
    assert town.describe(tables=1).to_dict()["more_tables"] == len(town.tables) - 1


def test_a_key_is_checked(town_file, key, tmp_path):
    public = key.with_suffix(".pub")
    assert margins.open(town_file, public_key=public).name == "town"
    line = public.read_text().splitlines()[1]
    assert margins.open(str(town_file), public_key=line).verify(line).passed
    other = tmp_path / "other.key"
    assert command("keygen", "--no-passphrase", "--out", other).returncode == 0
    with pytest.raises(margins.VerificationError, match="FAILED|failed|not") as refused:
        margins.open(town_file, public_key=other.with_suffix(".pub"))
    assert isinstance(refused.value, margins.Error)
    audit = margins.open(town_file).verify(other.with_suffix(".pub"))
    assert not audit and not audit.passed
    assert any(check.outcome == "failed" for check in audit.checks)
    shown = command("verify", town_file, "--pubkey", other.with_suffix(".pub"))
    assert shown.returncode == 1 and repr(audit) == shown.stdout.rstrip("\n")
    with pytest.raises(margins.Error, match="public key"):
        margins.open(town_file, public_key="nonsense")


def test_broken_files_are_refused(town_file, tmp_path):
    whole = town_file.read_bytes()
    broken = tmp_path / "broken.margins"
    for bytes_ in (b"", b"not a release", whole[:100], whole[: len(whole) // 2]):
        broken.write_bytes(bytes_)
        with pytest.raises(margins.Error, match="broken.margins"):
            margins.open(broken)
    # One byte of a section: the manifest is whole, so it opens, and what is damaged is seen when it is needed.
    damaged = bytearray(whole)
    damaged[-10] ^= 1
    broken.write_bytes(damaged)
    try:
        opened = margins.open(broken)
    except margins.Error:
        pass
    else:
        assert not opened.verify()
    with pytest.raises(margins.Error) as missing:
        margins.open(tmp_path / "none.margins")
    said = command("query", tmp_path / "none.margins", "SELECT COUNT(*) FROM town").stderr
    assert str(missing.value).split(": ")[-1] in " ".join(said.split())


def test_several_are_asked_together(key, tmp_path, town_file):
    spec = (REPO / "specs/town.toml").read_text().replace('name        = "town"', 'name = "again"')
    (tmp_path / "data").symlink_to(REPO / "specs/data")
    again = tmp_path / "again.toml"
    again.write_text(spec)
    # Another ledger with the same line would be a fork: both releases are charged to one.
    ledger = shutil.copy(town_file.parent / "town.jsonl", tmp_path / "again.jsonl")
    made = margins.release(again, key=key, out=tmp_path, ledger=ledger)
    both = margins.open([town_file, made.path], public_key=key.with_suffix(".pub"))
    alone = margins.open(town_file).query("SELECT COUNT(*) FROM town")[0]["count"]
    together = both.query("SELECT COUNT(*) FROM town")[0]["count"]
    assert together.std_error < 0.8 * alone.std_error
    assert len(both.verify().checks) == 2 * len(margins.open(town_file).verify().checks)
    with pytest.raises(margins.Error, match="given twice"):
        margins.open([town_file, shutil.copy(town_file, tmp_path / "copy.margins")])
    with pytest.raises(ValueError):
        margins.open([])


def test_a_projection(visits, town_file):
    assert visits.name == "visits"
    assert visits.tables[0].cells is None
    sql = "SELECT code, COUNT(*) FROM visits WHERE code IN ('D00.0', 'Z99.9') GROUP BY code"
    answer = visits.query(sql, prob="> 3")
    assert answer.column("code") == ["D00.0", "Z99.9"]
    assert all(row["count"].std_error > 0 for row in answer)
    assert visits.verify().passed
    with pytest.raises(margins.Error):
        visits.query(sql, test=1.0)
    with pytest.raises(margins.Error):
        visits.table("code")
    path = pathlib.Path(town_file).with_name("visits.margins")
    with pytest.raises(margins.Error, match="is a projection: ask it alone"):
        margins.open([town_file, path])


def test_what_a_release_says_of_itself(town):
    import pickle

    assert town.title and town.guarantee.endswith("(the number of rows is public).") or "whether it is in the data or not" in town.guarantee
    assert town.path == town.paths[0] and town.signer in town.describe().to_dict()["signed"]
    assert town.caveats == town.describe().to_dict()["untrue"]
    with town as same:
        assert same is town
    with pytest.raises(ZeroDivisionError):
        with town:
            1 / 0
    again = pickle.loads(pickle.dumps(town))
    assert again.name == town.name and again.verify().verdict == town.verify().verdict
    figure = town.table()[0]["count"]
    assert pickle.loads(pickle.dumps(figure)) == figure
