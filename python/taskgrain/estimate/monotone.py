"""A monotone curve through noisy points, and where it crosses a threshold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def monotone(y: Floats, weights: ArrayLike = 1.0) -> Floats:
    """The non-decreasing curve nearest to y [... x points] in weighted least squares: of the means over
    stretches of points, the largest by where they begin of the least by where they end (Robertson, Wright &
    Dykstra, Order Restricted Statistical Inference, 1988, theorem 1.4.4). A point that few measured, and that
    lies far off, moves its neighbours little, and no others."""
    points = y.shape[-1]
    weight = np.broadcast_to(np.asarray(weights, dtype=float), y.shape[-1:])
    sums, total = (
        np.concatenate([np.zeros((*one.shape[:-1], 1)), np.cumsum(one, axis=-1)], axis=-1)
        for one in (y * weight, weight)
    )
    begin, end = np.triu_indices(points)
    means = np.full((*y.shape, points), np.inf)
    means[..., begin, end] = (sums[..., end + 1] - sums[..., begin]) / (total[end + 1] - total[begin])
    least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]  # by where it begins, over each point
    least[..., *np.tril_indices(points, -1)] = -np.inf  # what begins after a point is not over it
    return np.asarray(least.max(axis=-2))


def place_of(target: float, x: Floats, y: Floats) -> float:
    """The log work at which a monotone curve, log work x and log efficiency y [points], reaches `target`.

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
