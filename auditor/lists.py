"""The dimensions of a spec: their categories and coarser levels, as the spec language says."""

import csv
import datetime
import io

import numpy as np

from .domain import Dimension, Level
from .errors import Beyond, must


def shown(number):
    """A number as labels show it: no more digits than it needs."""
    value = float(number)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def dimension(entry, attachment):
    """One `[[dimension]]`; `attachment` gives the text of a file it names."""
    name = entry["name"]
    fallback = list(dict.fromkeys(entry[key] for key in ("missing", "other") if key in entry))
    if entry.get("text"):
        return Dimension(name, [])
    numbers, groups, finest = [], [], name
    if "categories" in entry:
        labels = list(entry["categories"])
    elif "codes" in entry or "range" in entry:
        low, high = entry["range"] if "range" in entry else (0, entry["codes"] - 1)
        labels, numbers = [str(n) for n in range(low, high + 1)], [(float(n), float(n), True) for n in range(low, high + 1)]
    elif "bins" in entry:
        ends = list(map(float, entry["bins"]))
        numbers = [(a, b, b == ends[-1]) for a, b in zip(ends, ends[1:])]
        labels = list(map(interval, numbers))
    elif "dates" in entry:
        labels, groups = _days(*map(datetime.date.fromisoformat, entry["dates"]))
    else:
        must("hierarchy" in entry, f"the spec does not say what the values of {name} are")
        rows = [row for row in csv.reader(io.StringIO(attachment(entry["hierarchy"]))) if row]
        finest, labels = rows[0][0], [row[0] for row in rows[1:]]
        groups = [(column, [row[at] for row in rows[1:]]) for at, column in list(enumerate(rows[0]))[1:]]
    more = [label for label in fallback if label not in labels]
    levels = [Level(finest, labels + more, [], numbers + [None] * len(more) if numbers else [])]
    for level, of in groups:
        above = dict(zip(labels, of))
        _over(levels, level, [above[node[0]] if node[0] in above else levels[-1].labels[i] for i, node in enumerate(_below(levels))])
    for level in entry.get("levels", []):
        _level(levels, level)
    levels[-1].parents = np.zeros(len(levels[-1]), dtype=np.int64)
    return Dimension(name, levels[::-1])


def _below(levels):
    """Of each node of the coarsest level so far the finest labels below it."""
    below = [[label] for label in levels[0].labels]
    for level in levels[:-1]:
        merged = [[] for _ in range(level.parents.max() + 1)]
        for node, parent in enumerate(level.parents):
            merged[parent] += below[node]
        below = merged
    return below


def _over(levels, name, of, order=()):
    """Adds a level: `of` is the label above each node; new nodes stand in `order`, then as they come."""
    nodes = list(dict.fromkeys([label for label in order if label in of] + of))
    below, number = levels[-1], {label: node for node, label in enumerate(nodes)}
    below.parents = np.array([number[label] for label in of], dtype=np.int64)
    levels.append(Level(name, nodes, [], together(below.bounds, below.parents, len(nodes))))


def together(bounds, parents, count):
    """The numbers of each of `count` coarser nodes, from the least to the greatest below it; none where one below has none."""
    found = []
    for node in range(count) if bounds else ():
        held = [bound for bound, parent in zip(bounds, parents) if parent == node]
        top = max((bound for bound in held if bound), key=lambda bound: (bound[1], bound[2]), default=None)
        found.append(None if None in held else (min(bound[0] for bound in held), top[1], top[2]))
    return found


def interval(bound):
    low, high, closed = bound
    return f"[{shown(low)}, {shown(high)}{']' if closed else ')'}"


def _level(levels, entry):
    below, name = levels[-1], entry["name"]
    if "map" in entry:
        pairs = {}
        for key, value in entry["map"].items():
            for label in value if isinstance(value, list) else [key]:
                pairs[label] = key if isinstance(value, list) else value
        order = list(entry["map"]) if any(isinstance(value, list) for value in entry["map"].values()) else []
        _over(levels, name, [pairs.get(label, label) for label in below.labels], order)
        return
    whole = all(bound is None or bound[2] for bound in below.bounds)
    must(below.bounds, f"the level {name} groups numbers where there are none")
    if "width" in entry:
        if not whole:
            raise Beyond("bands of intervals")
        first = min(bound[0] for bound in below.bounds if bound)
        groups = [None if bound is None else (bound[0] - first) // entry["width"] for bound in below.bounds]
    else:
        groups = [None if bound is None else sum(float(cut) <= bound[0] for cut in entry["cuts"]) for bound in below.bounds]
    of = []
    for group, label in zip(groups, below.labels):
        held = [bound for bound, other in zip(below.bounds, groups) if other == group and group is not None]
        if not held:
            of.append(label)
            continue
        low, (_, high, closed) = held[0][0], held[-1]
        of.append(interval((low, high, closed)) if not whole else shown(low) if low == high else f"{shown(low)}-{shown(high)}")
    _over(levels, name, of)


def _days(first, last):
    days = [first + datetime.timedelta(n) for n in range((last - first).days + 1)]
    text = [day.isoformat() for day in days]
    return text, [("month", [t[:7] for t in text]), ("quarter", [f"{t[:4]}-Q{(int(t[5:7]) + 2) // 3}" for t in text]), ("year", [t[:4] for t in text])]
