"""Counts every pair of eight attributes with margins, polars and DuckDB, each in its best way, one after the other on this machine.

    python benches/peers/peers.py --margins target/release/margins --rows 10000000 --out docs/performance.md

`just bench-peers` builds, installs the peers in virtual environments and calls this: OpenDP, which wants a polars of its own, by `opendp_peer.py`. Every figure is of one run on one machine: compare
the ratios, not the seconds. Processor time is user and system time of the whole process, without the start of Python for the peers.
"""

import argparse
import itertools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

# Skewed like a census extract; the names are made up and as long as such names are.
ATTRIBUTES = {
    "workclass": 9, "education": 16, "marital": 7, "occupation": 15,
    "relationship": 6, "origin": 5, "sex": 2, "income": 2,
}


def label(name, code):
    words = ["Never", "Private", "Some-college", "Married-civ-partner", "Other", "Exec-managerial", "Own-child", "White-collar"]
    return f"{words[code % len(words)]}-{name[0]}{code}"


def make(folder, rows):
    """Four files of the same rows: text and whole numbers, CSV and Parquet."""
    import numpy as np
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20261122)
    # Rows are near one of some types, so that attributes depend on each other.
    kind = rng.integers(0, 400, rows)
    text, codes = {}, {}
    for name, n in ATTRIBUTES.items():
        typical = rng.beta(1, 3, 400) * n
        code = np.where(rng.random(rows) < 0.25, rng.beta(1, 3, rows) * n, typical[kind]).astype(np.int64)
        codes[name] = pa.array(code)
        labels = pa.array([label(name, c) for c in range(n)])
        text[name] = pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), labels).cast(pa.string())
    text, codes = pa.table(text), pa.table(codes)
    for name, table in [("text", text), ("codes", codes)]:
        pq.write_table(table, f"{folder}/{name}.parquet", compression="snappy", row_group_size=250_000)
        pl.from_arrow(table).write_csv(f"{folder}/{name}.csv")
        spec = f'name = "{name}"\ntitle = "{name}"\n\n[data]\npath = "{name}.csv"\n\n[privacy]\nunit = "row"\nrho = "1/2"\n'
        for attribute, n in ATTRIBUTES.items():
            domain = json.dumps([label(attribute, c) for c in range(n)])
            domain = f"categories = {domain}" if name == "text" else f"codes = {n}"
            spec += f'\n[[dimension]]\nname = "{attribute}"\n{domain}\n'
        spec += '\n[[table]]\nevery = 2\n\n[strategy]\nmeasure = "residual"\n'
        with open(f"{folder}/{name}.toml", "w") as file:
            file.write(spec)


def child(peer, path):
    """Runs in a process of its own: counts, and prints what it took."""
    pairs = list(itertools.combinations(ATTRIBUTES, 2))
    is_text = "text" in os.path.basename(path)
    if peer == "duckdb":
        import duckdb
        begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        db = duckdb.connect()
        if path.endswith(".csv"):
            kind = "VARCHAR" if is_text else "TINYINT"
            columns = ", ".join(f"'{a}': '{kind}'" for a in ATTRIBUTES)
            source = f"read_csv('{path}', header = true, auto_detect = false, columns = {{{columns}}})"
        else:
            source = f"read_parquet('{path}')"
        db.execute(f"CREATE TEMP TABLE joint AS SELECT {', '.join(ATTRIBUTES)}, count(*) AS n FROM {source} GROUP BY ALL")
        cells = sum(len(db.execute(f"SELECT {a}, {b}, sum(n) FROM joint GROUP BY ALL").fetchall()) for a, b in pairs)
    else:
        import polars as pl
        begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        kind = pl.String if is_text else pl.UInt8
        if peer == "polars-categories" and is_text:
            kind = pl.Categorical
        if path.endswith(".csv"):
            scan = pl.scan_csv(path, schema={a: kind for a in ATTRIBUTES})
        else:
            scan = pl.scan_parquet(path)
        if peer == "polars-pairs":
            asked = [scan.group_by(a, b).len() for a, b in pairs]
            cells = sum(len(t) for t in pl.collect_all(asked, engine="streaming"))
        else:
            joint = scan.group_by(*ATTRIBUTES).len().collect(engine="streaming")
            cells = sum(len(joint.group_by(a, b).agg(pl.col("len").sum())) for a, b in pairs)
    end = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    cpu = end[0].ru_utime + end[0].ru_stime - begin[0].ru_utime - begin[0].ru_stime
    print(json.dumps({"cpu": cpu, "wall": end[1] - begin[1], "mb": end[0].ru_maxrss / 1024, "cells": cells}))


def apart(command):
    """The lines that a command prints, and what it took."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apart.py")
    done = subprocess.run([sys.executable, "-S", script, *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    *lines, took = done.stdout.splitlines()
    return lines, json.loads(took)


def run_peer(peer, path):
    lines, _ = apart([sys.executable, os.path.abspath(__file__), "--peer", peer, "--file", path])
    return json.loads(lines[-1])


def run_margins(margins, folder, name, path):
    with tempfile.TemporaryDirectory() as out:
        spec, signed = f"{folder}/{name}.toml", ["--ledger", f"{out}/ledger.jsonl", "--key", f"{folder}/bench.key"]
        return apart([margins, "release", spec, "--data", path, "--out", out, *signed])[1]


def bandwidth(path):
    """Reads the file and does nothing with it; the second time it is in memory."""
    seconds = []
    for _ in range(2):
        begin, size, buffer = time.perf_counter(), 0, bytearray(1 << 20)
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                size += got
        seconds.append(time.perf_counter() - begin)
    return size, size / min(seconds) / 1e9


PEERS = ["duckdb", "polars", "polars-categories"]


def best(runs):
    return {key: min(run[key] for run in runs) for key in ("cpu", "wall", "mb")}


def measure(margins, folder, rounds):
    results = []
    for name, end in [("text", "csv"), ("text", "parquet"), ("codes", "parquet"), ("codes", "csv")]:
        path = f"{folder}/{name}.{end}"
        size, gb = bandwidth(path)
        runs = {"margins": []} | {peer: [] for peer in PEERS}
        for _ in range(rounds):  # in turns, so that all meet the same neighbours
            runs["margins"].append(run_margins(margins, folder, name, path))
            for peer in PEERS:
                if peer == "polars-categories" and (name, end) != ("text", "csv"):
                    continue
                runs[peer].append(run_peer(peer, path))
        results.append({"file": f"{name}.{end}", "bytes": size, "gb_s": gb, "best": {p: best(r) for p, r in runs.items() if r}})
    return results


def machine():
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.processor())
    return f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.release()}"


def report(results, rows):
    import duckdb
    import polars as pl
    text = f"""# Performance beside others

`just bench-peers` measures all parts of this page, one script after the other. Each section names its own, which may have been run later than others: its figures are of one run, those of two sections need not be.

The task is every pair of eight attributes (28 tables) of {rows:,} rows. [`benches/peers/peers.py`](../benches/peers/peers.py) makes the rows: text categories and
whole numbers, in CSV and in Parquet (Snappy, row groups of 250 000). margins is timed
from its start to the sealed, signed file. The peers only count, and their start is not timed. DuckDB {duckdb.__version__} makes one joint `GROUP BY` and
rolls it up. So does polars {pl.__version__}, with text in CSV read as text or as categories, whichever is faster (28 queries at once take several times as long). Files are in the page cache. The
programs take turns, and the table shows the best round of each. The machine: {machine()}, where {os.getloadavg()[2]:.0f} programs were running or
waiting on average. With more than one, wall times and bandwidth are those of a shared machine.

| file | | processor s | wall s | peak MB | ratio to the better peer: processor, wall |
|---|---|---|---|---|---|
"""
    for result in results:
        runs = result["best"]
        polars = min((runs[p] for p in PEERS[1:] if p in runs), key=lambda r: r["cpu"])
        ours, duck = runs["margins"], runs["duckdb"]
        cpu, wall = (ours[k] / min(polars[k], duck[k]) for k in ("cpu", "wall"))
        text += f"| {result['file']}, {result['bytes'] / 1e6:.0f} MB, read alone at {result['gb_s']:.1f} GB/s | margins | {ours['cpu']:.2f} | {ours['wall']:.2f} | {ours['mb']:.0f} | {cpu:.2f}, {wall:.2f} |\n"
        for name, run in [("DuckDB", duck), ("polars", polars)]:
            text += f"| | {name} | {run['cpu']:.2f} | {run['wall']:.2f} | {run['mb']:.0f} | |\n"
    return text + CURVES


CURVES = """
## How cost grows

![Processor time and memory of a release against rows, tables, cells and attributes](images/cost.svg)

[`benches/peers/curves.py`](../benches/peers/curves.py) draws it. Most of the time goes into reading the rows, until there are many cells: noise and sealing cost about
the same for each cell. Memory is that of the largest piece, and does not grow with rows.
"""


def run_opendp(python, folder, rows, samples):
    """Two-way tables of fewer rows, and draws: OpenDP takes minutes where others take seconds."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opendp_peer.py")
    import polars as pl
    few = f"{folder}/few.parquet"
    pl.scan_parquet(f"{folder}/codes.parquet").head(rows).sink_parquet(few)
    command = [python, script, few, str(samples)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]), few


def tables_and_draws(args, margins, folder):
    """What is beside OpenDP and prio, as rows of two tables."""
    rows = min(args.rows, 1_000_000)
    other, few = run_opendp(args.opendp, folder, rows, 200_000)
    ours = best([run_margins(margins, folder, "codes", few) for _ in range(args.rounds)])
    text = f"""
## Noisy two-way tables

These are the same 28 tables of {rows:,} rows of whole numbers (Parquet), with discrete Gaussian noise of ρ = 1/2 in all. OpenDP {other['version']} uses its
polars context, with one query and known keys for each pair. margins also seals a signed file, and its noise is optimal for the workload.

| | processor s | wall s |
|---|---|---|
| margins | {ours['cpu']:.2f} | {ours['wall']:.2f} |
| OpenDP | {other['tables']['cpu']:.1f} | {other['tables']['wall']:.1f} |
| ratio | {ours['cpu'] / other['tables']['cpu']:.4f} | {ours['wall'] / other['tables']['wall']:.4f} |
"""
    if args.samplers:
        drawn = json.loads(subprocess.run([args.samplers], check=True, capture_output=True, text=True).stdout)
        text += f"""
## Exact noise

The table shows million draws a second on one core, all exact: no floating point decides a draw. OpenDP draws vectors of 200 000; prio 0.17 and margins draw in a loop,
[`benches/peers/samplers`](../benches/peers/samplers/src/main.rs).

| law | margins | prio | OpenDP | times the better |
|---|---|---|---|---|
"""
        for name, rate in drawn.items():
            law, scale = name.split()
            slow = other["draws"][name]
            word = "discrete Gaussian, σ" if law == "gaussian" else "discrete Laplace, b"
            text += f"| {word} = {scale} | {rate['margins'] / 1e6:.1f} | {rate['prio'] / 1e6:.2f} | {slow / 1e6:.2f} | {rate['margins'] / max(rate['prio'], slow):.0f} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made, or are already")
    parser.add_argument("--out", help="the page to write")
    parser.add_argument("--opendp", help="a Python that has OpenDP")
    parser.add_argument("--samplers", help="the program of benches/peers/samplers")
    parser.add_argument("--peer")
    parser.add_argument("--file")
    args = parser.parse_args()
    if args.peer:
        return child(args.peer, args.file)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        os.makedirs(folder, exist_ok=True)
        margins = os.path.abspath(args.margins)
        if not os.path.exists(f"{folder}/codes.toml"):
            make(folder, args.rows)
        if not os.path.exists(f"{folder}/bench.key"):
            subprocess.run([margins, "keygen", "--out", f"{folder}/bench.key", "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
        text = report(measure(margins, folder, args.rounds), args.rows)
        if args.opendp:
            text += tables_and_draws(args, margins, folder)
    if args.out:
        with open(args.out, "w") as file:
            file.write(text)
    print(text)


if __name__ == "__main__":
    main()
