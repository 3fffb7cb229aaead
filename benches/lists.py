#!/usr/bin/env python3
"""How far plans for lists of intervals are from the least of every Gaussian mechanism, over random workloads.

benches/lists.py [--margins target/release/margins] [--workloads 100] [--most 2000] [--measure auto]          needs numpy

One to three ordered dimensions, one to four tables over some of them, and of each of a table's dimensions one to eight random intervals. `margins plan` says what
its plan is worth, and with `auto` what the best of all strategies but `together` would be. The least there is comes from here: the dual of docs/methods/bases.md over all cells, which bounds every mechanism from below.
"""

import argparse
import json
import math
import random
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np


def workload(dice, most):
    """Sizes of the dimensions, and tables: for each of their dimensions a list of intervals."""
    dims = dice.randint(1, 3)
    cells = math.exp(dice.uniform(math.log(8), math.log(most)))
    cuts = sorted(dice.random() for _ in range(dims - 1))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, 1])]
    sizes = [max(2, int(cells**part)) for part in parts]
    if math.prod(sizes) > most:
        return workload(dice, most)

    def intervals(n):
        pairs = {tuple(sorted((dice.randrange(n), dice.randrange(n)))) for _ in range(dice.randint(1, 8))}
        return sorted(pairs)

    tables = []
    for _ in range(dice.randint(1, 4)):
        of = [d for d in range(dims) if dice.random() < 0.6] or [dice.randrange(dims)]
        table = {d: intervals(sizes[d]) for d in of}
        # What is asked twice in the same way is one table.
        if table not in tables:
            tables.append(table)
    return sizes, tables


def spec(sizes, tables, measure):
    lines = ['name = "lists"', 'title = "L"', "demo = true", "[privacy]", 'unit = "row"', 'rho = "1/2"']
    lines += ["[strategy]", f'measure = "{measure}"']
    for d, n in enumerate(sizes):
        lines += ["[[dimension]]", f'name = "d{d}"', f"range = [0, {n - 1}]"]
    for table in tables:
        names = ", ".join(f'"d{d}"' for d in table)
        asks = ", ".join(f"d{d} = [{', '.join(f'[{a}, {b}]' for a, b in own)}]" for d, own in table.items())
        lines += ["[[table]]", f"of = [{names}]", f"ask = {{ {asks} }}"]
    return "\n".join(lines) + "\n"


def rows(n, own):
    at = np.arange(n)
    return np.array([(a <= at) & (at <= b) for a, b in own], float)


def gram(sizes, tables):
    total = 0
    for table in tables:
        own = np.ones((1, 1))
        for d, n in enumerate(sizes):
            w = rows(n, table[d]) if d in table else np.ones((1, n))
            own = np.kron(own, w.T @ w)
        total = total + own
    return total


def least(g, close=2e-4, most=400):
    """`max (tr (Λ^½GΛ^½)^½)²`: cells that nothing tells apart are one, which changes nothing (the better of two alike costs no more)."""
    _, first, counts = np.unique(np.round(g, 9), axis=0, return_index=True, return_counts=True)
    keep = np.sort(first)
    g = g[np.ix_(keep, keep)]
    keep = np.diag(g) > 0
    g = g[np.ix_(keep, keep)]
    weights, best = np.diag(g) ** 0.5 / np.sum(np.diag(g) ** 0.5), 0.0
    for _ in range(most):
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(g * np.outer(root, root))
        values = np.sqrt(np.maximum(values - 1e-14 * len(g) * values[-1], 0))
        trace = values.sum()
        best = max(best, trace)
        own = (vectors**2) @ values / np.maximum(weights, 1e-300)
        if own[weights > 1e-12].max() / trace < 1 + close:
            break
        weights = weights * (own / trace) ** 1.5
        weights = np.maximum(weights, 1e-14)
        weights /= weights.sum()
    return best**2, own[weights > 1e-9].max() / trace, len(g)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--margins", default="target/release/margins")
    args.add_argument("--workloads", type=int, default=100)
    args.add_argument("--most", type=int, default=2000)
    args.add_argument("--measure", default="auto")
    args.add_argument("--verbose", action="store_true")
    args = args.parse_args()
    dice, ratios, others = random.Random(26), [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lists.toml")
        for number in range(args.workloads):
            sizes, tables = workload(dice, args.most)
            file.write_text(spec(sizes, tables, args.measure))
            start = time.time()
            told = subprocess.run([args.margins, "plan", str(file), "--json"], capture_output=True, text=True)
            took = time.time() - start
            if told.returncode:
                print(number, sizes, told.stderr.strip())
                continue
            plan = json.loads(told.stdout)
            taken = plan["strategies"][plan["chosen"]]
            bound, proved, kinds = least(gram(sizes, tables))
            ratio = taken["weighted_variance"] / bound
            ratios.append(ratio)
            rest = [one["weighted_variance"] / bound for one in plan["strategies"] if one["applies"] and one["measure"] != "together"]
            others += [min(rest)] if rest else []
            if args.verbose:
                print(f"{number:3} {sizes} {len(tables)} tables: {ratio:.4f} ({taken['measure']}, {took:.1f} s; {kinds} kinds of cells, bound to {proved - 1:.1e})", flush=True)
    for word, all_ in [("", ratios), (" without `together`", others)]:
        if all_:
            print(f"{len(all_)} workloads{word}: mean {np.mean(all_):.4f}, worst {max(all_):.4f}")


if __name__ == "__main__":
    main()
