"""Pictures of answers, with matplotlib where it is installed."""

from __future__ import annotations

import math
import textwrap

# A scale of so many steps is a line in its band of intervals; fewer, and names, are bars.
_BAND = 12


def _scale(labels):
    """Places of labels along a scale of numbers or days; None where they are names."""
    import datetime

    if all(isinstance(label, int) for label in labels):
        places = list(labels)
    else:
        try:
            places = [datetime.date.fromisoformat(label) for label in labels]
        except (TypeError, ValueError):
            return None
    return places if all(a < b for a, b in zip(places, places[1:])) else None


def plot(answer, ax=None, figure=None, kind=None):
    """Draws one figure of an answer along its last column of labels, the columns before it as series; gives the axes."""
    from margins import Figure

    if kind not in (None, "bars", "band"):
        raise ValueError('kind is "bars" or "band"')
    rows = list(answer)
    if not rows:
        raise ValueError("the answer has no rows to draw")
    figures = [name for name in answer.columns if any(isinstance(row[name], Figure) for row in rows)]
    if figure is None and not figures:
        raise ValueError("the answer has no figure to draw")
    figure = figures[0] if figure is None else figure
    if figure not in figures:
        raise ValueError(f"the answer has no figure {figure!r}; it has {', '.join(figures)}")
    labels = [name for name in answer.columns if all(isinstance(row[name], (str, int)) for row in rows)]
    series = {}
    for row in rows:
        if isinstance(row[figure], Figure) and not math.isnan(row[figure].estimate):
            series.setdefault(tuple(row[name] for name in labels[:-1]), []).append(row)
    along = labels[-1] if labels else None

    import matplotlib.pyplot

    ax = matplotlib.pyplot.subplots()[1] if ax is None else ax
    scales = {key: _scale([row[along] for row in own]) if along else None for key, own in series.items()}
    band = kind == "band" or (kind is None and all(s is not None and len(s) >= _BAND for s in scales.values()))
    if band and any(scale is None for scale in scales.values()):
        raise ValueError("a band needs numbers or days in their order: ORDER BY them")
    finite = lambda end, estimate: end if math.isfinite(end) else estimate
    places, open_ends = {}, False
    for number, (key, own) in enumerate(series.items()):
        name = ", ".join(str(label) for label in key) or None
        estimates = [row[figure].estimate for row in own]
        open_ends |= any(not (math.isfinite(row[figure].low) and math.isfinite(row[figure].high)) for row in own)
        lows = [finite(row[figure].low, row[figure].estimate) for row in own]
        highs = [finite(row[figure].high, row[figure].estimate) for row in own]
        if band:
            (line,) = ax.plot(scales[key], estimates, drawstyle="steps-mid", label=name)
            ax.fill_between(scales[key], lows, highs, step="mid", alpha=0.3, color=line.get_color(), linewidth=0)
            continue
        width = 0.8 / len(series)
        at = [places.setdefault(row[along] if along else figure, len(places)) for row in own]
        at = [place + width * (number - (len(series) - 1) / 2) for place in at]
        # An interval need not hold the estimate in its middle, nor at all where it was cut off.
        whiskers = [[max(0, e - l) for e, l in zip(estimates, lows)], [max(0, h - e) for e, h in zip(estimates, highs)]]
        ax.bar(at, estimates, width, yerr=whiskers, capsize=3, label=name)
    if not band:
        ax.set_xticks(range(len(places)), [str(label) for label in places], rotation=0 if len(places) <= 6 else 90)
    ax.set_ylabel(figure)
    said = [f"{100 * answer.level:g} % intervals" + ("; some have no end, and no whisker" if open_ends else ""), *answer.notes]
    below = "\n".join(line for text in said for line in textwrap.wrap(text, 90))
    ax.set_xlabel(f"{along or ''}\n{below}".strip(), fontsize="small")
    if len(series) > 1 or next(iter(series), ()) != ():
        ax.legend(title=", ".join(labels[:-1]))
    return ax
