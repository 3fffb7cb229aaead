"""Conditions as after WHERE, and which cells meet them; SELECT a, COUNT(*), or SUM(x), FROM t WHERE …
GROUP BY a, over the cells of the coarsest table that tells it."""

import functools
import itertools
import math
import re

import numpy as np

from .shapes import DECIMAL
from .wire import must, Refused, within

TOKEN = re.compile(r"""\s*(?:
    (?P<text>'(?:[^']|'')*') | (?P<name>"(?:[^"]|"")*") | (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) |
    (?P<word>[^\W\d]\w*(?:-\w+)*) | (?P<sign><>|!=|<=|>=|[=<>(),.*;/+-]))""", re.VERBOSE)
ROOM, WORDS = 1 << 23, {"AND": np.logical_and, "OR": np.logical_or}
AWAY = {"<>": "=", "!=": "=", ">": "<=", ">=": "<"}


def tokens(text):
    """Pairs of a kind and a value."""
    at, found = 0, []
    while text[at:].strip():
        match = TOKEN.match(text, at)
        must(match, f"a condition has a sign that it cannot have: {text[at:at + 20]!r}")
        kind, value, at = match.lastgroup, match[match.lastgroup], match.end()
        if kind in ("text", "name"):
            value = value[1:-1].replace(2 * value[0], value[0])
        found.append((kind, value))
    return found


class Reader:
    """A recursive descent through a list of tokens."""

    def __init__(self, text, domain):
        self.tokens, self.at, self.domain = tokens(text), 0, domain
        few = sum(kind in ("word", "name", "sign") and value != "," for kind, value in self.tokens) <= 2000
        deep = itertools.accumulate((pair == ("sign", "(")) - (pair == ("sign", ")")) for pair in self.tokens)
        must(few and max(deep, default=0) <= 64, "a question has too many words and signs, or nests too deep")

    def peek(self, *values, ahead=0):
        kind, value = self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ("end", "")
        return kind in ("word", "sign") and value.upper() in values

    def accept(self, value):
        found = self.peek(value)
        self.at += found
        return found

    def expect(self, value):
        must(self.accept(value), f"{value} is missing in a condition")

    def next(self, *kinds):
        some = self.at < len(self.tokens) and self.tokens[self.at][0] in kinds
        must(some, "a condition ends too early, or has something else than it may")
        self.at += 1
        return self.tokens[self.at - 1]

    def many(self, item, between=","):
        """Items with a sign or a word between."""
        found = [item()]
        while self.accept(between):
            found.append(item())
        return found

    def name(self):
        return self.next("word", "name")[1]

    def column(self):
        """A dimension and the number of a level."""
        name = self.name()
        return self.domain.column(f"{name}.{self.name()}" if self.accept(".") else name)

    def condition(self):
        return self.joined("OR", lambda: self.joined("AND", self.term))

    def joined(self, word, part):
        found = self.many(part, word)
        return (word, *found) if len(found) > 1 else found[0]

    def term(self):
        if self.accept("NOT"):
            return "NOT", self.term()
        if self.accept("("):
            found = self.condition()
            self.expect(")")
            return found
        column, negated = self.column(), self.accept("NOT")

        def compared(sign):
            return sign, *column, self.next("number", "text")

        if self.accept("BETWEEN"):
            low = compared(">=")
            self.expect("AND")
            found = ("AND", low, compared("<="))
        elif self.accept("IN"):
            self.expect("(")
            found = ("OR", *self.many(lambda: compared("=")))
            self.expect(")")
        else:
            within(not self.peek("LIKE", "ILIKE", "IS"), "LIKE and IS")
            sign = self.next("sign")[1]
            must(not negated and sign in ("=", "<", "<=", *AWAY), "a condition has no sign that compares")
            found = compared(sign)
        return ("NOT", found) if negated else found


def parse(text, domain):
    reader = Reader(text, domain)
    found = reader.condition()
    must(reader.at == len(reader.tokens), "a condition has more than one condition")
    met(found, domain, mentioned(found))
    return found


def mentioned(condition):
    """The dimensions of a condition, ascending."""
    if condition[0] in ("NOT", *WORDS):
        return sorted(set().union(*map(mentioned, condition[1:])))
    return [condition[1]]


def met(condition, domain, dimensions):
    """Which cells of the finest table of some dimensions meet the condition, if there is one."""
    shape = [domain[d].size(domain[d].finest) for d in dimensions]
    within(math.prod(shape) <= ROOM, "what tells very many cells apart")
    if not condition:
        return np.ones(math.prod(shape), dtype=bool)
    head, *parts = condition
    if head == "NOT":
        return ~met(parts[0], domain, dimensions)
    if head in WORDS:
        return functools.reduce(WORDS[head], (met(part, domain, dimensions) for part in parts))
    d, number, literal = parts
    finest = tuple((one, domain[one].finest) for one in dimensions)
    return _compared(domain[d].levels[number], head, *literal)[domain.above(finest, ((d, number),))]


def _compared(level, sign, kind, text):
    """Which nodes of a level meet a comparison. Those without a number are not less and not more than one."""
    if sign in ("<>", "!="):
        return ~_compared(level, "=", kind, text)
    if sign == "=":
        same = np.array([label == text for label in level.labels])
        if not same.any() and kind == "number" and level.bounds:
            same = np.array([bound == (float(text), float(text), True) for bound in level.bounds])
        must(same.any(), f"there is no category {text!r} of {level.name}")
        return same
    within(kind != "text" or level.bounds, "comparisons of days")
    must(level.bounds, "a comparison asks for numbers where there are none")
    must(DECIMAL.fullmatch(text), "a comparison with something that is no number")
    value = float(text)
    numbers = np.array([bound is not None for bound in level.bounds])
    sides = [bound is not None and _less(*bound, AWAY.get(sign, sign), value) for bound in level.bounds]
    return numbers & ~np.array(sides) if sign in AWAY else np.array(sides)


def _less(low, high, closed, sign, value):
    """Whether all numbers from `low` to `high` are less than a value, or `<=` it; none where not all are."""
    every = high < value or high == value and (sign == "<=" or not closed)
    none = low > value or low == value and sign == "<"
    must(every or none, "a comparison cuts through a category")
    return every


def everywhere(conditions, domain, table):
    """The cells of a table all of whose finest cells meet one of the conditions."""
    whole = ("OR", *conditions)
    dimensions = mentioned(whole)
    classes = tuple((d, domain[d].finest) for d in dimensions)
    fine = tuple(sorted({**dict(table), **dict(classes)}.items()))
    found = np.ones(domain.cells(table), dtype=bool)
    empty = met(whole, domain, dimensions)[domain.above(fine, classes)]
    np.logical_and.at(found, domain.above(fine, table), empty)
    return found


def told(domain, condition, groups, levels):
    """The coarsest table at levels in use that tells where a condition is met in groups, and these cells."""
    axes = sorted({*groups, *(mentioned(condition) if condition else ())})
    table, cells = {d: domain[d].finest for d in axes}, met(condition, domain, axes)
    for d in axes:
        fine = [level for level in levels[d] if level >= groups.get(d, 0)]
        table, cells = _coarsest(domain, table, cells, d, fine)
    return tuple(table.items()), cells


def _coarsest(domain, table, cells, d, levels):
    """The table with the first of these levels in a dimension that still tells which cells are met."""
    for level in levels:
        coarse = {**table, d: level}
        above, size = domain.above(tuple(table.items()), tuple(coarse.items())), domain.cells(coarse.items())
        every, some = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
        np.logical_and.at(every, above, cells)
        np.logical_or.at(some, above, cells)
        if np.array_equal(every, some):
            return coarse, every
    raise Refused("no level in use tells that")


class Select:
    """What is asked: `condition`, a tree or nothing, and `groups`, pairs of a dimension and a level."""

    def __init__(self, text, domain):
        self.domain, self.reader = domain, Reader(text.strip().removesuffix(";"), domain)
        reader = self.reader
        reader.expect("SELECT")
        columns, self.figures = [], []
        reader.many(lambda: self._figure() or columns.append(self._plain()))
        within(reader.accept("FROM") and len(self.figures) == 1, "more than groups and one COUNT, SUM or AVG")
        reader.name()
        self.condition = reader.condition() if reader.accept("WHERE") else None
        grouped = reader.accept("GROUP") and reader.expect("BY") is None
        self.groups = reader.many(self._plain) if grouped else []
        plain = reader.at == len(reader.tokens) and len(dict(self.groups)) == len(self.groups)
        within(plain, "more than WHERE and GROUP BY of plain columns")
        must(set(columns) <= set(self.groups), "a column is selected and not grouped by")

    def _figure(self):
        """Whether a figure stands here: its name and of what, nothing of `*`, is kept."""
        reader = self.reader
        if not reader.peek("COUNT", "SUM", "AVG") or not reader.peek("(", ahead=1):
            return False
        figure, _ = reader.name().upper(), reader.expect("(")
        self.figures.append((figure, None if (figure == "COUNT" and reader.accept("*")) else reader.name()))
        within(reader.accept(")"), "figures of more than a number's name")
        _ = reader.accept("AS") and reader.name()
        return True

    def _plain(self):
        reader = self.reader
        plain = not (reader.peek("CASE", "DISTINCT", "*") or reader.peek("(", "*", "/", ahead=1))
        within(plain, "other figures than COUNT, SUM and AVG")
        return reader.column()

    def rows(self, levels):
        """The table at levels in use that is asked, and by row its labels and a weight for each cell."""
        domain, (table, cells) = self.domain, told(self.domain, self.condition, dict(self.groups), levels)
        inside = domain.above(table, self.groups)
        nodes = itertools.product(*[range(domain[d].size(level)) for d, level in self.groups])
        kept = tuple((d, level) for d, level in table if level)
        for number, row in enumerate(nodes):
            weights = cells & (inside == number)
            if weights.any() or not self.groups:
                named = ((domain[d], level, node) for (d, level), node in zip(self.groups, row))
                names = {one.called(level): one.levels[level].labels[node] for one, level, node in named}
                yield kept, names, weights


def answer(answers, text):
    """Rows of labels, estimate and variance."""
    asked, found = Select(text, answers.plan.domain), []
    for table, labels, weights in asked.rows(answers.plan.levels):
        row = answers.figure(table, weights.astype(float), *asked.figures[0])
        must(row is not None, "no combination of what was measured tells that")
        found.append((labels, *row))
    return found
