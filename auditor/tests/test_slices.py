"""A table of areas that is so long that it is cut: both programs find the same integers, each where it is."""

import json
import random

import numpy as np
import pytest

from auditor import blocks
from auditor.container import File
from auditor.release import Release
from auditor.tests import generate

BLOCKS, COUNTIES, KINDS = 9000, 37, 130


def margins(*args):
    done = generate.run(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["base", "residual"])
def release(tmp_path_factory, request):
    """Blocks that lie scattered among counties, after a dimension of two and before one of 130."""
    folder, rng = tmp_path_factory.mktemp("slices"), random.Random(5)
    # Counties have 243 or 244 blocks: components get weights.
    county = [b * 7 % COUNTIES for b in range(BLOCKS)]
    lines = [f"b{b:05},c{c:02}" for b, c in enumerate(county)]
    (folder / "areas.csv").write_text("\n".join(["block,county", *lines]) + "\n")
    rows = [f"{rng.choice('mf')},b{rng.randrange(BLOCKS):05},{rng.randrange(KINDS)}" for _ in range(3000)]
    (folder / "rows.csv").write_text("\n".join(["sex,block,kind", *rows]) + "\n")
    kinds = ", ".join(f'"{kind}"' for kind in range(KINDS))
    (folder / "spec.toml").write_text(f'''
name = "slices"
title = "Slices"
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = 1
[strategy]
measure = "{request.param}"
[[dimension]]
name = "sex"
categories = ["f", "m"]
[[dimension]]
name = "block"
hierarchy = "areas.csv"
[[dimension]]
name = "kind"
categories = [{kinds}]
[[table]]
of = ["sex", "block", "kind"]
[[table]]
of = ["block.county"]
''')
    _, done = generate.released(folder, "spec.toml", ".")
    assert done.returncode == 0, done.stderr
    return request.param, folder / "slices.margins"


def test_the_same_integers(release):
    kind, path = release
    read = Release(File(path.read_bytes()))
    held = len(read.file.all("measurements"))
    assert held >= (2 if kind == "base" else 3)
    said = json.loads(margins("verify", path, "--json"))
    decoded = next(check for check in said["checks"] if check["what"] == "measurements")
    assert f"{sum(map(len, read.rows.values))} noisy integers" in decoded["detail"].replace(",", ""), decoded
    if kind != "base":
        return
    rng, (values,) = random.Random(7), read.rows.values
    # What is added to the rows is noise of variance 1/2: of 2.3 million integers to a hundredth, and not the same in two slices.
    noise = values.astype(np.int64)
    for row in (path.parent / "rows.csv").read_text().splitlines()[1:]:
        sex, block, kind = row.split(",")
        noise[("fm".index(sex) * BLOCKS + int(block[1:])) * KINDS + int(kind)] -= 1
    assert abs((noise**2).mean() - 0.5) < 0.01 and abs(noise.mean()) < 0.005
    cut = blocks.slices(read.plan, read.plan.blocks[0])
    least = min(map(len, cut))
    assert sum(map(len, cut)) == len(values) and (noise[cut[0][:least]] != noise[cut[1][:least]]).mean() > 0.3
    for _ in range(20):
        s, b, k = rng.randrange(2), rng.randrange(BLOCKS), rng.randrange(KINDS)
        where = f"sex = '{'fm'[s]}' AND block = 'b{b:05}' AND kind = '{k}'"
        answer = json.loads(margins("query", path, f"SELECT COUNT(*) FROM slices WHERE {where}", "--json"))
        assert answer["rows"][0]["estimate"] == values[(s * BLOCKS + b) * KINDS + k]
