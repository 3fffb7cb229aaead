"""ρ-zCDP as (ε, δ): δ = min over α of exp((α-1)(αρ-ε))/(α-1)·(1-1/α)^α."""

import math

from .errors import must


def log_delta(rho, epsilon):
    """The least ln δ; x = α - 1 solves (2x+1)ρ - ε - ln(1+1/x) = 0."""
    low, high = 1e-300, 1e300
    while high / low > 1 + 1e-15:
        x = math.sqrt(low) * math.sqrt(high)
        if x in (low, high):
            break
        below = (2 * x + 1) * rho - epsilon - math.log1p(1 / x) < 0
        low, high = (x, high) if below else (low, x)
    return x * ((x + 1) * rho - epsilon) - math.log(x) - (x + 1) * math.log1p(1 / x)


def epsilon(rho, delta):
    """The least ε at this δ."""
    must(0 < delta < 1, "δ is not a probability that can be reckoned with")
    rho, goal, low, high = float(rho), math.log(delta), 0.0, 1.0
    while log_delta(rho, high) > goal:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(rho, middle) > goal else (low, middle)
    return high


def shown(value, version):
    """Rounded up to four decimals, since version 2 to four digits where it is below 0.1."""
    decimals = 4 if version == 1 or value >= 0.1 else 3 - math.floor(math.log10(value))
    return f"{math.ceil(round(value * 10**decimals, 7)) / 10**decimals:.{decimals}f}"


def is_within(rho, eps, delta):
    """Whether ρ has no more than this δ, as far as doubles tell."""
    return log_delta(float(rho), float(eps)) <= math.log(delta) + 1e-9 * (1 + abs(math.log(delta)))


def is_largest(rho, eps, delta):
    """Whether ρ is the largest for (ε, δ), or rounded down from it by no more than one part in 2^30."""
    goal, rho, eps = math.log(delta), float(rho), float(eps)
    slack = 1e-9 * (1 + abs(goal))
    return log_delta(rho, eps) <= goal + slack and log_delta(rho * (1 + 2**-30), eps) >= goal - slack
