"""The ratio of two METGs that were measured side by side, with its interval: pure functions.

Both sides are resampled by the same rounds and the same measurements of the reference. What a round, or the
reference, did to both sides then cancels: the interval is that of the ratio, and narrower than the two METGs'
own intervals would suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.bootstrap import (
    exp_or_none,
    interval,
    picked_rounds,
    reference_table,
    resampled_log_peaks,
    resampled_medians,
)
from taskgrain.estimate.metg import Metg, estimate, log_metg
from taskgrain.estimate.samples import Sample, Table


@dataclass(frozen=True, slots=True)
class Ratio:
    """The first METG divided by the second; `value` is None where one of the two has no number."""

    value: float | None
    low: float | None
    high: float | None
    """The interval; None where the data sets no bound."""
    rounds: int
    """That both sides have."""
    first: Metg
    second: Metg
    """Each side over the rounds that both have."""


def ratio(
    first: Sequence[Sample],
    second: Sequence[Sample],
    reference: ArrayLike,
    *,
    threshold: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Ratio:
    """METG of the first side over METG of the second, from the rounds that both have.

    `reference` holds the rates [measurements x cores] that both sides are measured against.
    Raises ValueError where no round is common to both, and for what `estimate` refuses.
    """
    common = {one.round for one in first} & {one.round for one in second}
    if not common:
        raise ValueError("a ratio needs rounds that both sides have")
    sides = [[one for one in side if one.round in common] for side in (first, second)]
    found = [
        estimate(side, reference, threshold=threshold, confidence=confidence, resamples=resamples, seed=seed)
        for side in sides
    ]
    over, under = found
    if over.metg is None or under.metg is None:
        return Ratio(None, None, None, len(common), over, under)
    rng = np.random.default_rng(seed)
    tables = [Table.of(side) for side in sides]
    log_peaks = resampled_log_peaks(reference_table(reference), resamples, rng)
    picks = picked_rounds(tables[0], resamples, rng)
    drawn = [
        log_metg(table, resampled_medians(table, picks), log_peaks, math.log(threshold)) for table in tables
    ]
    value = math.log(over.metg / under.metg)
    with np.errstate(invalid="ignore"):
        logs = drawn[0] - drawn[1]
    # Where both lie beyond all sizes, a resample sets no bound on either side.
    lost = np.isnan(logs)
    low, _ = interval(np.where(lost, -np.inf, logs), value, len(common), confidence)
    _, high = interval(np.where(lost, np.inf, logs), value, len(common), confidence)
    return Ratio(math.exp(value), exp_or_none(low), exp_or_none(high), len(common), over, under)
