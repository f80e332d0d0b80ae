"""The ratio of two systems that were measured side by side, with its interval: pure functions.

Both sides are resampled by the same rounds. What a round, or the reference beside it, did to both sides then
cancels: the interval is that of the ratio, and narrower than the two sides' own intervals would suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from taskgrain.estimate.bootstrap import exp_or_none, interval, picked_rounds
from taskgrain.estimate.crossing import Crossing, crossing
from taskgrain.estimate.isotonic import Floats
from taskgrain.estimate.line import inflated
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import MOST as MOST_START
from taskgrain.estimate.table import Table

Quantity = Literal["metg", "overhead"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The first side divided by the second; `value` is None where one of the two has no number."""

    value: float | None
    low: float | None
    high: float | None
    """The interval; None where the data sets no bound."""
    rounds: int
    """That both sides have."""

    @property
    def decided(self) -> bool:
        """Whether the interval says that one side is larger. A missing bound is infinite."""
        return (self.low or 0.0) > 1.0 or (self.high is not None and self.high < 1.0)


def ratio(
    first: Sequence[Sample],
    second: Sequence[Sample],
    *,
    quantity: Quantity = "metg",
    threshold: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Ratio:
    """METG, or the overhead of a task, of the first side over that of the second.

    Only rounds that both sides have count. Raises ValueError for samples that make no sense.
    """
    common = {one.round for one in first if not one.short} & {one.round for one in second if not one.short}
    if not common:
        return Ratio(None, None, None, 0)
    rounds = len(common)
    picks = picked_rounds(rounds, resamples, np.random.default_rng(seed))
    sides = []
    for side in (first, second):
        table = Table.of([one for one in side if one.round in common])
        found = crossing(table, picks, threshold)
        if found is None or table.start_share > MOST_START:
            return Ratio(None, None, None, rounds)
        sides.append(found)
    (over, over_draws, over_unsure), (under, under_draws, under_unsure) = (
        _values(one, quantity, threshold) for one in sides
    )
    if not (math.isfinite(over) and math.isfinite(under)):
        return Ratio(None, None, None, rounds)
    with np.errstate(invalid="ignore"):
        logs = over_draws - under_draws
    # Where both lie beyond all sizes, a resample sets no bound on either side.
    lost = np.isnan(logs)
    value = over - under
    widening = {
        "inflation": inflated(_mean(sides[0].line.off) - _mean(sides[1].line.off)),
        "systematic": math.hypot(over_unsure, under_unsure),
    }
    low, _ = interval(np.where(lost, -np.inf, logs), value, rounds, confidence, **widening)
    _, high = interval(np.where(lost, np.inf, logs), value, rounds, confidence, **widening)
    return Ratio(math.exp(value), exp_or_none(low), exp_or_none(high), rounds)


def _mean(off: Floats) -> Floats:
    """How far the runs of each round lie off the line in the mean [rounds x 1]."""
    known = ~np.isnan(off)
    count = known.sum(axis=1, keepdims=True)
    return np.where(count, np.nansum(off, axis=1, keepdims=True) / np.maximum(count, 1), np.nan)


def _values(side: Crossing, quantity: Quantity, threshold: float) -> tuple[float, Floats, float]:
    """The quantity, its resamples, and the half-width that more rounds do not make smaller."""
    if quantity == "overhead":
        return side.line.overhead, side.line.overhead_draws, side.line.systematic(threshold)
    return side.metg, side.metg_draws, side.systematic
