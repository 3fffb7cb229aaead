"""Hours and capital gain by education and sex in UCI Adult: what a plan promises of sums and means, and what releases keep. Writes the section into the page, or nothing without the data.

    python benches/peers/adult.py --margins target/release/margins --data adult14.csv --out docs/performance.md

The file is `data/adult.csv` of the repository `ryan112358/private-pgm`: whole codes, of which those of hours are hours less one, and those of capital gain bins of about a thousand dollars. Codes are
summed as they are.
"""

import argparse
import collections
import csv
import json
import math
import os
import tempfile

import large
from amounts import run

BEGIN = "## Hours and capital gain in Adult"
AMOUNTS = {"hours": ("hours-per-week", 98), "gain": ("capital-gain", 99)}
SPEC = """name = "adult"
title = "Adult"
demo = true
[data]
path = "rows.csv"
[privacy]
unit = "row"
rho = "1/2"
[[dimension]]
name = "education"
column = "education-num"
codes = 16
[[dimension]]
name = "sex"
codes = 2
[[table]]
of = ["education", "sex"]
sum = ["hours", "gain"]
"""


def report(args, folder):
    with open(args.data) as file:
        rows = list(csv.DictReader(file))
    with open(f"{folder}/adult.toml", "w") as file:
        file.write(SPEC + "".join(f'[[amount]]\nname = "{a}"\ncolumn = "{column}"\nlow = 0\nhigh = {high}\nstep = 1\n' for a, (column, high) in AMOUNTS.items()))
    truth = collections.defaultdict(lambda: [0] + [0] * len(AMOUNTS))
    for row in rows:
        one = truth[int(row["education-num"]), int(row["sex"])]
        one[0] += 1
        for i, (column, _) in enumerate(AMOUNTS.values(), 1):
            one[i] += int(row[column])
    asked = ", ".join(f"SUM({a}) AS s{i}, AVG({a}) AS m{i}" for i, a in enumerate(AMOUNTS, 1))
    # Of every amount and figure: squares of the errors and of their standard errors, and how many intervals cover.
    seen = collections.defaultdict(lambda: [0.0, 0.0, 0])
    for _ in range(args.releases):
        run(args.margins, "release", f"{folder}/adult.toml", "--data", os.path.abspath(args.data), "--out", folder, "--ledger", f"{folder}/l.jsonl", "--replace", "--yes")
        os.remove(f"{folder}/l.jsonl")
        answer = json.loads(run(args.margins, "query", f"{folder}/adult.margins", f"SELECT education, sex, {asked} FROM adult GROUP BY education, sex", "--json"))
        for row in answer["rows"]:
            one = truth[int(row["education"]), int(row["sex"])]
            for i, a in enumerate(AMOUNTS, 1):
                for figure, name, true in [("SUM", f"s{i}", one[i]), ("AVG", f"m{i}", one[i] / one[0])]:
                    got = seen[a, figure]
                    low, high = row[f"{name}_low"], row[f"{name}_high"]
                    got[0] += (row[name] - true) ** 2
                    got[1] += row[f"{name}_std_error"] ** 2
                    got[2] += (low is None or low <= true + 1e-6) and (high is None or true - 1e-6 <= high)
    n = args.releases * len(truth)
    text = f"""{BEGIN}

Sums and means by education and sex ({len(truth)} groups, of {min(t[0] for t in truth.values())} to {max(t[0] for t in truth.values()):,} people) of the {len(rows):,} rows of UCI Adult, as codes: hours to {AMOUNTS['hours'][1]}, of which everybody
has some, and capital gain to {AMOUNTS['gain'][1]}, which is 0 for {sum(r['capital-gain'] == '0' for r in rows) / len(rows):.0%}. ρ = 1/2 for counts and both sums; {args.releases} releases;
[`benches/peers/adult.py`](../benches/peers/adult.py).

| amount | figure | typical size | root-mean-square error | as the answers say | 95 % intervals that cover |
|---|---|---|---|---|---|
"""
    for i, a in enumerate(AMOUNTS, 1):
        for figure in ["SUM", "AVG"]:
            sizes = sorted(t[i] if figure == "SUM" else t[i] / t[0] for t in truth.values())
            squares, said, covered = seen[a, figure]
            text += f"| {a} | {figure} | {sizes[len(sizes) // 2]:,.{0 if figure == 'SUM' else 2}f} | {math.sqrt(squares / n):,.2f} | {math.sqrt(said / n):,.2f} | {covered / n:.3f} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--data", default="adult14.csv")
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--out", help="the page to write into")
    args = parser.parse_args()
    args.margins = os.path.abspath(args.margins)
    if not os.path.exists(args.data):
        return print(f"{args.data} is not here: skipped")
    with tempfile.TemporaryDirectory() as folder:
        text = report(args, folder)
    if args.out:
        large.write(args.out, BEGIN, text)
    print(text)


if __name__ == "__main__":
    main()
