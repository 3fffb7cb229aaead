#!/usr/bin/env python3
"""Blocks in tracts, counties and states × 252 other cells: what plan, release and answers take.

benches/areas.py [--blocks 60000] [--rows 2000000] [--folder target/areas] [--only plan,release,first,batch,districts,export,verify] [--measure residual] [--zero]
Needs a release build; MARGINS is the command (target/release/margins). Every figure is that of one process and its children.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

LEVELS = ["state", "county", "tract", "block"]
OTHERS = [("race", 63), ("hispanic", 2), ("adult", 2)]


def tree(blocks):
    """For each level the parent of every node; groups have long tails."""
    random.seed(1)
    sizes = [min(50, blocks), max(2, blocks // 100), max(4, blocks // 15), blocks]
    parents, above = [], 1
    for size in sizes:
        pull = [random.paretovariate(1.2) for _ in range(above)]
        own = sorted(list(range(above)) + random.choices(range(above), weights=pull, k=max(0, size - above)))
        parents.append(own)
        above = len(own)
    return parents


def label(level, node):
    return f"{LEVELS[level][0]}{node:08d}"


def write(folder, blocks, rows, measure, zero):
    os.makedirs(folder, exist_ok=True)
    parents = tree(blocks)
    with open(f"{folder}/block.csv", "w") as out:
        out.write(",".join(reversed(LEVELS)) + "\n")
        for leaf in range(blocks):
            row, node = [], leaf
            for level in (3, 2, 1, 0):
                row.append(label(level, node))
                node = parents[level][node]
            out.write(",".join(row) + "\n")
    cells = '"race", "hispanic", "adult"'
    with open(f"{folder}/areas.toml", "w") as out:
        out.write(f'name = "areas"\ntitle = "Areas"\n[privacy]\nunit = "row"\nrho = 0.5\n[strategy]\nmeasure = "{measure}"\n')
        out.write('[[dimension]]\nname = "block"\nhierarchy = "block.csv"\n')
        for name, n in OTHERS:
            out.write(f'[[dimension]]\nname = "{name}"\ncategories = [{", ".join(chr(34) + str(i) + chr(34) for i in range(n))}]\n')
        out.write(f"[[table]]\nof = [{cells}]\n")
        for level in LEVELS:
            of = "block" if level == "block" else f"block.{level}"
            out.write(f'[[table]]\nof = ["{of}", {cells}]\n')
        if zero:
            out.write("[[zero]]\nwhere = \"race = '62' AND adult = '1'\"\n")
    # People live where they live: blocks by a law of long tails, the rest skewed.
    pick = random.Random(2)
    pull = [pick.paretovariate(1.1) for _ in range(blocks)]
    with open(f"{folder}/rows.csv", "w") as out:
        out.write("block," + ",".join(name for name, _ in OTHERS) + "\n")
        left = rows
        while left:
            some = min(left, 1 << 18)
            for leaf in pick.choices(range(blocks), weights=pull, k=some):
                race, hispanic, adult = int(63 * pick.random() ** 4), int(pick.random() < 0.2), int(pick.random() < 0.8)
                out.write(f"{label(3, leaf)},{race},{hispanic},{adult * int(not zero or race < 62)}\n")
            left -= some


def districts(folder, blocks, each):
    """A file of districts of neighbouring blocks with ragged edges."""
    pick, file = random.Random(5), f"{folder}/districts-{each}.csv"
    with open(file, "w") as out:
        out.write("block,school\n")
        for leaf in range(blocks):
            out.write(f"{label(3, leaf)},{(leaf + pick.randrange(each // 2 + 1)) // each}\n")
    return file


def run(what, words):
    with tempfile.TemporaryFile() as said:
        start = time.time()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        took = time.time() - start
        cpu = used.ru_utime + used.ru_stime
        print(f"{what:<14}{took:9.2f} s {cpu:9.2f} CPU-s {used.ru_maxrss / 1024:9.0f} MiB", flush=True)
        if status:
            said.seek(0)
            print(said.read().decode(errors="replace")[-2000:])
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=60_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--folder", default="target/areas")
    parser.add_argument("--only", default="plan,release,first,batch,districts,verify")
    parser.add_argument("--measure", default="residual")
    parser.add_argument("--zero", action="store_true", help="one cell of the others is declared empty in all areas")
    own = parser.parse_args()
    margins = os.environ.get("MARGINS", "target/release/margins")
    folder = f"{own.folder}/{own.blocks}-{own.measure}{'-zero' if own.zero else ''}"
    if not os.path.exists(f"{folder}/rows.csv"):
        write(folder, own.blocks, own.rows, own.measure, own.zero)
    spec, release, steps = f"{folder}/areas.toml", f"{folder}/areas.margins", own.only.split(",")
    if "plan" in steps:
        run("plan", [margins, "plan", spec])
    key = f"{folder}/key"
    if not os.path.exists(key):
        subprocess.run([margins, "keygen", "--out", key, "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
    if "release" in steps:
        for file in (release, release + ".minisig", f"{folder}/ledger.jsonl"):
            if os.path.exists(file):
                os.remove(file)
        run("release", [margins, "release", spec, "--data", f"{folder}/rows.csv", "--out", folder, "--ledger", f"{folder}/ledger.jsonl", "--key", key])
        print(f"          {os.path.getsize(release) / 1e6:9.1f} MB")
    county = f"SELECT COUNT(*) FROM areas WHERE block.county = '{label(1, 7)}' AND race = '3'"
    if "first" in steps:
        run("first", [margins, "query", release, county])
        block = f"SELECT COUNT(*) FROM areas WHERE block = '{label(3, own.blocks // 5)}' AND race = '3'"
        run("one block", [margins, "query", release, block])
        counties = "SELECT block.county, COUNT(*) FROM areas WHERE race = '3' GROUP BY block.county"
        run("all counties", [margins, "query", release, counties])
    if "batch" in steps:
        pick, n = random.Random(3), 2000
        queries = [
            f"SELECT COUNT(*) FROM areas WHERE block.county = '{label(1, pick.randrange(own.blocks // 100))}'"
            f" AND race = '{pick.randrange(63)}' AND adult = '{pick.randrange(2)}'"
            for _ in range(n)
        ]
        with open(f"{folder}/questions.sql", "w") as out:
            out.write("\n".join(queries) + "\n")
        run(f"{n} answers", [margins, "query", release, "--batch", f"{folder}/questions.sql"])
    if "districts" in steps:
        for each in (1000, 60):
            file = districts(folder, own.blocks, each)
            by = "SELECT school, COUNT(*) FROM areas"
            run(f"of {each} blocks", [margins, "query", release, "--areas", file, f"{by} GROUP BY school"])
            where = "WHERE race = '3' AND adult = '1'"
            run("  of one race", [margins, "query", release, "--areas", file, f"{by} {where} GROUP BY school"])
    if "export" in steps:
        # The finest level by all others, which is written part by part.
        table = [margins, "export", release, "--table", "block,race,hispanic,adult", "--out", f"{folder}/tables"]
        for form in ("csv", "parquet"):
            run(f"as {form}", [*table, "--format", form])
        run("finished", [*table, "--format", "csv", "--finish", "consistent"])
    if "verify" in steps:
        run("verify", [margins, "verify", release])


if __name__ == "__main__":
    main()
