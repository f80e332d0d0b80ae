"""What processes of one system differ by, and how much of that a mean over its rounds keeps.

Where a process lies in memory makes all of its tasks slower or quicker as long as it lives. If k processes
served n rounds, n_i each, their scatter sigma² stays in the mean with the share sum (n_i / n)²: 1 / k if they
served alike. Resampling the rounds shows 1 / n of it: what is missing widens the interval.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.isotonic import Floats
from taskgrain.estimate.student import student_quantile

_USUAL, _WORTH = 0.03, 3
"""The standard deviation that is expected before there are processes, and how many of them it counts for."""


def lasting(off: Floats, process: NDArray[np.int64]) -> float:
    """The half-width that resampled rounds miss: relative, as `off` is [rounds x columns].

    `process` tells the processes of the rounds apart [rounds]; 0 is one that is not known. Nothing is missing
    where every round had a process of its own, and nothing is known where all had the same one.
    """
    told = ~np.isnan(off).all(axis=1)
    _, group, counts = np.unique(process[told], return_inverse=True, return_counts=True)
    rounds, processes = int(told.sum()), len(counts)
    if processes < 2 or processes == rounds or not process[told].all():
        return 0.0
    missing = float(((counts / rounds) ** 2).sum()) - 1.0 / rounds
    mean = np.nanmean(off[told], axis=1)
    freedom = processes - 1
    found = max(0.0, _between(mean, group, counts))
    # What is usual may widen the interval, and never narrows it.
    variance = max(found, (_WORTH * _USUAL**2 + freedom * found) / (_WORTH + freedom))
    return student_quantile(0.975, _WORTH + freedom) * math.sqrt(variance * missing)


def _between(values: Floats, group: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """The variance between groups, that within them taken off (analysis of variance with random effects)."""
    rounds, groups = len(values), len(counts)
    means = np.bincount(group, values) / counts
    within = float(((values - means[group]) ** 2).sum()) / (rounds - groups)
    between = float((counts * (means - values.mean()) ** 2).sum()) / (groups - 1)
    return (between - within) / ((rounds - float((counts**2).sum()) / rounds) / (groups - 1))
