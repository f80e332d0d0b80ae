"""The efficiency curve around the threshold as a straight line.

A task whose work alone would take c, and that takes t, has the efficiency E = c / t. Where the overhead a of
a task does not depend on its size, and the kernel beside others runs at the share e of its speed alone,

    t = a + c / e,   so   1 / E = 1 / e + a / c:   a line in 1 / c,

whatever the clock was: a run on slower cores has a larger c and a larger E, on the same line. A system that
hides its overhead behind the work (t = a up to some size) lies on it too, with 1 / e = 0. From the line come
METG(x) = a / (1 - x / e) and the overhead a. It is fitted to the sizes' locations, each weighted by how near
its efficiency is to the threshold. If the sizes do not lie on a line by more than they scatter, only the
nearer ones count, and what is left of the misfit widens the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.autocorrelation import inflated
from taskgrain.estimate.bootstrap import BootstrapSample
from taskgrain.estimate.isotonic import Floats
from taskgrain.estimate.processes import lasting
from taskgrain.estimate.table import Table

_WINDOWS = (1.5, 0.8, 0.4, 0.2)
"""How far from the threshold a size counts, as the standard deviation of a bell over logits of efficiency."""
_LEAST_WEIGHT = 0.03
_FITS = 2.0
"""A line fits if its squared misfit is less than this multiple of what the scatter explains."""


@dataclass(frozen=True)
class Crossing:
    """METG and the overhead of a task: logarithms of seconds of a core, infinite beyond all sizes."""

    metg: BootstrapSample
    overhead: BootstrapSample


@dataclass(frozen=True)
class _Fit:
    overhead: Floats  # [rows], a in seconds
    slowing: Floats  # [rows], 1 / e

    def log_metg(self, threshold: float) -> Floats:
        reached = 1.0 - threshold * self.slowing
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(self.overhead / reached)
        return np.where(reached <= 0.0, np.inf, np.where(self.overhead <= 0.0, -np.inf, found))

    def off(self, log_alone: Floats, log_efficiency: Floats) -> Floats:
        """How far efficiencies [... x sizes] lie above the line, relative to themselves."""
        expected = self.slowing[:, None] + self.overhead[:, None] * np.exp(-log_alone)
        return np.asarray(expected * np.exp(log_efficiency) - 1.0)


def line(table: Table, picks: NDArray[np.int64], threshold: float) -> Crossing | None:
    """What the line of the sizes that take part in the fit says; `picks` are rounds [resamples x rounds].

    None where fewer than two sizes lie near enough to the threshold.
    """
    used = table.fit
    at_t, at_e = (one[used] for one in table.locations())
    resampled_t, resampled_e = (one[:, used] for one in table.locations(picks))
    alone, resampled_alone = at_t + at_e, resampled_t + resampled_e  # log c
    level = np.clip(np.exp(at_e), 1e-9, 0.99)
    distance = np.log(level / (1.0 - level)) - math.log(threshold / (1.0 - threshold))
    efficiency = table.log_efficiency[:, used]
    runs_alone = table.log_granularity[:, used] + efficiency
    slope = 1.0 / (1.0 - threshold)  # METG moves by so much of what the efficiency does
    found: Crossing | None = None
    for window in _WINDOWS:
        near = np.exp(-0.5 * (distance / window) ** 2)
        near = np.where(near < _LEAST_WEIGHT, 0.0, near) * table.rounds[used]
        if np.count_nonzero(near) < (2 if found is None else 3):
            continue
        weights = near * level**2
        fit = _fitted(alone[None], at_e[None], weights)
        resampled = _fitted(resampled_alone, resampled_e, weights)
        off = fit.off(runs_alone, efficiency)[:, near > 0.0]
        left = float(near @ fit.off(alone[None], at_e[None])[0] ** 2)
        explained = float(near @ resampled.off(resampled_alone, resampled_e).var(axis=0)) * inflated(off)
        fits = left <= _FITS * explained
        misfit = 0.0 if fits else math.sqrt((left - explained) / near.sum())
        unsure = 3.0 * misfit / (1.0 - threshold)  # three standard deviations
        if found is None or unsure < found.metg.systematic:
            kept = (lasting(off, table.process, slope),)
            # Both are work over the rate of the cores. A clock hardly moves the first, but the second.
            peak = table.log_peak[:, used][:, near > 0.0]
            apart = slope * off + peak - np.nanmean(peak, axis=0)
            metg, overhead = (  # at no work, a task is all overhead
                BootstrapSample(float(fit.log_metg(x)[0]), resampled.log_metg(x), apart, kept, unsure)
                for x in (threshold, 0.0)
            )
            found = Crossing(metg, overhead)
        if fits:
            break
    return found


def _fitted(log_alone: Floats, log_efficiency: Floats, weights: Floats) -> _Fit:
    """Weighted least squares of 1 / efficiency over 1 / c, row by row [rows x sizes]."""
    u, y = np.exp(-log_alone), np.exp(-log_efficiency)
    total = weights.sum()
    u_mean, y_mean = u @ weights / total, y @ weights / total
    du, dy = u - u_mean[:, None], y - y_mean[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        overhead = ((du * dy) @ weights) / ((du * du) @ weights)
    overhead = np.nan_to_num(overhead, nan=0.0, posinf=0.0, neginf=0.0)
    return _Fit(overhead, y_mean - overhead * u_mean)
