"""METG and the overhead of a task, read off a straight line through the sizes around the threshold.

A task whose work alone would take c, and that takes t, has the efficiency E = c / t. Where the overhead a of
a task does not depend on its size, and the kernel beside others runs at the share e of its speed alone,

    t = a + c / e,   so   1 / E = 1 / e + a / c:   a line in 1 / c,

also where a neighbour slows the kernel alone: c and E are larger then, on the same line. A system that
hides its overhead behind the work (t = a up to some size) lies on it too, with 1 / e = 0. From the line come
METG(x) = a / (1 - x / e) and the overhead a. It is fitted to the sizes' locations, each weighted by how near
its efficiency is to the threshold. If the sizes do not lie on a line by more than they scatter, only the
nearer ones count, and what is left of the misfit widens the interval. Where more is left than a quarter of
the way between the two sizes around the threshold, as with an overhead that changes at some size, the line is
that through these two. What the curve does between them is not known, and this quarter is added to either
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import BootstrapSample
from taskgrain.estimate.monotone import Floats, monotone, place_of
from taskgrain.estimate.table import Table

_WINDOWS = (1.5, 0.8, 0.4, 0.2)
"""Widths of the window of sizes that count: standard deviations of a bell over logits of efficiency."""
_LEAST_WEIGHT, _LEAST_SIZES = 0.03, 3
_FITS = 2.2
"""A line fits if its squared misfit is less than this multiple of what the scatter explains."""
_FAR = math.log(2.0)
"""A line that crosses so far from where the two sizes do is no description of them."""
UNKNOWN = 0.25
"""METG between two sizes is unsure by this share of their distance."""


@dataclass(frozen=True)
class Crossing:
    """METG and the overhead of a task: logarithms of seconds of a core."""

    metg: BootstrapSample
    overhead: BootstrapSample


@dataclass(frozen=True)
class _Line:
    overhead: Floats  # [rows], a in seconds
    slowing: Floats  # [rows], 1 / e

    @classmethod
    def of(cls, log_alone: Floats, log_efficiency: Floats, weights: Floats) -> _Line:
        """Weighted least squares of 1 / efficiency over 1 / c, row by row [rows x sizes]."""
        u, y = np.exp(-log_alone), np.exp(-log_efficiency)
        share = weights / weights.sum(axis=1, keepdims=True)
        u_mean, y_mean = (share * u).sum(axis=1), (share * y).sum(axis=1)
        du, dy = u - u_mean[:, None], y - y_mean[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            overhead = (share * du * dy).sum(axis=1) / (share * du * du).sum(axis=1)
        overhead = np.nan_to_num(overhead, nan=0.0, posinf=0.0, neginf=0.0)
        return cls(overhead, y_mean - overhead * u_mean)

    def log_metg(self, threshold: float) -> Floats:
        reached = 1.0 - threshold * self.slowing
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(self.overhead / reached)
        return np.where(reached <= 0.0, np.inf, np.where(self.overhead <= 0.0, -np.inf, found))

    def log_overhead(self, threshold: float) -> Floats:
        """The overhead, never above METG: no task without work takes longer than one with it, whatever a line
        through a jump says."""
        return np.minimum(self.log_metg(0.0), self.log_metg(threshold))

    def off(self, log_alone: Floats, log_efficiency: Floats) -> Floats:
        """The distances of efficiencies [... x sizes] above the line, relative to themselves."""
        expected = self.slowing[:, None] + self.overhead[:, None] * np.exp(-log_alone)
        return np.asarray(expected * np.exp(log_efficiency) - 1.0)


def crossing(table: Table, picks: NDArray[np.int64], threshold: float) -> Crossing | None:
    """The crossing; `picks` are the rounds of its resamples [resamples x rounds].

    None where the sizes all lie on one side of the threshold.
    """
    used, target = table.fit, math.log(threshold)
    log_work, rounds = table.log_work[used], table.rounds[used]
    at = crossing_work(table, target)
    if not math.isfinite(at):
        return None
    at_t, at_e = (one[None, used] for one in table.located)
    resampled_t, resampled_e = (one[:, used] for one in table.resampled(picks))
    alone, resampled_alone = at_t + at_e, resampled_t + resampled_e  # log c
    level = np.clip(np.exp(at_e), 1e-9, 0.99)
    distance = np.log(level / (1.0 - level)) - math.log(threshold / (1.0 - threshold))
    slope = 1.0 / (1.0 - threshold)  # METG moves by so much of what the efficiency does
    found: Crossing | None = None
    for window in (*_WINDOWS, None):
        if window:
            bell = np.exp(-0.5 * (distance / window) ** 2)
            curve, curves = at_e, resampled_e
            near: Floats = np.where(bell < _LEAST_WEIGHT, 0.0, bell) * rounds
            nears = near
            if np.count_nonzero(near) < _LEAST_SIZES:
                continue
        else:
            curve, curves = monotone(at_e, rounds), monotone(resampled_e, rounds)
            near, nears = _beside(curve, target), _beside(curves, target)
        fit = _Line.of(alone, curve, near * level**2)
        lines = _Line.of(resampled_alone, curves, nears * level**2)
        if window:
            misses = (near * fit.off(alone, at_e) ** 2).sum()
            explained = (near * lines.off(resampled_alone, resampled_e).var(axis=0)).sum()
            fits = misses <= _FITS * explained
            unsure = 0.0 if fits else 3.0 * slope * math.sqrt((misses - explained) / near.sum())
        else:
            fits, unsure = False, UNKNOWN * float(np.ptp(log_work[near[0] > 0.0]))
        value = float(fit.log_metg(threshold)[0])
        far = window and abs(value - float(np.interp(at, log_work, at_t[0]))) >= _FAR
        if not far and (found is None or unsure < found.metg.systematic):
            of = lines.log_metg(threshold), picks, (table.process,)
            metg = BootstrapSample(value, *of, systematic=unsure)
            overhead, overheads = (one.log_overhead(threshold) for one in (fit, lines))
            found = Crossing(metg, replace(metg, value=float(overhead[0]), draws=overheads))
            if fits:
                break
    return found


def crossing_work(table: Table, target: float) -> float:
    """The log work at which the sizes reach a log efficiency; -inf if all do, +inf if none does."""
    return place_of(
        target, table.log_work[table.fit], monotone(table.located[1][table.fit], table.rounds[table.fit])
    )


def _beside(curves: Floats, target: float) -> Floats:
    """1 for the two sizes between which each monotone curve reaches the target, else 0 [rows x sizes]."""
    right = np.clip((curves < target).sum(axis=1, keepdims=True), 1, curves.shape[1] - 1)
    place = np.arange(curves.shape[1])
    return np.asarray((place == right) | (place == right - 1), dtype=np.float64)
