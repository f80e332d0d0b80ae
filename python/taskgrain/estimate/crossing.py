"""METG and the overhead of a task, read off a table: by the line of the sizes, or between two of them.

Where the sizes lie on a line, all of them inform METG. Where they do not, as with an overhead that changes at
some size, METG lies between the two sizes whose efficiencies enclose the threshold, and what the curve does
between these is not known: a quarter of the way from one to the other is added to either side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.isotonic import Floats, centred_isotonic, crossings
from taskgrain.estimate.line import inflated, line
from taskgrain.estimate.table import Table

_UNKNOWN = 0.25
"""Of the distance of two sizes, what METG between them is unsure by."""


@dataclass(frozen=True)
class Crossing:
    """What a table says, and its resamples: logarithms, infinite where it lies beyond all sizes."""

    metg: float
    metg_draws: Floats  # [resamples]
    systematic: float
    """The half-width of METG that more rounds do not make smaller."""
    overhead: float
    overhead_draws: Floats  # [resamples]
    overhead_systematic: float
    off: Floats
    """How far the runs lie off the line [rounds x sizes]; NaN where there is none."""

    @property
    def inflation(self) -> float:
        """By how much correlation in time makes variances larger than independent rounds would have them."""
        return inflated(self.off)


def crossing(table: Table, picks: NDArray[np.int64], threshold: float) -> Crossing | None:
    """The crossing; `picks` are rounds [resamples x rounds]. None where no line can be laid through sizes."""
    found = line(table, picks, threshold)
    if found is None:
        return None
    metg, draws, unsure = found.metg, found.metg_draws, found.systematic(threshold)
    if unsure > 0.0 and math.isfinite(metg):
        place, gap = _between(table, table.locations(), threshold)
        if math.isfinite(place[0]) and _UNKNOWN * gap < unsure:
            metg, unsure = float(place[0]), _UNKNOWN * gap
            draws, _ = _between(table, table.locations(picks), threshold)
    return Crossing(
        metg, draws, unsure, found.overhead, found.overhead_draws, found.systematic(threshold), found.off
    )


def _between(table: Table, located: tuple[Floats, Floats], threshold: float) -> tuple[Floats, float]:
    """Log METG between the sizes around the threshold [rows], and how far their granularities are apart.

    `located` are log granularity and log efficiency, [sizes] or [rows x sizes].
    """
    used = table.fit
    granularity, efficiency = (np.atleast_2d(one)[:, used] for one in located)
    log_work, weights = table.log_work[used], table.rounds[used].astype(float)
    log_target = math.log(threshold)
    at = crossings(*centred_isotonic(log_work, efficiency, weights), log_target)
    near = np.exp(-np.abs(efficiency - log_target)) * weights
    # E = c / t, so that METG is the time c of the work at the crossing, alone, over the threshold.
    log_peak = ((log_work - granularity - efficiency) * near).sum(axis=1) / near.sum(axis=1)
    right = int(np.clip(np.searchsorted(log_work, at[0]), 1, len(log_work) - 1))
    gap = abs(float(granularity[0, right] - granularity[0, right - 1]))
    return at - log_peak - log_target, gap
