"""The budget of a study: how much is left of it, and what still fits.

It is hard. A run that would end beyond it is not begun, and what is under way at its end is stopped after a
short grace: a run, the start of a driver, a measurement of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_GRACE, _GRACE_SHARE, _MOST_SHARE = 1.0, 0.02, 0.1
"""Seconds, or a share of the budget if that is more; never more than the other share."""
_LEAST_TASK_SECONDS = 10e-9
"""Seconds of a core for a task without work: no system takes less, so what is too much by this never fits."""


class Budget:
    """Counts the seconds of measuring, over all calls."""

    def __init__(self, seconds: float, spent: float, start: float, clock: Callable[[], float]) -> None:
        """`seconds` 0 stands for no limit; earlier calls have `spent` some; this one began at `start`."""
        self.seconds = seconds or math.inf
        self._spent, self._start, self._clock = spent, start, clock

    def elapsed(self) -> float:
        """Seconds of measuring, over all calls."""
        return self._spent + self._clock() - self._start

    def stop(self, elapsed: float) -> None:
        """Lets no more time pass: so many seconds were measured."""
        self._spent, self._clock = elapsed, lambda: self._start

    def left(self) -> float:
        """Seconds; infinite without a limit."""
        return self.seconds - self.elapsed()

    @property
    def over(self) -> bool:
        return self.left() <= 0.0

    def time_left(self) -> float:
        """Seconds for what is under way: a little more than is left, as most of it ends soon."""
        return self.left() + self._grace

    @property
    def _grace(self) -> float:
        return min(max(_GRACE, _GRACE_SHARE * self.seconds), _MOST_SHARE * self.seconds)

    def most_seconds(self, alone: bool) -> float:
        """Seconds that one run may take. While other cells wait, it may take half of what is left."""
        return math.inf if alone else max(self._grace, 0.5 * self.left())


def least_seconds(tasks: int, cores: int) -> float:
    """Returns the seconds that so many tasks take at least on any system."""
    return tasks * _LEAST_TASK_SECONDS / cores
