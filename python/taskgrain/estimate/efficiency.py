"""The efficiency of a system at given sizes of task, with its interval: pure functions.

    efficiency   E = (work / seconds) / (peak * cores)

`peak` is what the kernel alone did meanwhile. Of runs in rounds, a size is the median over the
rounds, and its interval comes from a bootstrap of whole rounds, wider where neighbouring rounds are alike, as
for METG (`metg`). Of one run there are only its repeats: their interval knows nothing of how runs differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import BootstrapSample, interval, picked_rounds
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import MOST as MOST_START
from taskgrain.estimate.student import interval_of_mean
from taskgrain.estimate.table import Table
from taskgrain.words.interval import Interval


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One size of the curve: medians as measured (not the monotone fit), granularity in seconds."""

    iterations: int
    granularity: Interval
    efficiency: Interval
    repeats: int
    asked: float | None = None
    """The time that the work of a task was to take alone, in seconds, where one was asked for."""

    @property
    def work(self) -> float:
        """The time of the work of a task alone on one core, as the reference tells."""
        return self.granularity.number * self.efficiency.number


Curve = tuple[CurvePoint, ...]


def curve(table: Table, resampled: tuple[Floats, Floats], picks: NDArray[np.int64] | None = None) -> Curve:
    """The sizes, ascending; `resampled` are their locations [resamples x sizes].

    With the rounds of the resamples, `picks`, an interval is wider where neighbouring rounds are alike.
    """
    points, located = [], table.located
    for k, rounds in enumerate(table.rounds.tolist()):
        g, e = (
            (
                interval(draws[:, k], float(values[k]), rounds)
                if picks is None
                else BootstrapSample(float(values[k]), draws[:, k], picks).interval(rounds)
            ).exp()
            for draws, values in zip(resampled, located, strict=True)
        )
        points.append(CurvePoint(int(table.iterations[k]), g, e, int(table.repeats[k])))
    return tuple(points)


def efficiencies(samples: Sequence[Sample], *, resamples: int = 1000, seed: int = 0) -> Curve:
    """The efficiency at each size, ascending.

    Start and end of a run are taken off, if shorter runs tell what they take.
    Where most of a run was start and end, nothing has an interval. Raises ValueError without samples.
    """
    table = Table.of(samples)
    picks = picked_rounds(len(table.log_granularity), resamples, np.random.default_rng(seed))
    found = curve(table, table.resampled(picks), picks)
    if table.start_share <= MOST_START:
        return found
    return tuple(
        replace(one, granularity=Interval(one.granularity.value), efficiency=Interval(one.efficiency.value))
        for one in found
    )


def of_repeats(rates: Sequence[float], before: float, after: float) -> Interval:
    """The efficiency of one run, from the rate of each repeat and the peak rates just before and after it.

    The interval is Student's of the logarithms over the repeats. Where the peak changed meanwhile, half of
    its change is added to either side, because nobody knows when it changed. One repeat has no interval.
    Raises ValueError without rates, or for rates that are not positive.
    """
    if not rates or not all(one > 0.0 for one in (*rates, before, after)):
        raise ValueError("the efficiency needs positive rates")
    logs = [math.log(rate) - 0.5 * math.log(before * after) for rate in rates]
    if len(logs) < 2:
        return Interval(math.exp(logs[0]))
    return interval_of_mean(logs, 0.5 * abs(math.log(after / before))).exp()
