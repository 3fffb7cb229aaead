"""The dimensions of a spec: their categories and coarser levels, as the spec language says."""

import itertools
import re

import numpy as np

from ..domain import Dimension, Level
from ..shapes import DECIMAL
from ..wire import ascend, must


def dimension(entry, attachment, room):
    """One `[[dimension]]`; `attachment` gives the rows of a file it names, `room` how many categories fit."""
    name, fallback = entry["name"], [entry[key] for key in ("missing", "other") if key in entry]
    if "text" in entry:
        return Dimension(name, [Level(name, ["any text"], [0])])
    bounds, coarser, finest = [], [], name
    if "categories" in entry:
        labels = list(entry["categories"])
    elif "codes" in entry or "range" in entry:
        low, high = entry["range"] if "range" in entry else (0, entry["codes"] - 1)
        must(0 <= high - low < room, f"{name} has not the categories that the file has")
        bounds = [(float(n), float(n), True) for n in range(low, high + 1)]
        labels = [shown(low) for low, _, _ in bounds]
    elif "bins" in entry:
        ends = list(map(float, entry["bins"]))
        must(len(ends) > 1 and ascend(ends), f"the bins of {name} do not ascend")
        bounds = [(a, b, b == ends[-1]) for a, b in zip(ends, ends[1:])]
        labels = list(map(interval, bounds))
    elif "dates" in entry:
        first, last = (np.datetime64(str(day), "D") for day in entry["dates"])
        must(0 <= (last - first).astype(int) < room, f"{name} has not the days that the file has")
        labels = list(map(str, np.arange(first, last + 1)))
        quarters = [f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" for day in labels]
        years, months = ([day[:end] for day in labels] for end in (4, 7))
        coarser = [("year", years), ("quarter", quarters), ("month", months)]
    else:
        heads, *rows = attachment(entry["hierarchy"])
        must(all(map(all, [heads, *rows])), f"a category of {name} has no name")
        must(len(rows) <= room, f"{name} has not the categories that the file has")
        must(heads[1:] or not {*heads[0]} & {*";\t|"}, f"no commas divide the columns of {name}")
        (finest, labels), *coarser = zip(heads, map(list, zip(*rows)), strict=True)
        coarser.reverse()
    must(0 < len(labels) == len(set(labels)), f"the categories of {name} are none, or one is twice")
    must(len(entry.get("levels", [])) <= 62, f"{name} has too many levels")
    more = [label for label in dict.fromkeys(fallback) if label not in set(labels)]
    base, told = Level(finest, *_nodes(labels + more)), entry.get("levels", [])
    groups = [Level(level, *_nodes(of + more)) for level, of in coarser]
    groups += [Level(one["name"], *_nodes(_bands(one, bounds) + more)) for one in told if "map" not in one]
    maps = [level for level in told if "map" in level]
    while maps:
        found = ((level, _mapped(level, below, more)) for level in maps for below in [base, *groups])
        level, group = next((pair for pair in found if pair[1]), (None, None))
        must(level, f"a level of {name} maps what is no level")
        groups.append(Level(level["name"], *group))
        maps.remove(level)
    must(all(1 < len(level) < len(base) for level in groups[len(coarser):]), f"a level of {name} is none")
    levels, above = sorted(groups, key=len) + [base], np.zeros(len(base), dtype=np.int64)
    names = [level.name for level in groups]
    must(name not in names and "total" not in (name, finest, *names), f"a name in {name} is taken")
    for level in levels:
        # Where numbers lie scattered among nodes, or beside other values, a level has none.
        nodes, of, beside = level.parents, level.parents[:len(labels)], set(level.parents[len(labels):])
        if bounds and not set(of) & beside and np.count_nonzero(np.diff(of)) + 1 == len(set(of)):
            level.bounds = together(bounds + [None] * len(more), nodes, len(level))
        level.parents = np.zeros(len(level), dtype=np.int64)
        level.parents[nodes] = above
        must((level.parents[nodes] == above).all(), "a level does not refine the next coarser one")
        above = nodes
    built, missing = Dimension(name, levels), entry.get("missing")
    # A category that is listed holds values of that name, too, and that of `other` all others.
    built.missing = missing if missing in more and missing != entry.get("other") else None
    return built


def halved(dimension):
    """With levels between: of siblings the first half, of an odd number one more than half, and the rest,
    until these are two at the most."""
    levels, used = [], [level.name for level in dimension.levels]
    for fine in dimension.levels[1:]:
        above = fine.parents
        while (sizes := np.bincount(above)).max() > 2:
            groups = np.split(np.argsort(above, kind="stable"), np.cumsum(sizes)[:-1])
            runs = [run for group in groups for run in np.array_split(group, 2) if len(run)]
            ends, parents = zip(*[([fine.labels[at] for at in run[[0, -1]]], above[run[0]]) for run in runs])
            above = np.repeat(range(len(runs)), [*map(len, runs)])[np.argsort(np.concatenate(runs))]
            used.append(next(name for n in itertools.count(1) if (name := f"half{n}") not in used))
            names, bounds = map(" … ".join, map(dict.fromkeys, ends)), together(fine.bounds, above, len(runs))
            levels.append(Level(used[-1], list(names), parents, bounds))
        levels.append(Level(fine.name, fine.labels, above, fine.bounds))
    return Dimension(dimension.name, levels)


def shown(number):
    """A number as labels show it: no more digits than it needs, and no exponent."""
    return np.format_float_positional(float(number), trim="-")


def interval(bound):
    low, high, closed = bound
    return f"[{shown(low)}, {shown(high)}{']' if closed else ')'}"


def _nodes(above, order=()):
    """The labels of a level, in `order`, then as they come; and the node above each finest category."""
    nodes = list(dict.fromkeys([*order, *above]))
    number = {label: node for node, label in enumerate(nodes)}
    return nodes, np.array([number[label] for label in above], dtype=np.int64)


def together(bounds, parents, count):
    """The numbers of each of `count` coarser nodes: of all below it, if each begins where one before ends."""
    held = [[] for _ in range(count if bounds else 0)]
    for bound, parent in zip(bounds, parents):
        held[parent].append(bound)
    meet = lambda some: all(two[0] == one[1] + one[2] for one, two in itertools.pairwise(some))
    return [(some[0][0], *some[-1][1:]) if None not in some and meet(some) else None for some in held]


def _mapped(entry, below, more):
    """The nodes that a map makes of all nodes of a level, each once; nothing if these are not its keys."""
    pairs = []
    for key, value in entry["map"].items():
        pairs += [(str(label), key) for label in value] if isinstance(value, list) else [(key, value)]
    of = dict(pairs)
    whole = len(of) == len(pairs) and set(of) <= set(below.labels) <= {*of, *more}
    return whole and _nodes([of.get(label := below.labels[node], label) for node in below.parents],
                            [above for _, above in pairs])


def _bands(entry, bounds):
    """The label of each number's band, which begins at a cut, or at every so many numbers."""
    name, lows = entry["name"], [low for low, _, _ in bounds]
    whole = bool(bounds) and bounds[0][0] == bounds[0][1]
    must(whole or bounds and "cuts" in entry, f"the level {name} groups numbers where there are none")
    cuts = list(map(float, entry["cuts"])) if "cuts" in entry else lows[entry["width"]::entry["width"]]
    must(ascend(cuts) and set(cuts) <= set(lows[1:]), f"the level {name} has cuts that none may be")
    starts, found = [0, *np.searchsorted(lows, cuts).tolist(), len(lows)], []
    for start, end in itertools.pairwise(starts):
        low, high, closed = bounds[start][0], *bounds[end - 1][1:]
        # A hyphen after a minus sign could not be read.
        band = shown(low) + (f"{'-' if low >= 0 else ' to '}{shown(high)}" if high > low else "")
        found += [band if whole else interval((low, high, closed))] * (end - start)
    return found


def stretches(level, entries):
    """The first and the last node of each interval."""
    found = [_stretch(level, one) for one in entries]
    must(len(set(found)) == len(found), f"an interval of {level.name} is there twice")
    return found


def _stretch(level, said):
    """A pair, a category, or numbers with a dash between them or a plus behind. A category may have a dash
    itself: only one way to part a text makes sense."""
    def end(text, side):
        text, numbers = text.strip(), [bound and bound[side] for bound in level.bounds]
        if text in level.labels:
            return level.labels.index(text)
        return numbers.index(float(text)) if DECIMAL.fullmatch(text) and float(text) in numbers else None

    if isinstance(said, list):
        pairs = [map(str, said)]
    elif said.strip() in level.labels:
        pairs = [(said, said)]
    elif said.endswith("+"):
        # Behind the numbers there may be categories without one.
        pairs = [(said[:-1], level.labels[max(node for node, bound in enumerate(level.bounds) if bound)])]
    else:
        pairs = [(said[:dash.start()], said[dash.end():]) for dash in re.finditer("[-–]", said)]
    found = [pair for pair in ((end(first, 0), end(last, 1)) for first, last in pairs) if None not in pair]
    must(len(found) == 1 and found[0][0] <= found[0][1], f"{said} is no interval of {level.name}")
    return found[0]
