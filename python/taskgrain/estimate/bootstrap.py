"""Resampling: rounds drawn with replacement, and the interval that the resamples give.

Whole rounds are resampled, because what disturbs a round hits all of it. The interval takes Hesterberg's
expanded percentiles (The American Statistician 69(4), 2015, section 4.3), and is wider still below six
rounds, where even the range of a sample covers its median less than 95 % of the time.

Two things make a mean less sure than that. Neighbouring rounds may be alike (`inflated`). And where a process
lies in memory makes all of its tasks slower or quicker as long as it lives (`lasting`): if k processes served
n rounds, n_i each, their scatter sigma² stays in the mean with the share sum (n_i / n)², which is 1 / k if
they served alike. Resampling the rounds shows 1 / n of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.student import student_quantile
from taskgrain.words.interval import Interval

# Resamples of very few rounds scatter less than the rounds do: by so much, for normal samples, that the
# interval of two is Student's.
_STRETCH = {2: 1.65, 3: 2.2, 4: 1.4, 5: 1.12}
_LEAST_TAIL = 0.01
_ENDS = (0.01, 0.99)  # of the draws: one beyond them tells no more of the rounds that it is made of
WIDEST = math.log(1000.0)  # a bound further off, as one of two or three rounds may be, bounds nothing

CONFIDENCE = 0.95
"""The confidence of an interval where none is asked for."""


@dataclass(frozen=True)
class BootstrapSample:
    """A quantity as a logarithm, and the same of each resample."""

    value: float
    draws: Floats  # [resamples]
    picks: NDArray[np.int64]
    """The rounds of each resample [resamples x rounds]."""
    processes: tuple[NDArray[np.int64], ...] = ()
    """The process that served each round, of each system that it is made of."""
    systematic: float = 0.0
    """The half-width that more rounds do not make smaller."""

    def times(self, log: float, logs: Floats) -> BootstrapSample:
        """The product with something whose resamples are drawn alike [resamples]."""
        return replace(self, value=self.value + log, draws=self.draws + logs)

    def interval(self, rounds: int, confidence: float = CONFIDENCE) -> Interval:
        """The logarithm with its interval, wider where neighbouring rounds are alike, and by what processes
        differ by."""
        more = math.hypot(self.systematic, self.lasting(confidence))
        return interval(self.draws, self.value, rounds, confidence, inflation=self.inflation, systematic=more)

    @cached_property
    def influence(self) -> Floats:
        """The distance of each round from the others, as it bears on the value [rounds].

        It is what a resample moves by for each time that it holds the round: the infinitesimal jackknife of a
        bootstrap (Efron, J. Am. Stat. Assoc. 109, 2014).
        """
        rounds = self.picks.shape[1]
        known = self.draws[np.isfinite(self.draws)]
        if not known.size:
            return np.zeros(rounds)
        draws = np.clip(self.draws, *np.quantile(known, _ENDS))
        places = self.picks + rounds * np.arange(len(draws))[:, None]
        counts = np.bincount(places.ravel(), minlength=draws.size * rounds).reshape(-1, rounds)
        return np.asarray(rounds * (counts - 1.0).T @ (draws - draws.mean()) / len(draws))

    @property
    def inflation(self) -> float:
        """The factor by which correlation in time makes variances larger than those of independent rounds."""
        return inflated(self.influence)

    def lasting(self, confidence: float = CONFIDENCE) -> float:
        """The half-width of what processes differ by, and resampled rounds miss."""
        return math.hypot(*(lasting(self.influence, one, confidence) for one in self.processes))


def picked_rounds(rounds: int, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rounds drawn with replacement [resamples x rounds]."""
    return rng.integers(0, rounds, size=(resamples, rounds))


def interval(
    draws: Floats,
    value: float,
    rounds: int,
    confidence: float = CONFIDENCE,
    *,
    inflation: float = 1.0,
    systematic: float = 0.0,
) -> Interval:
    """`value` with its interval from its resamples, all logarithms; None where it has no bound.

    `rounds` is the number of rounds behind it; one says nothing about its own scatter. `inflation` is by how
    much their correlation makes the variance larger; `systematic` is the half-width of what no number of
    rounds makes smaller.
    """
    if rounds < 2:
        return Interval(value)
    # Hesterberg 2015, section 4.3: percentiles that give a mean of n the width of Student's interval.
    quantile = math.sqrt(rounds / (rounds - 1)) * student_quantile((1.0 - confidence) / 2.0, rounds - 1)
    tail = 0.5 * math.erfc(-quantile / math.sqrt(2.0))  # NormalDist().cdf, and exact far out
    ordered = np.sort(draws)
    # Percentiles that so few draws do not show are read off nearer ones, as a normal distribution's.
    shown = max(tail, _LEAST_TAIL)
    stretch = _STRETCH.get(rounds, 1.0) * math.sqrt(inflation)
    if tail < shown:
        stretch *= NormalDist().inv_cdf(max(tail, 1e-300)) / NormalDist().inv_cdf(shown)
    inner = math.floor(shown * (len(draws) - 1))  # outwards, for an infinite draw cannot be interpolated
    below, above = max(0.0, value - float(ordered[inner])), max(0.0, float(ordered[-1 - inner]) - value)
    below, above = math.hypot(stretch * below, systematic), math.hypot(stretch * above, systematic)
    low, high = (value - below if below < WIDEST else None), (value + above if above < WIDEST else None)
    return Interval(value, low, high)


_SERIES = 6
"""Rounds from which on a series tells how neighbours correlate."""
_USUAL_CORRELATION, _WORTH_ROUNDS = 0.1, 10
"""Correlation that is expected before there are rounds, and how many rounds that is worth: a short series
says 0.7 once in a while where nothing correlates."""
_MOST = 0.9
_ROUNDED = 1e-9
"""The scatter below which logarithms are equal, apart from rounding."""


def inflated(series: Floats) -> float:
    """(1 + rho) / (1 - rho), with rho the correlation of neighbours in a series of rounds; at least 1.

    The downward bias of rho in short series is taken out: Marriott & Pope, Biometrika 41, 1954.
    """
    rounds, off = len(series), series - series.mean()
    variance = float((off**2).mean())
    if rounds < _SERIES or not variance > _ROUNDED**2:
        return 1.0
    rho = (float((off[1:] * off[:-1]).mean()) / variance * rounds + 1.0) / (rounds - 3.0)
    rho = (rounds * min(max(rho, 0.0), _MOST) + _WORTH_ROUNDS * _USUAL_CORRELATION) / (rounds + _WORTH_ROUNDS)
    return (1.0 + rho) / (1.0 - rho)


_USUAL_SCATTER, _WORTH_PROCESSES = 0.03, 3
"""The standard deviation that is expected before there are processes, and how many of them it counts for."""


def lasting(off: Floats, process: NDArray[np.int64], confidence: float) -> float:
    """The half-width that is missing, of rounds that lie so far off [rounds].

    `process` tells the processes of the rounds apart [rounds]; rounds of 0, which is not known, do not count.
    Nothing is missing where every round had a process of its own; nothing is known where all had the same.
    """
    told = process != 0
    _, group, counts = np.unique(process[told], return_inverse=True, return_counts=True)
    rounds, processes = int(told.sum()), len(counts)
    if processes < 2 or processes == rounds:
        return 0.0
    missing = float(((counts / rounds) ** 2).sum()) - 1.0 / rounds
    freedom = processes - 1
    found = max(0.0, _between(off[told], group, counts))
    if found > _USUAL_SCATTER**2:
        # What is usual would narrow the interval. It counts for the freedom alone: one degree says nothing.
        variance, freedom = found, max(freedom, _WORTH_PROCESSES)
    else:
        variance = (_WORTH_PROCESSES * _USUAL_SCATTER**2 + freedom * found) / (_WORTH_PROCESSES + freedom)
        freedom += _WORTH_PROCESSES
    return student_quantile(0.5 + confidence / 2.0, freedom) * math.sqrt(variance * missing)


def _between(values: Floats, group: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """The variance between groups, that within them taken off (analysis of variance with random effects)."""
    rounds, groups = len(values), len(counts)
    means = np.bincount(group, values) / counts
    within = float(((values - means[group]) ** 2).sum()) / (rounds - groups)
    between = float((counts * (means - values.mean()) ** 2).sum()) / (groups - 1)
    return (between - within) / ((rounds - float((counts**2).sum()) / rounds) / (groups - 1))
