"""Hours and capital gain by education and sex in UCI Adult, as rows and with `fnlwgt` as their weights: what releases keep of sums and means, and what their answers say of it. Writes the section into the
page, or nothing without the data.

    python benches/peers/adult.py --margins target/release/margins --data adult14.csv --out docs/performance.md

The file is `data/adult.csv` of the repository `ryan112358/private-pgm`: whole codes, of which those of hours are hours less one, and those of capital gain and of weights are bins of equal width. Codes are
summed, and weigh, as they are.
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
# What a row counts for: itself, or its weight, of which those beyond count as the highest.
WEIGHTS = {"": None, "weighted ": ("fnlwgt", 40)}
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


def one(args, folder, rows, weight):
    """Of every figure: the typical size, squares of errors and of the standard errors that answers say, and how many intervals cover; and the truth, a count and sums for each group."""
    spec, most = SPEC, 1
    if weight:
        column, most = weight
        spec += f'[weights]\ncolumn = "{column}"\nhigh = {most}\nstep = 1\n'
    with open(f"{folder}/adult.toml", "w") as file:
        file.write(spec + "".join(f'[[amount]]\nname = "{a}"\ncolumn = "{column}"\nlow = 0\nhigh = {most * high}\nstep = 1\n' for a, (column, high) in AMOUNTS.items()))
    truth = collections.defaultdict(lambda: [0] * (1 + len(AMOUNTS)))
    for row in rows:
        group, counts_for = truth[int(row["education-num"]), int(row["sex"])], min(int(row[weight[0]]), most) if weight else 1
        for i, value in enumerate([1, *(int(row[column]) for column, _ in AMOUNTS.values())]):
            group[i] += counts_for * value
    asked = {("people", "COUNT"): ("COUNT(*)", lambda t: t[0])}
    for i, a in enumerate(AMOUNTS, 1):
        asked |= {(a, "SUM"): (f"SUM({a})", lambda t, i=i: t[i]), (a, "AVG"): (f"AVG({a})", lambda t, i=i: t[i] / t[0])}
    names = {key: f"f{i}" for i, key in enumerate(asked)}
    sql = f"SELECT education, sex, {', '.join(f'{asked[key][0]} AS {name}' for key, name in names.items())} FROM adult GROUP BY education, sex"
    seen = {key: [0.0, 0.0, 0] for key in asked}
    for _ in range(args.releases):
        run(args.margins, "release", f"{folder}/adult.toml", "--data", os.path.abspath(args.data), "--out", folder, "--ledger", f"{folder}/l.jsonl", "--replace", "--yes")
        os.remove(f"{folder}/l.jsonl")
        for row in json.loads(run(args.margins, "query", f"{folder}/adult.margins", sql, "--json"))["rows"]:
            group = truth[int(row["education"]), int(row["sex"])]
            for key, name in names.items():
                true, got, low, high = asked[key][1](group), seen[key], row[f"{name}_low"], row[f"{name}_high"]
                got[0] += (row[name] - true) ** 2
                got[1] += row[f"{name}_std_error"] ** 2
                got[2] += (low is None or low <= true + 1e-6) and (high is None or true - 1e-6 <= high)
    sizes = {key: sorted(figure(t) for t in truth.values())[len(truth) // 2] for key, (_, figure) in asked.items()}
    return {key: (sizes[key], *seen[key]) for key in asked}, truth


def report(args, folder):
    with open(args.data) as file:
        rows = list(csv.DictReader(file))
    found = {word: one(args, folder, rows, weight) for word, weight in WEIGHTS.items()}
    people = [t[0] for t in found[""][1].values()]
    n, (column, most) = args.releases * len(people), WEIGHTS["weighted "]
    beyond = sum(int(r[column]) > most for r in rows) / len(rows)
    text = f"""{BEGIN}

Counts, sums and means by education and sex ({len(people)} groups, of {min(people)} to {max(people):,} people) of the {len(rows):,} rows of UCI Adult, as codes: hours to {AMOUNTS['hours'][1]}, of which everybody
has some, and capital gain to {AMOUNTS['gain'][1]}, which is 0 for {sum(r['capital-gain'] == '0' for r in rows) / len(rows):.0%}. Weighted figures are those of further releases, with the code of `{column}` as the weight, to {most}:
{beyond:.1%} of the rows weigh more and count as {most}, in the truth as in the release. Each release has ρ = 1/2 for its counts and both sums; {args.releases} releases of each kind;
[`benches/peers/adult.py`](../benches/peers/adult.py).

| of | figure | typical size | root-mean-square error | as the answers say | 95 % intervals that cover |
|---|---|---|---|---|---|
"""
    for word, (figures, _) in found.items():
        for (of, figure), (size, squares, said, covered) in figures.items():
            digits = 2 if figure == "AVG" else 0
            text += f"| {word}{of} | {figure} | {size:,.{digits}f} | {math.sqrt(squares / n):,.2f} | {math.sqrt(said / n):,.2f} | {covered / n:.3f} |\n"
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
