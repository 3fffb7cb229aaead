"""Conditions as after WHERE: which cells meet them."""

import re

import numpy as np

from .errors import Beyond, Refused, must

TOKEN = re.compile(r"""\s*(?:('(?:[^']|'')*')|("(?:[^"]|"")*")|(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([^\W\d]\w*(?:-\w+)*)|(<>|!=|<=|>=|[=<>(),.*;]))""")
ROOM = 1 << 23


def tokens(text):
    at, found = 0, []
    while text[at:].strip():
        match = TOKEN.match(text, at)
        must(match, f"a condition has a sign that it cannot have: {text[at:at + 20]!r}")
        string, quoted, number, word, sign = match.groups()
        if string is not None:
            found.append(("text", string[1:-1].replace("''", "'")))
        elif quoted is not None:
            found.append(("name", quoted[1:-1].replace('""', '"')))
        elif number is not None:
            found.append(("number", number))
        else:
            found.append(("word", word) if word else ("sign", sign))
        at = match.end()
    return found


class Reader:
    """A recursive descent through a list of tokens."""

    def __init__(self, found, domain):
        self.tokens, self.at, self.domain = found, 0, domain

    def peek(self, *values):
        if self.at >= len(self.tokens):
            return False
        kind, value = self.tokens[self.at]
        return kind in ("word", "sign") and value.upper() in values

    def accept(self, *values):
        found = self.peek(*values)
        self.at += found
        return found

    def expect(self, value):
        must(self.accept(value), f"{value} is missing in a condition")

    def next(self, *kinds):
        must(self.at < len(self.tokens) and self.tokens[self.at][0] in kinds, "a condition ends too early, or has something else than it may")
        self.at += 1
        return self.tokens[self.at - 1]

    def column(self):
        """A dimension and the number of a level."""
        name = self.next("word", "name")[1]
        level = None
        if self.accept("."):
            level = self.next("word", "name")[1]
        for d, dimension in enumerate(self.domain):
            if dimension.name == name:
                names = [one.name for one in dimension.levels]
                must(level is None or level in names[1:], f"there is no level {level} of {name}")
                return d, dimension.finest if level is None else names.index(level)
        raise Refused(f"there is no dimension {name}")

    def either(self):
        found = self.both()
        while self.accept("OR"):
            found = ("or", found, self.both())
        return found

    def both(self):
        found = self.term()
        while self.accept("AND"):
            found = ("and", found, self.term())
        return found

    def term(self):
        if self.accept("NOT"):
            return ("not", self.term())
        if self.accept("("):
            found = self.either()
            self.expect(")")
            return found
        d, level = self.column()
        negated = self.accept("NOT")
        if self.accept("BETWEEN"):
            low = self.next("number", "text")
            self.expect("AND")
            found = ("and", ("is", d, level, ">=", low), ("is", d, level, "<=", self.next("number", "text")))
        elif self.accept("IN"):
            self.expect("(")
            found = ("is", d, level, "=", self.next("number", "text"))
            while self.accept(","):
                found = ("or", found, ("is", d, level, "=", self.next("number", "text")))
            self.expect(")")
        elif self.peek("LIKE", "ILIKE", "IS"):
            raise Beyond("LIKE")
        else:
            must(not negated, "NOT stands before =")
            sign = self.next("sign")[1]
            must(sign in ("=", "<>", "!=", "<", "<=", ">", ">="), "a condition compares with no sign that compares")
            found = ("is", d, level, "<>" if sign == "!=" else sign, self.next("number", "text"))
        return ("not", found) if negated else found


def parse(text, domain):
    reader = Reader(tokens(text), domain)
    found = reader.either()
    must(reader.at == len(reader.tokens), "a condition has more than one condition")
    nodes(found, domain)
    return found


def mentioned(condition):
    return {condition[1]} if condition[0] == "is" else set().union(*map(mentioned, condition[1:]))


def _compared(level, sign, value):
    """Of each node whether all its numbers meet the comparison; nodes without a number do not."""
    must(level.bounds, "a comparison asks for numbers where there are none")
    met = []
    for bound in level.bounds:
        if bound is None:
            met.append(False)
            continue
        low, high, closed = bound
        if sign in ("<", "<="):
            all_do = high < value or high == value and (sign == "<=" or not closed)
            none_does = low > value or low == value and sign == "<"
        else:
            all_do = low > value or low == value and sign == ">="
            none_does = high < value or high == value and (sign == ">" or not closed)
        must(all_do or none_does, "a comparison cuts through a category")
        met.append(all_do)
    return np.array(met)


def _is(domain, d, number, sign, literal):
    """The finest nodes of the dimension that meet it."""
    level, (kind, text) = domain[d].levels[number], literal
    if sign in ("=", "<>"):
        same = np.array([label == text for label in level.labels])
        if not same.any() and kind == "number" and level.bounds:
            same = np.array([bound is not None and bound[0] == bound[1] == float(text) for bound in level.bounds])
        must(same.any(), f"there is no category {text!r} of {domain[d].called(number)}")
        met = same if sign == "=" else ~same
    else:
        if kind == "text" and not level.bounds:
            raise Beyond("comparisons of days")
        try:
            met = _compared(level, sign, float(text))
        except ValueError:
            raise Refused("a comparison with something that is no number") from None
    return met[domain[d].ancestors(domain[d].finest, number)]


def nodes(condition, domain, axes=None):
    """The condition over the finest nodes of all dimensions in `axes`, one axis each."""
    if axes is None:
        axes = sorted(mentioned(condition))
        if np.prod([float(domain[d].size(domain[d].finest)) for d in axes]) > ROOM:
            raise Beyond("a condition that tells very many cells apart")
    head = condition[0]
    if head == "is":
        shape = [1] * len(axes)
        shape[axes.index(condition[1])] = -1
        return _is(domain, *condition[1:]).reshape(shape)
    parts = [nodes(part, domain, axes) for part in condition[1:]]
    return ~parts[0] if head == "not" else parts[0] | parts[1] if head == "or" else parts[0] & parts[1]


def everywhere(conditions, domain, cuboid):
    """The cells of a table all of whose finest cells meet one of the conditions."""
    whole = conditions[0]
    for other in conditions[1:]:
        whole = ("or", whole, other)
    axes = sorted(mentioned(whole))
    met = np.broadcast_to(nodes(whole, domain), [domain[d].size(domain[d].finest) for d in axes])
    for axis, d in enumerate(axes):
        to, level = domain[d].ancestors(domain[d].finest, dict(cuboid).get(d, 0)), dict(cuboid).get(d, 0)
        lumped = np.ones(met.shape[:axis] + (domain[d].size(level),) + met.shape[axis + 1:], dtype=bool)
        np.logical_and.at(np.moveaxis(lumped, axis, 0), to, np.moveaxis(met, axis, 0))
        met = lumped
    shape = [domain[d].size(dict(cuboid).get(d, 0)) for d in sorted(set(axes) | set(dict(cuboid)))]
    together = sorted(set(axes) | set(dict(cuboid)))
    met = met.reshape([domain[d].size(dict(cuboid).get(d, 0)) if d in axes else 1 for d in together])
    return np.broadcast_to(met, shape).reshape(-1)
