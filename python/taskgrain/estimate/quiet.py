"""METG as it would be on quiet cores, from runs on cores that were slower, and how sure that is.

Cores on which the kernel is slower by s slow the overhead by s ** gamma. gamma is 1 where the clock is
slower, and near 0 where a neighbour on the other hardware thread takes what only the kernel needs. It is
fitted to the runs of the empty kernel. Where the slowdown hardly varied, nothing is known of gamma but that
it lies about between 0 and 1, and the interval says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taskgrain.estimate.bootstrap import BootstrapSample
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import Table

_LEAST = math.log(1.03)
"""A slowdown below this is none."""
_GAMMA, _GAMMA_SCATTER = 0.5, 0.5
"""Gamma before there are data: mean and standard deviation."""
_PROBE_NOISE = 0.05
"""Scatter of the reference itself, as a standard deviation of its logarithm: no slowdown."""
_CLIP = math.log(4.0)
"""A run whose overhead is further off than this was hit by something else."""


def quiet(
    metg: BootstrapSample, empty: Sequence[Sample], log_peak: float, log_best: float, rng: np.random.Generator
) -> BootstrapSample | None:
    """METG on quiet cores; None where the cores were as fast as at best.

    `empty` are runs of the empty kernel; `log_peak` and `log_best` are the logs of the reference beside the
    runs and at quiet times.
    """
    slowdown = log_best - log_peak
    if slowdown < _LEAST:
        return None
    gamma, scatter = _exponent(empty)
    resampled = rng.normal(gamma, scatter, len(metg.draws))
    return replace(metg, value=metg.value - gamma * slowdown, draws=metg.draws - resampled * slowdown)


def _exponent(empty: Sequence[Sample]) -> tuple[float, float]:
    """gamma and its standard deviation: a straight line through log granularity over log slowdown."""
    known = [one for one in empty if math.isfinite(one.peak)]
    if len({one.round for one in known}) < 3:
        return _GAMMA, _GAMMA_SCATTER
    table = Table.of(known)
    kept = ~np.isnan(table.log_granularity[:, 0])  # without runs that something interrupted
    x, y = -table.log_peak[kept, 0], table.log_granularity[kept, 0]
    y = np.clip(y - np.median(y), -_CLIP, _CLIP)
    x, y = x - x.mean(), y - y.mean()
    prior = 1.0 / _GAMMA_SCATTER**2
    slope = float(x @ y) / max(float(x @ x), 1e-12)
    noise = max(float(np.mean((y - slope * x) ** 2)), 1e-6) * len(x) / max(1, len(x) - 2)
    precision = max(0.0, float(x @ x) - len(x) * _PROBE_NOISE**2) / noise
    gamma = (precision * slope + prior * _GAMMA) / (precision + prior)
    return gamma, 1.0 / math.sqrt(precision + prior)
