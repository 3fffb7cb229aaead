"""Releases ten times the rows of benches/peers/peers.py, and writes what that took into the page that peers.py makes.

    python benches/peers/large.py --margins target/release/margins --folder target/peers/files --out docs/performance.md

The data is ten files with the same rows, read as a folder: every byte of each is read and counted.
"""

import argparse
import os
import subprocess

import peers

BEGIN = "## Ten times the rows"


def ten(folder, name, end):
    """A folder with ten names for one file."""
    large = f"{folder}/ten-{name}-{end}"
    os.makedirs(large, exist_ok=True)
    for part in range(10):
        if not os.path.exists(f"{large}/part-{part}.{end}"):
            os.link(f"{folder}/{name}.{end}", f"{large}/part-{part}.{end}")
    return large


def report(margins, folder, rows, rounds):
    text = f"""{BEGIN}

A release of one file of {rows:,} rows, and of a folder with ten of them, {10 * rows:,} rows: `benches/peers/large.py`. Memory is the whole
process's at its peak, and does not grow with the rows.

| file | rows | processor s | peak MB |
|---|---|---|---|
"""
    for name, end in [("text", "csv"), ("text", "parquet"), ("codes", "parquet"), ("codes", "csv")]:
        for times, path in [(1, f"{folder}/{name}.{end}"), (10, ten(folder, name, end))]:
            run = peers.best([peers.run_margins(margins, folder, name, path) for _ in range(rounds)])
            text += f"| {name}.{end} | {times * rows:,} | {run['cpu']:.2f} | {run['mb']:.0f} |\n"
    return text


def write(page, begin, text):
    """Puts a section in place of the one that begins with the same line; what stands behind it stays."""
    with open(page) as file:
        before, _, old = file.read().partition(begin)
    after = old[old.index("\n## ") + 1:] if "\n## " in old else ""
    with open(page, "w") as file:
        file.write(before.rstrip() + "\n\n" + text + ("\n" + after if after else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", required=True, help="where the files are made, or are already")
    parser.add_argument("--out", help="the page to write into")
    args = parser.parse_args()
    margins, folder = os.path.abspath(args.margins), os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/codes.toml"):
        peers.make(folder, args.rows)
    if not os.path.exists(f"{folder}/bench.key"):
        subprocess.run([margins, "keygen", "--out", f"{folder}/bench.key", "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
    text = report(margins, folder, args.rows, args.rounds)
    if args.out:
        write(args.out, BEGIN, text)
    print(text)


if __name__ == "__main__":
    main()
