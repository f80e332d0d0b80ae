"""The reference: what the kernel alone does on the cores, from rates [measurements x cores]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.location import TO_SIGMA, median
from taskgrain.estimate.monotone import Floats

_BEST = 0.95
_USUAL, _UNSURE = 0.5, 0.3
"""The power with which runs follow the reference before there are any, and its standard deviation."""
_FITS, _CLIP, _FAR = 10, 1.5, 3.0
"""Fits, and standard deviations from which on a run, or the reference beside it, counts as no farther off."""


def reference_table(rates: ArrayLike) -> Floats:
    """The rates, checked. Raises ValueError for an empty table or a rate that is not a positive number."""
    table = np.atleast_2d(np.asarray(rates, dtype=float))
    if table.ndim != 2 or table.size == 0 or not (np.isfinite(table) & (table > 0.0)).all():
        raise ValueError("the reference must be a table [measurements x cores] of positive rates")
    return table


def peak_beside(rates: ArrayLike) -> float:
    """Work per second and core now: the last measurement, averaged over the cores. ValueError as above."""
    return float(reference_table(rates)[-1].mean())


def best_rate(rates: ArrayLike) -> float:
    """Work per second and core at quiet times: of each core what one measurement in twenty reaches, averaged.

    Not the very best, because one lucky measurement would then set the scale. ValueError as above.
    """
    return float(np.quantile(reference_table(rates), _BEST, axis=0).mean())


def followed(log_granularity: Floats, log_peak: Floats) -> float:
    """The power with which runs become slower where the reference beside them does [rounds x sizes].

    It is 1 where a clock moves both, and 0 where the reference tells nothing of the runs: it may see states
    of the cores that are over before the run begins, and scatters itself. Dividing each run by it would then
    add its scatter to theirs. Huber's regression, with what is usual as its prior.
    """
    known = ~np.isnan(log_granularity)
    slower, faster = ((one - median(one))[known] for one in (log_granularity, log_peak))
    if not slower.size:
        return _USUAL
    found, least = _USUAL, np.finfo(float).eps

    def near(off: Floats, deviations: float) -> tuple[float, Floats]:
        """The robust standard deviation, and weights of what lies within so many of it, or beyond."""
        sigma = max(TO_SIGMA * float(np.median(np.abs(off))), least)
        return sigma, np.minimum(1.0, deviations * sigma / np.maximum(np.abs(off), least))

    _, trusted = near(faster, _FAR)
    for _ in range(_FITS):
        off = slower + found * faster
        sigma, weight = near(off, _CLIP)
        weight *= trusted
        told, prior = float((weight * faster**2).sum()), (sigma / _UNSURE) ** 2
        found = (prior * _USUAL - float((weight * faster * slower).sum())) / (prior + told)
    return min(max(found, 0.0), 1.0)
