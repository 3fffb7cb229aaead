"""The curve of δ that `margins plan --json` prints, beside Google's `dp-accounting`, which rounds losses to a grid, once up and once down.

    pip install dp-accounting
    python benches/peers/accounting.py --margins target/release/margins

All tables of two attributes of two domains, by the best Gaussian plan. The scale of every noise follows from its closed form and the printed ρ; nothing is
shared with the program but that. For each ε both bounds of `dp-accounting` and the program's δ; it ends with an error where that is not between them.
Then budgets in (ε, δ): the ρ that the program spends, and whether `dp-accounting` finds no less δ than that from above, and no more from below.
"""

import argparse
import itertools
import json
import math
import os
import subprocess
import tempfile
from collections import Counter
from fractions import Fraction

from dp_accounting.pld import privacy_loss_distribution as pld

BUDGETS = [("1", "1e-9"), ("1", "1e-6"), ("4", "1e-9"), ("10", "1e-10")]
DOMAINS = {"adult": [9, 16, 7, 15, 6, 5, 2, 2], "nltcs": [2] * 16}


def plan(margins, sizes, budget):
    """What the program says of all pairs."""
    spec = f'name = "pairs"\ntitle = "pairs"\n[privacy]\nunit = "row"\n{budget}\n'
    spec += "".join(f'[[dimension]]\nname = "a{i}"\ncodes = {n}\n' for i, n in enumerate(sizes))
    spec += '[[table]]\nevery = 2\n[strategy]\nmeasure = "residual"\n'
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/pairs.toml"
        with open(path, "w") as file:
            file.write(spec)
        return json.loads(subprocess.run([margins, "plan", path, "--json"], check=True, capture_output=True).stdout)


def moved(sizes, rho):
    """How many integers move how far, with which s²: the closed form of the best plan."""
    components = [a for k in range(3) for a in itertools.combinations(range(len(sizes)), k)]
    price = {a: math.prod(1 - 1 / sizes[i] for i in a) for a in components}

    def stake(a):
        tables = [b for b in components if len(b) == 2 and set(a) <= set(b)]
        return price[a] * sum(math.prod(sizes[i] for i in b) * math.prod(sizes[i] ** -2.0 for i in b if i not in a) for b in tables)

    share = {a: math.sqrt(stake(a) * price[a]) for a in components}
    total = sum(share.values())
    out = Counter()
    for a in components:
        variance = math.prod(sizes[i] for i in a) ** 2 * price[a] * total / (2 * rho * share[a])
        for own in itertools.product([False, True], repeat=len(a)):
            by = math.prod(sizes[i] - 1 for i, mine in zip(a, own) if mine)
            out[by, variance] += math.prod(sizes[i] - 1 for i, mine in zip(a, own) if not mine)
    return out


def law(parts, pessimistic, step):
    whole = None
    for (by, variance), copies in parts.items():
        one = pld.from_discrete_gaussian_mechanism(
            math.sqrt(variance), sensitivity=by, pessimistic_estimate=pessimistic, value_discretization_interval=step
        ).self_compose(copies)
        whole = one if whole is None else whole.compose(one)
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margins", default="target/release/margins")
    parser.add_argument("--step", type=float, default=1e-5, help="of dp-accounting's grid")
    args = parser.parse_args()
    wrong = 0
    for (name, sizes), rho in itertools.product(DOMAINS.items(), ["0.0165", "0.2258"]):
        found = plan(os.path.abspath(args.margins), sizes, f'rho = "{rho}"')
        parts = moved(sizes, float(rho))
        below, above = law(parts, False, args.step), law(parts, True, args.step)
        print(f"{name}, rho = {rho}: ε, dp-accounting from below, margins, dp-accounting from above")
        for point in found["delta_curve"][2:-6:4]:
            epsilon, delta = point["epsilon"], point["delta"]
            low, high = below.get_delta_for_epsilon(epsilon), above.get_delta_for_epsilon(epsilon)
            wrong += not low <= delta * (1 + 1e-6) <= high * (1 + 2e-6)
            print(f"  {epsilon:8.5f}  {low:.6e}  {delta:.6e}  {high:.6e}")
    for (name, sizes), (epsilon, delta) in itertools.product(DOMAINS.items(), BUDGETS):
        found = plan(os.path.abspath(args.margins), sizes, f'epsilon = "{epsilon}"\ndelta = "{delta}"')
        rho, parts = Fraction(found["rho"]), moved(sizes, float(Fraction(found["rho"])))
        low, high = (law(parts, above, args.step).get_delta_for_epsilon(float(epsilon)) for above in (False, True))
        wrong += not low <= float(delta) <= high * (1 + 2e-5)
        print(f"{name}, ε = {epsilon}, δ = {delta}: rho = {float(rho):.6f}, δ by dp-accounting from {low:.6e} to {high:.6e}")
    raise SystemExit(f"{wrong} points are not between the bounds" if wrong else 0)


if __name__ == "__main__":
    main()
