"""The sealed spec, read again: what it says the rest of the file must say."""

import csv, functools, io, itertools, math, re, tomllib
from fractions import Fraction

import numpy as np

from . import lists
from .. import blocks, cost, loss, project, sections, shapes, where
from ..claims import decimal
from ..domain import Domain, Tables
from ..shapes import DECIMAL, Float, number, ratio
from ..wire import Beyond, must, Refused, within


def same(what, one, other):
    must(one == other, f"{what} not what the spec says")


def listed(one):
    return [one] if isinstance(one, str) else one


def bare(sql):
    """A text without the quotes of names that are no plain words, which the compiler adds."""
    return re.sub("""'[^']*'|"[A-Za-z_][A-Za-z0-9_]*"|"([^"]*)\"""", lambda found: found[1] or found[0], sql)


def alike(parts):
    """Whether all are the first one, to one part in a million."""
    return all(abs(part - parts[0]) <= parts[0] / 10**6 for part in parts)


class Spec:
    """`left` lists what was not compared; `delta` is there where it was read."""

    def __init__(self, release):
        self.release, self.held, self.manifest = release, release.held, release.file.manifest
        self.left, self.used, self.delta, self.toml = [], [], None, {}
        self.names = [item["name"] for item in self.manifest["sources"]["attachments"]]

    def _text(self, name):
        must(name in self.names, f"the spec refers to {name}, which is not in the file")
        self.used += [name] * (name not in self.used)
        text = self.release.file.all("attachment")[self.names.index(name)].read().decode()
        # Python takes these for blanks.
        must(not re.search("[\x1c-\x1f]", text), f"{name} has control characters")
        return text

    @functools.cache
    def attachment(self, name):
        """The rows of a file. An open quotation mark would take the last line, which is none of it."""
        text = self._text(name).removeprefix("\ufeff") + "\n,."
        *rows, end = ([field.strip() for field in row] for row in csv.reader(io.StringIO(text, "")) if row)
        sound = end == ["", "."] and len(set(map(len, rows))) == 1
        must(sound, f"the rows of {name} are none, or not equally long, or a quotation mark is not closed")
        return rows

    def check(self):
        text = self.release.file.all("spec")[0].read()
        must(len(text) <= 1 << 22, "the sealed spec is longer than 4 MiB")
        try:
            self.toml = tomllib.loads(text.decode("utf-8-sig"), parse_float=Float)
        except tomllib.TOMLDecodeError as error:
            # What TOML 1.1 allows besides: lines and a last comma in inline tables, and two escapes.
            later = re.search(rb"\{[^}]*\n|,\s*\}|\\[xe]", text)
            raise (Beyond if later else Refused)(f"the spec is no TOML 1.0: {error}") from None
        self.left += ["hexadecimal numbers"] * bool(re.search(rb"[=,[]\s*[+-]?0[box]", text))
        strange = shapes.check(self.toml, "Spec", "the spec")
        must(not strange, f"the spec has keys that there are not: {strange}")
        self.privacy, entries = self.toml["privacy"], self.toml["dimension"]
        unit = self.privacy["unit"]
        self.unit = {"column": "row", "max_rows": 1} if unit == "row" else unit
        must(self.unit["column"] != "row" or self.unit["max_rows"] == 1, "the spec calls a column `row`")
        room = sum(len(level) for dimension in self.release.domain for level in dimension.levels)
        self.domain, legends = Domain(), []
        for entry in entries:
            self.domain.append(lists.dimension(entry, self.attachment, room))
            legends += self._legend(entry, self.domain[-1])
            # There are no more categories than in the file.
            room -= sum(map(len, self.domain[-1].levels[1:]))
        self.delta = ratio(self.privacy["delta"]) if "delta" in self.privacy else None
        self._about()
        self._data(self.toml.get("data", {}), entries)
        self._privacy()
        self._recipients(self.toml.get("recipient", []), self.toml.get("recipients", {}))
        sure = all(entry.get("confirmed", True) for entry in entries) and b"\n#?" not in b"\n" + text
        must(sure, "the spec is a draft")
        self._dimensions()
        same("the legends are", self.manifest.get("legends", []), legends)
        same("it is a projection or not", self.release.projection is None, "projection" not in self.toml)
        kind = self._projection if self.release.projection else self._tables
        kind(self.toml.get("projection") or self.toml.get("strategy", {}))
        same("the attachments are", self.used, self.names)
        within(not self.left, f"read again; left out: {'; '.join(dict.fromkeys(self.left))}")
        return "read again: its texts, unit, budget, dimensions and tables are those of plan and manifest"

    def _about(self):
        said, whose = self.manifest, self.toml.get("dataset", {})
        cuts = map(ratio, self.toml.get("release", {}).get("reliability", []))
        told = {**self.toml, "reliability": list(map(str, cuts)) or None}
        usual = {"id": told["name"], "unit": self.unit["column"], "unit_of": 1, **whose}
        for what, told, keys in [
            ("about", told, "name title description licence contact supersedes reliability"),
            ("dataset", whose, "id period snapshot"),
            ("account", usual if "account" in said else {}, "id unit unit_of part")]:
            for key in keys.split():
                same(f"the {key} is", said.get(what, {}).get(key), told.get(key))

    def _data(self, said, entries):
        """How columns are read, and that those are named which are needed."""
        get, columns = said.get, said.get("columns")
        ending = get("path", ".csv").lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
        texts = {"delimiter", "quote", "columns", "encoding", "decimal", "thousands"} & set(said)
        sound = {"csv": True, "parquet": not texts, "-": get("path") == "-"}.get(get("format", ending), False)
        sound &= get("delimiter", ",") != get("quote", '"') and get("decimal", ".") != get("thousands")
        used, order = {entry.get("column", entry["name"]) for entry in entries}, []
        if self.privacy["unit"] != "row":
            order = listed(self.unit.get("order", []))
            used |= {self.unit["column"], *order}
        sound &= len(set(order)) == len(order) <= 8
        sound &= columns is None or len(set(columns)) == len(columns) and used <= set(columns)
        labels = {a for entry in entries for a in entry.get("categories", []) if a != entry.get("missing")}
        must(sound and not labels & set(get("empty", [])), "the data is told as none can be")

    def _privacy(self):
        said, unit, plan = self.manifest["privacy"], self.unit, self.release.plan
        same("the unit is", [said["unit"], self.held.max_rows], [unit["column"], unit["max_rows"]])
        same("rows without a unit are", said.get("without", "stop"), unit.get("without", "stop"))
        same("the order of rows is", said.get("order", []), listed(unit.get("order", [])))
        same("the neighbours are", self.held.neighbours, self.privacy.get("neighbours", "add-remove"))
        delta = decimal(Fraction(1, 10**9) if self.delta is None else self.delta)
        pure = "epsilon" in self.privacy and self.delta is None and not self.release.projection
        same("δ is", said.get("approximate", {}).get("delta"), None if pure else delta)
        cut, copies = self.release.truncation, self.release.copies
        told = cost.scale_within(plan, self.privacy.get("measure_truncation", False))
        same("the count of cut units is", (copies.truncation if copies else cut[0]) if cut else 0, told)
        if not self.release.projection:
            same("the noise is", plan.noise, "laplace" if pure else "gaussian")

    def _recipients(self, entries, mode):
        copies = self.release.copies
        must(bool(entries) == (copies is not None), "the recipients are not what the spec says")
        if copies is None:
            return must(self._is(self.privacy, self.held.budget), "the budget is not what the spec says")
        same("the recipients' mode is", copies.mode, mode.get("mode", "nested"))
        must(copies.mode == "shifted" or set(mode) <= {"mode"}, "nested copies have no centres")
        centres = mode.get("centres", [0, 2 * mode.get("mean", 0)])
        same("the centres are", [copies.mean - copies.spread, copies.mean + copies.spread], centres)
        same("the mean of centres is", copies.mean, mode.get("mean", copies.mean))
        factors = dict(copies.recipients)
        same("the recipients are", sorted(factors), sorted(entry["name"] for entry in entries))
        for entry in entries:
            budget = copies.budget / factors[entry["name"]]
            self.left += ["promised margins"] * ("margin" in entry)
            kind = "rho" in entry and self.delta is not None or set(entry) & set(self.privacy)
            own = "margin" in entry or kind and self._is(entry, budget)
            must(own, f"the budget of {entry['name']} is another one")
            most = ratio(self.privacy.get("rho", self.privacy.get("epsilon")))
            fits = loss.converts(budget, most, self.delta) if self.delta is not None else budget <= most
            must(fits, f"{entry['name']} gets more than the spec allows one copy")

    def _is(self, entry, budget):
        """Whether an entry with ρ, ε or ε and δ allows just this budget."""
        if "rho" in entry or self.delta is None:
            return budget == ratio(entry.get("rho", entry.get("epsilon")))
        epsilon = ratio(entry["epsilon"])
        return loss.is_largest(budget, epsilon, self.delta) or self._by_law(epsilon)

    def _by_law(self, epsilon):
        """Whether the law of the release's own loss is within the spec's (ε, δ); None where it has none."""
        if self.release.file.version > 1 and loss.has_law(self.release):
            return loss.is_within(self.release, epsilon, self.delta)

    def in_delta(self):
        """Of a budget in (ε, δ): that the release has no more δ, by ρ or by its own law."""
        epsilon, copies = ratio(self.privacy["epsilon"]), self.release.copies
        fits = loss.converts(copies.budget if copies else self.held.budget, epsilon, self.delta)
        how = "ρ" if fits else "the law of all noises together, if it has one"
        fits = fits or self._by_law(epsilon)
        must(fits, f"at ε = {epsilon} the spec allows {self.delta}; it is more by ρ and by {how}")
        return f"at ε = {epsilon} the spec allows {self.delta}; it is no more by {how}"

    def _dimensions(self):
        """Some strategies put halves of halves between the spec's levels, if sums along one are asked for."""
        sealed, plan, wanted = self.release.domain, self.release.plan, self.domain
        sums = any(isinstance(ask, dict) for ask in self.release.rows.asked.values())
        one = len({d for table, _ in plan.workload for d, _ in table}) == 1
        if {"wavelet": True, "hierarchy": sums, "tables": sums and one}.get(plan.strategy):
            wanted = list(map(lists.halved, wanted))
        same("the dimensions are", [d.name for d in sealed], [d.name for d in wanted])
        for one, two in zip(sealed, wanted):
            told = [[(level.name, level.labels, [*level.parents], level.bounds) for level in some.levels]
                    for some in (one, two)]
            same(f"the levels or categories of {one.name} are", *told)

    def _legend(self, entry, dimension):
        """What the spec says of a dimension for people, as a manifest lists it."""
        legend = {key: entry[key] for key in ("description", "unit", "concept") if key in entry}
        given, finest, name = entry.get("labels", {}), dimension.levels[-1].name, dimension.name
        if isinstance(given, str):
            heads, *rows = self.attachment(given)
            heads = [head.lower() for head in heads]
            must(set(heads) - {"level"} == {"code", "label"} and len(set(heads)) == len(heads),
                 f"{given} has other columns than code, label and level")
            rows = [{"level": "", **dict(zip(heads, row))} for row in rows]
            pairs = [(row["level"] or finest, row["code"], row["label"]) for row in rows]
        else:
            every = [(key, of) if isinstance(of, dict) else (finest, {key: of}) for key, of in given.items()]
            pairs = [(level, *pair) for level, of in every for pair in of.items()]
        told = {(finest if level == name else level, code): label for level, code, label in pairs}
        listed = []
        for level in dimension.levels[1:]:
            called = {told.get((level.name, code), code) for code in level.labels}
            must(len(called) == len(level), f"labels of {name} are alike, or one is another code")
            of = [[code, told[level.name, code]] for code in level.labels if (level.name, code) in told]
            listed += [{"level": level.name, "of": of}] if of else []
        must(sum(len(one["of"]) for one in listed) == len(pairs), f"{name} has a label of nothing, or two")
        missing = [said["dimension"] for said in self.manifest.get("legends", []) if "missing" in said]
        legend |= {"missing": dimension.missing} if dimension.missing and name in missing else {}
        legend |= {"labels": listed} if listed else {}
        return [{"dimension": name, **legend}] if legend else []

    def _asked(self, table, ask):
        """What an `ask` asks of a table, by dimension, at the table's own level."""
        levels, asked, names = dict(table), {}, [dimension.name for dimension in self.domain]
        for key, word in ask.items():
            d, at = self.domain.column(key)
            own = levels.get(d, at)
            must(d not in asked and (key in names or own == at), f"{key} cannot be asked of a table")
            asked[d] = lists.stretches(self.domain[d].levels[own], word) if isinstance(word, list) else word
        return {d: word for d, word in asked.items() if d in levels and word != "cells"}

    def _expanded(self, room):
        """Every entry with every table that it asks for; of those there are so many at most. A dimension
        whose total is asked for is in none."""
        left = 5_000_000
        for entry in self.toml.get("table", []):
            summed, each = entry.get("sum", []), [entry.get("weight", 1), entry.get("margin", {})]
            told = {*summed, *["count"] * entry.get("count", True)}
            sound = len(set(summed)) == len(summed) and told and (not summed or isinstance(each[1], dict))
            sound = sound and all(told >= set(one) for one in each if isinstance(one, dict))
            must(sound, "a table has sums, weights or margins that none can have")
            names = entry.get("of", entry.get("among", [dimension.name for dimension in self.domain]))
            among = sorted(self.domain.column(name) for name in names)
            most = entry.get("every", entry.get("up_to", len(among)))
            must(most <= len(among) == len(dict(among)), "a table has too many dimensions, or one twice")
            least, asked = 0 if "up_to" in entry else most, self._asked(among, entry.get("ask", {}))
            left -= sum(math.comb(len(among), size) for size in range(least, most + 1))
            some = [axis for axis in among if asked.get(axis[0]) != "total"]
            sizes = range(max(least + len(some) - len(among), 0), min(most, len(some)) + 1)
            made = sum(math.comb(len(some), size) for size in sizes if left >= 0)
            must(left >= 0 and made <= room, "the spec asks for too many tables")
            yield from ((entry, table) for size in sizes for table in itertools.combinations(some, size))

    def _tables(self, strategy):
        release = self.release
        must(not any("text" in entry for entry in self.toml["dimension"]), "tables need lists")
        zeros = list(dict.fromkeys(entry["where"] for entry in self.toml.get("zero", [])))
        same("the empty cells are", [*map(bare, release.zeros)], [*map(bare, zeros)])
        same("the budget rule is", release.plan.rule, strategy.get("budgets", "optimal"))
        if strategy.get("measure", "auto") != "auto":
            same("the strategy is", release.plan.strategy, strategy["measure"])
        given, rows = strategy.get("measure") == "given", strategy.get("rows")
        same("it has shares or not", "shares" in strategy, given)
        margins = any("margin" in one for kind in ("table", "query") for one in self.toml.get(kind, []))
        must(margins or strategy.get("objective") != "targets", "the spec has targets without a margin")
        must(rows or release.plan.strategy != "matrix" or "asked" in self.toml, "the spec has no rows")
        must(not rows or strategy.get("measure") != "together", "the spec has rows beside `together`")
        self._numbers()
        for channel in release.channels:
            if not channel.moved and (channel.plan.workload or channel.plan.blocks):
                self._blocks(strategy.get("shares", []), channel)
        if rows:
            self._rows(rows)
        if "asked" in self.toml:
            self.left.append("the questions that are measured themselves")
            return
        wanted, reasons, exact, self.first, expected = {}, {}, {}, {}, strategy.get("expected")
        same("what is expected is", expected is not None, strategy.get("objective") == "relative")
        told = expected and self._expected(**expected)
        room = min(262_144, 1024 + max(len(channel.plan.workload) for channel in release.channels))
        for entry, table in self._expanded(room):
            must(len(wanted) <= room * len(release.channels), "the spec asks for too many tables")
            asked = self._asked(table, entry.get("ask", {}))
            key = (self.domain.name_of(table), repr(sorted(asked.items())))
            times = self._factor(table, told[key[0]]) if expected else 1
            self._wanted(entry, key, wanted.setdefault(key, {}), times)
            if entry.get("exact"):
                reasons.setdefault(key[0], entry["reason"])
                for name in {None, *entry.get("sum", []), self.weight}:
                    exact.setdefault(name, {}).setdefault(key[0])
        summed = {name for weights in wanted.values() for name in weights} - {None}
        same("the numbers are", {one.of["name"] for one in release.channels[1:]}, summed)
        for entry in self.toml.get("query", []):
            self._wanted(entry, key := bare(entry["sql"]), wanted.setdefault(key, {}), 1)
        weighed = not summed or strategy.get("objective", "total") in ("total", "relative")
        if not weighed:
            self.left.append("weights of tables that are planned for the worst cell or for margins of sums")
        for channel in release.channels:
            if not channel.moved:
                self._workload(channel, wanted, weighed)
        told = [(f"{one} by " * bool(one.of), exact.get(one.of and one.of["name"], {}))
                for one in release.channels if one.subject in ("rows", "sums")]
        told = [f"{of}{table}: {reasons[table]}" for of, tables in told for table in tables]
        same("the exact tables are", self.manifest["declared"]["invariants"], told)

    def _expected(self, file, floor):
        """By table what an attachment says is expected of its cells; its first line says what that is."""
        self.floor, (head, *lines) = ratio(floor), self._text(file).split("\n")
        what = f"margins expected 1: max(count, {self.floor}) of a table's cells, and the table"
        same("the head of what is expected is", head, what)
        return {table: counts for counts, _, table in (line.partition(" ") for line in lines)}

    def _factor(self, table, text):
        """The mean of 1/expected of a table's cells, summed up one after the other, to nine digits."""
        runs = ((run if "*" in run else run + "*1").split("*") for run in text.split(","))
        each = (itertools.repeat(number(count, DECIMAL, float), number(cells)) for count, cells in runs)
        each = list(itertools.islice(itertools.chain.from_iterable(each), 1 + (1 << 16)))
        sound = len(each) == self.domain.cells(table) <= 1 << 16 and all(map(math.isfinite, each))
        must(sound, "it is not said what is expected of every cell")
        mean = np.cumsum(1 / np.maximum(each, float(self.floor)))[-1] / len(each)
        return Fraction(f"{mean:.{min(8 - math.floor(math.log10(mean)), 30)}f}")

    def _wanted(self, entry, key, found, times):
        """By number, and nothing for rows, the largest weight that a table is asked for with; and in which
        order tables come."""
        each = entry.get("weight", 1)
        weight = lambda name: ratio(each.get(name, 1) if isinstance(each, dict) else each)
        asked = [(name, weight(name)) for name in entry.get("sum", [])]
        if entry.get("count", True):
            rows, count = self.toml.get("weights", {}).get("unweighted", False), weight("count") * times
            asked += [(self.weight, count), (None, count * rows)] if self.weight else [(None, count)]
        for name, weight in asked:
            found[name] = max(weight, found.get(name, 0))
            self.first.setdefault((key, name), len(self.first))

    def _workload(self, channel, wanted, weighed):
        """The tables that a channel is asked for, and their weights where the least total is looked for."""
        expected, sealed, name = [], [], channel.of and channel.of["name"]
        # Around 0 a sum needs no count; the rows with a value are counted for their own sake, too.
        shares = {None: 1} | {one: beside for one, (_, _, beside) in self.shares.items() if beside}
        if name:
            shares = {name: self.shares[name][not channel.summed] or 1}
        for key, weights in wanted.items():
            if own := shares.keys() & weights:
                weight = sum(weight * shares.get(name, 0) for name, weight in weights.items())
                first = min(([*shares].index(name), self.first[key, name]) for name in own)
                expected.append((first, key, weight))
        for number, (table, weight) in enumerate(channel.plan.workload):
            ask, name = channel.asked.get(number, {}), self.release.domain.name_of(table)
            key = bare(ask) if isinstance(ask, str) else (name, repr(sorted(ask.items())))
            sealed.append((key, weight))
            if isinstance(ask, str):
                self._told(ask, name)
        expected = [pair for _, *pair in sorted(expected, key=lambda one: one[0])]
        same(f"the tables of {channel} are", [key for key, _ in sealed], [key for key, _ in expected])
        same(f"the weights of {channel} are", [*map(list, sealed * weighed)], expected * weighed)

    def _numbers(self):
        """The numbers and the weight of rows, as the spec has them. Of each the parts of a sum's weight that
        its own channel has, that the rows with a value have, and that the counts of all rows have."""
        entries, weights = self.toml.get("amount", []), self.toml.get("weights")
        plan, self.shares = self.held, {}
        few = all(len(listed(entry.get("column", ""))) <= 4 for entry in entries)
        must(few and (weights or not any("weighted" in entry for entry in entries)), "a number is none")
        names = [entry["name"].lower() for entry in entries]
        taken = [*self.domain.columns(), *(f"{dimension.name}.total" for dimension in self.domain)]
        free = len({*names}) == len(names) and not {*names} & {*map(str.lower, taken)}
        must(free, "the name of a number means something else")
        entries = [{"weighing": "weighted" if weights and entry.get("weighted", True) else None, **entry}
                   for entry in entries]
        if weights:
            entries.insert(0, {"name": weights["column"], "low": 0, "weighing": "weight", **weights})
        self.weight = entries[0]["name"] if weights else None
        numbers, held = [entry["name"] for entry in entries], self.release.channels[1:]
        same("the numbers are", {channel.of["name"] for channel in held}, {*numbers})
        order = [(numbers.index(one.of["name"]), sections.SUBJECTS.index(one.subject)) for one in held]
        same("the order of sums is", order, sorted(order))
        times = plan.max_rows**plan.power * (2 if plan.neighbours == "substitute" else 1)
        for entry in entries:
            name, low, high = entry["name"], ratio(entry["low"]), ratio(entry["high"])
            step, sums = Fraction(10) ** 30, self.release.of(name)
            while "step" not in entry and step * 10 ** (3 if entry.get("square") else 6) > high - low:
                step /= 10
            step = ratio(entry["step"]) if "step" in entry else step
            told = {"missing": "stop", **entry, "low": low, "high": high, "step": step}
            keys, sizes = "name unit description weighing missing".split(), ["low", "high", "step"]
            found = [sums.of.get(key) for key in keys]
            found += [Fraction(sums.of[key], 10 ** sums.of["places"]) for key in sizes]
            same(f"{sums} are", found, [told.get(key) for key in keys + sizes])
            ends = (self.release.of(name, f"rows moved to {end}") for end in ("low", "high"))
            scales = [end.plan.blocks[0].scale if end else 0 for end in ends]
            wanted = [times * cost.scale_within(plan, entry.get("measure_clamping", False))] * 2
            squares = self.release.of(name, "sums of squares") is not None
            same(f"what is measured of {name} is", [scales, squares], [wanted, entry.get("square", False)])
            most = 2 * max(abs(low), abs(high))
            of_sums, of_counts = ((high - low) / most) ** 2, ((high + low) / most) ** 2
            self.shares[name] = (of_sums, of_counts, 0 if told["missing"] == "skip" else of_counts)
            if "from" in sums.of:
                self.shares[name] = (1, 0, 0)

    def _blocks(self, said, channel):
        """Blocks are of the strategy's kind, and those that follow from what is asked, at equal shares where
        the rule is that, and `given` at its own; of a search of tables none tells more."""
        plan, strategy = channel.plan, channel.plan.strategy
        parts, told = strategy in "residual bases wavelet fourier".split(), "component basis siblings weights"
        kinds = {"residual": told, "bases": told + " sums", "wavelet": "differences",
                 "fourier": "coefficients", "matrix": "rows", "together": "rows"}
        sound = channel is self.release.rows or strategy in "residual queries base bases tables".split()
        told = {getattr(way, "name", way) for block in plan.blocks for way in [block.kind, *block.ways]}
        sound &= told <= set(kinds.get(strategy, "table").split())
        used = not parts or strategy == "bases" or all(plan.told(one) == one for one, _ in plan.workload)
        must(sound and used, "blocks or levels in use are not those of the strategy")
        even = plan.rule == "uniform" and strategy not in ("tables", "given", "together")
        must(not even or alike([*blocks.spread(plan)]), "the shares are not equal")
        exact, found = Tables(table for table, _ in channel.exact), [block.table for block in plan.blocks]
        asked = {table for table, _ in plan.workload if not exact.tell(table)}
        # The coarsest table that tells all of these.
        join, column = tuple(dict(sorted(itertools.chain(*asked))).items()), self.release.domain.column
        of = {tuple(sorted(map(column, share["of"]))): ratio(share["share"]) for share in said}
        wanted = {"base": [join], "queries": asked, "given": of}
        wanted = channel.needed() if parts else wanted.get(strategy, found)
        same("what is measured is", sorted(found), sorted(wanted))
        sound = strategy not in ("hierarchy", "cluster") or all(map(Tables([join]).tell, found))
        sound &= len(of) == len(said) and (not said or sum(of.values()) == 1)
        sound &= strategy != "given" or alike([block.scale * of[block.table] for block in plan.blocks])
        must(sound, "a table tells more than all that are asked for, or shares are not what the spec says")

    def _told(self, sql, name):
        try:
            rows = where.Select(sql, self.domain).rows([range(len(one.levels)) for one in self.domain])
            table = next(table for table, _, cells in rows if cells.any())
            same("the table of a question is", name, self.domain.name_of(table))
        except Beyond:
            self.left.append("a question beyond plain conditions")

    def _rows(self, entry):
        """Rows that the spec brings are those that are measured, in whatever order."""
        table, file, found = [*map(self.domain.column, entry["of"])], entry["file"], []
        cells = self.domain.cells(table) if len(dict(table)) == len(table) else 0
        read = {"csv": self._lines, "mtx": self._coordinates}[file.lower().rpartition(".")[2]]
        rows = read(self._text(file).removeprefix("\ufeff").split("\n"), cells)
        expected = [[(cell, factor) for cell, factor in row if factor] for row in rows]
        whole = all(-1 << 31 <= factor < 1 << 31 and factor % 1 == 0 for row in expected for _, factor in row)
        few = 0 < len(expected) <= 1 << 16
        must(whole and few and all(expected), f"{file} has no rows, too many, or one that is none")
        for block in self.held.blocks if self.held.strategy == "matrix" else []:
            held = self.release.domain.name_of(block.table)
            same("the table under rows is", held, self.domain.name_of(table))
            found += block.rows
        must(not found or sorted(found) == sorted(expected), "the rows that are measured are not the spec's")

    def _lines(self, lines, cells):
        """The rows of lines of factors."""
        rows = [[number(field.strip()) for field in line.split(",")] for line in lines if line.strip()]
        must({len(row) for row in rows} == {cells}, f"a row has another number of columns than {cells}")
        return map(enumerate, rows)

    def _coordinates(self, lines, cells):
        """The rows of a Matrix Market file."""
        form = "%%matrixmarket matrix coordinate (integer|real|pattern) general"
        kind = re.fullmatch(form, " ".join(lines[0].split()), re.ASCII | re.IGNORECASE)
        must(kind, "the rows are no list of coordinates")
        sizes, *entries = (words for words in map(str.split, lines[1:]) if words and words[0][0] != "%")
        (many, columns, count), rows = map(number, sizes), {}
        for row, cell, *factor in entries:
            must(len(factor) == (kind[1].lower() != "pattern"), "an entry has too few or too many numbers")
            factor = number(*factor, DECIMAL, float) if factor else 1
            rows.setdefault(number(row), {})[number(cell) - 1] = factor
        once = len(entries) == sum(map(len, rows.values())) == count and len(rows) == many
        inside = columns == cells and all(0 <= cell < cells for row in rows.values() for cell in row)
        must(once and inside and {*rows} == {*range(1, many + 1)}, "rows have other entries than they may")
        return [sorted(row.items()) for row in rows.values()]

    def _projection(self, said):
        held = self.held
        usual = {"kind": "dense", "noise": "gaussian", "sparsity": 1000, "queries": 1000, "norm_bound": 0}
        for name, value in usual.items():
            same(f"the projection's {name} is", getattr(held, name), said.get(name, value))
        same("the projection's failure is", held.failure, ratio(said.get("failure", "0.01")))
        names = [dimension.name for dimension in self.domain]
        key = sorted(names.index(name) for name in said.get("of", names))
        same("the key is", held.key, [(d, int("text" in self.toml["dimension"][d])) for d in key])
        project.designed(held, cost.Cost(self.release).each[0][0], self.privacy.get("epsilon"), self.delta)
        if "rows" not in said:
            self.left.append("the number of sums")
        elif held.kind == "dense":
            same("the number of sums is", held.rows, -(-said["rows"] // 64) * 64)
        else:
            rows = said.get("sketch_rows", 16)
            buckets = max(16, 1 << (-(-said["rows"] // rows) - 1).bit_length())
            same("the number of sums is", [held.rows, held.buckets], [rows, buckets])
