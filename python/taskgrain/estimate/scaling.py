"""Strong scaling, predicted from the curve of a cell: pure functions, no I/O.

A program does the same work on more and more cores. Its tasks become smaller, until their overhead eats the
gain (Slaughter et al., SC'20, section V-I):

    work of a task   w(n) = work / (steps * tasks of a step on each core * n)
    time             T(n) = steps * tasks of a step on each core * g(w(n))

Here g is the granularity of the measured curve: what a task of work w costs a core. It is known from the
empty task up to the largest task that was measured. In between it is linear, as it is where the overhead
of a task does not depend on its size. Beyond, a task costs at least its work, and at most its work at the
efficiency of the largest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_NO_GAIN = 1.1
"""So close to the shortest time there is, more cores are no use."""


class Span(NamedTuple):
    """A value and its interval; a bound that is not known is None."""

    value: float
    low: float | None
    high: float | None

    def times(self, factor: float) -> Span:
        low, high = (None if one is None else one * factor for one in (self.low, self.high))
        return Span(self.value * factor, low, high)

    def into(self, whole: float) -> Span:
        """`whole` divided by it."""
        low, high = (None if not one else whole / one for one in (self.high, self.low))
        return Span(whole / self.value, low, high)


class TaskTime(NamedTuple):
    """What a task costs a core, in seconds, where that was measured: at its work, in seconds of a core."""

    work: float
    granularity: Span


@dataclass(frozen=True)
class Scaled:
    """The program on so many cores."""

    cores: float
    task: float
    """Work of a task, in seconds."""
    seconds: Span
    efficiency: Span
    measured: bool
    """Whether tasks of this work lie between those that were measured."""


@dataclass(frozen=True)
class Program:
    """What scales: all its work, in seconds of one core, in `steps` of `tasks` on each core."""

    work: float
    steps: int
    tasks: float
    curve: Sequence[TaskTime]
    """By work, ascending; of the empty task too, if that was measured. Not empty."""

    def on(self, cores: float) -> Scaled:
        task = self.work / self._tasks_of_a_core / cores
        cost, measured = self._cost(task)
        return Scaled(cores, task, cost.times(self._tasks_of_a_core), cost.into(task), measured)

    def until(self, efficiency: float, metg: Span) -> Span:
        """The cores up to which it is so efficient, from METG at this efficiency."""
        return metg.times(self._tasks_of_a_core * efficiency).into(self.work)

    def at_least(self) -> Span | None:
        """The shortest time on any number of cores: that of empty tasks; None if these were not measured."""
        first = self.curve[0]
        return first.granularity.times(self._tasks_of_a_core) if first.work == 0.0 else None

    def no_gain_beyond(self) -> float | None:
        """The cores beyond which no more than a tenth of the time can be saved; None if not known."""
        if self.at_least() is None:
            return None
        costs = np.maximum.accumulate([one.granularity.value for one in self.curve])
        most = _NO_GAIN * costs[0]
        if most > costs[-1]:
            return None
        right = int(np.searchsorted(costs, most))  # the curve crosses between this one and the one before
        before, after = self.curve[right - 1], self.curve[right]
        share = (most - costs[right - 1]) / (costs[right] - costs[right - 1])
        return float(self.work / self._tasks_of_a_core / (before.work + share * (after.work - before.work)))

    @property
    def _tasks_of_a_core(self) -> float:
        return self.steps * self.tasks

    def _cost(self, work: float) -> tuple[Span, bool]:
        last = self.curve[-1]
        if work > last.work:
            cost = last.granularity.value
            return Span(work + max(0.0, cost - last.work), work, work * max(1.0, cost / last.work)), False
        works = [one.work for one in self.curve]
        if work < works[0]:
            return Span(work + max(0.0, self.curve[0].granularity.value - works[0]), work, None), False
        bounds = (
            [one.granularity.value for one in self.curve],
            [_or_nan(one.granularity.low) for one in self.curve],
            [_or_nan(one.granularity.high) for one in self.curve],
        )
        value, low, high = (float(np.interp(work, works, bound)) for bound in bounds)
        return Span(value, None if math.isnan(low) else low, None if math.isnan(high) else high), True


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
