"""How much neighbouring rounds are alike, and by how much that makes a mean over them less sure."""

from __future__ import annotations

import numpy as np

from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.monotone import Floats

_SERIES = 6
"""Rounds from which on a series tells how neighbours correlate."""
_USUAL, _USUAL_ROUNDS, _BESIDE_ONE = 0.1, 5, 10
"""Correlation that is expected before there are rounds, and how many rounds that is worth: beside several
columns, and beside a single one, which says 0.7 once in a while where nothing correlates."""
_MOST = 0.9


def inflated(residuals: Floats) -> float:
    """(1 + rho) / (1 - rho), with rho the correlation of neighbouring rounds; at least 1.

    `residuals` [rounds x columns], NaN where there is none. All columns share one rho, whose downward bias in
    short series is taken out: Marriott & Pope, Biometrika 41, 1954.
    """
    rounds = len(residuals)
    residuals = residuals[:, (~np.isnan(residuals)).sum(axis=0) >= _SERIES]
    if not residuals.size:
        return 1.0
    spread = 3.0 * TO_SIGMA * float(np.nanmedian(np.abs(residuals)))
    clipped = np.clip(residuals, -spread, spread)
    clipped = clipped - np.nanmean(clipped, axis=0)
    pairs = clipped[1:] * clipped[:-1]
    variance = float(np.nanmean(clipped**2))
    if not variance > 0.0 or np.isnan(pairs).all():
        return 1.0
    rho = (float(np.nanmean(pairs)) / variance * rounds + 1.0) / (rounds - 3.0)
    # A short series tells little, and least where it hardly correlates: what is usual counts beside it.
    rho = min(max(rho, 0.0), _MOST)
    several = residuals.shape[1] > 1
    weight, usual = (rounds / (1.0 - rho**2), _USUAL_ROUNDS) if several else (float(rounds), _BESIDE_ONE)
    rho = (weight * rho + usual * _USUAL) / (weight + usual)
    return (1.0 + rho) / (1.0 - rho)
