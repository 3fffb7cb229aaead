"""How the cost of a release grows with rows, tables, cells and attributes: four curves in one picture.

    python benches/peers/curves.py --margins target/release/margins --out docs/images/cost.svg

Processor seconds and peak memory of the whole command, from the start to the sealed file, over made-up rows in Parquet; the best of three.
"""

import argparse
import os
import subprocess
import tempfile

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from peers import run_margins


def case(folder, name, rows, sizes, order):
    """A spec with every table of so many attributes, and its rows."""
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({f"a{i}": (rng.beta(1, 3, rows) * n).astype(np.int32) for i, n in enumerate(sizes)})
    path = f"{folder}/{name}.parquet"
    frame.write_parquet(path, row_group_size=250_000)
    spec = f'name = "{name}"\ntitle = "{name}"\n[data]\npath = "{name}.parquet"\n[privacy]\nunit = "row"\nrho = "1/2"\n'
    spec += "".join(f'[[dimension]]\nname = "a{i}"\ncodes = {n}\n' for i, n in enumerate(sizes))
    spec += f'[[table]]\nevery = {order}\n[strategy]\nmeasure = "residual"\n'
    with open(f"{folder}/{name}.toml", "w") as file:
        file.write(spec)
    return path


CURVES = [
    ("rows, 28 tables of pairs", "rows", [(n, n, [8] * 8, 2) for n in (10_000, 100_000, 1_000_000, 10_000_000)]),
    ("tables of three, of 10 values each, 100 000 rows", "tables", [(m * (m - 1) * (m - 2) // 6, 100_000, [10] * m, 3) for m in (5, 8, 12, 16, 22)]),
    ("cells of one table of two, 100 000 rows", "cells", [(n * n, 100_000, [n, n], 2) for n in (10, 30, 100, 300, 1000, 3000)]),
    ("attributes of 4 values, all pairs, 100 000 rows", "attributes", [(m, 100_000, [4] * m, 2) for m in (4, 8, 16, 32, 64, 100)]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--out", default="docs/images/cost.svg")
    args = parser.parse_args()
    margins = os.path.abspath(args.margins)
    plt.rcParams.update({"svg.hashsalt": "margins", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for panel, (title, label, points) in zip(panels.flat, CURVES):
        xs, cpu, mb = [], [], []
        for at, (x, rows, sizes, order) in enumerate(points):
            with tempfile.TemporaryDirectory() as folder:
                path = case(folder, "curve", rows, sizes, order)
                subprocess.run([margins, "keygen", "--out", f"{folder}/bench.key", "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
                runs = [run_margins(margins, folder, "curve", path) for _ in range(3)]
            xs.append(x)
            cpu.append(min(r["cpu"] for r in runs))
            mb.append(min(r["mb"] for r in runs))
            print(f"{title}: {x} {cpu[-1]:.3f} s {mb[-1]:.0f} MB", flush=True)
        panel.loglog(xs, cpu, "o-", color="#1f6f8b", label="processor seconds")
        panel.loglog(xs, [m / 1000 for m in mb], "s--", color="#c2571a", label="peak memory, GB")
        panel.set_xlabel(label)
        panel.set_title(title, fontsize=9)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.yaxis.set_minor_formatter(lambda value, _: "")
        panel.grid(True, which="major", alpha=0.3)
    panels.flat[0].legend(frameon=False)
    figure.suptitle("What a release costs")
    os.makedirs(os.path.dirname(args.out), exist_ok=True)
    figure.savefig(args.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
