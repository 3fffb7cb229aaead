"""Everything a file holds, decoded: sections are read in the order in which one needs another."""

import itertools
from fractions import Fraction

import numpy as np

from . import blocks, domain, sections, where
from .plan import MOST, Plan
from .wire import decoded, harmless, must, within


class Channel:
    """What rows add up to: themselves, or what they have of a number. A row of that moves what is measured by
    `reach` times what a row moves counts by. `first` is the number of its first measurement."""

    def __init__(self, release, first, subject, plan, values, exact, asked, of=None, reach=1):
        self.release, self.first, self.subject, self.of, self.reach = release, first, subject, of, reach
        self.plan, self.values, self.exact, self.asked = plan, values, exact, asked
        self.summed, self.moved = subject.startswith("sums"), subject.startswith("rows moved")

    def layers(self, number, factor=None):
        return self.release.layers(self.plan.blocks[number].scale, self.first + number, factor)

    def needed(self):
        """The components below the tables that were asked for: each is told by an exact table, by one that
        was measured, or was measured itself."""
        tables = [block.table for block in self.plan.blocks if block.kind == "table"]
        told, found = domain.Tables([table for table, _ in self.exact] + tables), set()
        known = {block.table for block in self.plan.blocks if not tables}
        left = [self.plan.told(table) for table, _ in self.plan.workload]
        while left and not any(block.rows for block in self.plan.blocks):
            component = self.plan.own(left.pop())
            if component not in found and not told.tell(component):
                must(component in known, "a table that was asked for does not follow from what was measured")
                found.add(component)
                left += [tuple((e, level - (e == d)) for e, level in component) for d, _ in component]
        return found

    def __repr__(self):
        return f"{self.subject} of {self.of['name']}" if self.of else self.subject


class Release:
    """`held` says who is protected, by which noise and for how much: the plan, or the projection."""

    def __init__(self, file):
        self.file = file
        self.domain = self._maybe("domain", domain.decode)
        self.plan = self._maybe("plan", Plan, self.domain, file.version)
        self.projection = self._maybe("projection", sections.projection, self.domain)
        # The scale of the noise and the noisy number of units that had more rows than count.
        self.truncation = self._maybe("truncation", lambda wire: (wire.rational(), wire.signed(64)))
        asked = self._maybe("workload", sections.workload, self.plan) or {}
        held = self._all("sums", sections.sums, self.plan)
        self.cut, truncated = len(self.plan.blocks), self.truncation is not None
        firsts = [*itertools.accumulate((len(a.plan.blocks) for a in held), initial=self.cut + truncated)]
        self.copies = self._maybe("copies", sections.copies, self.plan, truncated, firsts[-1])
        self.cut_scale = self.truncation and (self.copies.truncation if self.copies else self.truncation[0])
        self.held = self.projection or self.plan
        self.budget = Fraction(self.held.budget) / (self.copies.factor if self.copies else 1)
        self.zeros = self._all("zero", sections.condition)
        exact = self._all("exact", sections.exact, self.domain)
        self.channels = [Channel(self, 0, "rows", self.plan, [], exact, asked)]
        self.channels += [Channel(self, first, **vars(sums)) for first, sums in zip(firsts, held)]
        self.rows, *sums = self.channels
        self.named = {(one.of["name"], one.subject): one for one in sums}
        must(len(self.named) == len(sums), "a number comes twice")
        self.weight = next((one for one in sums if one.of.get("weighing") == "weight"), None)
        self._numbers()
        layers = [one.layers(at) for one in self.channels for at, _ in enumerate(one.plan.blocks)]
        drawn = all(sum(some) <= MOST[self.plan.noise] for some in [self.cut_layers(), *layers])
        must(drawn, "a copy has more noise than can be drawn")
        self._declared(file.manifest)
        beside = any(map(file.all, ("exact", "zero", "truncation", "workload", "sums")))
        beside = beside or self.plan.blocks or self.plan.workload
        must(not (self.projection and beside), "a projection has tables beside it")
        self.rows.values = list(self._measured())
        for channel in self.channels:
            told = sum(map(len, channel.values)) + sum(len(counts) for _, counts in channel.exact)
            tables = [block.table for block in channel.plan.blocks if block.kind != "rows"]
            must(all(self.domain.cells(table) <= told for table in tables), "parts of a table are missing")

    def bare(self):
        """The plan section beside a projection says nothing else than that."""
        own, held = self.plan, self.held
        told = [own.noise, own.budget, own.neighbours, own.max_rows, own.strategy, own.rule, *own.levels]
        plain = [held.noise, held.budget, held.neighbours, held.max_rows, "base", "uniform"]
        sound = not self.projection or told == plain + [[0]] * len(self.domain)
        must(sound, "the plan section is not that of a projection")

    def of(self, name, subject="sums"):
        """The channel of this subject of the number of this name, if there is one."""
        return self.named.get((name, subject))

    def empty(self):
        """The tables that tell where cells are empty."""
        conditions = (where.parse(text, self.domain) for text in self.zeros)
        return [where.told(self.domain, one, {}, self.plan.levels)[0] for one in conditions]

    def layers(self, scale, place, factor=None):
        """The scales of the noises in an integer of this copy, or of another; the first copy's is `scale`."""
        if self.copies is None or factor is not None:
            return [scale * (factor or 1)]
        if self.copies.mode == "nested" and self.plan.noise == "gaussian":
            return [scale] + [step[place] for step in self.copies.steps if step[place] > 0]
        return [scale * self.copies.factor]

    def cut_layers(self, factor=None):
        """The same of the count of cut units, if there is one."""
        return self.layers(self.cut_scale, self.cut, factor) if self.truncation else []

    def _numbers(self):
        """Channels that belong together are there, and no others."""
        for name in {name for name, _ in self.named}:
            must(name.lower() not in [d.name.lower() for d in self.domain], "a number has a dimension's name")
            all_of = {one.subject: one for one in self.channels[1:] if one.of["name"] == name}
            must("sums" in all_of, "there is something of a number beside its sums, and not these")
            of, weighing = all_of["sums"].of, all_of["sums"].of.get("weighing")
            must(all(one.of == of for one in all_of.values()), "a number is told in two ways")
            must(("rows with a value" in all_of) == (of["missing"] == "skip"), "values are counted amiss")
            first = self.weight is all_of["sums"] and of["low"] == 0
            sound = {None: True, "weight": first, "weighted": self.weight is not None}[weighing]
            must(sound and not (weighing and "sums of squares" in all_of), "a weight is not what it must be")
            exact = {repr([table for table, _ in one.exact]) for one in all_of.values() if not one.moved}
            must(len(exact) == 1, "other tables of one number are exact")
            self._possible(all_of)
            low, high = map(all_of.get, sections.SUBJECTS[3:])
            must((low is None) == (high is None), "values that were moved are counted at one end")
            if low:
                beside = self.channels.index(high) == self.channels.index(low) + 1
                blocks = [(b.kind, b.table, b.scale) for b in low.plan.blocks + high.plan.blocks]
                asked = low.plan.workload == high.plan.workload == [((), 1)]
                one = len(blocks) == 2 and blocks[0] == blocks[1] and blocks[0][:2] == ("table", ())
                must(beside and asked and one, "values that were moved are not counted as they must be")

    def _possible(self, all_of):
        """Exact sums are such that so many rows can have."""
        h, counts = sections.steps(all_of["sums"].of), dict(self.rows.exact)
        some, squares = all_of.get("rows with a value"), all_of.get("sums of squares")
        for place, (table, sums) in enumerate(all_of["sums"].exact):
            must(table in counts, "sums are exact where counts are not")
            valued = some.exact[place][1] if some else counts[table]
            must((valued <= counts[table]).all(), "more rows have a value than there are")
            # As whole numbers of any size.
            n, t = valued.astype(object), sums.astype(object)
            a, odd = (t + n * h) // 2, (t + n * h) % 2
            must((abs(t) <= n * h).all() and not odd.any(), "an exact sum is none of so many rows")
            if squares:
                whole, each = squares.exact[place][1] + 8 * h * a - n * h * h, np.maximum(n, 1)
                q, even, more = whole // 8, a // each, a % each
                least, most = n * even**2 + more * (2 * even + 1), a // h * h * h + (a % h) ** 2
                found = (whole % 8 == 0) & ((q - a) % 2 == 0) & (least <= q) & (q <= most)
                must(found.all(), "an exact sum of squares is none of so many rows")

    def agree(self):
        """Exact tables of a channel are the same wherever two of them meet."""
        left = 1 << 26
        for channel in self.channels:
            told, every = {}, [dict(table) for table, _ in channel.exact]
            for table, counts in channel.exact:
                meets = {tuple((d, min(at, other[d])) for d, at in table if d in other) for other in every}
                left -= len(counts) * len(meets) + len(every)
                within(left >= 0, "exact tables that meet very often")
                for meet in meets:
                    sums = np.zeros(self.domain.cells(meet), dtype=object)
                    np.add.at(sums, self.domain.above(table, meet), counts.astype(object))
                    must(told.setdefault(meet, sums.tolist()) == sums.tolist(), f"exact {channel} contradict")

    def _all(self, name, read, *more):
        return [decoded(section.read(), f"{name} section", read, *more) for section in self.file.all(name)]

    def _maybe(self, *section):
        return next(iter(self._all(*section)), None)

    def _declared(self, manifest):
        """What the manifest says is there is there."""
        self._legends(manifest.get("legends", []))
        declared = manifest["declared"]
        names, said = [], declared["invariants"]
        for channel in self.channels:
            exact = [table for table, _ in channel.exact]
            tables = [table for table, _ in channel.plan.workload if channel.plan.told(table) == table]
            sound = len(set(exact)) == len(exact) and all(table in tables for table in exact)
            must(sound, "an exact table comes twice, or was not asked for")
            if channel.subject in ("rows", "sums"):
                names += [(f"{channel} by " if channel.of else "") + self.domain.name_of(a) for a in exact]
        reasons = [text.removeprefix(f"{name}: ") for name, text in zip(names, said)]
        sound = all(one.strip() and one != text for one, text in zip(reasons, said))
        must(sound and len(names) == len(said), "an exact table is not named, or has no reason")
        said = [manifest["privacy"].get("truncation"), manifest.get("recipient", {}).get("name")]
        held = [self.truncation and {"scale": str(self.truncation[0])}, self.copies and self.copies.name]
        sound = [*said, declared["constraints"]] == [*held, self.zeros]
        must(sound, "the manifest has another truncation, recipient or empty cell")

    def _legends(self, legends):
        """What people read is of dimensions, levels and categories that there are, in their order."""
        dimensions = {dimension.name: dimension.levels[1:] for dimension in self.domain}
        must(_within([legend["dimension"] for legend in legends], dimensions), "a legend is of no dimension")
        for legend in legends:
            levels = {level.name: level.labels for level in dimensions[legend["dimension"]]}
            labels, finest = legend.get("labels", []), [*levels.values()][-1]
            there = legend.get("missing", finest[0]) in finest
            must(len(legend) > 1 and there, "a legend says nothing, or of what there is not")
            must(_within([one["level"] for one in labels], levels), "labels are of no level")
            texts = [(legend.get("description", "-"), 2000), (legend.get("unit", "-"), 300)]
            for one in labels:
                must(_within([code for code, _ in one["of"]], levels[one["level"]]), "labels are of nothing")
                texts += [(label, 300) for _, label in one["of"]]
            sound = all(harmless(text).strip() and len(text) <= most for text, most in texts)
            must(sound, "a text of a legend is empty, or too long")

    def _measured(self):
        """Every integer. A section holds whole lists, until it has 2^16 values or more, or one slice."""
        if self.projection:
            whole, rest = divmod(self.projection.rows * (self.projection.buckets or 1), 1 << 16)
            counts, cuts = [1 << 16] * whole + [rest] * (rest > 0), [None] * (whole + 1)
        else:
            counts = [blocks.count(self.plan, block) for block in self.plan.blocks]
            # Each of 64 values or more has a bit.
            must(all(1 <= n <= max(63, 8 * len(self.file.data)) for n in counts), "blocks of strange sizes")
            cuts = [blocks.slices(self.plan, block) for block in self.plan.blocks]
        parts, room = [], 0
        for count, cut in zip(counts, cuts):
            for size in map(len, cut) if cut else [count]:
                if cut or room <= 0:
                    parts.append([])
                    room = 1 << 16
                parts[-1].append(size)
                room = 0 if cut else room - size
        held, sizes = len(self.file.all("measurements")), iter(parts)
        must(held == len(parts), f"{held} sections of measurements are not {len(parts)}")
        most = 64 if self.projection or self.file.version == 1 else 127
        held = self._all("measurements", lambda wire: [wire.packed(size, most) for size in next(sizes)])
        lists = itertools.chain.from_iterable(held)
        for _, cut in zip(counts, cuts):
            values = np.concatenate([next(lists) for _ in cut or [0]])
            yield values[np.argsort(np.concatenate(cut))] if cut else values


def _within(some, every):
    """Whether these are among all of them, in the same order."""
    left = iter(every)
    return all(one in left for one in some)
