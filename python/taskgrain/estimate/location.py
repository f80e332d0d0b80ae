"""The location of observations of which some may be far off: Huber's M-estimator, for whole tables at
once."""

from __future__ import annotations

import numpy as np

from taskgrain.estimate.monotone import Floats

_STEPS = 6
TO_SIGMA = 1.4826
"""Times the median absolute deviation of a normal sample: its standard deviation."""
_FAR, _FAR_SIGMA = 0.8, 1.2816
"""Quantile of absolute deviations, and what it is of a normal sample's standard deviation."""


def median(x: Floats) -> Floats:
    """Medians along the last axis but one, [... x observations x columns]; NaN stands for no observation."""
    ordered = np.sort(x, axis=-2)  # NaN last
    count = (~np.isnan(ordered)).sum(axis=-2, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-2)
    high = np.take_along_axis(ordered, np.minimum(count // 2, x.shape[-2] - 1), axis=-2)
    return np.asarray(0.5 * (low + high)[..., 0, :])


def spread(x: Floats) -> Floats:
    """How far observations usually lie from their column's median [columns], from x [observations x columns].

    The larger of a column's own median absolute deviation, and of the deviation that one in five exceeds in
    all columns together, each as the standard deviation of a normal sample that has it. The second sees a
    state in which a third of the runs may be, and needs no long column.
    """
    deviation = np.abs(x - median(x))
    own = TO_SIGMA * median(deviation)
    known = deviation[~np.isnan(deviation)]
    common = float(np.quantile(known, _FAR)) / _FAR_SIGMA if known.size else 0.0
    return np.fmax(own, common)


def location(x: Floats, spread: Floats) -> Floats:
    """Locations along the last axis but one, [... x observations x columns]; NaN where there is no
    observation.

    It starts at the median and moves to the mean of what is left when deviations are clipped to `spread`
    [columns]. A few outliers move it no more than the median; of two states in which a run may be it takes
    the middle, where the median jumps from one to the other. Its scatter is a tenth above that of the mean
    for normal errors; the median's is a quarter above.
    """
    middle = median(x)[..., None, :]
    count = np.maximum((~np.isnan(x)).sum(axis=-2, keepdims=True), 1)
    for _ in range(_STEPS):
        deviation = np.clip(x - middle, -spread, spread)
        middle = middle + np.nansum(deviation, axis=-2, keepdims=True) / count
    return np.asarray(middle[..., 0, :])
