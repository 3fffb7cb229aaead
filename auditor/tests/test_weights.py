"""Weights of nodes: both programs find the same cost and the same answers, and the same fault in plans that break a rule of theirs."""

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from auditor import wire
from auditor.container import File
from auditor.cost import Cost
from auditor.domain import Dimension, Domain, Level
from auditor.plan import Plan
from auditor.release import Release
from auditor.tests import forge, generate
from auditor.tests.test_random import compare_answers
from auditor.tests.test_spec import outcomes
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
