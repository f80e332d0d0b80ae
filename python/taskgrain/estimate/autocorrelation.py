"""The likeness of neighbouring rounds, and by how much it makes a mean over them less sure."""

from __future__ import annotations

from taskgrain.estimate.monotone import Floats

_SERIES = 6
"""Rounds from which on a series tells how neighbours correlate."""
_USUAL, _WORTH = 0.1, 10
"""Correlation that is expected before there are rounds, and how many rounds that is worth: a short series
says 0.7 once in a while where nothing correlates."""
_MOST = 0.9
_ROUNDED = 1e-9
"""Logarithms that scatter by less are equal but for rounding."""


def inflated(series: Floats) -> float:
    """(1 + rho) / (1 - rho), with rho the correlation of neighbours in a series of rounds; at least 1.

    The downward bias of rho in short series is taken out: Marriott & Pope, Biometrika 41, 1954.
    """
    rounds, off = len(series), series - series.mean()
    variance = float((off**2).mean())
    if rounds < _SERIES or not variance > _ROUNDED**2:
        return 1.0
    rho = (float((off[1:] * off[:-1]).mean()) / variance * rounds + 1.0) / (rounds - 3.0)
    rho = (rounds * min(max(rho, 0.0), _MOST) + _WORTH * _USUAL) / (rounds + _WORTH)
    return (1.0 + rho) / (1.0 - rho)
