"""Resampling: rounds drawn with replacement, and the interval that the resamples give.

Whole rounds are resampled, because what disturbs a round hits all of it. The interval takes Hesterberg's
expanded percentiles (The American Statistician 69(4), 2015, section 4.3), and is wider still below six
rounds, where even the range of a sample covers its median less than 95 % of the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.autocorrelation import inflated
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.processes import lasting
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
