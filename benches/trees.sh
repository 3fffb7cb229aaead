#!/bin/sh
# Trees of unequal groups: how long `plan` takes, and the variance beside what even shares have.
# Usage: benches/trees.sh [folder]; needs python3 and a release build.
set -eu
folder=${1:-target/trees}
margins=${MARGINS:-target/release/margins}
mkdir -p "$folder"
python3 - "$folder" <<'PY'
import random, sys
folder = sys.argv[1]
random.seed(1)

def tree(name, sizes):
    """Level sizes from coarse to fine; every group has at least one child, the others fall to groups by a law of long tails."""
    parents, above = [], 1
    for size in sizes:
        pull = [random.paretovariate(1.2) for _ in range(above)]
        own = sorted(list(range(above)) + random.choices(range(above), weights=pull, k=size - above))
        parents.append(own)
        above = size
    with open(f"{folder}/{name}.csv", "w") as out:
        names = [f"{name}{len(sizes) - i}" for i in range(len(sizes))]
        out.write(",".join(reversed(names)) + "\n")
        for leaf in range(sizes[-1]):
            row, node = [], leaf
            for level in range(len(sizes) - 1, -1, -1):
                row.append(f"{names[level]}_{node}")
                node = parents[level][node]
            out.write(",".join(row) + "\n")
    return names

def spec(name, dimensions, tables, weights=None, measure="residual"):
    with open(f"{folder}/{name}.toml", "w") as out:
        out.write(f'name = "{name}"\ntitle = "{name}"\n[privacy]\nunit = "row"\nrho = 0.5\n[strategy]\nmeasure = "{measure}"\n')
        for d, what in dimensions:
            out.write(f'[[dimension]]\nname = "{d}"\n{what}\n')
        for i, t in enumerate(tables):
            of = ", ".join(f'"{x}"' for x in t)
            weight = f"weight = {weights[i]}\n" if weights else ""
            out.write(f"[[table]]\nof = [{of}]\n{weight}")

def plain(n):
    return "categories = [" + ", ".join(f'"{i}"' for i in range(n)) + "]"

def geo(name, sizes):
    names = tree(name, sizes)
    levels = [f"{name}.{n}" for n in names[:-1]] + [name]
    return levels, f'hierarchy = "{name}.csv"'

levels, what = geo("blocks", [50, 600, 4000, 60000])
others = [("race", plain(63)), ("hispanic", plain(2)), ("adult", plain(2))]
cells = ["race", "hispanic", "adult"]
for name, measure in [("census", "residual"), ("census-queries", "queries"), ("census-hierarchy", "hierarchy")]:
    spec(name, [("blocks", what)] + others, [cells] + [[l] + cells for l in levels], measure=measure)
fewer = [cells, [levels[0]] + cells, [levels[1], "race", "adult"], [levels[2], "race"], [levels[3]]]
spec("census-kinds", [("blocks", what)] + others, fewer)

levels, what = geo("leaves", [10, 300, 4000, 60000])
sizes = [10, 300, 4000, 60000]
spec("alone", [("leaves", what)], [[]] + [[l] for l in levels])
spec("alone-queries", [("leaves", what)], [[]] + [[l] for l in levels], measure="queries")
spec("alone-alike", [("leaves", what)], [[]] + [[l] for l in levels], [1] + [f'"1/{s}"' for s in sizes])

def crossed(name, towns, classes):
    t, towns = geo(f"{name}town", towns)
    c, classes = geo(f"{name}class", classes)
    spec(name, [(f"{name}town", towns), (f"{name}class", classes), ("sex", plain(2))],
         [[t[0], c[2]], [t[1], c[1], "sex"], [t[2], c[0]], [t[2], c[1], "sex"], [t[1], c[2]]])

crossed("small", [8, 60, 400], [20, 90, 600])
crossed("large", [8, 150, 2000], [20, 120, 800])
PY
for name in census census-kinds census-queries census-hierarchy alone alone-queries alone-alike small large; do
    echo "$name"
    python3 -c "import resource, subprocess, sys
subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f'{used.ru_utime:.2f} CPU-s, {used.ru_maxrss // 1024} MiB')" "$margins" plan "$folder/$name.toml" 2>&1 | grep -E "CPU-s|total variance" || true
done
