"""Releases that the tests ask: made here, with real noise, by the package itself."""

import pathlib
import subprocess
import sys

import pytest

import margins

REPO = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


def command(*words):
    """Runs the wheel's own command."""
    words = [str(word) for word in words]
    return subprocess.run([sys.executable, "-m", "margins", *words], capture_output=True, text=True)


@pytest.fixture(scope="session")
def key(folder):
    path = folder / "agency.key"
    done = command("keygen", "--no-passphrase", "--out", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="session")
def town_file(folder, key):
    made = margins.release(REPO / "specs/town.toml", key=key, out=folder, ledger=folder / "town.jsonl")
    return pathlib.Path(made.path)


@pytest.fixture(scope="session")
def town(town_file):
    return margins.open(town_file)


@pytest.fixture(scope="session")
def visits(folder, key):
    made = margins.release(REPO / "specs/visits.toml", key=key, out=folder, ledger=folder / "visits.jsonl")
    return made.open(key.with_suffix(".pub"))


@pytest.fixture
def survey():
    """A spec as a dict, for rows that a test makes."""
    return {
        "name": "survey",
        "title": "A survey",
        "privacy": {"epsilon": 1.0, "unit": "row", "neighbours": "add-remove"},
        "dimension": [
            {"name": "sex", "column": "sex", "categories": ["F", "M"]},
            {"name": "age", "column": "age", "range": [0, 9]},
        ],
        "table": [{"of": ["sex", "age"]}],
    }
