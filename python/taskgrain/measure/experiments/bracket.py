"""The bracket: the two sizes of task, a factor of two apart, between which the efficiency crosses the
threshold.

One size at a time. The next one is where the efficiency would cross if a task's overhead were the same at all
sizes. Runs are short here: coarse answers do.

The sizes that are then measured lie around the crossing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import CellSettings, Request

_MOST_RUNS = 60  # an end for a curve that makes no sense; doubling from 1 to 2**53 takes fewer
_EFFICIENCY, _TIMES = 0.95, 64
"""A bracket of a whole curve goes on, by doubling the size, until the efficiency is above this, or the size
this multiple of the crossing."""
_BELOW, _ABOVE = 3, 3
"""Sizes of every round below the crossing and above it."""
_LEAST_SIZES = 5


@dataclass(frozen=True)
class KnownSize:
    """One size as the bracket measured it: medians over the repeats."""

    iterations: int
    efficiency: float
    granularity: float  # of the quickest repeat, which no interrupt has lengthened
    tasks_per_step: float
    cores: int


def grid_size(place: int) -> int:
    """The sizes 1, 2, 3, 4, 6, 8, 11, 16, 23, 32 and so on, a factor of the square root of two apart.

    All searches take their sizes from one grid. A curve has small steps, where the processor predicts a loop
    of so many iterations or not; searches at different sizes would read different METGs off it.
    """
    return round(2.0 ** ((place + 1) / 2.0)) if place else 1


def place_below(iterations: float) -> int:
    """The place on the grid of the largest size that is not above so many iterations, at least 0."""
    return next(place for place in count() if grid_size(place + 1) > iterations)


def inner(crossing: float, largest: int) -> tuple[int, ...]:
    """The sizes of every round, for a crossing at so many iterations: ascending, distinct, at most `largest`.

    Three of the grid on either side, or more above where there are none below. For a constant overhead and
    the threshold 0.5 they lie at efficiencies from about 0.3 to about 0.7.
    """
    first = max(0, place_below(crossing) - _BELOW + 1)
    sizes = {min(grid_size(k), largest) for k in range(first, first + _BELOW + _ABOVE)}
    spare = [n for n in range(1, min(largest, 2 * _LEAST_SIZES) + 1) if n not in sizes]
    return tuple(sorted(sizes | set(spare[: max(0, _LEAST_SIZES - len(sizes))])))


def outer(crossing: float, threshold: float, largest: int) -> tuple[int, ...]:
    """Sizes measured now and then, about at the efficiencies 0.2 and 0.9 that a constant overhead would give.

    The curve can then be drawn, and a second crossing is seen.
    """
    overhead = crossing * (1.0 - threshold) / threshold  # in iterations
    top = max(9.0 * overhead, 4.0 * crossing)
    coarse = (min(overhead, crossing) / 4.0, top)
    return tuple(sorted({min(grid_size(place_below(n * 2.0**0.25)), largest) for n in coarse}))


def crossing_of(iterations: float, efficiency: float, threshold: float) -> float:
    """Returns the iterations that reach the threshold if the overhead of this size is that of all sizes."""
    return iterations * max(1.0 / efficiency - 1.0, 0.0) * threshold / (1.0 - threshold)


def crossing_between(low: KnownSize, high: KnownSize, threshold: float) -> float:
    """Returns the iterations at the threshold between two sizes: 1/efficiency is linear in 1/iterations."""
    share = (1.0 / threshold - 1.0 / high.efficiency) / (1.0 / low.efficiency - 1.0 / high.efficiency)
    return 1.0 / ((1.0 - share) / high.iterations + share / low.iterations)


class Bracket:
    """Finds the crossing, and with `whole` goes on beyond it. Run the settings' `first_request`, then what
    `take` returns, until that is None."""

    def __init__(self, settings: CellSettings, *, whole: bool = False) -> None:
        self._settings, self._whole = settings, whole
        self.runs = 0
        self.shorter = 1
        """The factor by which repeats are shorter than usual; a run has more of them, by the root of it."""
        self.points: dict[int, KnownSize] = {}
        """The measured sizes, by iterations."""
        self._samples: dict[int, list[Sample]] = {}  # of each size its last run, which is its longest

    def take(self, request: Request, samples: list[Sample]) -> Request | None:
        """Takes an answer; returns the next run, or None once the bracket is closed or cannot be closed."""
        s = self._settings
        self.runs += 1
        self._samples[request.iterations] = samples
        seconds = min(x.seconds for x in samples)
        per_step = samples[0].tasks / request.steps
        # Over a few steps the start and the end of a run dominate: such a run only tells how many it takes.
        enough = s.clamped_steps(request.steps * self._run_seconds / seconds, per_step)
        if enough >= 4 * request.steps and self.runs < _MOST_RUNS:
            return self._request(request.iterations, enough)
        efficiency = float(np.median([x.efficiency for x in samples]))
        granularity = min(x.granularity for x in samples)
        point = KnownSize(request.iterations, efficiency, granularity, per_step, samples[0].cores)
        self.points[request.iterations] = point
        if self.runs >= _MOST_RUNS or (following := self._next_size()) is None:
            return None
        longer = point.granularity * max(1.0, following / point.iterations) * per_step / point.cores
        steps = s.clamped_steps(self._run_seconds / longer, per_step)
        return self._request(following, steps, longer * steps)

    def again(self, request: Request) -> Request | None:
        """Returns the run that takes the place of a disturbed one; None if it cannot be shorter."""
        steps = self._settings.clamped_steps(request.steps / 2, 1.0)
        if steps == request.steps or self.runs >= _MOST_RUNS:
            return None
        self.runs += 1
        return self._request(request.iterations, steps)

    @property
    def _run_seconds(self) -> float:
        return 0.25 * self._settings.run_seconds / self.shorter

    def samples(self) -> list[Sample]:
        """Returns the last run of each size, all as one round: each size was measured at another time."""
        return [replace(x, round=0) for run in self._samples.values() for x in run]

    @property
    def least(self) -> KnownSize:
        return self.points[min(self.points)]

    @property
    def top(self) -> KnownSize:
        return self.points[max(self.points)]

    def enclosing(self) -> tuple[KnownSize, KnownSize] | None:
        """The size next below the lowest that is at or above the threshold, and that, if both are known."""
        x = self._settings.threshold
        high = min((n for n, p in self.points.items() if p.efficiency >= x), default=0)
        low = max((n for n, p in self.points.items() if p.efficiency < x and n < high), default=0)
        return (self.points[low], self.points[high]) if low and high else None

    def crossing(self) -> float:
        """Iterations at which the threshold is reached; 1 if it is not."""
        enclosing = self.enclosing()
        return crossing_between(*enclosing, self._settings.threshold) if enclosing else 1.0

    def largest_allowed(self) -> int:
        """The largest size whose tasks are not longer than allowed."""
        top = self.top
        return max(1, int(top.iterations * max(1.0, self._settings.max_task_seconds / top.granularity)))

    def _request(self, iterations: int, steps: int, run_seconds: float = 0.0) -> Request:
        once = self._settings.slow(run_seconds) or not self._settings.warmup
        repeats, warmup = (1, 0) if once else (round(3 * math.sqrt(self.shorter)), 1)
        return Request("bracket", self.runs, iterations, steps, repeats, warmup)

    def _next_size(self) -> int | None:
        x = self._settings.threshold
        least = self.least
        if enclosing := self.enclosing():
            low, high = (point.iterations for point in enclosing)
            if high > 2.1 * low and high - low > 1:
                aim = crossing_between(*enclosing, x)
                beside = aim / math.sqrt(2.0) if low < 0.96 * aim / math.sqrt(2.0) else aim * math.sqrt(2.0)
                return max(low + 1, min(high - 1, round(beside)))
            return self._next_beyond(high)
        if least.efficiency >= x:
            if least.iterations == 1:
                return self._next_beyond(1)
            aim = crossing_of(least.iterations, least.efficiency, x)
            return max(1, min(least.iterations // 2, round(aim * math.sqrt(2.0))))
        return self._larger(max(2.0, crossing_of(1.0, self.top.efficiency, x) / math.sqrt(2.0)))

    def _next_beyond(self, crossing: int) -> int | None:
        top = self.top
        if not self._whole or top.efficiency > _EFFICIENCY or top.iterations >= _TIMES * crossing:
            return None
        return self._larger(2)

    def _larger(self, factor: float) -> int | None:
        """The next size up, as far as tasks may grow; None where that is no further."""
        top = self.top
        size = int(top.iterations * min(factor, self._settings.max_task_seconds / top.granularity))
        return size if size > 1.25 * top.iterations else None
