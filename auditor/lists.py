"""The dimensions of a spec: their categories and coarser levels, as the spec language says."""

import csv
import datetime
import io

import numpy as np

from .domain import Dimension, Level
from .wire import must, within


def dimension(entry, attachment):
    """One `[[dimension]]`; `attachment` gives the text of a file it names."""
    name = entry["name"]
    if entry.get("text"):
        return Dimension(name, [])
    numbers, groups, finest = [], [], name
    if "categories" in entry:
        labels = list(entry["categories"])
    elif "codes" in entry or "range" in entry:
        low, high = entry["range"] if "range" in entry else (0, entry["codes"] - 1)
        numbers = [(float(n), float(n), True) for n in range(low, high + 1)]
        labels = [shown(low) for low, _, _ in numbers]
    elif "bins" in entry:
        ends = list(map(float, entry["bins"]))
        numbers = [(a, b, b == ends[-1]) for a, b in zip(ends, ends[1:])]
        labels = list(map(interval, numbers))
    elif "dates" in entry:
        first, last = map(datetime.date.fromisoformat, entry["dates"])
        labels = [(first + datetime.timedelta(n)).isoformat() for n in range((last - first).days + 1)]
        quarters = [f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" for day in labels]
        months, years = [day[:7] for day in labels], [day[:4] for day in labels]
        groups = [("month", months), ("quarter", quarters), ("year", years)]
    else:
        must("hierarchy" in entry, f"the spec does not say what the values of {name} are")
        heads, *columns = [row for row in csv.reader(io.StringIO(attachment(entry["hierarchy"]))) if row]
        (finest, labels), *groups = zip(heads, map(list, zip(*columns)))
    fallback = dict.fromkeys(entry[key] for key in ("missing", "other") if key in entry)
    more = [label for label in fallback if label not in labels]
    levels = [Level(finest, labels + more, [], numbers + [None] * len(more) if numbers else [])]
    below = list(range(len(levels[0])))
    for level, of in groups:
        of = of + more
        _over(levels, level, [of[below.index(node)] for node in range(len(levels[-1]))])
        below = [int(levels[-2].parents[node]) for node in below]
    for level in entry.get("levels", []):
        _level(levels, level)
    levels[-1].parents = np.zeros(len(levels[-1]), dtype=np.int64)
    built, missing = Dimension(name, levels[::-1]), entry.get("missing")
    # A category that is listed holds values of that name, too, and that of `other` all others.
    built.missing = missing if missing in more and missing != entry.get("other") else None
    return built


def shown(number):
    """A number as labels show it: no more digits than it needs."""
    value = float(number)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def interval(bound):
    low, high, closed = bound
    return f"[{shown(low)}, {shown(high)}{']' if closed else ')'}"


def _over(levels, name, of, order=()):
    """Adds a level: `of` is the label above each node; new nodes stand in `order`, then as they come."""
    nodes = list(dict.fromkeys([label for label in order if label in of] + of))
    below, number = levels[-1], {label: node for node, label in enumerate(nodes)}
    below.parents = np.array([number[label] for label in of], dtype=np.int64)
    levels.append(Level(name, nodes, [], together(below.bounds, below.parents, len(nodes))))


def together(bounds, parents, count):
    """The numbers of each of `count` coarser nodes: from the least to the greatest below, if all have any."""
    found = []
    for node in range(count) if bounds else ():
        held = [bound for bound, parent in zip(bounds, parents) if parent == node]
        if None in held:
            found.append(None)
        else:
            found.append((min(held)[0], *max((high, closed) for _, high, closed in held)))
    return found


def _level(levels, entry):
    below, name = levels[-1], entry["name"]
    if "map" in entry:
        pairs, order = {}, []
        for key, value in entry["map"].items():
            if isinstance(value, list):
                order = list(entry["map"])
            pairs.update({label: key for label in value} if isinstance(value, list) else {key: value})
        _over(levels, name, [pairs.get(label, label) for label in below.labels], order)
        return
    must(below.bounds, f"the level {name} groups numbers where there are none")
    whole = all(bound is None or bound[2] for bound in below.bounds)
    if "width" in entry:
        within(whole, "bands of intervals")
        first = min(bound[0] for bound in below.bounds if bound)
        group = lambda low: (low - first) // entry["width"]
    else:
        group = lambda low: sum(float(cut) <= low for cut in entry["cuts"])
    groups = [None if bound is None else group(bound[0]) for bound in below.bounds]
    names = {}
    for key in set(groups) - {None}:
        held = [bound for bound, other in zip(below.bounds, groups) if other == key]
        low, high, closed = held[0][0], *held[-1][1:]
        band = shown(low) if low == high else f"{shown(low)}-{shown(high)}"
        names[key] = band if whole else interval((low, high, closed))
    _over(levels, name, [names.get(key, label) for key, label in zip(groups, below.labels)])
