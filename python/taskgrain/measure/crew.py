"""The processes of one driver, which take turns: one serves, the others are parked.

Where a process happens to lie in memory makes its tasks some per cent slower or quicker as long as it lives.
Several processes that take turns turn that into scatter between rounds, which the intervals know of.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Generic, Protocol, TypeVar

MOST = 6
"""Processes that are kept. So many are started as soon as there are rounds: with fewer, nobody knows how much
processes differ."""
_SHARE = 1.0 / 8.0
"""The share of a study's time that starting more of them may take."""
_QUICK = 1.0
"""Seconds of the slowest start that is repeated: tasks of slower systems hardly depend on their place."""
_AT_ONCE = 0.5
"""Seconds of the slowest start that does not wait for its share."""


class Process(Protocol):
    """What takes turns."""

    @property
    def alive(self) -> bool: ...
    def close(self) -> None: ...
    def kill(self) -> int | None: ...


P = TypeVar("P", bound=Process)


class Crew(Generic[P]):
    """The processes of one driver."""

    def __init__(self, several: bool) -> None:
        """`several` may take turns; if not, there is one, and no other is started in its place."""
        self._several = several
        self._members: deque[tuple[int, P]] = deque()
        """Each with its number; the first serves, and the one that served last is the last."""
        self._started = 0
        self._began, self._cost = 0.0, math.inf

    @property
    def serving(self) -> P | None:
        """The process whose turn it is, if it lives."""
        while self._members and not self._members[0][1].alive:
            self._members.popleft()
        return self._members[0][1] if self._members else None

    @property
    def number(self) -> int:
        """Which of all that were started serves, from 1."""
        return self._members[0][0] if self._members else 0

    @property
    def first(self) -> bool:
        """Whether none was started yet."""
        return self._started == 0

    @property
    def cost(self) -> float:
        """The seconds that the last start took, with the end of the one before it."""
        return self._cost

    def join(self, process: P) -> P | None:
        """Takes a process that has started, which now serves. Returns one that there is no room for."""
        self._started += 1
        self._members.appendleft((self._started, process))
        if len(self._members) <= MOST:
            return None
        oldest = min(self._members)
        self._members.remove(oldest)
        return oldest[1]

    def took(self, began: float, ended: float) -> None:
        """Tells from when to when the last start lasted."""
        self._began, self._cost = began, ended - began

    def keep(self) -> None:
        """Lets no other process be started any more."""
        self._several = False

    def due(self, now: float, drivers: int) -> bool:
        """Whether another process is to be started, beside those of so many drivers that take turns."""
        if not self._several or not 0.0 < self._cost <= _QUICK:
            return False
        if len(self._members) < MOST and self._cost <= _AT_ONCE:
            return True
        return now - self._began >= self._cost * drivers / _SHARE

    def turn(self) -> None:
        """Lets the next process serve."""
        self._members.rotate(-1)

    def all(self) -> list[P]:
        return [process for _, process in self._members]
