"""Exact sums against all lists of values that rows can have, and sums of more than 64 bits."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from auditor.__main__ import ask
from auditor.container import File
from auditor.release import Release
from auditor.verify import Report
from auditor.wire import Refused, Wire

from . import generate

H = 3


def possible(n, t, q):
    """Whether n rows whose values are 0 to H steps may have these exact sums."""
    one = lambda values: SimpleNamespace(exact=[((), np.array([values]))], of={"low": 0, "high": H, "step": 1})
    release = SimpleNamespace(rows=one(n))
    try:
        Release._possible(release, {"sums": one(t), "sums of squares": one(q)})
    except Refused:
        return False
    return True


@pytest.mark.parametrize("n", range(5))
def test_exact_sums(n):
    told = set()
    for values in itertools.product(range(H + 1), repeat=n):
        steps = [2 * value - H for value in values]
        told.add((sum(steps), sum(2 * t * t - H * H for t in steps)))
    assert all(possible(n, *pair) for pair in told)
    every = list(itertools.product(range(-n * H - 2, n * H + 3), range(-n * H * H - 2, n * H * H + 3)))
    taken = {pair for pair in every if possible(n, *pair)}
    # What the rule lets through though no rows have it lies between the ends of what rows with that sum have.
    assert told <= taken and {t for t, _ in taken} == {t for t, _ in told}
    for t in {t for t, _ in told}:
        ends = [q for other, q in told if other == t]
        assert all(min(ends) <= q <= max(ends) for other, q in taken if other == t)
    assert len(taken) <= len(told) + n


@pytest.mark.parametrize("width", [63, 64, 65, 100, 127])
def test_wide_values(width):
    most = 1 << width - 1
    values = [-most, most - 1, 0, -1, most // 3]
    coded = sum((2 * v if v >= 0 else -2 * v - 1) << width * at for at, v in enumerate(values))
    data = coded.to_bytes((width * len(values) + 7) // 8, "little")
    assert [int(v) for v in Wire(bytes([width]) + data, "list").packed(len(values), 127)] == values
    with pytest.raises(Refused):
        Wire(bytes([128]) + bytes(200), "list").packed(len(values), 127)
    with pytest.raises(Refused):
        Wire(bytes([65]) + bytes(200), "list").packed(len(values))


SPEC = """name = "wide"
title = "Wide"
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = 60
[strategy]
measure = "residual"
[[amount]]
name = "pay"
low = 0
high = 10000000
step = 1
square = true
[[table]]
of = ["a", "b", "c"]
sum = ["pay"]
"""


@pytest.mark.skipif(generate.margins() is None, reason="the command is not built")
def test_sums_of_more_than_64_bits(tmp_path):
    dimensions = "".join(f'[[dimension]]\nname = "{name}"\nrange = [0, 5]\n' for name in "abc")
    (tmp_path / "wide.toml").write_text(SPEC + dimensions)
    rows = ["5,5,5,10000000" if i % 8 else f"{i // 8 % 6},{i // 48 % 6},{i // 288 % 6},{i * 7919 % 10000001}" for i in range(40000)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,pay", *rows]) + "\n")
    [path], done = generate.released(tmp_path, "wide.toml", "out")
    assert done.returncode == 0, done.stderr
    release = Release(File(Path(path).read_bytes()))
    assert max(abs(int(v)) for values in release.channels[-1].values for v in values) >> 64
    assert not [check for check in Report(path).checks if check["outcome"] == "failed"]
    said = generate.run("query", path, "SELECT a, SUM(pay) FROM wide GROUP BY a", "--json")
    told = [row["SUM(pay)"] for row in json.loads(said.stdout)["rows"]]
    own = [row["estimate"] for row in ask(path, "SELECT a, SUM(pay) FROM wide GROUP BY a")]
    assert own == pytest.approx(told, rel=1e-9)
    truth = [sum(int(row.split(",")[3]) for row in rows if row[0] == str(a)) for a in range(6)]
    assert own == pytest.approx(truth, abs=8 * 6.8e6)
