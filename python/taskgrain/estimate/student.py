"""Student's t distribution for a whole number of degrees of freedom.

A library has it, too, but takes half a second to import, which every command would pay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, stdev

from taskgrain.words.interval import Interval

_HALVINGS = 60
"""The halvings of the angle: enough for any double."""


def student_cdf(t: float, freedom: int) -> float:
    """The probability that Student's t with so many degrees of freedom is at most `t`.

    Exact for whole degrees of freedom (Abramowitz & Stegun, 26.7.3 and 26.7.4), to about 1e-15 absolute.
    Raises ValueError for fewer than one degree of freedom.
    """
    if freedom < 1:
        raise ValueError(f"Student's t needs at least one degree of freedom, not {freedom}")
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    # The series 1 + 1/2 c^2 + (1 3)/(2 4) c^4 + ..., or c + 2/3 c^3 + (2 4)/(3 5) c^5 + ... for odd ones.
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    inside = 2.0 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + 0.5 * inside


@lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: int) -> float:
    """The t that Student's variable stays below with this probability. ValueError outside of 0 to 1."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"a probability lies between 0 and 1, not {probability}")
    low, high = -0.5 * math.pi, 0.5 * math.pi  # t is the tangent of an angle, but for its unit
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = student_cdf(math.sqrt(freedom) * math.tan(middle), freedom) < probability
        low, high = (middle, high) if below else (low, middle)
    return math.sqrt(freedom) * math.tan(0.5 * (low + high))


def interval_of_mean(values: Sequence[float], more: float = 0.0) -> Interval:
    """The mean of two values or more with its 95 % interval, which `more` is added to on either side."""
    mean = fmean(values)
    half = student_quantile(0.975, len(values) - 1) * stdev(values) / math.sqrt(len(values)) + more
    return Interval(mean, mean - half, mean + half)
