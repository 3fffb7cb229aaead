"""Weights of nodes: both programs find the same cost and the same answers, and the same fault in plans that break a rule of theirs."""

import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from auditor.blocks import Siblings
from auditor.container import File
from auditor.cost import Cost
from auditor.release import Release
from auditor.tests import forge, generate
from auditor.tests.test_random import compare_answers
from auditor.tests.test_spec import judged, outcomes
from auditor.verify import Report

SPEC = '''name = "areas"
title = "Areas"
[data]
path = "rows.csv"
[privacy]
unit = {unit}
rho = "1/2"
{more}
[[dimension]]
name = "sex"
categories = ["F", "M"]
[[dimension]]
name = "age"
codes = 8
[[dimension]]
name = "block"
hierarchy = "areas.csv"
[[dimension]]
name = "kind"
codes = 5
levels = [{{ name = "k", map = {{ a = [0, 1, 2], b = [3, 4] }} }}]
{tables}
[strategy]
measure = "{measure}"
'''
OWN = '[[table]]\nof = ["block.region", "sex", "age"]\n[[table]]\nof = ["block.county", "age"]\n[[table]]\nof = ["block"]\n'
ALIKE = '[[table]]\nof = ["block.region", "sex"]\n[[table]]\nof = ["block", "sex"]\n'
TWO = '[[table]]\nof = ["block", "kind"]\n[[table]]\nof = ["block.county", "kind.k"]\n'
COPIES = '[[recipient]]\nname = "one"\nrho = "1/2"\n[[recipient]]\nname = "two"\nrho = 0.25\n'
KINDS = {
    "the same for all": dict(tables=ALIKE, measure="auto"),
    "of their own": dict(tables=OWN),
    "of their own, units change": dict(tables=OWN, more='neighbours = "substitute"'),
    "of their own, units of three rows": dict(tables=OWN, unit='{ column = "id", max_rows = 3 }'),
    "of their own, nested": dict(tables=OWN + COPIES),
    "of their own, shifted": dict(tables=OWN + '[recipients]\nmode = "shifted"\nmean = 7\n' + COPIES),
    "in two dimensions": dict(tables=TWO),
    "beside an exact table": dict(tables=OWN + '[[table]]\nof = ["block.region"]\nexact = true\nreason = "the law"\n'),
    "beside a basis": dict(tables=OWN.replace('"age"]', '"age"]\nask = { age = "ranges" }', 1), measure="bases"),
    "of sums": dict(tables=ALIKE.replace('"sex"]', '"sex"]\nsum = ["pay"]') + '[[amount]]\nname = "pay"\nlow = 0\nhigh = 10\nstep = 1\n'),
}


def released(folder, unit='"row"', more="", measure="residual", tables=OWN):
    """Twelve counties with 30 blocks to one in four regions."""
    rng, areas = random.Random(3), ["block,county,region"]
    for county in range(12):
        areas += [f"b{len(areas) + at:03},c{county:02},r{county % 4 * (county < 8)}" for at in range(max(1, 30 // (county + 1)))]
    rows = ["id,sex,age,block,kind,pay"]
    for _ in range(2000):
        rows.append(f"{rng.randrange(900)},{rng.choice('FM')},{rng.randrange(8)},{rng.choice(areas[1:])[:4]},{rng.randrange(5)},{rng.randrange(12)}")
    (folder / "areas.csv").write_text("\n".join(areas) + "\n")
    (folder / "rows.csv").write_text("\n".join(rows) + "\n")
    (folder / "spec.toml").write_text(SPEC.format(unit=unit, more=more, measure=measure, tables=tables))
    files, done = generate.released(folder, "spec.toml", ".")
    assert done.returncode == 0, done.stderr
    return [Path(file) for file in files]


@pytest.mark.parametrize("kind", KINDS)
def test_both(kind, tmp_path):
    for path in released(tmp_path, **KINDS[kind]):
        release = Release(File(path.read_bytes()))
        told = [ways for channel in release.channels for ways in channel.plan._told.values() if ways[0].name == "weights"]
        assert told and (max(map(len, told)) > 1) == ("own" in kind)
        mine, theirs = outcomes(path)
        assert mine == theirs and Report(str(path)).verdict == "verified"
        assert Cost(release).total == Fraction(release.file.manifest["privacy"]["cost"]["amount"])
        assert compare_answers(release, path, random.Random(1)) > 0


@pytest.mark.parametrize("factors", [[4, 5, 6], [120, 135, 225, 240], [7, 7, 7], [1], [12, 15, 20, 18, 15]])
def test_what_noise_hides(factors):
    """No other multiple of what contrasts do not see leaves less, and they do not see it."""
    moved = Siblings(np.zeros(len(factors), dtype=int), factors).moved()
    unseen = [math.lcm(*factors) // factor for factor in factors]
    for node, steps in enumerate(moved):
        found = sum(copies * by**2 for by, copies in steps)
        length = lambda times: sum((factors[node] * (other == node) - times * k) ** 2 for other, k in enumerate(unseen))
        assert found == min(map(length, range(300)))
    first, *others = [factor * k for factor, k in zip(factors, unseen)]
    assert all(first == other for other in others)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    (path,) = released(tmp_path_factory.mktemp("own"))
    return path


@pytest.mark.parametrize("seed", range(24))
def test_another_byte(seed, own, tmp_path):
    """In the plan: both programs fail the file, at the same check."""
    version, sections, manifest = forge.take(own.read_bytes())
    plan, rng = next(section for section in sections if section[0] & 0xFF == 2), random.Random(seed)
    changed = bytearray(plan[2])
    # Weights stand behind what is in use and asked.
    at = rng.randrange(60, len(changed))
    changed[at] = rng.choice([changed[at] ^ 1 << rng.randrange(8), rng.randrange(8)])
    plan[2] = bytes(changed)
    (tmp_path / "areas.margins").write_bytes(forge.make(version, sections, manifest))
    mine, theirs = judged(tmp_path / "areas.margins")
    assert mine == theirs and (mine is not None) == (bytes(changed) != forge.take(own.read_bytes())[1][1][2])


def test_the_first_format_has_none(own, tmp_path):
    version, sections, manifest = forge.take(own.read_bytes())
    manifest = {key: value for key, value in manifest.items() if key not in ("dataset", "account")} | {"format": 1}
    (tmp_path / "areas.margins").write_bytes(forge.make(1, sections, manifest))
    assert judged(tmp_path / "areas.margins") == ("content", "content")
