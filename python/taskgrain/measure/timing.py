"""The time of a call by its parts: all but the tasks is the cost of measuring."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Part = Literal["tasks", "warm-up", "requests", "processes", "references", "statistics", "disk", "the rest"]
"""`tasks` are the repeats that are timed; `requests`, what else passes until a run has its answer."""


class Timing:
    """Counts seconds, each for the part that was begun last and has not ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._part, self._since = clock, "the rest", clock()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Counts the time inside for this part."""
        before = self._switch(name)
        try:
            yield
        finally:
            self._switch(before)

    def move(self, seconds: float, to: Part) -> None:
        """Counts seconds of the part that goes on for another one."""
        self._seconds[self._part] -= seconds
        self._seconds[to] += seconds

    def seconds(self) -> dict[str, float]:
        """The seconds of each part up to now, the longest first."""
        self._switch(self._part)
        longest = sorted(self._seconds.items(), key=lambda one: -one[1])
        return {name: seconds for name, seconds in longest if seconds > 0.0}

    def _switch(self, name: str) -> str:
        now, before = self._clock(), self._part
        self._seconds[before] += now - self._since
        self._part, self._since = name, now
        return before
