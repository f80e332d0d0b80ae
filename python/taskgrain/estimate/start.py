"""Start and end of a run, apart from what its steps cost, and whether these cost more the longer it is.

A run of n tasks takes t(n) = S + n tau: S passes before the first task and after the last, whatever the run's
length. Two lengths at one size, in the same round, tell the two apart:

    S = (t(m) - r t(n)) / (1 - r),   r = m / n

The error of S is r times that of a run, so that the second run had better be short.

A task costs more the longer a run is, as where a scheduler keeps and searches all tasks, if the slopes

    (t(n) - t(m)) / (n - m),

in which S cancels, grow: those below and above a length have the ratio 2^(g d), where d is how many times the
run doubles between their middles. Up to the shortest run, S counts as a cost of its tasks, which can hide a
growth and makes none. Disturbed runs tell nothing: a short one falls between the disturbances more often
than a long one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.location import median as median_of
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.student import interval_of_mean
from taskgrain.words.interval import Interval

FEWEST_ROUNDS = 5
"""Two of these may be outliers: the median is none."""
MOST = 0.5
"""The share of a run that its start and end may take, so that the rest means something."""
_MOST = 0.9
"""The share beyond which they are surely overestimated."""


@dataclass(frozen=True)
class Start:
    """Start and end of a run, round by round: seconds."""

    of_round: Floats
    """Seconds [rounds x 1], in the order of the rounds; NaN where a round does not tell."""
    seconds: float
    """The median, 0 where too few rounds tell, or where a long run costs more by the task."""
    known: bool
    """True if enough rounds tell it."""

    @classmethod
    def of(cls, samples: Sequence[Sample], rounds: Sequence[int]) -> Start:
        """Estimates it from runs of both lengths; `rounds` are those of the table."""
        runs: dict[tuple[int, int, bool], list[Sample]] = defaultdict(list)
        for one in samples:
            runs[one.round, one.iterations, one.short].append(one)
        found = np.full((len(rounds), 1), np.nan)
        rows = {number: row for row, number in enumerate(rounds)}
        for (number, iterations, short), some in runs.items():
            longer = runs.get((number, iterations, False))
            if short and longer and some[0].tasks < longer[0].tasks:
                share = some[0].tasks / longer[0].tasks
                whole, part = (median(one.seconds for one in run) for run in (longer, some))
                found[rows[number], 0] = (part - share * whole) / (1.0 - share)
        known = int((~np.isnan(found)).sum()) >= FEWEST_ROUNDS
        return cls(found, float(_seconds(found)) if known else 0.0, known)

    def more(self, picks: NDArray[np.int64]) -> Floats:
        """The seconds by which it is longer in each resample of `picks` [resamples x rounds]."""
        if not self.known:
            return np.zeros(len(picks))
        return _seconds(self.of_round[picks]) - self.seconds

    def without(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples as if their runs had neither start nor end.

        Runs that were mostly start and end are left out; where all were, little of each is left.
        """
        if not self.seconds:
            return list(samples)
        kept = [one for one in samples if self.seconds <= MOST * one.seconds] or samples
        least = 1.0 - _MOST
        return [s.lasting(max(s.seconds - self.seconds, least * s.seconds)) for s in kept]


def _seconds(of_round: Floats) -> Floats:
    """Medians of rounds [... x rounds x 1], not below 0 [...]."""
    return np.maximum(np.nan_to_num(median_of(of_round)[..., 0], nan=0.0), 0.0)


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
