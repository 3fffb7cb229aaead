"""How often intervals of sums, means, variances and differences of means cover the truth, over many small releases of skewed amounts.

    python benches/coverage.py --margins target/release/margins --releases 6000

Three amounts, of which one is log-normal and cut off at its end, one is 0 in most rows, one is at either end in most; four groups of 8 to 200 rows; under Gaussian and under
Laplace noise. Each release is a run of the command. It is asked the sums of all groups and amounts, and the figures of one amount in one group, at one level: these take turns. A share's
standard error is that of the mean over the releases: answers of one release depend on each other. It ends with an error where a share is more than four standard errors below its level.
"""

import argparse
import collections
import itertools
import json
import math
import os
import random
import subprocess
import tempfile

SIZES = {"a": 8, "b": 25, "c": 70, "d": 200}
AMOUNTS = {"lognormal": (0, 1000), "zeros": (0, 500), "ends": (-100, 300)}
NOISES = {"gaussian": 'rho = "2"', "laplace": 'epsilon = "6"'}
LEVELS = ["0.9", "0.95"]
FIGURES = {
    "AVG": "AVG({0})",
    "VAR_POP": "VAR_POP({0})",
    "difference of AVG": "AVG({0}) FILTER (WHERE sex = 'F') - AVG({0}) FILTER (WHERE sex = 'M')",
}


def rows():
    rng = random.Random(20261123)
    for group, n in SIZES.items():
        for i in range(n):
            drawn = [rng.lognormvariate(4.5, 1.3), 0 if rng.random() < 0.8 else rng.lognormvariate(4, 1), rng.choice([-500, -100, 300, 900, rng.uniform(-100, 300)])]
            yield group, "FM"[i % 3 == 0], [min(max(round(x), low), high) for x, (low, high) in zip(drawn, AMOUNTS.values())]


def make(folder, noise):
    with open(f"{folder}/rows.csv", "w") as file:
        print("grp,sex,", ",".join(AMOUNTS), sep="", file=file)
        for group, sex, values in rows():
            print(group, sex, *values, sep=",", file=file)
    spec = f'name = "small"\ntitle = "small"\ndemo = true\n[data]\npath = "rows.csv"\n[privacy]\nunit = "row"\n{NOISES[noise]}\n'
    spec += f'[[dimension]]\nname = "grp"\ncategories = {json.dumps(list(SIZES))}\n[[dimension]]\nname = "sex"\ncategories = ["F", "M"]\n'
    for name, (low, high) in AMOUNTS.items():
        spec += f'[[amount]]\nname = "{name}"\nlow = {low}\nhigh = {high}\nstep = 1\nsquare = true\n'
    spec += f'[[table]]\nof = ["grp", "sex"]\nsum = {json.dumps(list(AMOUNTS))}\n[strategy]\nmeasure = "queries"\n'
    with open(f"{folder}/small.toml", "w") as file:
        file.write(spec)


def truths():
    """The true figures of every amount in every group."""
    data, found = list(rows()), {}
    for i, amount in enumerate(AMOUNTS):
        for group in SIZES:
            x = [v[i] for g, _, v in data if g == group]
            mean = sum(x) / len(x)
            f, m = ([v[i] for g, s, v in data if g == group and s == sex] for sex in "FM")
            found[amount, group] = {"SUM": sum(x), "AVG": mean, "VAR_POP": sum((a - mean) ** 2 for a in x) / len(x), "difference of AVG": sum(f) / len(f) - sum(m) / len(m)}
    return found


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def interval(row, name):
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return -math.inf if low is None else low, math.inf if high is None else high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--releases", type=int, default=6000, help="under each noise")
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=list(NOISES))
    args = parser.parse_args()
    margins, truth, below = os.path.abspath(args.margins), truths(), 0
    print(f"{args.releases:,} releases under each noise\n\n| noise | figure | amount | " + " | ".join(f"intervals at {x} | that cover | without an end" for x in LEVELS) + " |\n" + "|---" * (3 + 3 * len(LEVELS)) + "|")
    turns = list(itertools.product(LEVELS, AMOUNTS, SIZES))
    for noise in args.noises:
        # Of each figure: of every release the share of its intervals that cover; and how many intervals there were, and how many without an end.
        shares, all_, unbounded = collections.defaultdict(list), collections.Counter(), collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            make(folder, noise)
            for at in range(args.releases):
                level, amount, group = turns[at % len(turns)]
                with open(f"{folder}/asked.sql", "w") as file:
                    file.write("SELECT grp, " + ", ".join(f"SUM({a}) AS {a}" for a in AMOUNTS) + " FROM small GROUP BY grp;\n")
                    figures = ", ".join(f"{sql.format(amount)} AS f{i}" for i, sql in enumerate(FIGURES.values()))
                    file.write(f"SELECT {figures} FROM small WHERE grp = '{group}';\n")
                run(margins, "release", f"{folder}/small.toml", "--out", folder, "--ledger", f"{folder}/l.jsonl", "--replace", "--yes")
                os.remove(f"{folder}/l.jsonl")
                sums, rest = [json.loads(line)["rows"] for line in run(margins, "query", f"{folder}/small.margins", "--batch", f"{folder}/asked.sql", "--jsonl", "--level", level).splitlines()]
                found = {("SUM", a): [(interval(row, a), truth[a, row["grp"]]["SUM"]) for row in sums] for a in AMOUNTS}
                found |= {(figure, amount): [(interval(rest[0], f"f{i}"), truth[amount, group][figure])] for i, figure in enumerate(FIGURES)}
                for (figure, a), ends in found.items():
                    # What the text of a number leaves out of it is not the interval's fault.
                    shares[figure, a, level].append(sum(low - 1e-6 <= x <= high + 1e-6 for (low, high), x in ends) / len(ends))
                    all_[figure, a, level] += len(ends)
                    unbounded[figure, a, level] += sum(math.isinf(low) or math.isinf(high) for (low, high), _ in ends)
        for figure, a in itertools.product(["SUM", *FIGURES], AMOUNTS):
            line = f"| {noise} | {figure} | {a} |"
            for level in LEVELS:
                key, one = (figure, a, level), shares[figure, a, level]
                share = sum(one) / len(one)
                error = math.sqrt(sum((x - share) ** 2 for x in one)) / len(one)
                below += share < float(level) - 4 * error
                line += f" {all_[key]:,} | {share:.4f} ± {error:.4f} | {unbounded[key] / all_[key]:.3f} |"
            print(line, flush=True)
    raise SystemExit(f"{below} shares are below their level" if below else 0)


if __name__ == "__main__":
    main()
