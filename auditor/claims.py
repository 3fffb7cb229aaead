"""The manifest's claims, derived again from the sections."""

from decimal import Decimal
from fractions import Fraction

from . import cost, loss
from .project import room
from .shapes import ratio
from .wire import must

CONVERSION = "zCDP to (ε, δ) by Canonne, Kamath & Steinke 2020, Corollary 13, minimised over α"
EXACT_LAW = "the exact law of the privacy loss of all noises of this release together"
NESTED = ("One of {} copies of one measuring. Every less precise copy is made from a more precise one by "
          "adding independent noise, so all of them together tell, and cost, what the most precise one does: "
          "{} <= {}.")
SHIFTED = ("One of {} copies, each measured by itself, with noise around a secret centre. A centre does not "
           "protect against recipients who put their copies together: one known count, one public mean or "
           "the difference of two counts removes it. Together the copies cost the sum of what each costs "
           "alone.")
CENTRE = "one whole number for all {} of this copy, uniform on {} to {}; intervals allow for it"
EXACT = ("This is relative to the tables declared as published exactly: what they say is public, and the "
         "guarantee covers what the release tells beyond them.")


def decimal(ratio):
    """`1.25e-5` where the quotient as a double, in as few digits as tell it, is just that; or a ratio."""
    near = Decimal(repr(float(ratio.numerator) / float(ratio.denominator))).normalize()
    first, *rest = map(str, near.as_tuple().digits)
    exact = f"{first}{'.' if rest else ''}{''.join(rest)}e{near.adjusted()}"
    return exact if Fraction(near) == ratio else str(ratio)


class Claims:
    def __init__(self, release):
        self.release, self.manifest, self.held = release, release.file.manifest, release.held
        self.rho = self.held.noise == "gaussian" or release.projection is not None
        self.sign, self.cost = "ρ" if self.rho else "ε", cost.Cost(release)

    def amount(self, value):
        return {"currency": "rho" if self.rho else "epsilon", "amount": str(value)}

    def account(self):
        """What the account is charged for one of its units, for the cost that the manifest says."""
        all_of, said = self.manifest, self.manifest["account"]
        spent = all_of["recipient"]["joint_cost"] if self.release.copies else all_of["privacy"]["cost"]
        follows = self.amount(ratio(spent["amount"]) * said["unit_of"] ** (2 if self.rho else 1))
        must(said["charged"] == follows, f"what follows is {follows['amount']}, and another cost was charged")
        return f"{self.sign} = {follows['amount']} for every {said['unit']}, in the ledger of `{said['id']}`"

    def within_budget(self):
        spent = f"{float(self.cost.total):.12f} of {self.release.budget}"
        must(self.cost.total <= self.release.budget, f"more than the budget: {spent}")
        return f"recomputed from {len(self.cost.each)} blocks ({self.cost.case}): {spent}"

    def guarantee(self):
        said, near = self.manifest["privacy"], self.manifest["privacy"].get("approximate")
        return said["note"] + (f" As (ε, δ): ε = {near['epsilon']} at δ = {near['delta']}." if near else "")

    def check(self):
        """Fails at the first claim that does not follow."""
        for name, derived in self._derived().items():
            said = self.manifest.get(name) or {}
            must(derived or not said, f"{name}: the manifest has what the file has not")
            for key, value in derived.items():
                why = f"{name}.{key}: the manifest says {said.get(key)!r}, and what follows is {value!r}"
                must(said.get(key) == value, why[:600])
        return "derived again from plan and domain, and equal"

    def _derived(self):
        release, held = self.release, self.held
        cut = {"scale": str(sum(release.cut_layers()))} if release.truncation else None
        must(not cut or self.manifest["privacy"]["unit"] != "row", "units are cut, and each is a row")
        privacy = {"max_rows": held.max_rows, "neighbours": held.neighbours, "note": self._note(),
                   "budget": self.amount(release.budget), "cost": self.amount(self.cost.total),
                   "approximate": self._approximate(), "truncation": cut}
        measured = self._measurements()
        plan = {"measure": f"{held.kind} projection" if release.projection else release.plan.strategy,
                "budgets": "uniform" if release.projection else release.plan.rule, "mechanism": held.noise,
                "sums": self._sums() or None, "count": len(measured), "measurements": measured[:10000],
                "workload": self._workload(release.rows)}
        return {"privacy": privacy, "plan": plan, "declared": {"post_processing": []},
                "projection": self._projection(held) if release.projection else {},
                "recipient": self._recipient(release.copies) if release.copies else {}}

    def _note(self):
        said, rows = self.manifest["privacy"], self.held.max_rows
        unit, without = said["unit"], said.get("without")
        who = f"every {unit}, of which at most {rows} rows count"
        who += ", and for every single row without one" if without == "own" else ""
        if unit == "row" and (rows == 1 or self.release.projection and self.release.file.version == 1):
            who = "every row"
        whether = {"add-remove": "whether it is in the data or not",
                   "substitute": "whatever it says (the number of rows is public)"}[self.held.neighbours]
        kind = ("zero-concentrated" if self.rho else "pure") + " differential privacy"
        parts = [f"{self.sign} <= {self.release.budget} of {kind} for {who}, {whether}."]
        parts += [f"Rows without a {unit} are left out."] * (without == "drop")
        parts += [f"The cost is {self.cost.case}."] * (self.cost.case != cost.SUM)
        return " ".join(parts + [EXACT] * bool(self.release.rows.exact))

    def _approximate(self):
        if not self.rho:
            return None
        said = self.manifest["privacy"].get("approximate", {})
        delta = ratio(said.get("delta", "1e-9"))
        if "accounting" in said:
            epsilon = loss.confirmed(self.release, str(said.get("epsilon")), delta)
            law = {"conversion": EXACT_LAW, "accounting": "exact"}
        else:
            epsilon = loss.shown(loss.epsilon(self.cost.total, delta), self.release.file.version)
            law = {"conversion": CONVERSION}
        return {"delta": decimal(delta), "epsilon": epsilon, **law}

    def _sums(self):
        """Each channel beside rows; the numbers that were moved stand with the sums."""
        found, summed = [], [channel for channel in self.release.channels[1:] if not channel.moved]
        for channel, spent in zip(summed, self.cost.sums):
            said = {"subject": channel.subject, "of": channel.of, "workload": self._workload(channel)}
            found.append({**said, "count": len(channel.plan.blocks), "cost": str(cost.total(spent))})
            low = channel.subject == "sums" and self.release.of(channel.of["name"], "rows moved to low")
            if low:
                both = cost.total(self.cost.moved[channel.of["name"]])
                found[-1]["clamping"] = {"scale": str(sum(low.layers(0))), "cost": str(both)}
        return found

    def _workload(self, channel):
        names = []
        for number, (table, _) in list(enumerate(channel.plan.workload))[:10000]:
            asked = channel.asked.get(number, {})
            if isinstance(asked, str):
                names.append(" ".join(asked.split()))
                continue
            said = {d: f"{len(how)} intervals" if isinstance(how, list) else how for d, how in asked.items()}
            called = [(d, self.release.domain[d].called(level)) for d, level in table]
            names.append(" × ".join(f"{a} ({said[d]})" if d in said else a for d, a in called) or "total")
        return names

    def _measurements(self):
        domain, rows = self.release.domain, self.release.rows
        measured = [(domain.name_of(block.table), block.kind, sum(rows.layers(number)))
                    for number, block in enumerate(rows.plan.blocks)]
        if self.release.projection:
            measured = [(" × ".join(domain[d].name for d, _ in self.held.key), "projection", self.held.scale)]
        fields = ("block", "kind", "scale", "sensitivity", "cost")
        return [dict(zip(fields, map(str, one + two))) for one, two in zip(measured, self.cost.each)]

    def _projection(self, held):
        bits, indexed = room(held, self.release.domain)
        bound = 0.0 if indexed else sum(is_text for _, is_text in held.key) * 2.0**-64 + 2.0**-bits
        mantissa, exponent = f"{bound:.1e}".split("e")
        return {"kind": held.kind, "key": [self.release.domain[d].name for d, _ in held.key],
                "rows": held.rows, "buckets": held.buckets or None, "independence": held.independence,
                "sparsity": held.sparsity, "seed": held.seed.hex(),
                "collision": f"{mantissa}e{int(exponent)}"}

    def _recipient(self, copies):
        number, nested = len(copies.recipients), copies.mode == "nested"
        what = "counts" if self.cost.sums else "integers"
        centre = CENTRE.format(what, copies.mean - copies.spread, copies.mean + copies.spread)
        # Of nested copies the first one tells what all do.
        some = copies.recipients[:1] if nested else copies.recipients
        joint = sum(cost.Cost(self.release, factor).total for _, factor in some)
        note = NESTED.format(number, self.sign, copies.budget) if nested else SHIFTED.format(number)
        return {"name": copies.name, "mode": copies.mode, "copies": number, "measuring": copies.measuring,
                "joint_cost": self.amount(joint), "centre": None if nested else centre, "note": note}
