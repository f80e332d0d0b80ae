"""METG and the overhead of a task, read off a table: by the line of the sizes, or between two of them.

Where the sizes lie on a line, all of them inform METG. Where they do not, as with an overhead that changes at
some size, METG lies between the two sizes whose efficiencies enclose the threshold, and what the curve does
between these is not known: a quarter of the way from one to the other is added to either side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.isotonic import Floats, around, centred_isotonic, crossings
from taskgrain.estimate.line import Crossing, line
from taskgrain.estimate.table import Table

_FAR = math.log(2.0)
"""A line that crosses so far from where the sizes do is no description of them."""
_UNKNOWN = 0.25
"""METG between two sizes is unsure by this share of their distance."""


def crossing(table: Table, picks: NDArray[np.int64], threshold: float) -> Crossing | None:
    """The crossing; `picks` are rounds [resamples x rounds].

    None where the sizes all lie on one side of the threshold, where no line can be laid through them, and
    where it crosses so far from the curve that it is no description of it.
    """
    found = line(table, picks, threshold)
    between = _Between.of(table, table.locations(), threshold)
    if found is None or not between.enclosed or abs(found.metg.value - between.metg[0]) >= _FAR:
        return None
    unsure = _UNKNOWN * between.gap
    if unsure >= found.metg.systematic:
        return found
    draws = _Between.of(table, table.locations(picks), threshold).metg
    return replace(
        found, metg=replace(found.metg, value=float(between.metg[0]), draws=draws, systematic=unsure)
    )


def monotone_curve(table: Table, efficiency: Floats) -> tuple[Floats, Floats]:
    """Log work and log efficiency [rows x points] of the sizes that take part in the fit, made monotone;
    `efficiency` is [sizes] or [rows x sizes]."""
    used = table.fit
    rows = np.atleast_2d(efficiency)[:, used]
    return centred_isotonic(table.log_work[used], rows, table.rounds[used].astype(float))


@dataclass(frozen=True)
class _Between:
    """METG between the two sizes around the threshold, as the monotone curve through all sizes has it."""

    metg: Floats  # [rows], logarithms
    enclosed: bool
    """True if the curve of the first row crosses the threshold between two sizes."""
    gap: float
    """How far apart the sizes around its crossing are, as a logarithm."""

    @classmethod
    def of(cls, table: Table, located: tuple[Floats, Floats], threshold: float) -> _Between:
        """`located` are log granularity and log efficiency, [sizes] or [rows x sizes]."""
        used = table.fit
        granularity, efficiency = (np.atleast_2d(one)[:, used] for one in located)
        log_work, weights = table.log_work[used], table.rounds[used].astype(float)
        target = math.log(threshold)
        curve = monotone_curve(table, located[1])
        at = crossings(*curve, target)
        near = np.exp(-np.abs(efficiency - target)) * weights
        # E = c / t, so that METG is the time c of the work at the crossing, alone, over the threshold. Where
        # the overhead falls, a larger size may be quicker, and is METG.
        log_peak = ((log_work - granularity - efficiency) * near).sum(axis=1) / near.sum(axis=1)
        quickest = np.where(efficiency >= target, granularity, np.inf).min(axis=1)
        metg = np.where(np.isfinite(at), np.minimum(at - log_peak - target, quickest), at)
        left, right = around(log_work, float(at[0]))
        return cls(
            metg,
            bool((curve[1][0] < target).any() and (curve[1][0] >= target).any()),
            float(log_work[right] - log_work[left]),
        )
