"""The reference: what the kernel alone does on the cores, from rates [measurements x cores]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.monotone import Floats

_BEST = 0.95


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
