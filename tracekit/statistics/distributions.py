"""Student's t, the normal and the binomial distribution: the few values that intervals need.

The incomplete beta function is the continued fraction of *Numerical Recipes* 6.4 (DLMF 8.17.22) by Lentz's
method, accurate to about 1e-12. A library of statistics would add more to an installation than numpy and
pandas together for these four functions; the tests hold them to tabulated values and to numerical
integrals.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_PRECISION = 1e-15
_ALMOST_NORMAL = 1e7
"""Degrees of freedom above which rounding errors exceed the difference from the normal distribution."""
_MOST_TERMS = 10_000
_MOST_STEPS = 100
_CHI_REACH = 8.0
"""Standard deviations around its middle within which the estimate of a standard error lies."""
_CHI_STEPS = 200
_BISECTIONS = 40


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # The fraction converges quickly below this point; above it, I_x(a, b) = 1 - I_(1-x)(b, a).
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
        - math.log(a)
    )
    return math.exp(log_front) / _evaluate_fraction(a, b, x)


def _evaluate_fraction(a: float, b: float, x: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + …)), where I_x(a, b) = x^a (1-x)^b / (a B(a, b)) divided by it."""
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, _MOST_TERMS):
        m = term // 2
        if term % 2:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _keep_from_zero(1 + numerator * d)
        c = _keep_from_zero(1 + numerator / c)
        value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _keep_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def normal_quantile(probability: float) -> float:
    """Return the standard normal value below which a fraction of ``probability`` lies."""
    return _NORMAL.inv_cdf(probability)


def t_upper_tail(t: float, df: float) -> float:
    """Return P(T > t) of Student's t with ``df`` degrees of freedom, which need not be whole."""
    if df > _ALMOST_NORMAL:
        return 1 - _NORMAL.cdf(t) if t < 0 else _NORMAL.cdf(-t)
    tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2
    return tail if t > 0 else 1 - tail


@lru_cache(4096)
def t_quantile(probability: float, df: float) -> float:
    """Return the value of Student's t below which a fraction of ``probability`` lies."""
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    if df > _ALMOST_NORMAL:
        return normal_quantile(probability)
    if probability == 0.5:
        return 0.0
    # P(T > t) is convex there, and the normal distribution's value is below: Newton's steps never go past.
    tail, t = 1 - probability, normal_quantile(probability)
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    for _ in range(_MOST_STEPS):
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))
        step = (t_upper_tail(t, df) - tail) / density
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t


@lru_cache(maxsize=1024)
def t_shift(confidence: float, power: float, df: float) -> float:
    """Return the true change, in standard errors, that an interval by Student's t excludes with ``power``.

    Of ``shift + Z`` and an estimated standard error ``S`` (both in true standard errors), the lower end is
    ``shift + Z - t S``: above 0 with the probability that Z > t S - shift, averaged over S, whose square is
    chi-squared over ``df``. This is the power of the noncentral t in the direction of the change.
    """
    t = t_quantile((1 + confidence) / 2, df)
    if df > _ALMOST_NORMAL:
        return t + _NORMAL.inv_cdf(power)
    reach = _CHI_REACH / math.sqrt(2 * df)
    first, last = max(0.0, 1 - reach), 1 + reach
    step = (last - first) / _CHI_STEPS
    errors = [first + (number + 0.5) * step for number in range(_CHI_STEPS)]
    # The density of S but for a constant, which the sum of the weights replaces.
    weights = [math.exp((df - 1) * math.log(error) - df * (error * error - 1) / 2) for error in errors]
    total = sum(weights)
    low, high = 0.0, t * last + _CHI_REACH
    for _ in range(_BISECTIONS):
        shift = (low + high) / 2
        passed = sum(
            weight * _NORMAL.cdf(shift - t * error) for weight, error in zip(weights, errors, strict=True)
        )
        low, high = (low, shift) if passed >= power * total else (shift, high)
    return (low + high) / 2


def binomial_at_most(count: int, trials: int, probability: float) -> float:
    """Return P(X <= count) of a binomial distribution."""
    if count < 0:
        return 0.0
    if count >= trials:
        return 1.0
    return incomplete_beta(trials - count, count + 1, 1 - probability)
