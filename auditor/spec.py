"""The sealed spec, read again: what it says the rest of the file must say."""

import csv
import itertools
import tomllib
from fractions import Fraction

import numpy as np

from . import blocks, lists, loss, where
from .domain import Domain, Level
from .wire import Beyond, must, Refused, within


def ratio(value):
    try:
        return Fraction(str(value).replace("_", "").strip())
    except (ValueError, ZeroDivisionError):
        raise Refused(f"the sealed spec has {value!r} where a ratio stands") from None


def same(what, one, other):
    must(one == other, f"{what} not what the spec says")


def words(sql):
    """A question whatever its blanks are, and whether a name stands in quotes."""
    return tuple(value for _, value in where.tokens(sql))


class Spec:
    """`left` lists what was not compared."""

    def __init__(self, release):
        file = release.file
        self.release, self.held, self.manifest = release, release.held, file.manifest
        self.left, self.used, self.legends = [], [], []
        try:
            self.toml = tomllib.loads(file.one("spec").decode("utf-8"), parse_float=str)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Refused(f"the sealed spec cannot be read: {error}") from None
        for key in ("name", "title", "privacy"):
            must(key in self.toml, f"the sealed spec cannot be read: the spec has no `{key}`")
        names = [item["name"] for item in self.manifest["sources"]["attachments"]]
        self.files = dict(zip(names, (section.read() for section in file.all("attachment"))))
        self.privacy = self.toml["privacy"]
        self.delta = ratio(self.privacy["delta"]) if "delta" in self.privacy else None

    def attachment(self, name):
        must(name in self.files, f"the spec refers to {name}, which is not in the file")
        self.used += [name] * (name not in self.used)
        return self.files[name].decode("utf-8-sig")

    def check(self):
        try:
            self._about()
            self._privacy()
            self._recipients(self.toml.get("recipient", []), self.toml.get("recipients", {}))
            entries = self.toml.get("dimension", [])
            self.domain = Domain(map(self._dimension, entries))
            drafted = any(line.startswith(b"#?") for line in self.release.file.one("spec").split(b"\n"))
            drafted |= not all(entry.get("confirmed", True) for entry in entries)
            must(not drafted, "the spec is a draft")
            self._dimensions()
            same("the legends are", self.manifest.get("legends", []), self.legends)
            if self.release.projection:
                self._projection(self.toml["projection"])
            else:
                self._tables(self.toml.get("strategy", {}))
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise Refused(f"the sealed spec cannot be read: {error!r}") from None
        same("the attachments are", self.used, list(self.files))
        within(not self.left, f"read again; left out: {'; '.join(dict.fromkeys(self.left))}")
        return "read again: its texts, unit, budget, dimensions and tables are those of plan and manifest"

    def _about(self):
        for key in ("name", "title", "description", "licence", "contact", "supersedes"):
            same(f"the {key} is", self.manifest["about"].get(key), self.toml.get(key))
        cuts = [str(ratio(cut)) for cut in self.toml.get("release", {}).get("reliability", [])]
        same("the classes of reliability are", self.manifest["about"].get("reliability", []), cuts)
        said, told = self.manifest.get("dataset") or {}, self.toml.get("dataset", {})
        for key in ("id", "period", "snapshot") if self.release.file.version > 1 else ():
            same(f"the dataset's {key} is", said.get(key), told.get(key))
        account, unit = self.manifest.get("account"), self.privacy["unit"]
        if account:
            usual = {"id": self.toml["name"], "unit": unit if unit == "row" else unit["column"], "unit_of": 1}
            for key in ("id", "unit", "unit_of", "part"):
                same(f"the account's {key} is", account.get(key), told.get(key, usual.get(key)))

    def _privacy(self):
        said, unit = self.manifest["privacy"], self.privacy["unit"]
        unit = {"column": "row", "max_rows": 1} if unit == "row" else unit
        same("the unit is", [said["unit"], self.held.max_rows], [unit["column"], unit["max_rows"]])
        order = unit.get("order", [])
        same("the order of rows is", said.get("order", []), [order] if isinstance(order, str) else order)
        same("the neighbours are", self.held.neighbours, self.privacy.get("neighbours", "add-remove"))
        cut = bool(self.privacy.get("measure_truncation", False))
        same("the count of cut units is", self.release.truncation is not None, cut)

    def _recipients(self, entries, mode):
        copies = self.release.copies
        must(bool(entries) == (copies is not None), "the recipients are not what the spec says")
        if copies is None:
            return self._budget(self.privacy, self.held.budget)
        same("the recipients' mode is", copies.mode, mode.get("mode", "nested"))
        centres = mode.get("centres", [0, 2 * mode.get("mean", 0)])
        same("the centres are", [copies.mean - copies.spread, copies.mean + copies.spread], centres)
        factors = dict(copies.recipients)
        same("the recipients are", sorted(factors), sorted(entry["name"] for entry in entries))
        for entry in entries:
            if "margin" in entry:
                self.left.append("promised margins")
            else:
                self._budget(entry, copies.budget / factors[entry["name"]])

    def _budget(self, entry, budget):
        if "rho" in entry or self.delta is None:
            same("the budget is", budget, ratio(entry["rho"] if "rho" in entry else entry["epsilon"]))
        else:
            epsilon = ratio(entry["epsilon"])
            fits = loss.is_largest(budget, epsilon, self.delta) or self._by_law(epsilon)
            must(fits, "the budget is not that of the spec's ε and δ")

    def _by_law(self, epsilon):
        """Whether the law of the release's own loss is within the spec's (ε, δ); None where it has none."""
        if self.release.file.version > 1 and loss.apart(self.release) is None:
            return loss.is_within(self.release, epsilon, self.delta)
        return None

    def in_delta(self):
        """Of a budget in (ε, δ): that the release has no more δ, by its own law, or by ρ without one."""
        epsilon, copies = ratio(self.privacy["epsilon"]), self.release.copies
        fits, how = self._by_law(epsilon), "by the law of all noises together"
        if fits is None:
            how = f"by ρ: {loss.apart(self.release) or 'its format is the first'}"
            fits = loss.converts(copies.budget if copies else self.held.budget, epsilon, self.delta)
        must(fits, f"at ε = {epsilon} the spec allows {self.delta}; it is more {how}")
        return f"at ε = {epsilon} the spec allows {self.delta}; it is no more {how}"

    def _dimensions(self):
        sealed = self.release.domain
        same("the dimensions are", [d.name for d in sealed], [d.name for d in self.domain])
        for one, two in zip(sealed, self.domain):
            if len(two.levels) == 1:
                continue
            names, kept = [level.name for level in two.levels], []
            for at, level in enumerate(one.levels):
                if level.name in names or not level.name.startswith("half"):
                    kept.append(at)
            same(f"the levels of {one.name} are", [one.levels[at].name for at in kept], names)
            for at in set(range(len(one.levels))) - set(kept):
                self._is_between(one, at, next(level for level in kept if level > at))
            for above, at, told in zip(kept, kept[1:], two.levels[1:]):
                level = one.levels[at]
                found = Level(level.name, level.labels, one.ancestors(at, above), level.bounds)
                same(f"the categories of {one.name} are", found, told)

    def _dimension(self, entry):
        """A dimension; what the spec says of it for people is kept as a manifest lists it."""
        dimension = lists.dimension(entry, self.attachment)
        legend = {key: entry[key] for key in ("description", "unit", "concept") if key in entry}
        given, finest, found = entry.get("labels", {}), dimension.levels[-1].name, {}
        if isinstance(given, str):
            lines = csv.DictReader(self.attachment(given).splitlines())
            rows = [{key.lower(): value.strip() for key, value in row.items()} for row in lines]
            pairs = [(row.get("level") or finest, row["code"], row["label"]) for row in rows]
        else:
            own = [(finest, code, label) for code, label in given.items() if isinstance(label, str)]
            coarser = [(level, of) for level, of in given.items() if not isinstance(of, str)]
            pairs = own + [(level, *pair) for level, of in coarser for pair in of.items()]
        for level, code, label in pairs:
            found.setdefault(finest if level == dimension.name else level, {})[code] = label
        listed = []
        for level in dimension.levels[1:]:
            of = found.get(level.name, {})
            pairs = [[code, of[code]] for code in level.labels if code in of]
            listed += [{"level": level.name, "of": pairs}] if pairs else []
        says = [said for said in self.manifest.get("legends", []) if said["dimension"] == dimension.name]
        if dimension.missing and any("missing" in said for said in says):
            legend["missing"] = dimension.missing
        legend.update({"labels": listed} if listed else {})
        self.legends += [{"dimension": dimension.name, **legend}] if legend else []
        return dimension

    @staticmethod
    def _is_between(dimension, at, below):
        """Of a level of halves each node is a stretch of the spec's next finer level, called by its ends."""
        level, finer, above = dimension.levels[at], dimension.levels[below], dimension.ancestors(below, at)
        for node, label in enumerate(level.labels):
            first, *_, last = [*np.flatnonzero(above == node)] * 2
            stretch = (above[first:last + 1] == node).all()
            name = finer.labels[first] + (f" … {finer.labels[last]}" if last > first else "")
            must(stretch and label == name, f"a level of halves of {dimension.name} is none")
        same(f"halves of {dimension.name} are", level.bounds, lists.together(finer.bounds, above, len(level)))

    def _column(self, name):
        for d, dimension in enumerate(self.domain):
            for level in range(1, len(dimension.levels)):
                if name in (dimension.called(level), f"{dimension.name}.{dimension.levels[level].name}"):
                    return d, level
        raise Refused(f"the spec has a table of {name}, which is no dimension")

    def _named(self, table):
        return self.domain.name_of(tuple(sorted(table)))

    def _asked(self, table, ask):
        """What an `ask` asks of a table, by dimension."""
        found = {}
        for key, word in ask.items():
            within(not isinstance(word, list), "intervals that are asked for")
            for d, level in table:
                if word != "cells" and key in (self.domain[d].name, self.domain[d].called(level)):
                    found[d] = word
        return found

    def _expanded(self):
        """Every entry and every table that it asks for."""
        for entry in self.toml.get("table", []):
            if "of" in entry:
                yield entry, [self._column(name) for name in entry["of"]]
                continue
            among = [self._column(name) for name in entry.get("among", [d.name for d in self.domain])]
            for size in [entry["every"]] if "every" in entry else range(entry["up_to"] + 1):
                tables = itertools.combinations(among, size)
                yield from ((entry, table) for table in tables if len({d for d, _ in table}) == size)

    def _tables(self, strategy):
        release = self.release
        same("the empty cells are", release.zeros, [entry["where"] for entry in self.toml.get("zero", [])])
        if strategy.get("measure", "auto") != "auto":
            same("the strategy is", release.plan.strategy, strategy["measure"])
        self._numbers()
        for channel in release.channels:
            if not channel.moved:
                self._blocks(strategy.get("shares", []), channel)
        if "rows" in strategy:
            self._rows(strategy["rows"])
        if "asked" in self.toml:
            self.left.append("the questions that are measured themselves")
            return
        wanted, reasons = {}, {}
        try:
            for entry, table in self._expanded():
                key = (self._named(table), repr(sorted(self._asked(table, entry.get("ask", {})).items())))
                self._wanted(entry, wanted.setdefault(key, {}))
                if entry.get("exact"):
                    named = set(entry.get("sum", [])) | ({self.weight} if self.weight else set())
                    for name in [None, *named]:
                        reasons[f"sums of {name} by {key[0]}" if name else key[0]] = entry["reason"]
        except Beyond as error:
            self.left.append(str(error))
            return
        summed = {name for weights in wanted.values() for name in weights} - {None}
        same("the numbers are", {one.of["name"] for one in release.channels[1:]}, summed)
        for entry in self.toml.get("query", []):
            wanted[words(entry["sql"])] = {None: ratio(entry.get("weight", 1))}
        weighed = not summed or strategy.get("objective", "total") in ("total", "relative")
        if not weighed:
            self.left.append("weights of tables that are planned for the worst cell or for margins of sums")
        for channel in release.channels:
            if not channel.moved:
                self._workload(channel, wanted, weighed)
        declared = self.manifest["declared"]["invariants"]
        same("the exact tables are", dict(text.split(": ", 1) for text in declared), reasons)

    def _wanted(self, entry, found):
        """By number, and nothing for rows, the largest weight that a table is asked for with."""
        weight, names = entry.get("weight", 1), list(entry.get("sum", []))
        by_name = weight if isinstance(weight, dict) else dict.fromkeys(["count", *names], weight)
        if entry.get("count", True):
            rows = not self.weight or self.toml["weights"].get("unweighted", False)
            count = ratio(by_name.get("count", 1))
            for name, counts in [(None, rows)] + ([(self.weight, True)] if self.weight else []):
                found[name] = max(count * counts, found.get(name, 0))
        for name in names:
            found[name] = max(ratio(by_name.get(name, 1)), found.get(name, 0))

    def _workload(self, channel, wanted, weighed):
        """The tables that a channel is asked for, and their weights where the least total is looked for."""
        expected, sealed = {}, {}
        for key, weights in wanted.items():
            names = [name for name in weights if name and channel.subject == "rows"]
            names = [name for name in names if self.numbers[name]["missing"] != "skip"]
            if channel.of and channel.of["name"] in weights:
                # Around 0 a sum needs no count, and the rows with a value are counted for their own sake.
                expected[key] = weights[channel.of["name"]] * (self._share(channel) or 1)
            if not channel.of and (names or None in weights):
                expected[key] = weights.get(None, 0)
                expected[key] += sum(weights[name] * self._share(channel, name) for name in names)
        for number, (table, weight) in enumerate(channel.plan.workload):
            ask, name = channel.asked.get(number, {}), self.release.domain.name_of(table)
            key = words(ask) if isinstance(ask, str) else (name, repr(sorted(ask.items())))
            sealed[key] = weight
            if isinstance(ask, str):
                self._told(ask, name)
        if not weighed:
            sealed, expected = dict.fromkeys(sealed), dict.fromkeys(expected)
        same(f"the tables of {channel} are", sealed, expected)
        same(f"the number of tables of {channel} is", len(channel.plan.workload), len(expected))

    def _share(self, channel, name=None):
        """The part of a sum's weight that its channel has, or that the counts beside it have."""
        number = self.numbers[name or channel.of["name"]]
        low, high = number["low"], number["high"]
        return ((high - low if channel.summed else high + low) / (2 * max(abs(low), abs(high)))) ** 2

    def _numbers(self):
        """The numbers and the weight of rows, as the spec has them."""
        entries = [{**entry, "weighing": None} for entry in self.toml.get("amount", [])]
        weights, self.numbers = self.toml.get("weights"), {}
        if weights:
            entries = [{**one, "weighing": "weighted" if one.get("weighted", True) else None}
                       for one in entries]
            named = {"name": weights["column"], "low": 0, **weights, "weighing": "weight"}
            entries.append(named)
        self.weight = named["name"] if weights else None
        for entry in entries:
            low, high, step = ratio(entry["low"]), ratio(entry["high"]), Fraction(10) ** 30
            while "step" not in entry and step * 10 ** (3 if entry.get("square") else 6) > high - low:
                step /= 10
            told = {"low": low, "high": high, "step": ratio(entry["step"]) if "step" in entry else step}
            told |= {key: entry.get(key) for key in ("name", "unit", "description", "weighing")}
            self.numbers[told["name"]] = {**told, "missing": entry.get("missing", "stop")}
            measured = bool(entry.get("measure_clamping", False)), bool(entry.get("square", False))
            subjects = "rows moved to low", "sums of squares"
            found = tuple(self.release.of(told["name"], subject) is not None for subject in subjects)
            same(f"what is measured of {told['name']} is", found, measured)
        for channel in self.release.channels[1:]:
            unit = Fraction(1, 10 ** channel.of["places"])
            texts = ("name", "unit", "description", "weighing", "missing")
            found = {key: channel.of.get(key) for key in texts}
            found |= {key: channel.of[key] * unit for key in ("low", "high", "step")}
            same(f"{channel} are", found, self.numbers.get(channel.of["name"]))

    def _blocks(self, shares, channel):
        """Blocks are of the strategy's kind; of three strategies just its tables, `given` at its shares."""
        plan, name_of = channel.plan, self.release.domain.name_of
        kinds = {"residual": {"component"}, "wavelet": {"differences"}, "fourier": {"coefficients"},
                 "matrix": {"rows"}, "together": {"rows"}, "bases": {"component", "bases"}}
        kinds = kinds.get(plan.strategy, {"table"})
        must(all(block.kind in kinds for block in plan.blocks), "the blocks are not those of the strategy")
        asked = {table for table, _ in plan.workload if not self._is_exact(table, channel)}
        found = sorted((name_of(block.table), block.scale) for block in plan.blocks)
        wanted = {
            "base": [name_of(self._join(asked))], "queries": sorted(map(name_of, asked)),
            "given": sorted(self._named(map(self._column, share["of"])) for share in shares),
        }.get(plan.strategy)
        if wanted is not None:
            same("the measured tables are", [name for name, _ in found], wanted)
        if plan.strategy == "given":
            of = {self._named(map(self._column, share["of"])): ratio(share["share"]) for share in shares}
            parts = [scale * of[name] for name, scale in found]
            must(max(parts) <= min(parts) * (1 + Fraction(2, 10**6)), "the shares are not what the spec says")

    @staticmethod
    def _is_exact(table, channel):
        tables = [dict(exact) for exact, _ in channel.exact]
        return any(all(level <= exact.get(d, 0) for d, level in table) for exact in tables)

    @staticmethod
    def _join(tables):
        finest = {}
        for d, level in itertools.chain(*tables):
            finest[d] = max(level, finest.get(d, 0))
        return tuple(sorted(finest.items()))

    def _told(self, sql, name):
        try:
            levels = [range(len(dimension.levels)) for dimension in self.domain]
            table = next(iter(where.Select(sql, self.domain).rows(levels)))[0]
            same("the table of a question is", name, self._named(table))
        except Beyond:
            self.left.append("a question beyond plain conditions")

    def _rows(self, entry):
        """Rows that the spec brings are those that are measured, in whatever order."""
        if not entry["file"].endswith(".csv"):
            self.left.append("rows of a Matrix Market file")
        text, table = self.attachment(entry["file"]), self._named(map(self._column, entry["of"]))
        expected, found = [list(map(float, line.split(","))) for line in text.split()], []
        for block in self.held.blocks if self.held.strategy == "matrix" else []:
            same("the table under rows is", self.release.domain.name_of(block.table), table)
            found += blocks.columns(self.held, block).T.tolist()
        must(not found or sorted(found) == sorted(expected), "the rows that are measured are not the spec's")

    def _projection(self, said):
        held, plan = self.held, self.release.plan
        for name in ("budget", "neighbours", "max_rows"):
            same(f"the plan section's {name} is", getattr(plan, name), getattr(held, name))
        plain = [plan.strategy, plan.rule, plan.levels] == ["base", "uniform", [[0]] * len(self.domain)]
        must(plain, "the plan section is not that of a projection")
        usual = {"kind": "dense", "noise": "gaussian", "sparsity": 1000, "queries": 1000}
        for name, value in usual.items():
            same(f"the projection's {name} is", getattr(held, name), said.get(name, value))
        for name, value, sealed in ("failure", "0.01", held.failure), ("norm_bound", 0, held.norm):
            same(f"the projection's {name} is", sealed, ratio(said.get(name, value)))
        names = [dimension.name for dimension in self.domain]
        key = [names.index(name) for name in said.get("of", names)]
        same("the key is", held.key, [(d, int(len(self.domain[d].levels) == 1)) for d in key])
        if "rows" not in said:
            self.left.append("the number of sums")
        elif held.kind == "dense":
            same("the number of sums is", held.rows, -(-said["rows"] // 64) * 64)
        else:
            rows = said.get("sketch_rows", 16)
            buckets = max(16, 1 << (-(-said["rows"] // rows) - 1).bit_length())
            same("the number of sums is", [held.rows, held.buckets], [rows, buckets])
