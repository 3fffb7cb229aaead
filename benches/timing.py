"""Whether the time and memory of a release tell what is in the data: runs on data of as many rows and bytes.

    python3 benches/timing.py target/release/margins [--rows 100000] [--rounds 60] [--unit | --cells]

In each round `margins release` runs once on each file, in random order, with a ledger of its own. A file's figure is compared
with that of `base` in the same round: the mean of all differences but the fifth that is smallest and the fifth that is largest,
against the same with random signs. What would have been found is the difference that this test notices with probability 0.9 at
the level of 0.01 for all comparisons together. With `--unit` rows have a unit, of which two count, and the units' numbers differ; with `--cells` they
have a category that may be another one, a number in bins and an amount, and cells of one length are of different kinds.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SPEC = """
name = "s"
title = "Made up"
[data]
path = "rows.csv"
[privacy]
unit = {unit}
rho = 1
[[dimension]]
name = "sex"
categories = ["F", "M"]
[[dimension]]
name = "area"
categories = [{areas}]
[[dimension]]
name = "age"
range = [10, 99]
[[table]]
up_to = 2
[strategy]
measure = "residual"
"""
KINDS = """
name = "s"
title = "Made up"
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = 1
[[dimension]]
name = "kind"
categories = ["aaaaaaaa", "bbbbbbbb"]
other = "cccccccc"
[[dimension]]
name = "size"
bins = [0, 10, 100, 1000]
other = "rest"
[[amount]]
name = "value"
column = "value"
low = 0
high = 1000
step = 1
missing = "zero"
[[table]]
of = ["kind"]
sum = ["value"]
[[table]]
of = ["size"]
"""
AREAS = [f"a{n:02}" for n in range(40)]
UNITS = {
    "neighbour": "all rows of one unit are others",
    "one unit": "all rows are of one unit",
    "all apart": "each row is of a unit of its own",
}
CELLS = {
    "others": "every category is another one",
    "exponents": "numbers are written with exponents",
    "in no bin": "no size is a number",
    "at an end": "every value is beyond its bound",
    "alike": "all rows are alike",
}
WHAT = {
    "neighbour": "one row is another one",
    "one cell": "all rows are alike",
    "sorted": "the rows of `base`, sorted",
    "other": "drawn anew, from a law of long tails",
    "longer": "the rows of `base`, ages written with a zero before them",
}


def files(rows, rng):
    """By name the lines of each file: all but `longer` have as many bytes."""
    line = lambda sex, area, age: f"{sex},{area},{age}"
    base = [line(rng.choice("FM"), rng.choice(AREAS), rng.randint(10, 99)) for _ in range(rows)]
    at = rng.randrange(rows)
    skewed = lambda most: min(int(rng.paretovariate(1)) - 1, most)
    return {
        "base": base,
        "neighbour": base[:at] + [line("F" if base[at][0] == "M" else "M", AREAS[7], 55)] + base[at + 1:],
        "one cell": [line("M", AREAS[39], 99)] * rows,
        "sorted": sorted(base),
        "other": [line("FM"[skewed(1)], AREAS[skewed(39)], 10 + skewed(89)) for _ in range(rows)],
        "longer": [text[:6] + "0" + text[6:] for text in base],
    }


def units(rows, rng):
    """The same rows, of other units."""
    base, own = files(rows, rng)["base"], [rng.randrange(rows // 2) for _ in range(rows)]
    moved = [text if unit != own[0] else f"{'F' if text[0] == 'M' else 'M'}{text[1:]}" for text, unit in zip(base, own)]
    given = lambda lines, ids: [f"{text},{unit:08}" for text, unit in zip(lines, ids)]
    apart = rng.sample(range(rows), rows)
    return {"base": given(base, own), "neighbour": given(moved, own), "one unit": given(base, [7] * rows), "all apart": given(base, apart)}


def cells(rows, rng):
    """Rows of one length whose cells are of different kinds."""
    kind = lambda: rng.choice(("aaaaaaaa", "bbbbbbbb"))
    number = lambda: f"{rng.randint(100_000, 999_999) / 1000:07.3f}"
    power = lambda: f"{rng.randint(10, 99)}.00e1"
    each = lambda kind, size, value: [f"{kind()},{size()},{value()}" for _ in range(rows)]
    return {
        "base": each(kind, number, number),
        "others": each(lambda: "zzzzzzzz", number, number),
        "exponents": each(kind, power, power),
        "in no bin": each(kind, lambda: "abcdefg", number),
        "at an end": each(kind, number, lambda: f"{rng.randint(1001, 9999)}.00"),
        "alike": ["aaaaaaaa,500.000,500.000"] * rows,
    }


def write(folder, rows, rng, kind):
    text = '{ column = "id", max_rows = 2 }' if kind == "unit" else '"row"'
    spec = KINDS if kind == "cells" else SPEC.format(areas=", ".join(f'"{area}"' for area in AREAS), unit=text)
    head = {"unit": "sex,area,age,id", "cells": "kind,size,value"}.get(kind, "sex,area,age")
    for name, lines in {"unit": units, "cells": cells}.get(kind, files)(rows, rng).items():
        (folder / name).mkdir()
        (folder / name / "s.toml").write_text(spec)
        (folder / name / "rows.csv").write_text(head + "\n" + "\n".join(lines) + "\n")


def measure(margins, folder):
    """Processor seconds of the program itself, seconds, and most kilobytes of one release."""
    out = Path(tempfile.mkdtemp(dir=folder))
    run = [margins, "release", "s.toml", "--key", "../key", "--out", str(out), "--ledger", str(out / "ledger")]
    begun = time.perf_counter()
    process = subprocess.Popen(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, folder
    shutil.rmtree(out)
    return used.ru_utime, wall, used.ru_maxrss


def middle(differences):
    fifth = len(differences) // 5
    return statistics.fmean(sorted(differences)[fifth:len(differences) - fifth])


def compare(differences, level, rng, flips=4000):
    """The difference, how likely one as large is by chance, and what would have been found with probability 0.9."""
    found = middle(differences)
    flipped = lambda some: abs(middle([d * rng.choice((-1, 1)) for d in some]))
    chance = (1 + sum(flipped(differences) >= abs(found) for _ in range(flips))) / (flips + 1)
    normal, around = statistics.NormalDist(), [d - found for d in differences]
    deviation = statistics.fmean(flipped(around) ** 2 for _ in range(flips)) ** 0.5
    return found, chance, deviation * (normal.inv_cdf(1 - level / 2) + normal.inv_cdf(0.9))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("margins")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=60)
    which = parser.add_mutually_exclusive_group()
    for kind in ("unit", "cells"):
        which.add_argument(f"--{kind}", action="store_const", const=kind, dest="kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng, margins = random.Random(args.seed), str(Path(args.margins).resolve())
    folder = Path(tempfile.mkdtemp(prefix="timing-"))
    subprocess.run([margins, "keygen", "--no-passphrase", "--out", folder / "key"], check=True, stdout=subprocess.DEVNULL)
    # In a process of its own: what a program starts with counts into its peak.
    writer = multiprocessing.get_context("fork").Process(target=write, args=(folder, args.rows, rng, args.kind))
    writer.start()
    writer.join()
    what = {"unit": UNITS, "cells": CELLS}.get(args.kind, WHAT)
    made = ["base", *what]
    for name in made:
        measure(margins, folder / name)
    load, rounds = os.getloadavg()[0], []
    for _ in range(args.rounds):
        order = rng.sample(made, len(made))
        rounds.append({name: measure(margins, folder / name) for name in order})
    load = (load + os.getloadavg()[0]) / 2
    print(f"{args.rows:,} rows, {args.rounds} rounds, {os.cpu_count()} processors, load {load:.1f}")
    figures = ["processor ms", "wall ms", "peak MB"]
    scale = [1000, 1000, 1 / 1024]
    for at, figure in enumerate(figures):
        usual = statistics.median(one["base"][at] for one in rounds) * scale[at]
        print(f"{figure}: base {usual:.2f}")
        for name in made:
            if name == "base":
                continue
            level = 0.01 / (len(figures) * len(what))
            differences = [(one[name][at] - one["base"][at]) * scale[at] for one in rounds]
            found, chance, power = compare(differences, level, rng)
            seen = "DIFFERS" if chance <= max(level, 1 / 4001) else "no difference seen"
            print(f"  {name:9}  {found:+8.3f} ({100 * found / usual:+.2f} %), by chance {chance:.4f}; "
                  f"{power:.3f} ({100 * power / usual:.2f} %) would be found: {seen}  ({what[name]})")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
