"""The sealed spec, read again: what it says the rest of the file must say, and what of it this program leaves out."""

import itertools
import posixpath
import re
import tomllib
from fractions import Fraction

import numpy as np

from . import approximate, lists, where
from .domain import Domain, Level, Dimension
from .errors import Beyond, Refused, must
from .select import Select

HALF = re.compile(r"half\d+\Z")


def ratio(value):
    try:
        return Fraction(str(value).replace("_", "").strip())
    except (ValueError, ZeroDivisionError):
        raise Refused(f"the sealed spec has {value!r} where a ratio stands") from None


def _words(sql):
    """A question whatever its blanks are, and whether a name stands in quotes."""
    return tuple(value for _, value in where.tokens(sql))


class Spec:
    """`left` lists what was not compared."""

    def __init__(self, release):
        file = release.file
        self.release, self.manifest, self.left, self.used, self.delta = release, file.manifest, [], [], None
        try:
            self.toml = tomllib.loads(file.one("spec").decode("utf-8"), parse_float=str)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Refused(f"the sealed spec cannot be read: {error}") from None
        for key in ("name", "title", "privacy"):
            must(key in self.toml, f"the sealed spec cannot be read: the spec has no `{key}`")
        names = [item["name"] for item in self.manifest["sources"]["attachments"]]
        self.files = dict(zip(names, (section.read() for section in file.all("attachment"))))
        self.privacy, self.entries = self.toml["privacy"], self.toml.get("dimension", [])
        self.delta = ratio(self.privacy["delta"]) if "delta" in self.privacy else None

    def attachment(self, name):
        must(name in self.files, f"the spec refers to {name}, which is not in the file")
        if name not in self.used:
            self.used.append(name)
        return self.files[name].decode("utf-8-sig")

    def check(self):
        try:
            self._about()
            self._privacy()
            self.domain = Domain(lists.dimension(entry, self.attachment) for entry in self.entries)
            self._domain()
            if self.release.projection:
                self._projection()
            else:
                self._tables()
            rows = self.toml.get("strategy", {}).get("rows")
            if rows:
                self._rows(rows)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise Refused(f"the sealed spec cannot be read: {error!r}") from None
        must(self.used == list(self.files), "the file has attachments that the spec does not refer to, or in another order")

    def _about(self):
        about = {key: self.toml.get(key) for key in ("name", "title", "description", "licence", "contact", "supersedes")}
        must(about == {key: self.manifest["about"].get(key) for key in about}, "the name or the texts are not those of the spec")
        dataset, said = self.toml.get("dataset", {}), self.manifest.get("dataset") or {}
        must([dataset.get("id"), dataset.get("period")] == [said.get("id"), said.get("period")] or self.release.file.version == 1, "the dataset is not that of the spec")
        account = self.manifest.get("account")
        if account:
            unit = self.privacy["unit"]
            unit = dataset.get("unit") or (unit if isinstance(unit, str) else unit["column"])
            expected = [dataset.get("id", self.toml["name"]), unit, dataset.get("unit_of", 1), dataset.get("part")]
            must(expected == [account["id"], account["unit"], account["unit_of"], account.get("part")], "the account is not that of the spec")

    def _privacy(self):
        said, held = self.manifest["privacy"], self.release.projection or self.release.plan
        unit, order = self.privacy["unit"], []
        if unit == "row":
            expected = ["row", 1]
        else:
            expected, order = [unit["column"], unit["max_rows"]], unit.get("order", [])
        must(expected == [said["unit"], held.max_rows if self.release.projection else held.rows], "the unit is not that of the spec")
        must(([order] if isinstance(order, str) else order) == said.get("order", []), "the order of rows is not that of the spec")
        must(self.privacy.get("neighbours", "add-remove") == held.neighbours, "the neighbours are not those of the spec")
        if self.release.copies is None:
            self._is_budget(self.privacy, held.budget)
        must(bool(self.privacy.get("measure_truncation", False)) == (self.release.truncation is not None), "the count of cut units is not that of the spec")
        entries, copies = self.toml.get("recipient", []), self.release.copies
        must(bool(entries) == (copies is not None), "the recipients are not those of the spec")
        if not entries:
            return
        mode = self.toml.get("recipients", {})
        must(mode.get("mode", "nested") == copies.mode, "the copies hang together in another way than the spec says")
        if copies.mode == "shifted":
            low, high = mode.get("centres", [0, 2 * mode.get("mean", 0)])
            must([low, high] == [copies.mean - copies.spread, copies.mean + copies.spread], "the centres are not those of the spec")
        factors = dict(copies.recipients)
        must(sorted(entry["name"] for entry in entries) == sorted(factors), "the recipients are not those of the spec")
        for entry in entries:
            if "margin" in entry:
                self.left.append("promised margins")
            else:
                self._is_budget(entry, copies.budget / factors[entry["name"]])

    def _is_budget(self, entry, budget):
        if "rho" in entry:
            must(ratio(entry["rho"]) == budget, "the budget is not that of the spec")
        elif self.delta is None:
            must(ratio(entry["epsilon"]) == budget, "the budget is not that of the spec")
        else:
            must(approximate.is_largest(budget, ratio(entry["epsilon"]), self.delta), "the budget is not that of the spec's ε and δ")

    def _domain(self):
        sealed = self.release.domain
        must([d.name for d in sealed] == [d.name for d in self.domain], "the dimensions are not those of the spec")
        for entry, one, two in zip(self.entries, sealed, self.domain):
            if entry.get("text"):
                continue
            names = [level.name for level in two.levels]
            kept = [0] + [at for at, level in enumerate(one.levels) if at and (level.name in names or not HALF.match(level.name))]
            levels = [Level(one.levels[at].name, one.levels[at].labels, one.ancestors(at, above), one.levels[at].bounds) for above, at in zip(kept, kept[1:])]
            for at in set(range(len(one.levels))) - set(kept):
                self._is_between(one, at, min(level for level in kept if level > at))
            must(len(levels) == len(two.levels) - 1 and all(a.same(b) for a, b in zip(levels, two.levels[1:])), f"the categories or levels of {one.name} are not those of the spec")

    @staticmethod
    def _is_between(dimension, at, below):
        """A level of halves: each node is a stretch of the spec's next finer level, and called by its ends."""
        level, finer = dimension.levels[at], dimension.levels[below]
        held = [np.flatnonzero(dimension.ancestors(below, at) == node) for node in range(len(level))]
        ends = [(nodes[0], nodes[-1]) for nodes in held]
        labels = [finer.labels[a] if a == b else f"{finer.labels[a]} … {finer.labels[b]}" for a, b in ends]
        must(all(len(nodes) == b - a + 1 for nodes, (a, b) in zip(held, ends)) and level.labels == labels
             and level.bounds == lists.together(finer.bounds, dimension.ancestors(below, at), len(level)), f"a level of halves of {dimension.name} is none")

    def _column(self, name):
        for d, dimension in enumerate(self.domain):
            for level in range(1, len(dimension.levels)):
                if name in (dimension.called(level), f"{dimension.name}.{dimension.levels[level].name}"):
                    return d, level
        raise Refused(f"the spec has a table of {name}, which is no dimension")

    def _name(self, cuboid):
        return self.domain.name_of(tuple(sorted(cuboid)))

    def _asked(self, cuboid, ask):
        """What an `ask` asks of a table, by dimension."""
        found = {}
        for key, word in ask.items():
            for d, level in cuboid:
                if key not in (self.domain[d].name, self.domain[d].called(level), f"{self.domain[d].name}.{self.domain[d].levels[level].name}") or word == "cells":
                    continue
                found[d] = word if isinstance(word, str) else [self._interval(self.domain[d].levels[level], text) for text in word]
        return found

    @staticmethod
    def _interval(level, text):
        """A category, a stretch `18-64` or `65+`, or a pair of its ends."""
        def at(end, side):
            if str(end) in level.labels:
                return level.labels.index(str(end))
            return next(node for node, bound in enumerate(level.bounds) if bound and bound[side] == float(end))
        try:
            if isinstance(text, list):
                return at(text[0], 0), at(text[1], 1)
            if str(text) in level.labels:
                return (level.labels.index(str(text)),) * 2
            if text.endswith("+"):
                return at(text[:-1], 0), max(node for node, bound in enumerate(level.bounds) if bound)
            low, _, high = text.partition("-")
            return at(low, 0), at(high, 1)
        except (StopIteration, ValueError):
            raise Beyond(f"the interval {text!r}") from None

    def _expanded(self):
        """Every table asked for, with what is asked of it and its weight, exact tables with their reason."""
        for entry in self.toml.get("table", []):
            if "of" in entry:
                cuboids = [[self._column(name) for name in entry["of"]]]
            else:
                among = [self._column(name) for name in entry.get("among", [d.name for d in self.domain])]
                sizes = [entry["every"]] if "every" in entry else range(entry["up_to"] + 1)
                cuboids = [c for size in sizes for c in itertools.combinations(among, size) if len({d for d, _ in c}) == size]
            for cuboid in cuboids:
                yield sorted(cuboid), self._asked(cuboid, entry.get("ask", {})), ratio(entry.get("weight", 1)), entry.get("reason") if entry.get("exact") else None

    def _tables(self):
        if "asked" in self.toml:
            self.left.append("the questions that are measured themselves")
            return
        release = self.release
        expected, reasons = {}, {}
        try:
            for cuboid, ask, weight, reason in self._expanded():
                key = (self._name(cuboid), repr(sorted(ask.items())))
                expected[key] = max(weight, expected.get(key, 0))
                if reason is not None:
                    reasons[self._name(cuboid)] = reason
        except Beyond as error:
            self.left.append(str(error))
            return
        sealed = {}
        for number, (cuboid, weight) in enumerate(release.plan.workload):
            ask = release.asked.get(number, {})
            key = _words(ask) if isinstance(ask, str) else (release.domain.name_of(cuboid), repr(sorted(ask.items())))
            sealed.setdefault(key, []).append((release.domain.name_of(cuboid), weight))
        queries = self.toml.get("query", [])
        for entry in queries:
            for name, weight in sealed.pop(_words(entry["sql"]), []):
                must(weight == ratio(entry.get("weight", 1)), "the weight of a question is not that of the spec")
                self._told(entry["sql"], name)
                break
            else:
                raise Refused("a question of the spec is not in the file")
        must({key: weights[0][1] for key, weights in sealed.items()} == expected and all(len(w) == 1 for w in sealed.values()), "the tables are not those of the spec")
        said = dict(text.split(": ", 1) for text in self.manifest["declared"]["invariants"])
        must(said == reasons, "the exact tables are not those of the spec")
        must([entry["where"] for entry in self.toml.get("zero", [])] == release.zeros, "the empty cells are not those of the spec")
        strategy = self.toml.get("strategy", {})
        if strategy.get("measure", "auto") != "auto":
            must(strategy["measure"] == release.plan.strategy, "the strategy is not that of the spec")

    def _told(self, sql, name):
        try:
            cuboid = next(iter(Select(sql, self.domain).rows([range(len(d.levels)) for d in self.domain])))[0]
            must(self._name(cuboid) == name, "a question is not asked of the coarsest table that tells it")
        except Beyond:
            self.left.append("a question beyond plain conditions")

    def _rows(self, entry):
        """Rows that the spec brings are those that are measured, in whatever order."""
        text, cells = self.attachment(entry["file"]), [self._column(name) for name in entry["of"]]
        if posixpath.splitext(entry["file"])[1] != ".csv":
            self.left.append("rows of a Matrix Market file")
            return
        expected, found = sorted(tuple(int(float(f)) for f in line.split(",")) for line in text.split()), []
        for block in self.release.plan.measurements if self.release.plan.strategy == "matrix" else []:
            must(self.release.domain.name_of(block.cuboid) == self._name(cells), "rows of another table than the spec's are measured")
            for row in block.rows:
                whole = np.zeros(self.release.domain.cells(block.cuboid), dtype=int)
                whole[[cell for cell, _ in row]] = [factor for _, factor in row]
                found.append(tuple(whole.tolist()))
        must(not found or sorted(found) == expected, "the rows that are measured are not the spec's")

    def _projection(self):
        said, held, plan = self.toml.get("projection"), self.release.projection, self.release.plan
        must([plan.budget, plan.neighbours, plan.rows, plan.strategy, plan.rule] == [held.budget, held.neighbours, held.max_rows, "base", "uniform"]
             and all(levels == [0] for levels in plan.levels), "the plan section is not that of a projection")
        must(said is not None, "the spec has no projection")
        must(said.get("kind", "dense") == held.kind and said.get("noise", "gaussian") == held.noise, "the projection is of another kind than the spec's")
        key = [self._key(name) for name in said.get("of", [d.name for d in self.domain])]
        must(key == held.key, "the projection's key is not that of the spec")
        expected = [said.get("sparsity", 1000), said.get("queries", 1000), ratio(said.get("failure", "0.01")), int(ratio(said.get("norm_bound", 0)))]
        must(expected == [held.sparsity, held.queries, held.failure, held.norm], "the projection's sizes are not those of the spec")
        if "rows" not in said:
            self.left.append("the number of sums")
        elif held.kind == "dense":
            must(held.rows == -(-said["rows"] // 64) * 64, "the projection has not as many sums as the spec says")
        else:
            rows = said.get("sketch_rows", 16)
            buckets = max(16, 1 << (-(-said["rows"] // rows) - 1).bit_length())
            must([held.rows, held.buckets] == [rows, buckets], "the projection has not as many sums as the spec says")

    def _key(self, name):
        d = [dimension.name for dimension in self.domain].index(name)
        return d, int(bool(self.entries[d].get("text")))
