"""Resampling: medians over rounds, the reference's peak, and the interval that the resamples give.

Whole rounds are resampled, because drift hits a round as a whole. The interval takes Hesterberg's expanded
percentiles (The American Statistician 69(4), 2015, section 4.3), and is wider still below six rounds, where
even the range of a sample covers its median less than 95 % of the time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taskgrain.estimate.isotonic import Floats
from taskgrain.estimate.samples import Table
from taskgrain.estimate.student import normal_cdf, student_quantile

Interval = tuple[float | None, float | None]
"""Low and high end; None where the data sets no bound."""

PEAK_QUANTILE = 0.75

# Below FEW_ROUNDS the bootstrap's extremes are stretched by t(0.975, n-1) * sd(median of n) / (half the
# expected range of n), all for a normal sample; for n = 2 that is Student's interval itself.
_STRETCH = {2: 12.7, 3: 3.4, 4: 1.9, 5: 1.35}
_WIDEST = math.log(1000.0)  # a bound further off, as one of two or three rounds may be, bounds nothing


def peak_rate(rates: ArrayLike) -> float:
    """The session's reference in work per second and core, from rates [measurements x cores].

    The upper quartile of each core over the session, averaged over the cores. High, because a disturbance
    only ever slows the kernel down; not the best, because one lucky clock state would then set the scale for
    everything; core by core, because an interrupt hits one core at a time and cores may differ in kind.
    Raises ValueError for an empty table or a rate that is not a positive number.
    """
    return float(np.quantile(reference_table(rates), PEAK_QUANTILE, axis=0).mean())


def reference_table(rates: ArrayLike) -> Floats:
    table = np.atleast_2d(np.asarray(rates, dtype=float))
    if table.ndim != 2 or table.size == 0 or not (np.isfinite(table) & (table > 0.0)).all():
        raise ValueError("the reference must be a table [measurements x cores] of positive rates")
    return table


def picked_rounds(table: Table, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    rounds = len(table.log_granularity)
    return rng.integers(0, rounds, size=(resamples, rounds))


def resampled_medians(table: Table, picks: NDArray[np.int64]) -> Floats:
    """Medians [resamples x sizes] of log granularity over the rounds picked [resamples x rounds]."""
    drawn = np.sort(table.log_granularity.T[:, picks], axis=2)  # [sizes x resamples x rounds], NaN last
    count = (~np.isnan(drawn)).sum(axis=2)
    low = np.take_along_axis(drawn, np.maximum(count - 1, 0)[..., None] // 2, axis=2)
    high = np.take_along_axis(drawn, (count // 2)[..., None], axis=2)
    middle = np.asarray(0.5 * (low + high)[..., 0].T)
    # A size added late may be missing from a resample altogether; it then says what it says in all of them.
    return np.where(np.isnan(middle), table.medians, middle)


def resampled_log_peaks(table: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    # A long session on many cores has a large table, and then little uncertainty: fewer resamples do.
    count = int(np.clip(200_000 // table.size, 50, resamples))
    drawn = table[rng.integers(0, len(table), size=(count, len(table)))]
    peaks = np.quantile(drawn, PEAK_QUANTILE, axis=1).mean(axis=1)
    return np.log(np.resize(peaks, resamples))


def interval(draws: Floats, value: float, rounds: int, confidence: float) -> Interval:
    """The interval of `value` from its resamples, all logarithms; None where it has no bound.

    `rounds` is the number of independent observations behind it; one says nothing about its own scatter.
    """
    if rounds < 2:
        return None, None
    # Hesterberg 2015, section 4.3: percentiles that give a mean of n the width of Student's interval.
    tail = normal_cdf(
        math.sqrt(rounds / (rounds - 1)) * student_quantile((1.0 - confidence) / 2.0, rounds - 1)
    )
    ordered = np.sort(draws)
    inner = math.floor(tail * (len(draws) - 1))  # outwards, for an infinite draw cannot be interpolated
    low, high = min(value, float(ordered[inner])), max(value, float(ordered[-1 - inner]))
    stretch = _STRETCH.get(rounds, 1.0)
    low, high = value + stretch * (low - value), value + stretch * (high - value)
    return (low if value - low < _WIDEST else None), (high if high - value < _WIDEST else None)


def exp_or_none(value: float | None) -> float | None:
    return None if value is None else math.exp(value)
