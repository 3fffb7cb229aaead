"""Sums and means of a skewed amount in three tables and of everybody, with margins, OpenDP and diffprivlib: how far their answers are from the truth, and what they take.

    python benches/peers/amounts.py --margins target/release/margins --opendp PYTHON --diffprivlib PYTHON --out docs/performance.md

One row more or less is protected, with the same bounds and budget for all. Each peer does it in the best way that its documents show: for each table OpenDP asks its polars context
for lengths and sums by known keys; diffprivlib has only pure ε, and asks `sum` and `count_nonzero` of all rows masked by each group (its `mean`, and its `sum` of a group, take the
group's size as known to all). Both share the budget evenly between tables and, for means, between sums and counts.
"""

import argparse
import collections
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

DIMENSIONS = {"region": 8, "band": 6, "sex": 2}
LOW, HIGH, ROWS = 0, 200_000, 100_000
BUDGETS = {"rho": 0.5, "epsilon": 1.0}
TASKS = {"tables": list(itertools.combinations(DIMENSIONS, 2)), "one sum": [()], "one mean": [()]}
BEGIN = "## Sums and means"


def title(task, budget):
    return f"{task.replace(' ', '_')}_{budget}"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def make(folder):
    """Incomes that are log-normal and depend on the group; regions and bands of very different sizes. Some are cut off at the end."""
    rng = random.Random(20261123)
    with open(f"{folder}/incomes.csv", "w") as file:
        print(*DIMENSIONS, "income", sep=",", file=file)
        for _ in range(ROWS):
            region, band, sex = min(int(rng.expovariate(0.5)), 7), min(int(rng.gammavariate(2, 1)), 5), int(rng.random() < 0.4)
            print(region, band, sex, min(round(rng.lognormvariate(10 + 0.1 * band - 0.2 * sex, 0.9)), 10**6), sep=",", file=file)
    for task, budget in itertools.product(TASKS, BUDGETS):
        name = title(task, budget)
        spec = f'name = "{name}"\ntitle = "Incomes"\ndemo = true\n[data]\npath = "incomes.csv"\n[privacy]\nunit = "row"\n{budget} = "{BUDGETS[budget]}"\n'
        spec += "".join(f'[[dimension]]\nname = "{d}"\ncodes = {n}\n' for d, n in DIMENSIONS.items())
        spec += f'[[amount]]\nname = "income"\nlow = {LOW}\nhigh = {HIGH}\nstep = 1\n'
        for table in TASKS[task]:
            spec += f'[[table]]\nof = {json.dumps(list(table))}\nsum = ["income"]\n' + ("count = false\n" if task == "one sum" else "")
        with open(f"{folder}/{name}.toml", "w") as file:
            file.write(spec)


def read(folder):
    with open(f"{folder}/incomes.csv") as file:
        next(file)
        return [tuple(map(int, line.split(","))) for line in file]


def exact(rows, table):
    """The counts and sums of a table's groups, of amounts moved to the bounds."""
    at, found = [list(DIMENSIONS).index(d) for d in table], collections.defaultdict(lambda: [0, 0])
    for row in rows:
        one = found[tuple(row[i] for i in at)]
        one[0], one[1] = one[0] + 1, one[1] + min(max(row[-1], LOW), HIGH)
    return found


class Margins:
    def __init__(self, program, folder, budget):
        self.program, self.folder, self.budget = program, folder, budget

    def release(self, task):
        name = title(task, self.budget)
        with tempfile.TemporaryDirectory() as out:
            with open(f"{out}/asked.sql", "w") as file:
                for table in TASKS[task]:
                    keys = ", ".join(table)
                    # A release of one sum alone may count nobody.
                    count = "" if task == "one sum" else ", COUNT(*) AS n"
                    file.write(f"SELECT {keys + ', ' if keys else ''}SUM(income) AS total{count} FROM {name}{' GROUP BY ' + keys if keys else ''};\n")
            begin = time.perf_counter()
            run(self.program, "release", f"{self.folder}/{name}.toml", "--out", out, "--ledger", f"{out}/ledger.jsonl")
            took = time.perf_counter() - begin
            # AVG(income) is the ratio of these two; asked itself, it would also have an interval, which takes longer.
            answers = run(self.program, "query", f"{out}/{name}.margins", "--batch", f"{out}/asked.sql", "--jsonl").splitlines()
        found = {}
        for table, line in zip(TASKS[task], answers):
            for row in json.loads(line)["rows"]:
                found[table, tuple(int(row[d]) for d in table)] = (row["total"], row["total"] / row["n"] if "n" in row else None)
        return found, took


class OpenDP:
    def __init__(self, folder, budget):
        import opendp.prelude as dp
        import polars as pl
        dp.enable_features("contrib")
        self.dp, self.pl, self.budget = dp, pl, budget
        self.data, self.resolved = pl.scan_csv(f"{folder}/incomes.csv"), {}

    def resolve(self, task):
        """A measurement for each table: that finds the scales of noise, which takes longer than all else."""
        dp, income = self.dp, self.pl.col("income").dp.sum((LOW, HIGH)).alias("total")
        asked = [income] if task == "one sum" else [dp.len(signed=True), income]
        context = dp.Context.compositor(
            data=self.data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**{self.budget: BUDGETS[self.budget]}), split_evenly_over=len(TASKS[task]),
            margins=[dp.polars.Margin(by=list(t), max_length=2**20, **({"invariant": "keys"} if t else {})) for t in TASKS[task]],
        )
        queries = [(t, context.query().group_by(*t).agg(*asked) if t else context.query().select(*asked)) for t in TASKS[task]]
        return [(table, query.resolve()) for table, query in queries]

    def release(self, task):
        begin, found, first = time.perf_counter(), {}, task not in self.resolved
        if first:
            self.resolved[task] = self.resolve(task)
        for table, measurement in self.resolved[task]:
            for row in measurement(self.data).collect().iter_rows(named=True):
                found[table, tuple(row[d] for d in table)] = (row["total"], row["total"] / (row["len"] or 1) if "len" in row else None)
        return found, time.perf_counter() - begin if first else math.inf


class Diffprivlib:
    def __init__(self, folder, budget):
        import numpy as np
        from diffprivlib import tools
        self.np, self.tools = np, tools
        self.data = np.array(read(folder))

    def release(self, task):
        np, tools = self.np, self.tools
        begin, found = time.perf_counter(), {}
        income, epsilon = self.data[:, -1], BUDGETS["epsilon"] / len(TASKS[task]) / (1 if task == "one sum" else 2)
        for table in TASKS[task]:
            for group in itertools.product(*(range(DIMENSIONS[d]) for d in table)):
                mask = np.ones(len(income), bool)
                for d, value in zip(table, group):
                    mask &= self.data[:, list(DIMENSIONS).index(d)] == value
                total = float(tools.sum(np.where(mask, income, 0).astype(float), epsilon=epsilon, bounds=(LOW, HIGH)))
                count = None if task == "one sum" else int(tools.count_nonzero(mask, epsilon=epsilon))
                found[table, group] = (total, None if count is None else total / (count or 1))
        return found, time.perf_counter() - begin


def errors(peer, folder, task, releases):
    """The mean squared errors of sums and means over all groups, each with its standard error over the releases; and the least seconds of one release."""
    rows = read(folder)
    truth = {(table, group): (n, total) for table in TASKS[task] for group, (n, total) in exact(rows, table).items()}
    squares, seconds = {"SUM": [], "AVG": []}, []
    for _ in range(releases):
        found, took = peer.release(task)
        assert set(found) == set(truth)
        seconds.append(took)
        sums = [(found[key][0] - total) ** 2 for key, (_, total) in truth.items()]
        squares["SUM"].append(sum(sums) / len(sums))
        if found[next(iter(truth))][1] is not None:
            means = [(found[key][1] - total / n) ** 2 for key, (n, total) in truth.items()]
            squares["AVG"].append(sum(means) / len(means))
    out = {"seconds": min(seconds)}
    for figure, all_ in squares.items():
        if all_:
            mean = sum(all_) / len(all_)
            out[figure] = [mean, math.sqrt(sum((x - mean) ** 2 for x in all_) / len(all_) / max(len(all_) - 1, 1))]
    return out


PEERS = {"OpenDP": (OpenDP, ["rho", "epsilon"]), "diffprivlib": (Diffprivlib, ["epsilon"])}


def child(python, peer, folder, budget, task, releases):
    command = [python, "-W", "ignore", os.path.abspath(__file__), "--peer", peer, "--folder", folder, "--budget", budget, "--task", task, "--releases", str(releases)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def version(python, package):
    return subprocess.run([python, "-c", f"from importlib.metadata import version; print(version('{package}'))"], check=True, capture_output=True, text=True).stdout.strip()


def shown(value, error):
    """A root-mean-square error, with its standard error."""
    root = math.sqrt(value)
    digits = 2 if root < 100 else 0
    return f"{root:,.{digits}f} ± {error / 2 / root:,.{digits}f}"


def report(args, folder):
    pythons = {"OpenDP": args.opendp, "diffprivlib": args.diffprivlib}
    names = {peer: f"{peer} {version(python, peer.lower())}" for peer, python in pythons.items()}
    text = f"""{BEGIN}

Sums and means of a log-normal amount, moved to between {LOW} and {HIGH:,}, of {ROWS:,} rows; [`benches/peers/amounts.py`](../benches/peers/amounts.py). Three tables (region by band, region by sex, band by sex:
{sum(math.prod(DIMENSIONS[d] for d in t) for t in TASKS['tables'])} groups of very different sizes), or one figure of everybody alone. All protect one row more or less with the same bounds and budget. {names['OpenDP']} asks its
polars context for each table, {names['diffprivlib']}, which has pure ε only, `sum` and `count_nonzero`; both share their budget evenly. Errors are root-mean-square errors over all groups and
{args.releases} releases ({args.singles} of one figure), with their standard errors; the ratio is of mean squared errors. Seconds are wall time of one whole release, beside other programs; the rows of diffprivlib are in memory
already. OpenDP finds its scales of noise once, and draws all further releases with them. One sum alone under pure ε margins measures from zero, as both do ([why](methods/amounts.md#two-channels-are-enough)).

| budget | task | figure | margins | OpenDP | diffprivlib | margins to the better, squared | seconds: margins, OpenDP, diffprivlib |
|---|---|---|---|---|---|---|---|
"""
    for budget, task in itertools.product(BUDGETS, TASKS):
        if args.only and f"{budget} {task}" not in args.only:
            continue
        releases = args.releases if task == "tables" else args.singles
        ours = errors(Margins(args.margins, folder, budget), folder, task, releases)
        theirs = {peer: child(pythons[peer], peer, folder, budget, task, releases) for peer, (_, budgets) in PEERS.items() if budget in budgets}
        for figure in {"tables": ["SUM", "AVG"], "one sum": ["SUM"], "one mean": ["AVG"]}[task]:
            best = min((p[figure] for p in theirs.values()), key=lambda x: x[0])
            ratio = ours[figure][0] / best[0]
            error = ratio * math.hypot(ours[figure][1] / ours[figure][0], best[1] / best[0])
            cells = " | ".join(shown(*theirs[p][figure]) if p in theirs else "–" for p in PEERS)
            seconds = ", ".join(f"{x['seconds']:.3f}" if x else "–" for x in (ours, *(theirs.get(p) for p in PEERS)))
            word = "ρ = 1/2" if budget == "rho" else "ε = 1"
            text += f"| {word} | {task} | {figure} | {shown(*ours[figure])} | {cells} | {ratio:.2f} ± {error:.2f} | {seconds} |\n"
            print(text.splitlines()[-1], file=sys.stderr, flush=True)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--opendp", help="a Python that has OpenDP and its polars")
    parser.add_argument("--diffprivlib", help="a Python that has diffprivlib")
    parser.add_argument("--releases", type=int, default=200, help="of the tables")
    parser.add_argument("--singles", type=int, default=1000, help="releases of a single figure")
    parser.add_argument("--out", help="the page to write into")
    parser.add_argument("--only", nargs="*", help="just these rows, 'epsilon one sum' for one")
    parser.add_argument("--peer")
    parser.add_argument("--folder")
    parser.add_argument("--budget")
    parser.add_argument("--task")
    args = parser.parse_args()
    if args.peer:
        return print(json.dumps(errors(PEERS[args.peer][0](args.folder, args.budget), args.folder, args.task, args.releases)))
    args.margins = os.path.abspath(args.margins)
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        text = report(args, folder)
    if args.out:
        import large
        large.write(args.out, BEGIN, text)
    print(text)


if __name__ == "__main__":
    main()
