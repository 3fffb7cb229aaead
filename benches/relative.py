#!/usr/bin/env python3
"""What weighing each cell by its expected count gains, on a skewed town.

benches/relative.py [--margins target/release/margins] [--areas 10] [--seed 1]

Areas as unequal as towns are (sizes fall as 1/rank), in three regions of unequal numbers of areas, beside sex and three groups of age. An earlier release tells what to expect. Then four tables
are planned with `objective = "relative"` by several strategies, and `margins plan --json` says the sum of variances over expected counts that each promises. What weights of whole tables
would have made of it is that of `residual` where areas have no regions: there all cells of a table have one variance.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

STRATEGIES = ["residual", "queries", "together", "auto"]


def spec(name, areas, regions, measure, relative):
    names = [f"A{i}" for i in range(areas)]
    cuts = [0, max(1, areas // 10), max(2, areas // 3), areas]
    parents = [f"R{r}" for r in range(3) for _ in range(cuts[r], cuts[r + 1])]
    lines = [f'name = "{name}"', 'title = "T"', "demo = true", "[data]", 'path = "rows.csv"', "[privacy]", 'unit = "row"']
    lines += [f'rho = "{"1/100" if relative else "1/2"}"']
    lines += ["[[dimension]]", 'name = "sex"', 'categories = ["F", "M"]']
    lines += ["[[dimension]]", 'name = "age"', 'categories = ["child", "adult", "old"]']
    lines += ["[[dimension]]", 'name = "area"']
    if regions:
        lines += ['hierarchy = "areas.csv"']
        Path("areas.csv").write_text("area,region\n" + "".join(f"{n},{p}\n" for p, n in zip(parents, names)))
    else:
        lines += [f"categories = {json.dumps(names)}"]
    tables = [["area"], ["sex", "area"], ["sex", "age"], ["sex", "age", "area"]]
    if regions:
        tables += [["area.region"], ["age", "area.region"]]
    for of in tables if relative else tables[3:4]:
        lines += ["[[table]]", f"of = {json.dumps(of)}"]
    if relative:
        lines += ["[strategy]", 'objective = "relative"', 'expected = { file = "out/earlier.margins", floor = 5 }']
        lines += [f'measure = "{measure}"']
    return "\n".join(lines) + "\n"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--margins", default="target/release/margins")
    ask.add_argument("--areas", type=int, default=10)
    ask.add_argument("--seed", type=int, default=1)
    args = ask.parse_args()
    margins = str(Path(args.margins).resolve())
    dice = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rows = ["sex,age,area"]
        for i in range(args.areas):
            for age, part in [("child", 0.2), ("adult", 0.6), ("old", 0.2)]:
                for sex in "FM":
                    n = dice.gauss(1500 * part / (i + 1), 3)
                    rows += [f"{sex},{age},A{i}"] * max(0, round(n))
        Path("rows.csv").write_text("\n".join(rows) + "\n")
        print("| areas | strategy | Σ variance/expected | over the least of every Gaussian mechanism |")
        print("|---|---|---|---|")
        for regions in [False, True]:
            Path("earlier.toml").write_text(spec("earlier", args.areas, regions, "", False))
            release = [margins, "release", "earlier.toml", "--replace", "--insecure-seed", str(args.seed)]
            subprocess.run(release, check=True, capture_output=True)
            found = {}
            for measure in STRATEGIES:
                Path("now.toml").write_text(spec("now", args.areas, regions, measure, True))
                told = subprocess.run([margins, "plan", "now.toml", "--json"], capture_output=True, text=True)
                if told.returncode:
                    print(told.stderr)
                    continue
                plan = json.loads(told.stdout)
                own = plan["strategies"][plan["chosen"]]
                value = own["weighted_variance"]
                found[measure] = value
                gap = plan["gap"] if plan["gap_among"] == "gaussian" else None
                for wider in plan["wider"]:
                    gap = wider["gap"] if "Gaussian" in wider["of"] else gap
                name = f"auto ({own['measure']})" if measure == "auto" else measure
                over = "" if gap is None else f"{1 + gap:.3f}"
                print(f"| {'in regions' if regions else 'alone'} | {name} | {value:.4g} | {over} |")


if __name__ == "__main__":
    main()
