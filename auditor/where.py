"""Conditions as after WHERE, and which cells meet them; SELECT a, COUNT(*), or SUM(x), FROM t WHERE …
GROUP BY a, over the cells of the coarsest table that tells it."""

import functools, itertools, math, re

import numpy as np

from .shapes import DECIMAL
from .wire import must, Refused, within

TOKEN = re.compile(r"""\s*(?:
    (?P<text>'(?:[^']|'')*') | (?P<name>"(?:[^"]|"")*") | (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) |
    (?P<word>[^\W\d]\w*(?:-\w+)*) | (?P<sign><>|!=|<=|>=|[=<>(),.*;/+-]) |
    (?P<strange>\S))""", re.VERBOSE)
ROOM, WORDS = 1 << 23, {"AND": np.logical_and, "OR": np.logical_or}
LITERAL, AWAY = ("TRUE", "FALSE", "CASE"), {"<>": "=", "!=": "=", ">": "<=", ">=": "<"}


def tokens(text):
    """Pairs of a kind and a value."""
    within("--" not in text and "/*" not in text, "a question with comments")
    found = [(one.lastgroup, one[one.lastgroup]) for one in TOKEN.finditer(text)]
    strange = dict(found).get("strange")
    must(not strange, f"a condition has a sign that it cannot have: {strange!r}")
    bare = lambda value: value[1:-1].replace(2 * value[0], value[0])
    return [(kind, bare(value) if kind in ("text", "name") else value) for kind, value in found]


class Reader:
    """A recursive descent through a list of tokens."""

    def __init__(self, text, domain):
        self.tokens, self.at, self.domain = tokens(text), 0, domain
        few = sum(kind in ("word", "name", "sign") and value != "," for kind, value in self.tokens) <= 2000
        deep = itertools.accumulate((pair == ("sign", "(")) - (pair == ("sign", ")")) for pair in self.tokens)
        must(few and max(deep, default=0) <= 64, "a question has too many words and signs, or nests too deep")
        self.tokens += [("end", "")] * 2

    def peek(self, *values, ahead=0):
        kind, value = self.tokens[self.at + ahead]
        return kind in ("word", "sign") and value.upper() in values

    def accept(self, value):
        found = self.peek(value)
        self.at += found
        return found

    def expect(self, value):
        within(self.accept(value), f"a condition without {value} where it is usual")

    def next(self, *kinds):
        found = self.tokens[self.at]
        must(found[0] != "end", "a condition ends too early")
        within(found[0] in kinds, "conditions of other things than names, numbers and texts")
        self.at += 1
        return found

    def ended(self):
        return self.tokens[self.at][0] == "end"

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
        name, known = self.name(), self.domain.columns()
        name = f"{name}.{self.name()}" if self.accept(".") else name
        within(name.upper() not in LITERAL and not self.peek("("), "figures and literals in conditions")
        alike = [one for one in known if one.lower() == name.lower()]
        return self.domain.column(alike[0] if len(alike) == 1 else name)

    def condition(self):
        return self.joined("OR", lambda: self.joined("AND", self.term))

    def joined(self, word, part):
        found = self.many(part, word)
        return (word, *found) if len(found) > 1 else found[0]

    def bracket(self, part):
        found = part()
        self.expect(")")
        return found

    def term(self):
        if self.accept("NOT"):
            return "NOT", self.term()
        if self.accept("("):
            return self.bracket(self.condition)
        column, negated = self.column(), self.accept("NOT")

        def compared(sign):
            return sign, *column, self.next("number", "text")

        if self.accept("BETWEEN"):
            low = compared(">=")
            self.expect("AND")
            found = "AND", low, compared("<=")
        elif self.accept("IN"):
            self.expect("(")
            found = "OR", *self.bracket(lambda: self.many(lambda: compared("=")))
        else:
            within(not self.peek("LIKE", "ILIKE", "IS"), "LIKE and IS")
            sign = self.next("sign")[1]
            within(not negated and sign in ("=", "<", "<=", *AWAY), "conditions with other signs")
            found = compared(sign)
        return ("NOT", found) if negated else found


def parse(text, domain):
    reader = Reader(text, domain)
    found = reader.condition()
    must(not reader.peek(";"), "a condition has more than one condition")
    within(reader.ended(), "a condition with more behind it")
    met(found, domain, mentioned(found))
    return found


def mentioned(condition):
    """The dimensions of a condition, ascending."""
    if condition[0] in ("NOT", *WORDS):
        return sorted(set().union(*map(mentioned, condition[1:])))
    return [condition[1]]


def met(condition, domain, dimensions):
    """Which cells of the finest table of some dimensions meet the condition, if there is one."""
    finest = domain.finest(dimensions)
    domain.left -= domain.cells(finest)
    within(domain.cells(finest) <= ROOM and domain.left >= 0, "what tells very many cells apart")
    if not condition:
        return np.ones(domain.cells(finest), dtype=bool)
    head, *parts = condition
    if head == "NOT":
        return ~met(parts[0], domain, dimensions)
    if head in WORDS:
        return functools.reduce(WORDS[head], (met(part, domain, dimensions) for part in parts))
    d, number, literal = parts
    return _compared(domain[d].levels[number], head, *literal)[domain.above(finest, ((d, number),))]


def _compared(level, sign, kind, text):
    """Which nodes of a level meet a comparison. Those without a number are not less and not more than one."""
    if sign in AWAY:
        away = ~_compared(level, AWAY[sign], kind, text)
        return away if AWAY[sign] == "=" else away & [bound is not None for bound in level.bounds]
    if sign == "=":
        same = np.array([label == text for label in level.labels])
        if not same.any() and kind == "number" and level.bounds:
            same = np.array([bound == (float(text), float(text), True) for bound in level.bounds])
        must(same.any(), f"there is no category {text!r} of {level.name}")
        return same
    within(kind != "text" or level.bounds, "comparisons of days")
    must(level.bounds, "a comparison asks for numbers where there are none")
    must(DECIMAL.fullmatch(text), "a comparison with something that is no number")
    value, nothing = float(text), (math.nan, math.nan, True)
    low, high, closed = np.array([bound or nothing for bound in level.bounds]).T
    every = (high < value) | (high == value) & ((sign == "<=") | (closed == 0))
    none = (low > value) | (low == value) & (sign == "<")
    must((every | none | np.isnan(low)).all(), "a comparison cuts through a category")
    return every


def whole(domain, fine, coarse, cells):
    """The cells of a coarse table all of whose cells in a finer one are among these."""
    found = np.ones(domain.cells(coarse), dtype=bool)
    np.logical_and.at(found, domain.above(fine, coarse), cells)
    return found


def everywhere(conditions, domain, table):
    """The cells of a table all of whose finest cells meet one of the conditions."""
    condition = ("OR", *conditions)
    classes = domain.finest(mentioned(condition))
    fine = tuple(sorted({**dict(table), **dict(classes)}.items()))
    empty = met(condition, domain, [d for d, _ in classes])
    return whole(domain, fine, table, empty[domain.above(fine, classes)])


def told(domain, condition, groups, levels):
    """The coarsest table at levels in use that tells where a condition is met in groups, and these cells."""
    axes = sorted({*groups, *(mentioned(condition) if condition else ())})
    table, cells = domain.finest(axes), met(condition, domain, axes)
    for d in axes:
        # A coarser level of as many nodes tells as much.
        least = domain[d].size(groups.get(d, 0))
        for level in (one for one in levels[d] if domain[d].size(one) >= least):
            coarse = tuple({**dict(table), d: level}.items())
            found = whole(domain, table, coarse, cells)
            if (found[domain.above(table, coarse)] == cells).all():
                table, cells = coarse, found
                break
        else:
            raise Refused("no level in use tells that")
    return table, cells


class Select(Reader):
    """What is asked: `where`, a tree or nothing, and `groups`, pairs of a dimension and a level."""

    def __init__(self, text, domain):
        super().__init__(text.strip().removesuffix(";"), domain)
        self.expect("SELECT")
        columns, self.figures = [], []
        self.many(lambda: self._figure() or columns.append(self._plain()))
        within(self.accept("FROM") and len(self.figures) == 1, "more than groups and one COUNT, SUM or AVG")
        self.name()
        self.where = self.condition() if self.accept("WHERE") else None
        self.groups = self.many(self._plain) if self.accept("GROUP") and self.expect("BY") is None else []
        plain = self.ended() and len(dict(self.groups)) == len(self.groups)
        within(plain, "more than WHERE and GROUP BY of plain columns")
        must(set(columns) <= set(self.groups), "a column is selected and not grouped by")

    def _figure(self):
        """Whether a figure stands here: its name and of what, nothing of `*`, is kept."""
        if not self.peek("COUNT", "SUM", "AVG") or not self.peek("(", ahead=1):
            return False
        figure, _ = self.name().upper(), self.expect("(")
        self.figures.append((figure, None if (figure == "COUNT" and self.accept("*")) else self.name()))
        within(self.accept(")"), "figures of more than a number's name")
        _ = self.accept("AS") and self.name()
        return True

    def _plain(self):
        plain = not (self.peek("CASE", "DISTINCT", "*") or self.peek("(", "*", "/", ahead=1))
        within(plain, "other figures than COUNT, SUM and AVG")
        return self.column()

    def rows(self, levels):
        """The table at levels in use that is asked, and by row its labels and which cells it has, if any."""
        domain, (table, cells) = self.domain, told(self.domain, self.where, dict(self.groups), levels)
        inside = domain.above(table, self.groups)
        nodes = itertools.product(*[range(domain[d].size(level)) for d, level in self.groups])
        kept = tuple((d, level) for d, level in table if level)
        for number, row in enumerate(nodes):
            named = ((domain[d], level, node) for (d, level), node in zip(self.groups, row))
            names = {one.called(level): one.levels[level].labels[node] for one, level, node in named}
            yield kept, names, cells & (inside == number)


def answer(answers, text):
    """Rows of labels, estimate and variance."""
    asked, found = Select(text, answers.plan.domain), []
    for table, labels, weights in asked.rows(answers.plan.levels):
        row = answers.figure(table, weights.astype(float), *asked.figures[0])
        must(row is not None, "no combination of what was measured tells that")
        # Also what no row is left of must be told by a table.
        found += [(labels, *row)] if weights.any() or not labels else []
    return found
