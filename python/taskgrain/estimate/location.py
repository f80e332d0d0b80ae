"""The location of observations of which some may be far off: the median, for whole tables at once.

Noise of shared hosts lies on one side, and cores may switch between two states. A mean then tells how often a
neighbour worked; the median stays in the state that most runs were in.
"""

from __future__ import annotations

import numpy as np

from taskgrain.estimate.monotone import Floats

TO_SIGMA = 1.4826
"""Times the median absolute deviation of a normal sample: its standard deviation."""


def median(x: Floats) -> Floats:
    """Medians along the last axis but one, [... x observations x columns]; NaN stands for no observation."""
    ordered = np.sort(x, axis=-2)  # NaN last
    count = (~np.isnan(ordered)).sum(axis=-2, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-2)
    high = np.take_along_axis(ordered, np.minimum(count // 2, x.shape[-2] - 1), axis=-2)
    return np.asarray(0.5 * (low + high)[..., 0, :])
