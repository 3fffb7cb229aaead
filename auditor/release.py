"""Everything a file holds, decoded: sections are read in the order in which one needs another."""

from fractions import Fraction

import numpy as np

from . import blocks, domain, sections, texts
from .errors import Beyond, Refused, must
from .plan import Plan
from .wire import least, packed


class Release:
    """`held` says who is protected, by which noise and for how much: the plan, or the projection."""

    def __init__(self, file):
        self.file = file
        if file.all("sums"):
            raise Beyond("sums of amounts are not read: they and what all costs are unchecked")
        self.domain = domain.decode(file.one("domain"))
        self.plan = Plan(file.one("plan"), self.domain)
        self.projection = self._maybe("projection", sections.projection, self.domain)
        self.truncation = self._maybe("truncation", sections.truncation)
        self.asked = self._maybe("workload", sections.workload, self.plan) or {}
        self.copies = self._maybe("copies", sections.copies, self.plan, self.truncation is not None)
        self.held = self.projection or self.plan
        self.budget = Fraction(self.held.budget) / (self.copies.factor if self.copies else 1)
        self.zeros = [self._condition(section) for section in file.all("zero")]
        self.exact = [sections.exact(section.read(), self.domain) for section in file.all("exact")]
        self._declared(file.manifest)
        if self.projection:
            others = any(map(file.all, ("exact", "zero", "truncation", "workload")))
            must(not others, "a projection has a section that none may have")
            must(not self.plan.blocks and not self.plan.workload, "a projection has a plan with tables")
        self.values = self._measured()

    def layers(self, scale, place, factor=None):
        """The scales of the noises in an integer of this copy, or of another; the first copy's is `scale`."""
        if self.copies is None or factor is not None:
            return [scale * (factor or 1)]
        if self.copies.mode == "nested" and self.plan.noise == "gaussian":
            return [scale] + [step[place] for step in self.copies.steps if step[place] > 0]
        return [scale * self.copies.factor]

    def cut_layers(self, factor=None):
        """The same of the count of cut units, if there is one."""
        if self.truncation is None:
            return []
        return self.layers(self.copies.truncation if self.copies else self.truncation[0], -1, factor)

    def _maybe(self, name, decode, *more):
        data = self.file.one(name)
        return None if data is None else decode(data, *more)

    @staticmethod
    def _condition(section):
        data = section.read()
        must(len(data) <= 65536, "a condition is too long")
        try:
            return texts.harmless(data.decode("utf-8"), lines=True)
        except UnicodeDecodeError:
            raise Refused("a condition is not UTF-8") from None

    def _declared(self, manifest):
        """What the manifest says is there is there."""
        said = [manifest["privacy"].get("truncation") is None, manifest.get("recipient") is None]
        found = [self.truncation is None, self.copies is None]
        must(said == found, "the manifest and the file disagree on truncation or recipients")
        declared = manifest["declared"]
        must(self.zeros == declared["constraints"], "the empty cells are not those declared")
        pairs = [text.partition(": ") for text in declared["invariants"]]
        must(all(reason.strip() for _, _, reason in pairs), "an exact table has no reason")
        names = [self.domain.name_of(table) for table, _ in self.exact]
        must([name for name, _, _ in pairs] == names, "the exact tables are not those declared")
        must(len(set(names)) == len(names), "an exact table comes twice")
        tables = [table for table, _ in self.plan.workload if self.plan.told(table) == table]
        must(all(table in tables for table, _ in self.exact), "an exact table was not asked for")

    def _measured(self):
        """Every integer. A section holds whole lists, until it has 2^16 values or more, or one slice."""
        if self.projection:
            whole, rest = divmod(self.projection.rows * (self.projection.buckets or 1), 1 << 16)
            counts, cuts = [1 << 16] * whole + [rest] * (rest > 0), {}
        else:
            counts = [blocks.count(self.plan, block) for block in self.plan.blocks]
            must(all(1 <= count <= 1 << 35 for count in counts), "something is measured that has no values")
            cuts = {at: blocks.slices(self.plan, block) for at, block in enumerate(self.plan.blocks)}
        parts = [[]]
        for at, count in enumerate(counts):
            cut = cuts.get(at)
            if cut or parts[-1] and (sum(parts[-1]) >= 1 << 16 or cuts.get(at - 1)):
                parts.append([])
            parts[-1].append(count)
            if cut:
                parts[-1:] = [[len(slice)] for slice in cut]
        parts, held, values = [part for part in parts if part], self.file.all("measurements"), []
        must(len(held) == len(parts), f"{len(held)} sections of measurements are not {len(parts)}")
        for part, section in zip(parts, held):
            data, at = section.read(), 0
            must(len(data) >= sum(map(least, part)), "a section of measurements is too short for its values")
            for count in part:
                found, at = packed(data, at, count)
                values.append(found)
            must(at == len(data), "a section of measurements has bytes after its values")
        for at, cut in cuts.items():
            if cut:
                whole = np.empty(counts[at], dtype=np.int64)
                for slice, found in zip(cut, values[at : at + len(cut)]):
                    whole[slice] = found
                values[at : at + len(cut)] = [whole]
        return values
