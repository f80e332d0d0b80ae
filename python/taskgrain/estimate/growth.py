"""Whether a task costs more the longer a run is, as where a scheduler keeps and searches all tasks.

Runs of several lengths at one size, in one round, tell it. Between two lengths a task costs the slope

    (t(n) - t(m)) / (n - m),

in which start and end of a run cancel. The slopes below and above a length have the ratio 2^(g d), where d is
how many times the run doubles between their middles. Up to the shortest run start and end count as a cost of
its tasks, which can hide a growth and makes none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev

from taskgrain.estimate.sample import Sample
from taskgrain.estimate.student import student_quantile
from taskgrain.words.interval import Interval

_FEWEST = {3: 3, 2: 5}
"""Rounds, by the number of lengths that they have: three tell more."""


@dataclass(frozen=True)
class Growth:
    """By what factor a task costs more where a run is twice as long."""

    factor: Interval
    tasks: int
    """Those of the runs that METG is read off."""


def growth(
    samples: Sequence[Sample], longer: Sequence[Sample] = (), confidence: float = 0.95
) -> Growth | None:
    """From runs of two lengths, and `longer` ones where there are any; None if too few rounds tell."""
    runs: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in (*samples, *longer):
        runs[one.round, one.iterations][one.tasks].append(one.seconds)
    sizes = {one.iterations for one in samples if one.short}
    for lengths, fewest in _FEWEST.items():
        told = [
            log for some in runs.values() if len(some) == lengths and (log := _log_growth(some)) is not None
        ]
        if len(told) >= fewest:
            half = (
                student_quantile(0.5 + confidence / 2.0, len(told) - 1) * stdev(told) / math.sqrt(len(told))
            )
            found = Interval(fmean(told), fmean(told) - half, fmean(told) + half)
            tasks = (one.tasks for one in samples if one.iterations in sizes and not one.short)
            return Growth(found.exp(), round(median(tasks)))
    return None


def _log_growth(seconds: dict[int, list[float]]) -> float | None:
    """Of one round, by tasks: the logarithm of the factor; None where a longer run took less time."""
    points = [(0, 0.0), *sorted((tasks, median(some)) for tasks, some in seconds.items())][-3:]
    below, above = ((t1 - t0) / (n1 - n0) for (n0, t0), (n1, t1) in pairwise(points))
    (first, _), (middle, _), (last, _) = points
    if below <= 0.0 or above <= 0.0:
        return None
    return math.log(above / below) / math.log2((middle + last) / (first + middle))
