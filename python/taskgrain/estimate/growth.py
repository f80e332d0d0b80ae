"""Tells whether a task costs more the longer a run is, as where a scheduler keeps and searches all tasks.

Runs of several lengths at one size, in one round, tell it. Between two lengths a task costs the slope

    (t(n) - t(m)) / (n - m),

in which start and end of a run cancel. The slopes below and above a length have the ratio 2^(g d), where d is
how many times the run doubles between their middles. Up to the shortest run start and end count as a cost of
its tasks, which can hide a growth and makes none. Disturbed runs tell nothing: a short one falls between the
disturbances more often than a long one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from taskgrain.estimate.sample import Sample
from taskgrain.estimate.student import interval_of_mean
from taskgrain.words.interval import Interval

_FEWEST = {3: 3, 2: 5}
"""Rounds, by the number of lengths that they have: three tell more."""


def growth(samples: Sequence[Sample], longer: Sequence[Sample] = ()) -> Interval:
    """The factor by which a task costs more in a run twice as long, from runs of two lengths, and `longer`
    ones where there are any; nothing if too few rounds tell."""
    runs: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in (one for one in (*samples, *longer) if not one.disturbed):
        runs[one.round, one.iterations][one.tasks].append(one.seconds)
    for lengths, fewest in _FEWEST.items():
        logs = [_log_growth(some) for some in runs.values() if len(some) == lengths]
        told = [log for log in logs if log is not None]
        if len(told) >= fewest:
            return interval_of_mean(told).exp()
    return Interval()


def _log_growth(seconds: dict[int, list[float]]) -> float | None:
    """The logarithm of a round's factor, from seconds by tasks; None where a longer run took less time."""
    points = [(0, 0.0), *sorted((tasks, median(some)) for tasks, some in seconds.items())][-3:]
    below, above = ((t1 - t0) / (n1 - n0) for (n0, t0), (n1, t1) in pairwise(points))
    (first, _), (middle, _), (last, _) = points
    if below <= 0.0 or above <= 0.0:
        return None
    return math.log(above / below) / math.log2((middle + last) / (first + middle))
