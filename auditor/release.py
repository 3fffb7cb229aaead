"""Everything a file holds, decoded: sections are read in the order in which one needs another."""

from fractions import Fraction
from functools import cached_property

import numpy as np

from . import blocks, domain, packed, sections, texts
from .errors import Refused, must
from .plan import Plan


class Release:
    def __init__(self, file):
        self.file = file
        self.domain = domain.decode(file.one("domain"))
        self.plan = Plan(file.one("plan"), self.domain)
        part = file.one("projection")
        self.projection = sections.projection(part, self.domain) if part is not None else None
        part = file.one("truncation")
        self.truncation = sections.truncation(part) if part is not None else None
        must((self.truncation is not None) == (file.manifest["privacy"].get("truncation") is not None), "the manifest and the file disagree on a truncation section")
        part = file.one("workload")
        self.asked = sections.workload(part, self.plan) if part is not None else {}
        part = file.one("copies")
        self.copies = sections.copies(part, self.plan, self.truncation is not None) if part is not None else None
        must((self.copies is not None) == (file.manifest.get("recipient") is not None), "the manifest and the file disagree on a section of copies")
        self.zeros = [self._text(section) for section in file.all("zero")]
        must(self.zeros == file.manifest["declared"]["constraints"], "the empty cells are not those declared")
        if self.projection:
            must(not any(map(file.all, ("exact", "zero", "truncation", "workload"))), "a projection has a section that none may have")
            must(not self.plan.measurements and not self.plan.workload, "a projection has a plan with tables")
        self.exact = [sections.exact(section.read(), self.domain) for section in file.all("exact")]
        tables = [cuboid for cuboid, _ in self.plan.workload]
        must(all(cuboid in tables for cuboid, _ in self.exact) and len({c for c, _ in self.exact}) == len(self.exact),
             "an exact table was not asked for, or comes twice")
        must(all(text.partition(": ")[2].strip() for text in file.manifest["declared"]["invariants"]), "an exact table has no reason")
        names = [text.partition(": ")[0] for text in file.manifest["declared"]["invariants"]]
        must(names == [self.domain.name_of(cuboid) for cuboid, _ in self.exact], "the exact tables are not those declared")
        self._agree()
        self.values = self._measured()

    @staticmethod
    def _text(section):
        data = section.read()
        must(len(data) <= 65536, "a condition is too long")
        try:
            return texts.harmless(data.decode("utf-8"), lines=True)
        except UnicodeDecodeError:
            raise Refused("a condition is not UTF-8") from None

    def _agree(self):
        """Exact tables say the same of every table below two of them."""
        for i, (one, _) in enumerate(self.exact):
            for two, _ in self.exact[:i]:
                meet = tuple((d, min(level, dict(two)[d])) for d, level in one if d in dict(two))
                must(np.array_equal(self._rolled(i, meet), self._rolled(self.exact.index(next(e for e in self.exact if e[0] == two)), meet)),
                     "two exact tables contradict each other")

    def _rolled(self, number, meet):
        cuboid, counts = self.exact[number]
        table = np.array(counts, dtype=object).reshape([self.domain[d].size(level) for d, level in cuboid])
        for axis, (d, level) in reversed(list(enumerate(cuboid))):
            coarse = dict(meet).get(d, 0)
            to = self.domain[d].ancestors(level, coarse)
            shape = list(table.shape)
            shape[axis] = self.domain[d].size(coarse)
            rolled = np.zeros(shape, dtype=object)
            np.add.at(np.moveaxis(rolled, axis, 0), to, np.moveaxis(table, axis, 0))
            table = rolled
        return table.reshape(-1)

    def _counts(self):
        """How many integers each packed list has."""
        if self.projection:
            whole, rest = divmod(self.projection.integers, 1 << 16)
            return [1 << 16] * whole + [rest] * (rest > 0)
        found = [blocks.count(self.plan, block) for block in self.plan.measurements]
        must(all(1 <= count <= 1 << 32 for count in found), "the plan is invalid: a measurement has no values")
        return found

    def _measured(self):
        """Every integer. A section holds whole lists, up to the first one that brings it to 2^16 values or more."""
        sections, full = [], True
        for count in self._counts():
            if full:
                sections.append([])
            sections[-1].append(count)
            full = sum(sections[-1]) >= 1 << 16
        held = [section.read() for section in self.file.all("measurements")]
        must(len(held) == len(sections), f"measurements is invalid: {len(held)} sections of measurements; the plan needs {len(sections)}")
        values = []
        for number, (counts, data) in enumerate(zip(sections, held)):
            least, at = sum(1 + (count + 7) // 8 * (count >= 64) for count in counts), 0
            must(len(data) >= least, f"measurements is invalid: section {number} has {len(data)} bytes; its values take at least {least}")
            for count in counts:
                found, at = packed.read(data, at, count)
                values.append(found)
            must(at == len(data), f"measurements is invalid: section {number} has bytes after its values")
        return values

    def layers(self, number):
        """The scales of the independent noises in the integers of measurement `number` of this copy."""
        scale = self.plan.measurements[number].scale
        if self.copies is None:
            return [scale]
        if self.copies.mode == "nested" and self.plan.noise == "gaussian":
            return [scale] + [step[number] for step in self.copies.steps if step[number] > 0]
        return [scale * self.copies.factor]

    def truncation_layers(self):
        copies = self.copies
        if copies is None:
            return [self.truncation[0]]
        if copies.mode == "nested" and self.plan.noise == "gaussian":
            return [copies.truncation] + [step[-1] for step in copies.steps if step[-1] > 0]
        return [copies.truncation * copies.factor]

    @cached_property
    def budget(self):
        held = self.projection or self.plan
        return Fraction(held.budget) / (self.copies.factor if self.copies else 1)
