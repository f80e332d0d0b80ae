"""A monotone curve through noisy points, and where it crosses a threshold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXTRAPOLATE = math.log(2.0)  # how far beyond the points a crossing is believed


def centred_isotonic(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Centred isotonic regression of each row of y [rows x points] over ascending x [points].

    Returns abscissae and values [rows x points]: y made non-decreasing in the least-squares sense, pooled
    points all standing at their block's mean x and mean y. The min-max formula, fit(i) = max over a <= i of
    min over b >= i of mean(y[a..b]), costs points^2 a row, but needs no loop over rows.
    """
    points = len(x)
    index = np.arange(points)
    sums = np.cumsum(np.pad(y * weights, ((0, 0), (1, 0))), axis=1)
    mass = np.cumsum(np.pad(weights, (1, 0)))
    first, last = index[:, None], index[None, :]
    span = np.where(first <= last, mass[1:][None, :] - mass[:-1][:, None], 1.0)
    means = (sums[:, None, 1:] - sums[:, :-1, None]) / span
    means = np.where(first <= last, means, np.inf)
    least = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    fitted = np.where(first <= last, least, -np.inf).max(axis=1)
    block = np.cumsum(np.pad(np.diff(fitted, axis=1) > 1e-12, ((0, 0), (1, 0))), axis=1)
    share = (block[:, :, None] == block[:, None, :]) * weights
    share = share / share.sum(axis=2, keepdims=True)
    return share @ x, np.einsum("rij,rj->ri", share, y)


def crossings(x: Floats, y: Floats, target: float) -> Floats:
    """Where each row of a monotone curve, log work x and log efficiency y [rows x points], reaches `target`.

    Returns log work [rows]; between points 1/efficiency is linear in 1/work. Beyond the ends the same line
    goes on for a factor of two; -inf or +inf where the crossing is further out than that.
    """
    rows = np.arange(len(x))
    last = x.shape[1] - 1
    upper = np.argmax(y >= target, axis=1)  # 0 also where none is: those are told apart by `never`
    never = y[:, -1] < target
    # The segment that holds the crossing or, at the ends, the outermost one between two distinct blocks.
    second = np.argmax(y > y[:, :1], axis=1)
    before_last = last - np.argmax(y[:, ::-1] < y[:, -1:], axis=1)
    left = np.where(never, before_last, np.where(upper == 0, 0, upper - 1))
    right = np.where(never, last, np.where(upper == 0, second, upper))
    u0, u1 = np.exp(-x[rows, left]), np.exp(-x[rows, right])
    v0, v1 = np.exp(-y[rows, left]), np.exp(-y[rows, right])
    with np.errstate(divide="ignore", invalid="ignore"):
        u = u0 + (math.exp(-target) - v0) * (u1 - u0) / (v1 - v0)
        found = -np.log(u)
    flat = left == right
    found = np.where(never & (flat | ~(u > 0.0) | (found > x[:, -1] + _EXTRAPOLATE)), np.inf, found)
    below = ~never & (upper == 0) & (flat | (found < x[:, 0] - _EXTRAPOLATE))
    return np.where(below, -np.inf, found)


def around(ascending: Floats, at: float) -> tuple[int, int]:
    """The places of the two values that enclose `at`, or of the two outermost ones on its side."""
    right = int(np.clip(np.searchsorted(ascending, at), 1, len(ascending) - 1))
    return right - 1, right
