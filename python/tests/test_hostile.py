"""Whatever a file contains, the process goes on: there is an answer or an exception, also where memory is short."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
from conftest import REPO

import margins

# Well signed files that were made to harm; with HOSTILE, a folder of more of them (`FILES=folder cargo test --test hostile -- --ignored`).
FROZEN = sorted((REPO / "tests/hostile/frozen").glob("*.margins"))
MORE = sorted(pathlib.Path(os.environ["HOSTILE"]).glob("*.margins")) if "HOSTILE" in os.environ else []

# What a program does with a file that it got: each step ends, or says why not. So much memory is as much as the interpreter and the library take, and some.
PROGRAM = """
import json, resource, sys, warnings
import margins
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
for path in json.load(sys.stdin):
    steps = []
    try:
        release = margins.open(path)
        for step in (
            lambda: release.verify().verdict,
            lambda: len(repr(release.describe(tables=3))),
            lambda: len(release.tables) + len(release.dimensions),
            lambda: len(release.query(f'SELECT COUNT(*) FROM "{release.name}"')),
            lambda: len(release.query(f'SELECT sex, age, COUNT(*) FROM "{release.name}" GROUP BY sex, age', joint=True)),
            lambda: len(release.table("sex")),
        ):
            try:
                steps.append(step())
            except margins.Error as error:
                steps.append(f"error: {error}")
    except margins.Error as error:
        steps.append(f"error: {error}")
    print(json.dumps([path, steps]), flush=True)
"""


def read(paths):
    """What a process of little memory makes of files, one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([str(p) for p in paths]), capture_output=True, text=True, timeout=300
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0 and len(found) == len(paths), f"after {list(found)[-1:]}: {done.stderr[-2000:]}"
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="memory is limited in another way there")
def test_hostile_files():
    assert len(FROZEN) > 15
    for path, steps in read(FROZEN + MORE).items():
        assert steps[0] != "verified", path


@pytest.mark.skipif(sys.platform == "win32", reason="memory is limited in another way there")
def test_damaged_files(town_file, visits, tmp_path):
    """Cut short, bits flipped, pieces exchanged: of tables and of a projection."""
    dice, paths = random.Random(1), []
    sound = [town_file.read_bytes(), town_file.with_name("visits.margins").read_bytes()]
    for at in range(240):
        bytes_ = bytearray(sound[at % 2])
        kind = at // 2 % 3
        if kind == 0:
            del bytes_[dice.randrange(len(bytes_)) :]
        elif kind == 1:
            # Half of them where lengths and places are.
            for _ in range(dice.randrange(1, 5)):
                end = len(bytes_) if at % 4 < 2 else 400
                bytes_[dice.randrange(end)] ^= 1 << dice.randrange(8)
        else:
            first, second = sorted(dice.randrange(len(bytes_)) for _ in range(2))
            bytes_[first:second] = bytes_[first:second][::-1]
        path = tmp_path / f"{at}.margins"
        path.write_bytes(bytes_)
        if bytes(bytes_) != sound[at % 2]:
            paths.append(path)
    for path, steps in read(paths).items():
        assert steps[0] != "verified", path


def test_signed_lies_are_not_verified():
    """Good signatures over what the sealed spec does not say."""
    names = ["another-unit-than-the-spec", "another-title-than-the-spec", "licence-that-the-spec-does-not-name", "rows-in-place-of-the-spec"]
    for name in names:
        audit = margins.open(REPO / "tests/hostile/frozen" / f"{name}.margins").verify()
        assert not audit and not audit.passed and audit.verdict != "verified"
        text = repr(audit)
        assert "VERIFIED" not in text.replace("NOT VERIFIED", ""), text
        assert [c for c in audit.checks if c.what == "spec" and c.outcome in ("failed", "unchecked")], text


def test_hostile_specs(tmp_path):
    """Specs of others are refused, whatever they ask for."""
    head = {"name": "s", "title": "s", "demo": True, "privacy": {"unit": "row", "rho": 1}}
    wide = {"name": "d", "range": [0, 2_000_000_000]}
    specs = [
        {**head, "dimension": [wide], "table": [{"of": ["d"]}]},
        {**head, "dimension": [{**wide, "name": f"d{i}"} for i in range(30)], "table": [{"of": [f"d{i}" for i in range(30)]}]},
        {**head, "dimension": [{"name": "d", "range": [0, 999_999], "levels": [{"name": "l", "width": 1}]}], "table": [{"of": ["d"]}]},
        {**head, "dimension": [{"name": f"d{i}", "range": [0, 9]} for i in range(9)], "table": [{"of": [f"d{i}" for i in range(9)]}]},
    ]
    program = "import json, resource, sys, margins\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n" + (
        "for spec in json.load(sys.stdin):\n    try:\n        margins.plan(spec)\n        print('planned')\n"
        "    except margins.Error as error:\n        print('refused')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], input=json.dumps(specs), capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert run.returncode == 0 and len(run.stdout.split()) == len(specs), run.stdout + run.stderr[-2000:]
    assert run.stdout.split()[:2] == ["refused", "refused"]
