"""METG and the overhead of a task, read off a table: by the line of the sizes, or between two of them.

Where the sizes lie on a line, all of them inform METG. Where they do not, as with an overhead that changes at
some size, METG lies between the two sizes whose efficiencies enclose the threshold, and what the curve does
between these is not known: a quarter of the way from one to the other is added to either side.
"""

from __future__ import annotations

import math
from dataclasses import replace

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
    found, target = line(table, picks, threshold), math.log(threshold)
    (metg,), at = _between(table, table.locations(), target)
    reached = monotone_curve(table, table.locations()[1])[1] >= target
    if found is None or not reached.any() or reached.all() or abs(found.metg.value - metg) >= _FAR:
        return None
    log_work = table.log_work[table.fit]
    left, right = around(log_work, at)
    unsure = _UNKNOWN * float(log_work[right] - log_work[left])
    if unsure >= found.metg.systematic:
        return found
    draws, _ = _between(table, table.locations(picks), target)
    return replace(found, metg=replace(found.metg, value=float(metg), draws=draws, systematic=unsure))


def monotone_curve(table: Table, efficiency: Floats) -> tuple[Floats, Floats]:
    """Log work and log efficiency [rows x points] of the sizes that take part in the fit, made monotone;
    `efficiency` is [sizes] or [rows x sizes]."""
    used = table.fit
    rows = np.atleast_2d(efficiency)[:, used]
    return centred_isotonic(table.log_work[used], rows, table.rounds[used].astype(float))


def _between(table: Table, located: tuple[Floats, Floats], target: float) -> tuple[Floats, float]:
    """METG [rows] between the two sizes around the threshold, as the monotone curve through all sizes has it,
    and the work where the first row crosses: all logarithms, as the threshold `target` is.

    `located` are log granularity and log efficiency, [sizes] or [rows x sizes].
    """
    used = table.fit
    granularity, efficiency = (np.atleast_2d(one)[:, used] for one in located)
    at = crossings(*monotone_curve(table, located[1]), target)
    near = np.exp(-np.abs(efficiency - target)) * table.rounds[used]
    # E = c / t, so that METG is the time c of the work at the crossing, alone, over the threshold. Where the
    # overhead falls, a larger size may be quicker, and is METG.
    log_peak = ((table.log_work[used] - granularity - efficiency) * near).sum(axis=1) / near.sum(axis=1)
    quickest = np.where(efficiency >= target, granularity, np.inf).min(axis=1)
    return np.where(np.isfinite(at), np.minimum(at - log_peak - target, quickest), at), float(at[0])
