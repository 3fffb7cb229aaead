"""What drawing records takes: `margins records` of releases of Adult (8 and 14 attributes), of a million made-up rows, and of a tree of a million blocks. Writes the section into the page.

    python3 benches/peers/drawing.py --margins target/release/margins --data FOLDER --folder target/peers/files --out docs/performance.md

FOLDER has `adult8.csv` and `adult14.csv` in whole codes; without one of them its lines are left out. Each release is made, not timed, and records are drawn from it with two threads.
"""

import argparse
import json
import os
import random
import subprocess
import sys

import large

BEGIN = "## Drawing records"
BLOCKS = 1 << 20


def spec(folder, name, data, dimensions, tables):
    text = f'name = "{name}"\ntitle = "{name}"\ndemo = true\n[data]\npath = "{data}"\n[privacy]\nunit = "row"\nrho = "1/2"\n'
    text += "".join(f'[[dimension]]\nname = "{key}"\n{value}\n' for key, value in dimensions.items()) + tables
    with open(f"{folder}/{name}.toml", "w") as file:
        file.write(text)


def coded(folder, data, name, tables):
    """A spec of a file of whole codes, if it is there."""
    if not os.path.exists(data):
        return False
    with open(data) as file:
        head = next(file).strip().split(",")
        sizes = [max(column) + 1 for column in zip(*(map(int, line.split(",")) for line in file))]
    spec(folder, name, os.path.abspath(data), {key: f"codes = {size}" for key, size in zip(head, sizes)}, tables)
    return True


def million(folder):
    """A million rows of ten attributes of ten categories, each like the one before or not."""
    path = f"{folder}/million.csv"
    if not os.path.exists(path):
        draw = random.Random(1)
        with open(path, "w") as file:
            file.write(",".join(f"a{i}" for i in range(10)) + "\n")
            for _ in range(1_000_000):
                row = [draw.randrange(10)]
                for _ in range(9):
                    row.append(row[-1] if draw.random() < 0.4 else int(10 * draw.random() ** 2))
                file.write(",".join(map(str, row)) + "\n")
    return coded(folder, path, "drawn-million", "[[table]]\nevery = 2\n")


def tree(folder):
    """Four million people in 2^20 blocks, in tracts of 16, counties of 512 and states of 16,384 blocks; most blocks are small."""
    draw = random.Random(2)
    if not os.path.exists(f"{folder}/tree.csv"):
        with open(f"{folder}/blocks.csv", "w") as file:
            file.write("block,tract,county,state\n")
            file.writelines(f"b{b},t{b >> 4},c{b >> 9},s{b >> 14}\n" for b in range(BLOCKS))
        with open(f"{folder}/tree.csv", "w") as file:
            file.write("block,sex,age\n")
            for block in range(BLOCKS):
                for _ in range(min(int(draw.paretovariate(1.2)), 400) - 1):
                    file.write(f"b{block},{draw.randrange(2)},{min(int(draw.expovariate(0.4)), 7)}\n")
    dimensions = {"block": 'hierarchy = "blocks.csv"', "sex": "codes = 2", "age": "codes = 8"}
    tables = [["block.state", "sex", "age"], ["block.county", "sex", "age"], ["block.tract", "age"], ["block", "sex"]]
    text = "".join(f"[[table]]\nof = {json.dumps(of)}\n" for of in tables) + '[strategy]\nmeasure = "residual"\n'
    spec(folder, "drawn-tree", "tree.csv", dimensions, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--data", default="target/public", help="the folder with adult8.csv and adult14.csv")
    parser.add_argument("--folder", required=True, help="where files are made, or are already")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", help="the name of one task")
    parser.add_argument("--out", help="the page to write into")
    args = parser.parse_args()
    margins, folder = os.path.abspath(args.margins), os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    tasks = {
        "drawn-adult8": ("Adult, 8 attributes, all pairs", lambda: coded(folder, f"{args.data}/adult8.csv", "drawn-adult8", "[[table]]\nevery = 2\n")),
        "drawn-adult14": ("Adult, 14 attributes, all pairs", lambda: coded(folder, f"{args.data}/adult14.csv", "drawn-adult14", "[[table]]\nevery = 2\n")),
        "drawn-triples": ("Adult, 14 attributes, all triples", lambda: coded(folder, f"{args.data}/adult14.csv", "drawn-triples", "[[table]]\nevery = 3\n")),
        "drawn-million": ("a million rows, 10 attributes of 10 categories, all pairs", lambda: million(folder)),
        "drawn-tree": ("2^20 blocks in tracts, counties and states", lambda: tree(folder) or True),
    }
    apart = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apart.py")
    rows = []
    for name, (title, make) in tasks.items():
        if args.only not in (None, name) or not make():
            continue
        out = f"{folder}/{name}.parquet"
        made = [margins, "release", f"{folder}/{name}.toml", "--out", folder, "--ledger", f"{folder}/{name}.jsonl", "--replace"]
        subprocess.run(made, check=True, capture_output=True)
        best = None
        for _ in range(args.rounds):
            draw = [margins, "records", f"{folder}/{name}.margins", "--out", out, "--threads", "2", "--replace", "--json"]
            done = subprocess.run([sys.executable, "-S", apart, *draw], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            report, took = json.loads(done.stdout[: done.stdout.rstrip().rindex("\n")]), json.loads(done.stdout.splitlines()[-1])
            best = min(best or (report, took), (report, took), key=lambda one: one[1]["cpu"])
        report, took = best
        worst = max(t["mean"] / t["std_error"] for t in report["tables"] if t["std_error"] > 0)
        rows.append(f"| {title} | {report['records']:,} | {len(report['tables'])} | {took['cpu']:.1f} | {took['wall']:.1f} | {took['mb']:.0f} | {worst:.2f} |\n")
        print(rows[-1], end="", flush=True)
    text = f"""{BEGIN}

`margins records` with two threads, to Parquet; the release is made before. {'The best of ' + str(args.rounds) + ' rounds' if args.rounds > 1 else 'One round'}, beside other programs on the machine: [`benches/peers/drawing.py`](../benches/peers/drawing.py). The gap is that
of the table that is worst off: the mean gap between records and estimates over the standard error.

| release | records | tables | processor s | wall s | peak MB | gap |
|---|---|---|---|---|---|---|
""" + "".join(rows)
    if args.out:
        large.write(args.out, BEGIN, text)


if __name__ == "__main__":
    main()
