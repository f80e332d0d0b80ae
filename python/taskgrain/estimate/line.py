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

from taskgrain.estimate.isotonic import Floats
from taskgrain.estimate.processes import Lasting, lasting
from taskgrain.estimate.table import Table

_WINDOWS = (1.5, 0.8, 0.4, 0.2)
"""How far from the threshold a size counts, as the standard deviation of a bell over logits of efficiency."""
_LEAST_WEIGHT = 0.03
_SERIES = 6
"""Rounds from which on a series tells how neighbours correlate."""
_USUAL, _USUAL_ROUNDS, _BESIDE_ONE = 0.1, 5, 10
"""Correlation that is expected before there are rounds, and how many rounds that is worth: beside several
columns, and beside a single one, which says 0.7 once in a while where nothing correlates."""
_MOST_CORRELATED = 0.9
_FITS = 2.0
"""A line fits if its squared misfit is less than this multiple of what the scatter explains."""


@dataclass(frozen=True)
class Line:
    """The line of a table, and of its resamples: logarithms, infinite where the line does not reach."""

    metg: float
    metg_draws: Floats  # [resamples]
    overhead: float
    overhead_draws: Floats  # [resamples]
    misfit: float
    """How far the sizes lie off the line, beyond their scatter: of log efficiency, root mean square."""
    off: Floats
    """How far the runs of sizes near the threshold lie off it [rounds x sizes]; NaN where there is none."""
    near: NDArray[np.int64]
    """The columns of these sizes in the table."""
    lasting: Lasting
    """What processes differ by, and the rounds do not show: of log efficiency."""

    def systematic(self, threshold: float) -> float:
        """The half-width of log METG that the misfit may be worth, three standard deviations of it.

        METG moves by 1 / (1 - x) of what the efficiency does.
        """
        return 3.0 * self.misfit / (1.0 - threshold)


@dataclass(frozen=True)
class _Fit:
    overhead: Floats  # [rows], a in seconds
    slowing: Floats  # [rows], 1 / e

    def log_metg(self, threshold: float) -> Floats:
        reached = 1.0 - threshold * self.slowing
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(self.overhead / reached)
        return np.where(reached <= 0.0, np.inf, np.where(self.overhead <= 0.0, -np.inf, found))

    def log_overhead(self) -> Floats:
        return np.log(self.overhead, out=np.full_like(self.overhead, -np.inf), where=self.overhead > 0.0)

    def off(self, log_alone: Floats, log_efficiency: Floats) -> Floats:
        """How far efficiencies [... x sizes] lie above the line, relative to themselves."""
        expected = self.slowing[:, None] + self.overhead[:, None] * np.exp(-log_alone)
        return np.asarray(expected * np.exp(log_efficiency) - 1.0)


def line(table: Table, picks: NDArray[np.int64], threshold: float) -> Line | None:
    """The line of the sizes that take part in the fit; `picks` are rounds [resamples x rounds].

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
    found: Line | None = None
    for window in _WINDOWS:
        near = np.exp(-0.5 * (distance / window) ** 2)
        near = np.where(near < _LEAST_WEIGHT, 0.0, near) * table.rounds[used]
        if np.count_nonzero(near) < (2 if found is None else 3):
            continue
        weights = near * level**2
        fit, resampled = (
            _fitted(alone[None], at_e[None], weights),
            _fitted(resampled_alone, resampled_e, weights),
        )
        off = fit.off(runs_alone, efficiency)[:, near > 0.0]
        left = float(near @ fit.off(alone[None], at_e[None])[0] ** 2)
        explained = float(near @ resampled.off(resampled_alone, resampled_e).var(axis=0)) * inflated(off)
        fits = left <= _FITS * explained
        misfit = 0.0 if fits else math.sqrt((left - explained) / near.sum())
        if found is None or misfit < found.misfit:
            found = Line(
                float(fit.log_metg(threshold)[0]),
                resampled.log_metg(threshold),
                float(fit.log_overhead()[0]),
                resampled.log_overhead(),
                misfit,
                off,
                np.flatnonzero(used)[near > 0.0],
                lasting(off, table.process),
            )
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


def inflated(residuals: Floats) -> float:
    """(1 + rho) / (1 - rho), with rho the correlation of neighbouring rounds; at least 1.

    `residuals` [rounds x columns], NaN where there is none. All columns share one rho, whose downward bias in
    short series is taken out: Marriott & Pope, Biometrika 41, 1954.
    """
    rounds = len(residuals)
    residuals = residuals[:, (~np.isnan(residuals)).sum(axis=0) >= _SERIES]
    if not residuals.size:
        return 1.0
    spread = 3.0 * 1.4826 * float(np.nanmedian(np.abs(residuals)))
    clipped = np.clip(residuals, -spread, spread)
    clipped = clipped - np.nanmean(clipped, axis=0)
    pairs = clipped[1:] * clipped[:-1]
    variance = float(np.nanmean(clipped**2))
    if not variance > 0.0 or np.isnan(pairs).all():
        return 1.0
    rho = (float(np.nanmean(pairs)) / variance * rounds + 1.0) / (rounds - 3.0)
    # A short series tells little, and least where it hardly correlates: what is usual counts beside it.
    rho = min(max(rho, 0.0), _MOST_CORRELATED)
    several = residuals.shape[1] > 1
    weight, usual = (rounds / (1.0 - rho**2), _USUAL_ROUNDS) if several else (float(rounds), _BESIDE_ONE)
    rho = (weight * rho + usual * _USUAL) / (weight + usual)
    return (1.0 + rho) / (1.0 - rho)
