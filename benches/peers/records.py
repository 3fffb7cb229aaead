"""Records of `margins records` beside those of AIM and MST at equal ρ, on the categories of UCI Adult and on NLTCS: how far their tables of two attributes (asked for) and of three (not asked for) are from
the truth, and what they take. Writes the section into the page, or nothing without the data or without the peers.

    python benches/peers/records.py --margins target/release/margins --data FOLDER --mbi target/mbi --python target/peers-mbi/bin/python --folder target/peers/files --out docs/performance.md

FOLDER has the published files: `adult.data` of the UCI Machine Learning Repository, and `nltcs.train.data`, `nltcs.valid.data` and `nltcs.test.data` of the repository `arranger1044/DEBD`; or what this
script makes of them, `adult8.csv` and `nltcs.csv` in whole codes. AIM and MST are scripts in `mechanisms/` of the repository `ryan112358/mbi`; its package of the same commit is installed in PYTHON. What a run gave stays in `records.jsonl` of the other folder, with the versions it is of,
and is not run again: the whole takes hours.
"""

import argparse
import csv
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile

BEGIN = "## Records"
ADULT = {"workclass": 1, "education": 3, "marital-status": 5, "occupation": 6, "relationship": 7, "race": 8, "sex": 9, "income": 14}
RHOS = {"1/2": 0.5, "1/20": 0.05, "1/200": 0.005}
TITLES = {"adult8": "Adult", "nltcs": "NLTCS"}
PROGRAMS = ["margins", "MST", "AIM"]


def prepare(data, folder):
    """The data sets that are there, as whole codes in CSV: name -> sizes of the attributes."""
    rows = {}
    if os.path.exists(f"{data}/adult.data"):
        with open(f"{data}/adult.data") as file:
            read = [[row[i] for i in ADULT.values()] for row in csv.reader(file, skipinitialspace=True) if row]
        codes = [{label: code for code, label in enumerate(sorted(set(column)))} for column in zip(*read)]
        rows["adult8"] = list(ADULT), [[code[label] for code, label in zip(codes, row)] for row in read]
    parts = [f"{data}/nltcs.{part}.data" for part in ("train", "valid", "test")]
    if all(map(os.path.exists, parts)):
        read = [list(map(int, line.split(","))) for part in parts for line in open(part)]
        rows["nltcs"] = [f"v{i:02}" for i in range(len(read[0]))], read
    for name in TITLES:
        if name not in rows and os.path.exists(f"{data}/{name}.csv"):
            with open(f"{data}/{name}.csv") as file:
                rows[name] = next(file).strip().split(","), [list(map(int, line.split(","))) for line in file]
    sizes = {}
    for name, (names, read) in rows.items():
        with open(f"{folder}/{name}.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([names, *read])
        sizes[name] = {attribute: max(column) + 1 for attribute, column in zip(names, zip(*read))}
        for i, rho in enumerate(RHOS):
            spec = f'name = "{name}-{i}"\ntitle = "{TITLES[name]}"\ndemo = true\n[data]\npath = "{name}.csv"\n[privacy]\nunit = "row"\nrho = "{rho}"\n'
            spec += "".join(f'[[dimension]]\nname = "{attribute}"\ncodes = {size}\n' for attribute, size in sizes[name].items()) + "[[table]]\nevery = 2\n"
            with open(f"{folder}/{name}-{i}.toml", "w") as file:
                file.write(spec)
    return sizes


def peer(args):
    """One run of a peer, in a process of its own, with at most so many minutes of processor time. Both peers turn ε and δ into ρ and go on with ρ alone, so ρ is handed to them as it is."""
    resource.setrlimit(resource.RLIMIT_CPU, (args.minutes * 60, args.minutes * 60 + 10))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.path.insert(0, f"{args.mbi}/mechanisms")
    import numpy as np
    import pandas as pd
    from mbi import Dataset, Domain

    frame = pd.read_csv(args.data)
    data = Dataset(frame.to_dict("list"), Domain.fromdict(json.loads(args.sizes)))
    np.random.seed(args.seed)
    if args.peer == "MST":
        import mst

        mst.cdp_rho = lambda epsilon, delta: args.rho
        made = mst.MST(data, None, None)
    else:
        import aim

        mechanism = aim.AIM(1.0, 1e-9, max_model_size=args.model)
        mechanism.rho = args.rho
        _, made = mechanism.run(data, [(pair, 1.0) for pair in itertools.combinations(frame.columns, 2)])
    pd.DataFrame(made.to_dict()).to_csv(args.out, index=False)


def apart(command):
    """Whether a command came to its end, and what it took."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apart.py")
    done = subprocess.run([sys.executable, "-S", script, *command], capture_output=True, text=True)
    took = json.loads(done.stdout.splitlines()[-1])
    return done.returncode == 0, took, done.stderr


def run_margins(args, name, i, seed, out):
    """A release and its records, together."""
    steps = [
        ["release", f"{args.folder}/{name}-{i}.toml", "--out", os.path.dirname(out), "--ledger", f"{out}.ledger", "--key", f"{args.folder}/bench.key"],
        ["records", f"{os.path.dirname(out)}/{name}-{i}.margins", "--seed", str(seed), "--out", out, "--replace"],
    ]
    total = {"cpu": 0.0, "wall": 0.0, "mb": 0.0}
    for step in steps:
        ended, took, said = apart([args.margins, *step])
        if not ended:
            raise SystemExit(f"margins {' '.join(step)}\n{said}")
        total = {"cpu": total["cpu"] + took["cpu"], "wall": total["wall"] + took["wall"], "mb": max(total["mb"], took["mb"])}
    return total


def run_peer(args, program, name, sizes, rho, seed, out):
    command = [args.python, os.path.abspath(__file__), "--peer", program, "--mbi", args.mbi, "--data", f"{args.folder}/{name}.csv", "--sizes", json.dumps(sizes), "--rho", str(rho)]
    command += ["--seed", str(seed), "--minutes", str(args.minutes), "--model", str(args.model), "--out", out]
    ended, took, said = apart(command)
    if not ended and took["cpu"] < args.minutes * 60:
        raise SystemExit(f"{' '.join(command)}\n{said}")
    return took


def read(path, names):
    """The rows of a file as a matrix with the attributes in this order."""
    import numpy as np

    with open(path) as file:
        header = next(file).strip().split(",")
        at = [header.index(name) for name in names]
        return np.loadtxt(file, dtype=np.int64, delimiter=",")[:, at]


def distance(truth, made, sizes, ways):
    """The mean over all tables of so many attributes of half the sum of absolute differences between shares."""
    import numpy as np

    def shares(rows, table):
        code = np.zeros(len(rows), dtype=np.int64)
        for i in table:
            code = code * sizes[i] + rows[:, i]
        return np.bincount(code, minlength=int(np.prod([sizes[i] for i in table]))) / len(rows)

    tables = list(itertools.combinations(range(len(sizes)), ways))
    return float(sum(np.abs(shares(truth, t) - shares(made, t)).sum() / 2 for t in tables) / len(tables))


def measure(args, sizes, versions):
    """Runs what was not run before, in turns, and gives all runs: (data set, ρ, program) -> runs. A program that was stopped at its limit is not tried again there."""
    kept = f"{args.folder}/records.jsonl"
    runs = {}
    if os.path.exists(kept):
        for line in open(kept):
            run = json.loads(line)
            runs[run["data"], run["rho"], run["program"], run["seed"], run["version"]] = run
    found = {}
    for seed, name, (i, (rho, value)), program in itertools.product(range(1, args.seeds + 1), sizes, enumerate(RHOS.items()), PROGRAMS):
        all_ = found.setdefault((name, rho, program), [])
        if any("pairs" not in run for run in all_):
            continue
        key = name, rho, program, seed, versions[program]
        if key not in runs and program not in args.run.split(","):
            continue
        if key not in runs:
            with tempfile.TemporaryDirectory() as scratch:
                out = f"{scratch}/made.csv"
                took = run_margins(args, name, i, seed, out) if program == "margins" else run_peer(args, program, name, sizes[name], value, seed, out)
                run = dict(zip(("data", "rho", "program", "seed", "version"), key)) | took
                if os.path.exists(out):
                    truth, made = (read(path, sizes[name]) for path in (f"{args.folder}/{name}.csv", out))
                    run |= {"rows": len(made)} | {word: distance(truth, made, list(sizes[name].values()), ways) for word, ways in [("pairs", 2), ("triples", 3)]}
            runs[key] = run
            with open(kept, "a") as file:
                file.write(json.dumps(run) + "\n")
            print(json.dumps(run), file=sys.stderr, flush=True)
        all_.append(runs[key])
    return found


def another(args, name, sizes, draws=20):
    """How far as many rows are from the truth if they are drawn from it, with replacement: pairs and triples."""
    import numpy as np

    truth, rng = read(f"{args.folder}/{name}.csv", sizes), np.random.default_rng(20261125)
    again = [truth[rng.integers(len(truth), size=len(truth))] for _ in range(draws)]
    return len(truth), [sum(distance(truth, one, list(sizes.values()), ways) for one in again) / draws for ways in (2, 3)]


def report(args, sizes, versions):
    found = measure(args, sizes, versions)
    spread = max(max(r["pairs"] for r in all_) - min(r["pairs"] for r in all_) for all_ in found.values() if all_ and all("pairs" in r for r in all_))
    figures = f"means of {args.seeds} runs, whose distances in pairs differ by at most {spread:.4f}" if args.seeds > 1 else "of one run each"
    text = f"""{BEGIN}

Records beside those of MST and AIM (mbi {versions['mbi']}), at equal ρ for one row more or less: [`benches/peers/records.py`](../benches/peers/records.py). margins is asked for every table of two
attributes, makes a signed release and draws records from it; its time and memory are those of both. AIM is asked for the same tables, and MST chooses its own. Both take ρ as it is, without ε and δ. The table shows the
mean total variation distance from the truth (half the sum of the absolute differences between shares) over all tables of two attributes and of three, which nobody asked for. All figures are
{figures}. AIM's model has at most {args.model:g} MB (its default of 80 takes longer), and a run that takes more than {args.minutes} minutes of processor time is stopped. Other
programs ran on the same machine, so there are no wall times.

"""
    for name in sizes:
        rows, (pairs, triples) = another(args, name, sizes[name])
        text += f"* {TITLES[name]} has {rows:,} rows of {len(sizes[name])} attributes. As many rows drawn from them again, with no privacy, are {pairs:.4f} from them in pairs and {triples:.4f} in triples.\n"
    text += "\n| data | ρ | | pairs, asked for | triples, not asked for | processor s | peak MB |\n|---|---|---|---|---|---|---|\n"
    for (name, rho, program), all_ in found.items():
        first = f"| {TITLES[name]} | {RHOS[rho]:g} | {program} |" if program == PROGRAMS[0] else f"| | | {program} |"
        if not all_:
            text += f"{first} not run | | | |\n"
            continue
        if any("pairs" not in run for run in all_):
            text += f"{first} not within {args.minutes} minutes | | | |\n"
            continue
        fewer = f" ({len(all_)} of {args.seeds} runs)" if len(all_) < args.seeds else ""
        mean = {word: sum(run[word] for run in all_) / len(all_) for word in ("pairs", "triples", "cpu", "mb")}
        text += f"{first} {mean['pairs']:.4f}{fewer} | {mean['triples']:.4f} | {mean['cpu']:,.1f} | {mean['mb']:,.0f} |\n"
    return text


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--data", default="target/public", help="the folder with the published files")
    parser.add_argument("--mbi", default="target/mbi", help="a checkout of ryan112358/mbi")
    parser.add_argument("--python", default="target/peers-mbi/bin/python", help="the Python that has mbi")
    parser.add_argument("--folder", default="target/peers/files", help="where files and results are kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=int, default=30, help="processor minutes that a run of a peer may take")
    parser.add_argument("--model", type=float, default=4, help="the most megabytes of AIM's model")
    parser.add_argument("--run", default=",".join(PROGRAMS), help="programs to run; of others only what was kept is shown")
    parser.add_argument("--out", help="the page to write into")
    for inner in ("peer", "sizes"):
        parser.add_argument(f"--{inner}", help=argparse.SUPPRESS)
    parser.add_argument("--rho", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(args)
    args.margins, args.mbi, args.folder, args.python = map(os.path.abspath, (args.margins, args.mbi, args.folder, args.python))
    for needed in (f"{args.mbi}/mechanisms/aim.py", args.python):
        if not os.path.exists(needed):
            return print(f"{needed} is not here: skipped")
    os.makedirs(args.folder, exist_ok=True)
    sizes = prepare(args.data, args.folder)
    if set(sizes) != set(TITLES):
        return print(f"{args.data} has not the files of Adult and NLTCS: skipped")
    if not os.path.exists(f"{args.folder}/bench.key"):
        subprocess.run([args.margins, "keygen", "--out", f"{args.folder}/bench.key", "--no-passphrase"], check=True, stdout=subprocess.DEVNULL)
    commit = said("git", "-C", args.mbi, "rev-parse", "--short=7", "HEAD")
    version = said(args.python, "-c", "import importlib.metadata as m; print(m.version('mbi'))")
    with open(args.margins, "rb") as file:
        versions = {"margins": hashlib.file_digest(file, "sha256").hexdigest(), "mbi": f"{version}, commit {commit}"}
    versions |= {"MST": f"{versions['mbi']}, {args.minutes} minutes", "AIM": f"{versions['mbi']}, {args.minutes} minutes, {args.model:g} MB"}
    text = report(args, sizes, versions)
    if args.out:
        import large

        large.write(args.out, BEGIN, text)
    print(text)


if __name__ == "__main__":
    main()
