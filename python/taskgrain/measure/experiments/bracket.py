"""The bracket: between which two sizes of task, a factor of two apart, the efficiency crosses the threshold.

One size at a time. The next one is where the efficiency would cross if a task's overhead were the same at all
sizes. Runs are short here: coarse answers do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.sizes import KnownSize, crossing_between, crossing_of

_MOST_RUNS = 60  # an end for a curve that makes no sense; doubling from 1 to 2**53 takes fewer


@dataclass(frozen=True)
class Reach:
    """A bracket goes on beyond the crossing, by doubling the size."""

    efficiency: float
    """Until this is exceeded."""
    times: int
    """Or until this multiple of the crossing."""


class Bracket:
    """Finds the crossing. Run the settings' `first_request`, then what `take` returns, until that is None."""

    def __init__(self, settings: CellSettings, reach: Reach | None = None) -> None:
        self._settings, self._reach = settings, reach
        self.runs = 0
        self.shorter = 1
        """Repeats last so many times shorter than usual, and a run has more of them, by the root of it."""
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
        following = self._next_size() if self.runs < _MOST_RUNS else None
        if following is None:
            return None
        longer = point.granularity * max(1.0, following / point.iterations) * per_step / point.cores
        steps = s.clamped_steps(self._run_seconds / longer, per_step)
        return self._request(following, steps, longer * steps)

    def again(self, request: Request) -> Request | None:
        """Returns the run that takes the place of a disturbed one; None if it cannot be shorter."""
        steps = max(request.steps // 2, self._settings.min_steps)
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

    def crossing(self) -> tuple[float, float]:
        """Where the threshold is reached: iterations, and seconds of a core. The least size if it is not."""
        enclosing = self.enclosing()
        if not enclosing:
            return 1.0, self.least.granularity
        crossing = crossing_between(*enclosing, self._settings.threshold)
        known = sorted(self.points)
        at = float(np.interp(crossing, known, [self.points[n].granularity for n in known]))
        return crossing, at

    def largest_allowed(self) -> int:
        """The largest size whose tasks are not longer than allowed."""
        top = self.top
        return max(1, int(top.iterations * max(1.0, self._settings.max_task_seconds / top.granularity)))

    def _request(self, iterations: int, steps: int, run_seconds: float = 0.0) -> Request:
        slow = self._settings.slow(run_seconds)
        return Request(
            "bracket",
            self.runs,
            iterations,
            steps,
            1 if slow else round(3 * math.sqrt(self.shorter)),
            0 if slow else 1,
        )

    def _next_size(self) -> int | None:
        x = self._settings.threshold
        least, top = self.least, self.top
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
        return self._larger(top, max(2.0, crossing_of(1.0, top.efficiency, x) / math.sqrt(2.0)))

    def _next_beyond(self, crossing: int) -> int | None:
        top, reach = self.top, self._reach
        if reach is None or top.efficiency > reach.efficiency or top.iterations >= reach.times * crossing:
            return None
        return self._larger(top, 2)

    def _larger(self, top: KnownSize, factor: float) -> int | None:
        """The next size up, as far as tasks may grow; None where that is no further."""
        allowed = self._settings.max_task_seconds / top.granularity
        size = int(top.iterations * min(factor, allowed))
        return size if size > 1.25 * top.iterations else None
