"""The manifest's claims, derived again from the sections."""

from fractions import Fraction

from . import approximate, cost
from .cost import SUM
from .errors import must
from .project import room

KNOWN = {
    "": "format created compiler not_private about privacy plan declared sources sections signer dataset account recipient projection",
    "about": "name title description licence contact supersedes errata",
    "privacy": "unit max_rows neighbours budget cost note approximate order truncation",
    "plan": "measure budgets mechanism workload count measurements",
    "declared": "invariants constraints post_processing",
    "sources": "spec domain attachments",
    "signer": "kind public_key",
    "dataset": "id period",
    "account": "id unit unit_of part charged line head",
    "recipient": "name mode copies measuring joint_cost centre note",
    "projection": "kind key rows buckets independence seed sparsity collision",
    "sections": "name tag index length blake3",
    "measurements": "block kind scale sensitivity cost",
    "attachments": "name blake3",
    "approximate": "epsilon delta conversion",
    "truncation": "scale",
    "budget": "currency amount", "cost": "currency amount", "charged": "currency amount", "joint_cost": "currency amount",
}
CONVERSION = "zCDP to (ε, δ) by Canonne, Kamath & Steinke 2020, Corollary 13, minimised over α"
NESTED = ("One of {} copies of one measuring. Every less precise copy is made from a more precise one by adding independent noise, so all of them together "
          "tell, and cost, what the most precise one does: {} <= {}.")
SHIFTED = ("One of {} copies, each measured by itself, with noise around a secret centre. A centre does not protect against recipients who put their copies "
           "together: one known count, one public mean or the difference of two counts removes it. Together the copies cost the sum of what each costs alone.")
CENTRE = "one whole number for all integers of this copy, uniform on {} to {}; intervals allow for it"
EXACT = (" This is relative to the tables declared as published exactly: what they say is public, and the guarantee covers what the release tells beyond them.")


def unknown(value, name=""):
    """Fields that the format does not know."""
    if isinstance(value, list):
        return [field for item in value for field in unknown(item, name)]
    if not isinstance(value, dict):
        return []
    known = KNOWN.get(name, "").split()
    return [field for field in value if field not in known] + [found for key, item in value.items() if key in known for found in unknown(item, key)]


def text(ratio):
    ratio = Fraction(ratio)
    return str(ratio.numerator) if ratio.denominator == 1 else f"{ratio.numerator}/{ratio.denominator}"


class Claims:
    def __init__(self, release, found, delta):
        """`found` is the cost; `delta` that of the spec, or None."""
        self.release, self.manifest, self.found, self.delta = release, release.file.manifest, found, delta
        self.gaussian = (release.projection or release.plan).noise == "gaussian" or release.projection is not None
        self.currency, self.sign = ("rho", "ρ") if self.gaussian else ("epsilon", "ε")

    def amount(self, value):
        return {"currency": self.currency, "amount": text(value)}

    def check(self):
        """Fails at the first claim that does not follow."""
        for name, derived in self.derived().items():
            said = self.manifest.get(name)
            if not isinstance(derived, dict):
                must(said == derived, f"{name}: the manifest says something else")
                continue
            for key, value in derived.items():
                must((said or {}).get(key) == value, f"{name}.{key}: the manifest says {(said or {}).get(key)!r}, and what follows is {value!r}"[:600])

    def derived(self):
        release, held = self.release, self.release.projection or self.release.plan
        privacy = {
            "max_rows": held.max_rows if release.projection else held.rows, "neighbours": held.neighbours, "budget": self.amount(release.budget),
            "cost": self.amount(self.found.total), "note": self.note(), "approximate": self.approximate(),
            "truncation": {"scale": text(sum(release.truncation_layers()))} if release.truncation else None,
        }
        must(release.truncation is None or self.manifest["privacy"]["unit"] != "row", "a count of cut units where the unit is a row")
        plan = {
            "measure": f"{release.projection.kind} projection" if release.projection else release.plan.strategy, "budgets": release.plan.rule,
            "mechanism": held.noise,
            "count": 1 if release.projection else len(release.plan.measurements), "workload": self.workload(), "measurements": self.measurements(),
        }
        found = {"privacy": privacy, "plan": plan, "projection": self.projection(), "recipient": self.recipient()}
        found["declared"] = {"post_processing": []}
        must(release.truncation is None or release.truncation[0] == sum(release.truncation_layers()), "the truncation section's scale is not the copy's")
        if self.manifest.get("account"):
            spent = cost.joint(release) if release.copies else self.found.total
            times = self.manifest["account"]["unit_of"]
            found["account"] = {"charged": self.amount(spent * times**2 if self.gaussian else spent * times)}
        return found

    def note(self):
        unit, held = self.manifest["privacy"]["unit"], self.release.projection or self.release.plan
        rows = held.max_rows if self.release.projection else held.rows
        if unit == "row" and (rows == 1 or self.release.projection and self.release.file.version == 1):
            who = "every row"
        else:
            who = f"every {unit}, of which at most {rows} rows count"
        what = "zero-concentrated differential privacy" if self.gaussian else "pure differential privacy"
        whether = "whether it is in the data or not" if held.neighbours == "add-remove" else "whatever it says (the number of rows is public)"
        case = f" The cost is {self.found.case}." if self.found.case not in (None, SUM) else ""
        return f"{self.sign} <= {text(self.release.budget)} of {what} for {who}, {whether}.{case}{EXACT if self.release.exact else ''}"

    def approximate(self):
        if not self.gaussian:
            return None
        delta = self.delta if self.delta is not None else Fraction(1, 10**9)
        return {"delta": decimal(delta), "epsilon": approximate.shown(approximate.epsilon(self.found.total, delta), self.release.file.version), "conversion": CONVERSION}

    def workload(self):
        names = []
        for number, (cuboid, _) in list(enumerate(self.release.plan.workload))[:10000]:
            asked = self.release.asked.get(number, {})
            if isinstance(asked, str):
                names.append(" ".join(asked.split()))
                continue
            words = {d: word if isinstance(word, str) else f"{len(word)} intervals" for d, word in asked.items()}
            parts = [self.release.domain[d].called(level) + (f" ({words[d]})" if d in words else "") for d, level in cuboid]
            names.append(" × ".join(parts) or "total")
        return names

    def measurements(self):
        release, found = self.release, []
        if release.projection:
            key = " × ".join(release.domain[d].name for d, _ in release.projection.key)
            sensitivity, spent = self.found.each[0]
            return [{"block": key, "kind": "projection", "scale": text(release.projection.scale), "sensitivity": text(sensitivity), "cost": text(spent)}]
        for number, block in list(enumerate(release.plan.measurements))[:10000]:
            sensitivity, spent = self.found.each[number]
            kind = "basis" if block.kind == "bases" else block.kind
            found.append({"block": release.domain.name_of(block.cuboid), "kind": kind, "scale": text(sum(release.layers(number))),
                          "sensitivity": text(sensitivity), "cost": text(spent)})
        return found

    def projection(self):
        held = self.release.projection
        if held is None:
            return None
        bits, indexed = room(held, self.release.domain)
        bound = 0.0 if indexed else sum(is_text for _, is_text in held.key) * 2.0**-64 + 2.0**-bits
        mantissa, exponent = f"{bound:.1e}".split("e")
        return {"kind": held.kind, "key": [self.release.domain[d].name for d, _ in held.key], "rows": held.rows, "buckets": held.buckets or None,
                "independence": held.independence, "seed": held.seed.hex(), "sparsity": held.sparsity, "collision": f"{mantissa}e{int(exponent)}"}

    def recipient(self):
        copies = self.release.copies
        if copies is None:
            return None
        number, nested = len(copies.recipients), copies.mode == "nested"
        note = NESTED.format(number, self.sign, text(copies.budget)) if nested else SHIFTED.format(number)
        return {"name": copies.recipients[copies.mine][0], "mode": copies.mode, "copies": number, "measuring": copies.measuring,
                "joint_cost": self.amount(cost.joint(self.release)), "note": note,
                "centre": None if nested else CENTRE.format(copies.mean - copies.spread, copies.mean + copies.spread)}


def decimal(ratio):
    """`1.25e-5` where that is exact, otherwise a ratio."""
    power = next((power for power in range(60) if 10**power % ratio.denominator == 0), None)
    if power is None:
        return text(ratio)
    digits = str(ratio.numerator * 10**power // ratio.denominator)
    short = digits.rstrip("0")
    return f"{short[0]}{'.' + short[1:] if short[1:] else ''}e-{power - len(digits) + 1}"
