"""Made-up specs of every strategy with made-up rows, and their releases by the `margins` command."""

import os
import random
import subprocess

STRATEGIES = ["residual", "queries", "base", "hierarchy", "cluster", "tables", "given", "wavelet", "fourier", "matrix", "bases", "auto", "dense", "sketch"]
SUMMED = {"residual", "queries", "base", "tables", "bases", "auto"}
GAUSSIAN = {"residual", "bases", "dense", "sketch"}


def margins():
    root = os.path.join(os.path.dirname(__file__), "..", "..", "target")
    found = [os.environ.get("MARGINS_COMMAND")] + [os.path.join(root, kind, "margins") for kind in ("release", "debug")]
    return next((path for path in found if path and os.path.exists(path)), None)


def run(*args, **more):
    """The command with these words: what it says, and its exit code."""
    return subprocess.run([margins(), *map(str, args)], capture_output=True, text=True, **more)


def released(folder, spec, out):
    """The files in a folder of releases after a spec there was released by a key of that folder, and what the command said."""
    if not os.path.exists(os.path.join(folder, "test.key")):
        run("keygen", "--no-passphrase", "--out", "test.key", cwd=folder)
    done = run("release", spec, "--key", "test.key", "--out", out, "--ledger", "ledger.jsonl", cwd=folder)
    out = os.path.join(folder, out)
    files = sorted(os.path.join(out, name) for name in os.listdir(out) if name.endswith(".margins")) if os.path.isdir(out) else []
    return files, done


def spec(seed, folder):
    """Writes a spec and its rows; what is in the spec follows from the seed alone."""
    rng = random.Random(seed)
    strategy = STRATEGIES[seed % len(STRATEGIES)]
    lines = [f'name = "s{seed}"', 'title = "Made up"', '[data]', 'path = "rows.csv"']
    if rng.random() < 0.3:
        lines += ["[dataset]", f'id = "people-{seed}"', 'period = "2026"']
    gaussian, projection = strategy in GAUSSIAN or rng.random() < 0.4, strategy in ("dense", "sketch")
    unit = rng.random() < 0.3
    lines += ["[privacy]", f'unit = {{ column = "id", max_rows = {rng.randint(1, 4)} }}' if unit else 'unit = "row"']
    substitute = rng.random() < 0.3
    lines += ['neighbours = "substitute"'] * substitute
    if unit and not projection and rng.random() < 0.4:
        lines.append("measure_truncation = true")
    laplace = strategy == "dense" and rng.random() < 0.4
    if laplace or gaussian and rng.random() < 0.3:
        lines += [f"epsilon = {rng.randint(1, 30) / 10}", "delta = 1e-6"]
    else:
        lines.append(f'{"rho" if gaussian else "epsilon"} = "{rng.randint(1, 40)}/{rng.randint(7, 20)}"')
    if not projection and rng.random() < 0.25:
        lines += ["[recipients]", rng.choice(['mode = "nested"', 'mode = "shifted"\nmean = 7', 'mode = "shifted"\ncentres = [-6, 10]'])]
        lines += ["[[recipient]]", 'name = "one"', f'{"rho" if gaussian else "epsilon"} = "1/400"', "[[recipient]]", 'name = "two"',
                  f'{"rho" if gaussian else "epsilon"} = "1/{rng.choice([401, 500, 3333])}"']
    dimensions, columns = _dimensions(rng, strategy)
    for name, text, _, levels in dimensions:
        lines += ["[[dimension]]", f'name = "{name}"', text]
        if levels:
            lines.append("levels = [" + ", ".join(text for _, text in levels) + "]")
    if projection:
        lines += ["[projection]", f'kind = "{strategy}"', f"rows = {rng.choice([128, 1024])}", "sparsity = 8"]
        if laplace:
            lines.append('noise = "laplace"')
    else:
        lines += _tables(rng, strategy, dimensions, folder, substitute)
    numbers = []
    if strategy in SUMMED:
        # Drawn apart, so that specs without numbers stay what they were.
        lines, numbers = _amounts(random.Random(f"{seed} numbers"), lines)
    with open(os.path.join(folder, f"s{seed}.toml"), "w") as file:
        file.write("\n".join(lines) + "\n")
    empty = [line for line in lines if line.startswith("where")]
    with open(os.path.join(folder, "rows.csv"), "w") as file:
        file.write(",".join(["id"] + [name for name, *_ in dimensions] + [name for name, _ in numbers]) + "\n")
        for _ in range(rng.randint(50, 400)):
            row = [rng.choice(values) for values in columns]
            if not (empty and row[0] == columns[0][0] and row[1] == columns[1][0]):
                row += [rng.choice(values) for _, values in numbers]
                file.write(",".join([str(rng.randrange(150))] + row) + "\n")
    return strategy


def _dimensions(rng, strategy):
    found, columns = [], []
    plain = strategy == "fourier"
    for number in range(rng.randint(2, 3)):
        kind, name = rng.choice(["categories", "range", "codes", "bins"]), "abc"[number]
        size = rng.randint(2, 9)
        levels = []
        if kind == "range":
            size = rng.randint(4, 16)
            text, values = f"range = [0, {size - 1}]", [str(v) for v in range(size)]
            if not plain and rng.random() < 0.7:
                levels.append(("band", f'{{ name = "band", width = {rng.randint(2, 3)} }}'))
                if size > 8 and rng.random() < 0.4:
                    levels.append(("group", '{ name = "group", cuts = [6] }'))
        elif kind == "codes":
            text, values = f"codes = {size}", [str(v) for v in range(size)]
        elif kind == "bins":
            text, values = "bins = [0, 10.5, 20, 50]", ["3", "10.5", "49"]
        else:
            values = [f"{'xyzuvwrst'[i]}{i}" for i in range(size)]
            text = "categories = [" + ", ".join(f'"{v}"' for v in values) + "]"
            if not plain and size > 3 and rng.random() < 0.5:
                cut = rng.randint(1, size - 2)
                quoted = lambda part: "[" + ", ".join(f'"{v}"' for v in part) + "]"
                levels.append(("part", f'{{ name = "part", map = {{ lo = {quoted(values[:cut])}, hi = {quoted(values[cut:])} }} }}'))
        if rng.random() < 0.2 and kind in ("range", "categories"):
            text += '\nmissing = "unknown"'
            values = values + [""]
            levels = [] if kind == "categories" else levels
        found.append((name, text, values, levels))
        columns.append(values)
    return found, columns


def _amounts(rng, lines):
    """The lines with up to two numbers, summed in some tables, and with weights; columns and their values."""
    columns, found, names = [], [], []
    weights = rng.random() < 0.25
    if weights:
        found += ["[weights]", 'column = "w"', f"high = {rng.choice([8, 40])}"]
        found += rng.choice([[], ["step = 0.5", "measure_clamping = true"], ['name = "weight"', "unweighted = true"]])
        columns.append(("w", ["0", "1", "2.25", "37.5", "60"]))
    for number in range(rng.choice([0, 1, 1, 2])):
        low, high, step = rng.choice([(0, 1000, 1), (-20, 20, "0.5"), (100, 700, None), ("-2.5", 10, "1.25"), (-90, -10, 10)])
        names.append("pqr"[number])
        found += ["[[amount]]", f'name = "{names[-1]}"', f"low = {low}", f"high = {high}"]
        plain = not weights or rng.random() < 0.4
        # Where there is no weight nothing is said of it.
        found += ["weighted = false"] if weights and plain else []
        found += [f"step = {step}"] if step else []
        values = ["-30", "0", "5.5", "12.75", "350", "999.5", "1e4"]
        missing = rng.choice(["skip", "zero", "stop"] if plain else ["zero", "stop"])
        if missing == "skip" or missing == "zero" and float(low) <= 0 <= high:
            found.append(f'missing = "{missing}"')
            values.append("")
        found += ["square = true"] if plain and rng.random() < 0.3 else []
        found += ["measure_clamping = " + rng.choice(["true", '"1/20"'])] if rng.random() < 0.3 else []
        found += ['unit = "EUR"', 'description = "What it is"'] if rng.random() < 0.3 else []
        columns.append((names[-1], values))
    # No number is summed nowhere.
    unused, more, at = list(names), [], 0
    for line in lines:
        if line == "[[table]]":
            at += 1
            some = unused if at == 1 else [name for name in names if rng.random() < 0.6]
        elif line == "[strategy]" or line == "[[zero]]":
            some = []
        if line.startswith("weight = ") and at and some and rng.random() < 0.5:
            line = "weight = { count = 2, " + ", ".join(f"{name} = {rng.randint(1, 4)}" for name in some) + " }"
        more.append(line)
        if line.startswith("of = ") and at and some:
            more.append("sum = [" + ", ".join(f'"{name}"' for name in some) + "]")
            if at > 1 and rng.random() < 0.2:
                more.append("count = false")
    head = next((place for place, line in enumerate(more) if line == "[[table]]"), len(more))
    return more[:head] + found + more[head:], columns


def _tables(rng, strategy, dimensions, folder, substitute):
    names = [name for name, *_ in dimensions]
    at = lambda name: rng.choice([name] + [f"{name}.{level}" for level, _ in dict((d[0], d[3]) for d in dimensions)[name]])
    lines, quoted = [], lambda of: "[" + ", ".join(f'"{name}"' for name in of) + "]"
    tables = [[names[0], names[1]]]
    for _ in range(rng.randint(0, 3)):
        some = sorted(rng.sample(names[:2] if strategy == "matrix" else names, rng.randint(0 if not substitute else 1, min(2, len(names)))))
        of = [at(name) for name in some] if strategy != "fourier" else some
        if of not in tables:
            tables.append(of)
    for number, of in enumerate(tables):
        lines += ["[[table]]", f"of = {quoted(of)}"]
        if number and len(of) == 1 and rng.random() < 0.3 and strategy not in ("given", "matrix"):
            lines += ["exact = true", 'reason = "the law"']
        elif rng.random() < 0.3:
            lines.append(f"weight = {rng.randint(2, 5)}")
        if number == 0 and (strategy == "bases" or rng.random() < 0.2) and dimensions[0][1].startswith(("range", "codes")):
            lines.append(f'ask = {{ {names[0]} = "{rng.choice(["prefixes", "ranges"])}" }}')
    if rng.random() < 0.25:
        first = [dimensions[i][2][0] for i in (0, 1)]
        literal = [value if dimensions[i][1].startswith(("range", "codes")) else f"'{value}'" for i, value in enumerate(first)]
        literal = ["'[0, 10.5)'" if dimensions[i][1].startswith("bins") else text for i, text in enumerate(literal)]
        lines += ["[[zero]]", f'where = "{names[0]} = {literal[0]} AND {names[1]} = {literal[1]}"']
    lines += ["[strategy]", f'measure = "{strategy}"', f'budgets = "{rng.choice(["optimal", "uniform"])}"']
    if strategy == "given":
        lines.pop()
        lines.append('shares = [{ of = ' + quoted(names[:1]) + ', share = "1/3" }, { of = ' + quoted(names) + ', share = "2/3" }]')
    if strategy == "matrix":
        cells = len(set(dimensions[0][2])) * len(set(dimensions[1][2]))
        with open(os.path.join(folder, "sums.csv"), "w") as file:
            for row in range(cells):
                file.write(",".join(str(int(column >= row) if row % 2 else (1 + row % 3) * int(column == row)) for column in range(cells)) + "\n")
            file.write(",".join("1" for _ in range(cells)) + "\n")
        lines.append(f'rows = {{ file = "sums.csv", of = {quoted(names[:2])} }}')
        lines = [line for line in lines if not line.startswith("budgets")] + ['budgets = "uniform"']
    return lines


def release(seed, folder):
    """The files of a seed's release, or what the command said in place of making it."""
    spec(seed, folder)
    files, done = released(folder, f"s{seed}.toml", "out")
    return files, done.stderr
