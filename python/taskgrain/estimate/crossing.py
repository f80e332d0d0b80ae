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

from taskgrain.estimate.bootstrap import BootstrapSample
from taskgrain.estimate.isotonic import Floats, centred_isotonic, crossings
from taskgrain.estimate.line import Line, inflated, line
from taskgrain.estimate.processes import Lasting
from taskgrain.estimate.table import Table

_FAR = math.log(2.0)
"""A line that crosses so far from where the sizes do is no description of them."""
_UNKNOWN = 0.25
"""METG between two sizes is unsure by this share of their distance."""


@dataclass(frozen=True)
class Crossing:
    """METG and its resamples: logarithms of seconds of a core, infinite beyond all sizes."""

    metg: float
    metg_draws: Floats  # [resamples]
    systematic: float
    """The half-width of METG that more rounds do not make smaller."""
    line: Line
    """The line of the sizes, which the overhead is read off in any case."""
    off: Floats
    """How far the runs of sizes near the threshold lie off in the logarithm of a rate [rounds x sizes]."""
    lasting: Lasting
    """What processes differ by, and the rounds do not show: of METG."""

    def sample(self, factor: float = 0.0) -> BootstrapSample:
        """METG with its resamples, times the factor that `factor` is the logarithm of."""
        return BootstrapSample(
            self.metg + factor,
            self.metg_draws + factor,
            self.systematic,
            self.off,
            (self.lasting,),
        )

    @property
    def inflation(self) -> float:
        """By how much correlation in time makes variances larger than independent rounds would have them."""
        return inflated(self.off)


def crossing(table: Table, picks: NDArray[np.int64], threshold: float) -> Crossing | None:
    """The crossing; `picks` are rounds [resamples x rounds].

    None where the sizes all lie on one side of the threshold, where no line can be laid through them, and
    where it crosses so far from the curve that it is no description of it.
    """
    found = line(table, picks, threshold)
    between = _Between.of(table, table.locations(), threshold)
    if found is None or not between.enclosed or abs(found.metg - between.metg[0]) >= _FAR:
        return None
    metg, draws, unsure = found.metg, found.metg_draws, found.systematic(threshold)
    if _UNKNOWN * between.gap < unsure:
        metg, unsure = float(between.metg[0]), _UNKNOWN * between.gap
        draws = _Between.of(table, table.locations(picks), threshold).metg
    # METG is the work at the crossing over the rate of the cores: a clock hardly moves the first.
    slope = 1.0 / (1.0 - threshold)
    peak = table.log_peak[:, found.near]
    off = slope * found.off + peak - np.nanmean(peak, axis=0)
    return Crossing(metg, draws, unsure, found, off, found.lasting.times(slope))


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
        curve = centred_isotonic(log_work, efficiency, weights)
        at = crossings(*curve, target)
        near = np.exp(-np.abs(efficiency - target)) * weights
        # E = c / t, so that METG is the time c of the work at the crossing, alone, over the threshold. Where
        # the overhead falls, a larger size may be quicker, and is METG.
        log_peak = ((log_work - granularity - efficiency) * near).sum(axis=1) / near.sum(axis=1)
        quickest = np.where(efficiency >= target, granularity, np.inf).min(axis=1)
        metg = np.where(np.isfinite(at), np.minimum(at - log_peak - target, quickest), at)
        right = int(np.clip(np.searchsorted(log_work, at[0]), 1, len(log_work) - 1))
        return cls(
            metg,
            bool((curve[1][0] < target).any() and (curve[1][0] >= target).any()),
            float(log_work[right] - log_work[right - 1]),
        )
