"""The difference between processes of one system, and how much of that a mean over its rounds keeps.

Where a process lies in memory makes all of its tasks slower or quicker as long as it lives. If k processes
served n rounds, n_i each, their scatter sigma² stays in the mean with the share sum (n_i / n)²: 1 / k if they
served alike. Resampling the rounds shows 1 / n of it: what is missing widens the interval.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.student import student_quantile

_USUAL, _WORTH = 0.03, 3
"""The standard deviation that is expected before there are processes, and how many of them it counts for."""


def lasting(off: Floats, process: NDArray[np.int64], confidence: float) -> float:
    """The half-width that is missing, of rounds that lie so far off [rounds].

    `process` tells the processes of the rounds apart [rounds]; rounds of 0, which is not known, do not count.
    Nothing is missing where every round had a process of its own; nothing is known where all had the same.
    """
    told = process != 0
    _, group, counts = np.unique(process[told], return_inverse=True, return_counts=True)
    rounds, processes = int(told.sum()), len(counts)
    if processes < 2 or processes == rounds:
        return 0.0
    missing = float(((counts / rounds) ** 2).sum()) - 1.0 / rounds
    freedom = processes - 1
    found = max(0.0, _between(off[told], group, counts))
    if found > _USUAL**2:
        # What is usual would narrow the interval. It counts for the freedom alone: one degree says nothing.
        variance, freedom = found, max(freedom, _WORTH)
    else:
        variance = (_WORTH * _USUAL**2 + freedom * found) / (_WORTH + freedom)
        freedom += _WORTH
    return student_quantile(0.5 + confidence / 2.0, freedom) * math.sqrt(variance * missing)


def _between(values: Floats, group: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """The variance between groups, that within them taken off (analysis of variance with random effects)."""
    rounds, groups = len(values), len(counts)
    means = np.bincount(group, values) / counts
    within = float(((values - means[group]) ** 2).sum()) / (rounds - groups)
    between = float((counts * (means - values.mean()) ** 2).sum()) / (groups - 1)
    return (between - within) / ((rounds - float((counts**2).sum()) / rounds) / (groups - 1))
