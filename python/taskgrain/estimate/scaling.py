"""Strong scaling, predicted from the curve of a cell: pure functions, no I/O.

A program does the same work on more and more cores. Its tasks become smaller, until their overhead eats the
gain (Slaughter et al., SC'20, section V-I):

    work of a task   w(n) = work / (steps * tasks of a step on each core * n)
    time             T(n) = steps * tasks of a step on each core * g(w(n))

Here g is the granularity of the measured curve: what a task of work w costs a core. It is known from the
empty task up to the largest task that was measured. In between it is linear, as it is where the overhead
of a task does not depend on its size. Beyond, a task costs at least its work, and at most its work at the
efficiency of the largest one.

Where curves were measured on several numbers of cores, each n has that of as many, or of the next fewer.

At each n there is a shortest time with the efficiency that METG is for, and a program that scales meets this
limit where its efficiency falls below that (figure 14):

    actual(n)   time that was measured
    ideal(n)    actual(n0) * n0 / n, from the fewest cores n0
    limit(n)    METG(n) * tasks of a core

The point where limit and ideal meet foretells the one where limit and actual meet, from METG on each number
of cores and one run of the program on n0. Lines are straight between their points in logarithms of cores and
time. Beyond these nothing is known.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from taskgrain.estimate.monotone import Floats
from taskgrain.words.interval import Interval

_NO_GAIN = 1.1
"""The factor to the shortest time there is below which more cores are no use."""


@dataclass(frozen=True)
class Scaled:
    """The program on so many cores."""

    cores: float
    task: float
    """Work of a task, in seconds."""
    seconds: Interval
    efficiency: Interval
    measured: bool
    """True if tasks of this work lie between those that were measured."""


@dataclass(frozen=True)
class Program:
    """A program that scales: all its work, in seconds of one core, in `steps` of `tasks` on each core."""

    work: float
    steps: int
    tasks: float
    curve: Mapping[float, Interval]
    """The granularity of each size that was measured, in seconds of a core, by the work of such a task,
    ascending; of the empty task too, if that was measured. Not empty."""

    def on(self, cores: float) -> Scaled:
        task = self.work / self._tasks_of_a_core / cores
        cost, measured = self._cost(task)
        return Scaled(cores, task, cost.times(self._tasks_of_a_core), cost.inverse(task), measured)

    def until(self, efficiency: float, metg: Interval) -> Interval:
        """The cores up to which it is so efficient, from METG at this efficiency."""
        return metg.times(self._tasks_of_a_core * efficiency).inverse(self.work)

    def at_least(self) -> Interval | None:
        """The shortest time on any number of cores, with empty tasks; None if these were not measured."""
        return self.curve[0.0].times(self._tasks_of_a_core) if 0.0 in self.curve else None

    def no_gain_beyond(self) -> float | None:
        """The cores beyond which no more than a tenth of the time can be saved; None if not known."""
        if self.at_least() is None:
            return None
        costs = np.maximum.accumulate(self._costs("value"))
        most = _NO_GAIN * costs[0]
        if most > costs[-1]:
            return None
        return float(self.work / self._tasks_of_a_core / np.interp(most, costs, list(self.curve)))

    @property
    def _tasks_of_a_core(self) -> float:
        return self.steps * self.tasks

    def _costs(self, end: str) -> Floats:
        """A value or a bound of each size; NaN where it is not known."""
        return np.array([getattr(one, end) for one in self.curve.values()], dtype=float)

    def _cost(self, work: float) -> tuple[Interval, bool]:
        works, costs = list(self.curve), self._costs("value").tolist()
        if work > works[-1]:
            most = work * max(1.0, costs[-1] / works[-1])
            return Interval(work + max(0.0, costs[-1] - works[-1]), work, most), False
        if work < works[0]:
            return Interval(work + max(0.0, costs[0] - works[0]), work), False
        found = (float(np.interp(work, works, self._costs(end))) for end in ("value", "low", "high"))
        return Interval(*(None if math.isnan(one) else one for one in found)), True


@dataclass(frozen=True)
class ProgramByCores:
    """A program from curves on several numbers of cores: that of as many, or of the next fewer, counts."""

    curves: Sequence[tuple[int, Program]]
    """The curves by the cores that they were measured on, ascending. Not empty."""

    def on(self, cores: float) -> Scaled:
        found = bisect_right(self.curves, cores, key=lambda one: one[0])
        return self.curves[max(0, found - 1)][1].on(cores)

    def at_least(self) -> Interval | None:
        """The time of empty tasks on the most cores; None if these were not measured."""
        return self.curves[-1][1].at_least()

    def first(self, found: Sequence[Interval | None]) -> Interval | None:
        """The number of cores from which something holds. `found` has that number by each curve alone; the
        first counts that lies below the cores of the next curve, and not below those of its own."""
        ends = [*(cores for cores, _ in self.curves[1:]), math.inf]
        for k, ((begin, _), end, one) in enumerate(zip(self.curves, ends, found, strict=True)):
            if one is not None and one.number < end:
                return one if k == 0 else one.from_on(begin)
        return None

    def no_gain_beyond(self) -> float | None:
        """The cores beyond which no more than a tenth of the time can be saved; None if not known."""
        each = (one.no_gain_beyond() for _, one in self.curves)
        found = self.first([None if one is None else Interval(one) for one in each])
        return None if found is None else found.value


Line = Mapping[int, float]
"""Seconds by the number of cores, or of nodes."""


@dataclass(frozen=True)
class Meeting:
    """The point where a line falls below the limit."""

    number: float
    """The number of cores or nodes."""
    seconds: float

    def apart(self, other: Meeting) -> tuple[float, float]:
        """Returns by which factors, at least 1, two such points lie apart: in number, and in time."""
        pairs = (self.number, other.number), (self.seconds, other.seconds)
        number, seconds = (max(one, two) / min(one, two) for one, two in pairs)
        return number, seconds


def ideal(actual: Line, cores: Sequence[int]) -> dict[int, float]:
    """The time on each of `cores` if it were divided by them, from the fewest cores of `actual` on."""
    first = min(actual)
    return {count: actual[first] * first / count for count in cores if count >= first}


def meeting(line: Line, limit: Line) -> Meeting | None:
    """Returns where the line first falls from above the limit to it; None if no cores of both show it."""
    known = sorted(line.keys() & limit.keys())
    above = [math.log(line[count] / limit[count]) for count in known]
    if not known or above[0] < 0.0:
        return None
    if above[0] == 0.0:
        return Meeting(known[0], line[known[0]])
    for (left, over), (right, under) in pairwise(zip(known, above, strict=True)):
        if under <= 0.0:
            share = over / (over - under)
            ends = (left, right), (line[left], line[right])
            return Meeting(*(one ** (1.0 - share) * other**share for one, other in ends))
    return None
