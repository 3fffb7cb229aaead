"""The figures of docs/python.md: `python python/tests/measure.py [WHEEL]`. Processor time; the best of some runs."""

import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import polars

import margins


def best(work, times=5):
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def spec(name, ages):
    return {
        "name": name,
        "title": "To be measured",
        "demo": True,
        "privacy": {"unit": "row", "rho": 1},
        "dimension": [
            {"name": "place", "range": [0, 99]},
            {"name": "age", "range": [0, ages - 1]},
        ],
        "table": [{"of": ["place", "age"]}],
    }


with tempfile.TemporaryDirectory() as folder:
    ledgers = pathlib.Path(folder)
    for wheel in sys.argv[1:]:
        print(f"wheel: {pathlib.Path(wheel).stat().st_size / 1e6:.1f} MB")
    run = [sys.executable, "-X", "importtime", "-c", "import margins"]
    lines = [subprocess.run(run, capture_output=True, text=True, cwd=folder).stderr.splitlines()[-1] for _ in range(9)]
    print(f"import: {min(int(line.split('|')[1]) for line in lines) / 1000:.1f} ms")

    few = polars.DataFrame({"place": [1], "age": [1]})
    made = margins.release(spec("cells", 1000), few, out=folder, ledger=ledgers / "cells.jsonl")
    asked = lambda: polars.DataFrame(margins.open(made.path).table("place", "age"))
    assert len(asked()) == 100_000
    print(f"100 000 cells, from opening the file to a polars frame: {best(asked):.2f} s")

    million = polars.DataFrame({"n": range(1_000_000)})
    million = million.select(place=polars.col("n") % 100, age=polars.col("n") % 90)
    warnings.simplefilter("ignore")
    rows = spec("rows", 90)
    where = {"out": folder, "ledger": ledgers / "rows.jsonl", "replace": True}
    print(f"a million rows released: {best(lambda: margins.release(rows, million, **where), 3):.2f} s")
