"""The law of the privacy loss against sums over all outcomes."""

import math
from collections import Counter

import pytest

from auditor.loss import delta, listed


def outright(v, variance, epsilon):
    """δ of one noise, outcome by outcome."""
    reach = range(-int(40 * math.sqrt(variance)) - 2, int(40 * math.sqrt(variance)) + 3)
    weights = {k: math.exp(-k * k / (2 * variance)) for k in reach}
    x = epsilon - v * v / (2 * variance)
    found = math.fsum(w * -math.expm1(x - v * k / variance) for k, w in weights.items() if v * k / variance > x)
    return found / math.fsum(weights.values())


@pytest.mark.parametrize("v, variance, epsilon", [(1, 25.0, 1.0), (1, 4.0, 0.3), (40, 40000.0, 0.3), (7, 300.0, 2.0), (1, 0.9, 4.1), (1, 0.467, 10.0)])
def test_one_noise(v, variance, epsilon):
    known, found = outright(v, variance, epsilon), delta(Counter({(v, variance): 1}), epsilon)
    assert known <= found <= known * (1 + 1e-5)


@pytest.mark.parametrize("variance", [0.005, 0.05])
@pytest.mark.parametrize("from_step", [-0.1, 0, 0.01, 1])
def test_steps(variance, from_step):
    """Noise that is as good as none has a loss of few values, at which δ falls at once."""
    epsilon = 1 / (2 * variance) + from_step
    known, law = outright(1, variance, epsilon), Counter({(1, variance): 1})
    assert known <= delta(law, epsilon)
    assert math.isclose(listed(law, epsilon), known, rel_tol=1e-9)


@pytest.mark.parametrize("law", [{(1, 0.8): 2, (2, 0.8): 1, (1, 2.5): 1}, {(1, 3.0): 2, (1, 5.0): 1, (1, 2.25): 1, (2, 4.5): 1}, {(1, 4.0): 9}])
def test_lists_of_several_noises(law):
    """Against the integral, and against all outcomes one by one of noises that are not many."""
    law, epsilon = Counter(law), 3.0
    assert listed(law, epsilon) <= delta(law, epsilon) <= listed(law, epsilon) * (1 + 1e-5)
    if sum(law.values()) == 4:
        values = {0.0: 1.0}
        for (v, variance), copies in law.items():
            masses = {k: math.exp(-k * k / (2 * variance)) for k in range(-25, 26)}
            for _ in range(copies):
                more = Counter()
                for value, mass in values.items():
                    for k, one in masses.items():
                        more[round(value + v * k / variance, 9)] += mass * one / sum(masses.values())
                values = more
        x = epsilon - sum(copies * v * v / variance for (v, variance), copies in law.items()) / 2
        known = math.fsum(mass * -math.expm1(x - value) for value, mass in values.items() if value > x)
        assert math.isclose(listed(law, epsilon), known, rel_tol=1e-6)


def test_what_is_not_listed():
    """Of too many values, or of noise that is next to none."""
    assert listed(Counter({(1, 10.0 + n): 1 for n in range(12)}), 3.0) is None
    assert listed(Counter({(1, 1e-4): 1}), 3.0) is None
    assert listed(Counter({(1, 1e9): 1}), 3.0) is None


def test_many_noises_are_as_continuous_ones():
    """1,000 noises of s² = 1,000 are one continuous one of ρ = 1/2."""
    normal = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    known = normal(0.5 - 2) - math.exp(2) * normal(-0.5 - 2)
    assert math.isclose(delta(Counter({(1, 1000.0): 1000}), 2), known, rel_tol=1e-4)
