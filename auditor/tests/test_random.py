"""Releases of random specs, read by both programs: the same checks, costs equal as fractions, answers to 1e-9.

`AUDITOR_SPECS` says of how many specs (28 if it is not set, 200 for all); `MARGINS_COMMAND` where the command is.
"""

import json
import math
import os
import random
from fractions import Fraction

import pytest

from auditor import project, where, wire
from auditor.container import File
from auditor.cost import Cost
from auditor.release import Release
from auditor.solve import Answers
from auditor.tests import generate
from auditor.verify import Report

SEEDS = range(int(os.environ.get("AUDITOR_SPECS", 28)))


def figures(release):
    names = dict.fromkeys(channel.of["name"] for channel in release.channels[1:])
    return [f"{figure}({name})" for name in names for figure in ("SUM", "COUNT", "AVG")]


def questions(release, rng):
    """Every cell of three tables, and a condition."""
    name, domain = release.file.name, release.domain
    if release.projection:
        d = release.projection.key[0][0]
        labels = ", ".join(f"'{label}'" for label in domain[d].levels[-1].labels[:2])
        rest = "".join(f" AND {domain[e].name} = '{domain[e].levels[-1].labels[0]}'" for e, _ in release.projection.key[1:])
        yield f'SELECT {domain[d].name}, COUNT(*) FROM "{name}" WHERE {domain[d].name} IN ({labels}){rest} GROUP BY {domain[d].name}'
        return
    for cuboid, _ in release.plan.workload[:3]:
        columns = [domain[d].called(level) for d, level in cuboid]
        for figure in ["COUNT(*)", *figures(release)]:
            yield f'SELECT {", ".join([*columns, figure])} FROM "{name}"' + (f' GROUP BY {", ".join(columns)}' if columns else "")
    cuboid = rng.choice(release.plan.workload)[0]
    parts = []
    for d, level in cuboid:
        labels = domain[d].levels[level].labels
        parts.append(f"{domain[d].called(level)} IN (" + ", ".join(f"'{label}'" for label in rng.sample(labels, rng.randint(1, len(labels)))) + ")")
    if parts:
        condition = rng.choice([" AND ", " OR ", " AND NOT "]).join(parts)
        for figure in ["COUNT(*)", *figures(release)]:
            yield f'SELECT {figure} FROM "{name}" WHERE {condition}'


def compare_answers(release, path, rng):
    held = project.Projected(release) if release.projection else Answers(release)
    asked = 0
    for question in questions(release, rng):
        theirs = generate.run("query", path, question, "--json")
        try:
            mine = project.answer(held, question) if release.projection else where.answer(held, question)
        except wire.Refused:
            assert theirs.returncode == 2, question
            continue
        except wire.Beyond:
            continue
        assert theirs.returncode == 0, (question, theirs.stderr)
        rows = json.loads(theirs.stdout)["rows"]
        assert len(rows) == len(mine), question
        asked += len(rows)
        # Noise of sums is in their own unit.
        most = max(1, *(abs(row["std_error"] or 0) for row in rows))
        for row, (labels, estimate, variance) in zip(rows, mine):
            assert {key: str(row[key]) for key in labels} == labels, question
            # Of nobody there is no mean.
            if row["estimate"] is None:
                assert math.isnan(estimate), question
                continue
            assert math.isclose(estimate, row["estimate"], rel_tol=1e-9, abs_tol=1e-9 * most), question
            assert (variance is None) == (row["std_error"] is None)
            assert variance is None or math.isclose(variance, row["std_error"] ** 2, rel_tol=1e-9, abs_tol=1e-9 * most**2), question
    return asked


def test_a_strategy_each():
    assert len(SEEDS) >= len(generate.STRATEGIES)


@pytest.mark.parametrize("seed", SEEDS)
def test_both(seed, tmp_path):
    files, said = generate.release(seed, str(tmp_path))
    while not files:
        # What a strategy does not apply to is not released: the next spec of the same strategy stands in.
        assert "error:" in said
        seed += 1000 * len(generate.STRATEGIES)
        files, said = generate.release(seed, str(tmp_path))
    for path in files:
        theirs = json.loads(generate.run("verify", path, "--json").stdout)
        mine = Report(path)
        outcomes = [(check["what"], check["outcome"]) for check in theirs["checks"] if check["what"] != "plan"]
        assert outcomes == [(check["what"], check["outcome"]) for check in mine.checks if check["what"] != "plan"]
        assert [theirs["verdict"], theirs["blake3"]] == [mine.verdict, mine.digest] == ["verified", mine.digest]
        release = Release(File(open(path, "rb").read()))
        assert Cost(release).total == Fraction(release.file.manifest["privacy"]["cost"]["amount"])
        assert compare_answers(release, path, random.Random(seed)) > 0
