"""A monotone curve through noisy points, and where it crosses a threshold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def monotone(y: Floats) -> Floats:
    """A non-decreasing curve near to y [... x points]: the mean of the largest value up to each point and the
    least one from it on (Mukerjee, Annals of Statistics 16, 1988)."""
    least = np.minimum.accumulate(y[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(0.5 * (np.maximum.accumulate(y, axis=-1) + least))


def place_of(target: float, x: Floats, y: Floats) -> float:
    """Where a monotone curve, log work x and log efficiency y [points], reaches `target`: log work.

    Between points 1/efficiency is linear in 1/work; -inf if all reach it, +inf if none does.
    """
    if target <= y[0]:
        return -math.inf
    with np.errstate(divide="ignore"):
        inverse = np.interp(-math.exp(-target), -np.exp(-y), np.exp(-x), right=0.0)
        return float(-np.log(inverse))


def around(ascending: Floats, at: float) -> tuple[int, int]:
    """The places of the two values that enclose `at`, or of the two outermost ones on its side."""
    right = int(np.clip(np.searchsorted(ascending, at), 1, len(ascending) - 1))
    return right - 1, right
