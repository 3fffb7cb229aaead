"""Which fields the manifest has, what each holds, and numbers from their text.

In `fields.txt` (and in `sealed/fields.txt`, for the keys of a spec) stand behind the name of a kind its
fields, those that hold the same kind together: `?` may be left out, `*` is a list, `+` one that is left out
where it is empty, `{}` a table with keys of one's own, `/` one or other, `(…)` a text of this pattern, `..` a
whole number from one to another. Then stand rules: `=a,b` exactly one of these, `a>b,c` not without one of
these, `a!b,c` beside none. Last stand names of kinds.
"""

import datetime, json, math, re
from fractions import Fraction
from pathlib import Path

from .wire import harmless, must, Refused

SHAPES, KINDS, KEY = {}, {}, re.compile("[a-z0-9_]+")
DECIMAL = re.compile(r"[+-]?(?=\.?[0-9])[0-9]{0,300}\.?[0-9]{0,300}([eE][+-]?[0-9]{1,3})?")


def know(beside):
    """Adds what the fields beside a program are."""
    text = Path(beside).with_name("fields.txt").read_text("utf-8").strip()
    for known, part in zip((SHAPES, KINDS), text.split("\n\n")):
        known.update(one.split(maxsplit=1) for one in part.split(";"))


know(__file__)


class Float(str):
    """The text of a number that the spec has without quotes, with a point or an exponent."""


def ratio(value):
    """Exactly the number that a text says, or one text over another."""
    parts = [part.strip() for part in str(value).replace("_", "").split("/")]
    sound = type(value) in (int, str, Float) and len(parts) <= 2 and all(map(DECIMAL.fullmatch, parts))
    sound = sound and not "".join(parts[1:]).startswith("-")
    must(sound, f"{str(value)[:60]!r} stands where a ratio must")
    told = list(map(Fraction, parts))
    found = told[0] / (told + [1])[1]
    most = max(max(abs(one.numerator), one.denominator) for one in [found, *told])
    must(most < 1 << 128, "a ratio has numbers of more than 128 bits")
    return found


def number(text, written=re.compile("[+-]?[0-9]+"), kind=int):
    """A number in digits of ASCII and nothing else, on which Python's own readers do not insist."""
    must(written.fullmatch(text), f"{text[:60]!r} is not the number that it must be")
    return kind(text)


def check(value, kind, path):
    """Refuses what is missing or not what it must be; gives fields that nobody knows, or writes like this."""
    kind = KINDS.get(kind, kind)
    if kind in SHAPES:
        return _table(value, kind, path)
    if "/" in kind and kind[0] != "{" and kind[-1] != ")":
        first, _, other = kind.partition("/")
        try:
            return check(value, first, path)
        except Refused:
            return check(value, other, path)
    if kind[-1] in "*+":
        must(isinstance(value, list), f"{path} is no list")
        strange = [path] * (kind[-1] == "+" and not value)
        return strange + [field for item in value for field in check(item, kind[:-1], path)]
    if kind[0] == "{":
        must(isinstance(value, dict), f"{path} is no table")
        return [field for item in value.values() for field in check(item, kind[1:-1], f"a value of {path}")]
    must(_is(value, kind), f"{path} is not what it must be")
    return [path] * (kind == "ratio" and str(ratio(value)) != value)


def _is(value, kind):
    if kind[0] == "(":
        return type(value) is str and re.fullmatch(kind, value) is not None
    if ".." in kind:
        least, most = map(int, kind.split(".."))
        return type(value) is int and least <= value <= most
    if kind == "day":
        # Python's calendar has no year 0, which has the days of the year 2000.
        day = re.sub("^0000", "2000", str(value))
        return datetime.date.fromisoformat(day).isoformat() == day
    if kind == "number":
        return type(value) in (int, Float) and math.isfinite(float(value))
    if kind in ("bool", "true"):
        return value is True or kind == "bool" and value is False
    found, plain = ratio(value), "/" not in str(value)
    kinds = {"ratio": found >= 0 and type(value) is str, "exact": found > 0, "below": 0 < found < 1}
    return kinds.get(kind, plain and (kind == "decimal" or found > 0))


def _table(value, kind, path):
    must(isinstance(value, dict), f"{path} is no object")
    strange, deeper = set(value), []
    for field in SHAPES[kind].split():
        names, _, inner = field.partition(":")
        if not inner:
            _rule(value, field, path)
        for name in names.rstrip("?").split(",") if inner else ():
            if value.get(name) is None:
                must(names.endswith("?"), f"{path} has no `{name}`")
            else:
                strange.discard(name)
                deeper += check(value[name], inner, f"`{name}` of {path}")
                # What is said in another way is still said.
                value[name] = str(ratio(value[name])) if inner == "ratio" else value[name]
    for name in strange:
        del value[name]
    return sorted({*strange, *deeper})


def _rule(table, rule, path):
    """What keys of a table mean for each other."""
    first, sign, rest = re.fullmatch("([a-z_]*)([=>!])(.*)", rule).groups()
    there = sum(name in table for name in rest.split(","))
    sound = {"=": there == 1, ">": there > 0, "!": there == 0}[sign] or first and first not in table
    must(sound, f"{path} has keys that do not go together, or lacks one: {rule}")


def parse(data):
    """The object in `data`: equal to what writing it again gives, byte for byte. Fractions are read as texts,
    and so are not."""
    value = json.loads(data.decode("utf-8"), parse_float=Float, parse_constant=Float)
    again = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
    must(again.encode("utf-8") == data, "the manifest is not in canonical form")
    _plain(value)
    return value


def _plain(value, depth=0):
    """Refuses strange keys, large numbers, texts that act on a terminal, what nests deep."""
    if isinstance(value, str):
        harmless(value, lines=True)
    elif isinstance(value, dict):
        must(all(map(KEY.fullmatch, value)), "the manifest's keys have other signs than a-z, 0-9 and _")
        _plain(list(value.values()), depth)
    elif isinstance(value, list):
        must(depth <= 16, "the manifest nests too deep")
        for inner in value:
            _plain(inner, depth + 1)
    else:
        must(abs(value or 0) <= 2**53, "a number of the manifest is beyond 2^53")
