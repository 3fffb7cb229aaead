"""What two amounts add to a release of counts: processor time and memory of every pair of eight attributes, with the sums of both in each table and without. Writes the section into the page.

    python benches/peers/summed.py --margins target/release/margins --folder target/peers/files --out docs/performance.md

The rows are made here: codes, a pay in whole numbers and a fee with two decimals, both log-normal. Counts alone are of the same file.
"""

import argparse
import os
import subprocess

import large
import peers

BEGIN = "## What sums take"
AMOUNTS = {"pay": (0, 200_000, 1), "fee": (0, 1000, "0.01")}
# One amount alone, in the ways that files and specs have them.
KINDS = {
    "whole numbers": 'name = "pay"\nhigh = 200000\nstep = 1',
    "two decimals, as DOUBLE": 'name = "double"\nhigh = 20000\nstep = 0.01',
    "two decimals, as DECIMAL": 'name = "decimal"\nhigh = 20000\nstep = 0.01',
    "squares, too": 'name = "pay"\nhigh = 200000\nstep = 1000\nsquare = true',
    "a product of two columns": 'name = "earned"\ncolumn = ["hours", "rate"]\nhigh = 10000\nstep = 0.01',
    "one in five without a value": 'name = "some"\nhigh = 200000\nstep = 1\nmissing = "skip"',
}


def make(folder, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    rng, n, parquet, text = np.random.default_rng(20261123), 500_000, None, None
    for start in range(0, rows, n):
        some = min(n, rows - start)
        columns = {name: (rng.beta(1, 3, some) * size).astype(np.int64) for name, size in peers.ATTRIBUTES.items()}
        columns["pay"] = np.minimum(rng.lognormal(10, 1, some), 1e7).astype(np.int64)
        columns["fee"] = np.round(np.minimum(rng.lognormal(3, 1.5, some), 1e6), 2)
        table = pa.table(columns)
        if parquet is None:
            parquet = pq.ParquetWriter(f"{folder}/summed.parquet", table.schema, compression="snappy")
            text = csv.CSVWriter(f"{folder}/summed.csv", table.schema)
        parquet.write_table(table, row_group_size=250_000)
        text.write_table(table)
    parquet.close(), text.close()
    for name, sums in [("counted", ""), ("summed", 'sum = ["pay", "fee"]\n')]:
        spec = f'name = "{name}"\ntitle = "{name}"\n[data]\npath = "summed.csv"\n[privacy]\nunit = "row"\nrho = "1/2"\n'
        spec += "".join(f'[[dimension]]\nname = "{attribute}"\ncodes = {size}\n' for attribute, size in peers.ATTRIBUTES.items())
        if sums:
            spec += "".join(f'[[amount]]\nname = "{a}"\nlow = {low}\nhigh = {high}\nstep = {step}\n' for a, (low, high, step) in AMOUNTS.items())
        spec += f'[[table]]\nevery = 2\n{sums}[strategy]\nmeasure = "residual"\n'
        with open(f"{folder}/{name}.toml", "w") as file:
            file.write(spec)


def make_kinds(folder, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n, parquet = np.random.default_rng(20261127), 250_000, None
    for _ in range(0, rows, n):
        columns = {name: (rng.beta(1, 3, n) * size).astype(np.int64) for name, size in peers.ATTRIBUTES.items()}
        columns["pay"] = np.minimum(rng.lognormal(10, 1, n), 1e7).astype(np.int64)
        cents = (np.minimum(rng.lognormal(10, 1, n), 1e7) * 100).astype(np.int64)
        columns["double"] = cents / 100
        wide = np.stack([cents, np.zeros(n, np.int64)], 1).tobytes()
        columns["decimal"] = pa.Array.from_buffers(pa.decimal128(12, 2), n, [None, pa.py_buffer(wide)])
        columns["hours"], columns["rate"] = rng.integers(0, 80, n), np.round(rng.lognormal(3, 0.5, n), 2)
        columns["some"] = pa.array(columns["pay"], mask=rng.random(n) < 0.2)
        table = pa.table(columns)
        parquet = parquet or pq.ParquetWriter(f"{folder}/kinds.parquet", table.schema, compression="snappy")
        parquet.write_table(table, row_group_size=n)
    parquet.close()


def spec_of(folder, name, amount=None):
    """A spec of every pair, with the sums of one amount or without."""
    spec = f'name = "{name}"\ntitle = "{name}"\n[data]\npath = "kinds.parquet"\n[privacy]\nunit = "row"\nrho = "1/2"\n'
    spec += "".join(f'[[dimension]]\nname = "{attribute}"\ncodes = {size}\n' for attribute, size in peers.ATTRIBUTES.items())
    spec += f"[[amount]]\nlow = 0\n{amount}\n" if amount else ""
    spec += "[[table]]\nevery = 2\n" + (f"sum = [{amount.split()[2]}]\n" if amount else "") + '[strategy]\nmeasure = "residual"\n'
    with open(f"{folder}/{name}.toml", "w") as file:
        file.write(spec)


def kinds(margins, folder, rows, rounds):
    """What each kind of amount takes beyond counts alone."""
    if not os.path.exists(f"{folder}/kinds.parquet"):
        make_kinds(folder, rows)
    runs = {f"kind{at}": [] for at in range(len(KINDS) + 1)}
    for name, amount in zip(runs, [None, *KINDS.values()]):
        spec_of(folder, name, amount)
    for _ in range(rounds):
        for name, all_ in runs.items():
            all_.append(peers.run_margins(margins, folder, name, f"{folder}/kinds.parquet"))
    counts, *others = (peers.best(all_)["cpu"] for all_ in runs.values())
    text = f"\nOne amount beside the same counts of a Parquet file, which take {1e9 * counts / rows:.0f} ns a row by themselves:\n\n| amount | more ns a row |\n|---|---|\n"
    return text + "".join(f"| {name} | {1e9 * (cpu - counts) / rows:.0f} |\n" for name, cpu in zip(KINDS, others))


def report(margins, folder, rows, rounds):
    text = f"""{BEGIN}

A release of every pair of eight attributes (28 tables) of {rows:,} rows of whole numbers, without and with the sums of two amounts in every table, of the same file:
[`benches/peers/summed.py`](../benches/peers/summed.py). The best of {rounds}, taken in turns.
Counts alone leave the columns of both amounts unread; with sums their cells are read, moved to their bounds and rounded. Of Parquet, whose codes of few bits are quick to count, two columns of many values are more than a third of the work.

| file | | processor s | peak MB |
|---|---|---|---|
"""
    for end in ["csv", "parquet"]:
        runs = {"counted": [], "summed": []}
        for _ in range(rounds):
            for name, all_ in runs.items():
                all_.append(peers.run_margins(margins, folder, name, f"{folder}/summed.{end}"))
        without, with_ = (peers.best(all_) for all_ in runs.values())
        for name, run in [("counts alone", without), ("counts and sums", with_)]:
            text += f"|{' summed.' + end if run is without else ''} | {name} | {run['cpu']:.2f} | {run['mb']:.0f} |\n"
        text += f"| | ratio | {with_['cpu'] / without['cpu']:.2f} | {with_['mb'] / without['mb']:.2f} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", required=True, help="where the files are made, or are already")
    parser.add_argument("--out", help="the page to write into")
    args = parser.parse_args()
    margins, folder = os.path.abspath(args.margins), os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/summed.toml"):
        make(folder, args.rows)
    if not os.path.exists(f"{folder}/bench.key"):
        subprocess.run([margins, "keygen", "--out", f"{folder}/bench.key", "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
    text = report(margins, folder, args.rows, args.rounds) + kinds(margins, folder, args.rows, args.rounds)
    if args.out:
        large.write(args.out, BEGIN, text)
    print(text)


if __name__ == "__main__":
    main()
