"""Exact sums against all lists of values that rows can have."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from auditor.release import Release
from auditor.wire import Refused

H = 3


def possible(n, t, q):
    """Whether n rows whose values are 0 to H steps may have these exact sums."""
    one = lambda values: SimpleNamespace(exact=[((), np.array([values]))], of={"low": 0, "high": H, "step": 1})
    release = SimpleNamespace(rows=one(n))
    try:
        Release._possible(release, {"sums": one(t), "sums of squares": one(q)})
    except Refused:
        return False
    return True


@pytest.mark.parametrize("n", range(5))
def test_exact_sums(n):
    told = set()
    for values in itertools.product(range(H + 1), repeat=n):
        steps = [2 * value - H for value in values]
        told.add((sum(steps), sum(2 * t * t - H * H for t in steps)))
    assert all(possible(n, *pair) for pair in told)
    every = list(itertools.product(range(-n * H - 2, n * H + 3), range(-n * H * H - 2, n * H * H + 3)))
    taken = {pair for pair in every if possible(n, *pair)}
    # What the rule lets through though no rows have it lies between the ends of what rows with that sum have.
    assert told <= taken and {t for t, _ in taken} == {t for t, _ in told}
    for t in {t for t, _ in told}:
        ends = [q for other, q in told if other == t]
        assert all(min(ends) <= q <= max(ends) for other, q in taken if other == t)
    assert len(taken) <= len(told) + n
