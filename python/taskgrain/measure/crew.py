"""The processes of one driver, which take turns: one serves, the others are parked.

Where a process happens to lie in memory makes its tasks some per cent slower or quicker as long as it lives.
Several processes that take turns turn that into scatter between rounds, which the intervals know of.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from taskgrain.words.quantity import counted

MOST = 6
"""The processes that a crew keeps, started as soon as there are rounds: with fewer, nobody knows how much
processes differ."""
_SHARE = 1.0 / 8.0
"""The share of a study's time that starting more of them may take."""
_QUICK = 1.0
"""Seconds of the slowest start that is repeated: tasks of slower systems hardly depend on their place."""
_AT_ONCE, _OF_THE_REST = 0.5, 0.25
"""Seconds of the slowest start that does not wait for its share, and the share of the time that is left which
the first starts of all drivers may take."""


class DriverName(NamedTuple):
    """Names the driver of a system, or a reference, on so many nodes, and cores of each; 0: on all of the
    study's."""

    system: str
    cores: int = 0
    nodes: int = 1

    @property
    def places(self) -> tuple[str, ...]:
        """Returns the settings that are not as for others, in words."""
        nodes = (counted(self.nodes, "node"),) if self.nodes > 1 else ()
        return (*nodes, *((counted(self.cores, "core"),) if self.cores else ()))

    def __str__(self) -> str:
        return f"{self.system} on {', '.join(self.places)}" if self.places else self.system


class Process(Protocol):
    """A process that takes turns."""

    @property
    def alive(self) -> bool: ...
    def quit(self) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> int | None: ...


P = TypeVar("P", bound=Process)


@dataclass
class _Member(Generic[P]):
    process: P
    number: int
    served: Counter[Hashable] = field(default_factory=Counter)
    """The rounds by their workload and kind."""


class Crew(Generic[P]):
    """The processes of one driver."""

    def __init__(self, several: bool) -> None:
        """`several` may take turns; if not, there is one, and no other is started in its place."""
        self._several = several
        self._members: list[_Member[P]] = []
        """The processes: the first serves, and the last has not served for longest."""
        self._started = 0
        self._began, self._cost = 0.0, math.inf

    @property
    def serving(self) -> P | None:
        """The process whose turn it is, if it lives.

        If it does not, the others have no turn any more: what ended it may have ended them, too, and a parked
        process does not tell.
        """
        if self._members and not self._members[0].process.alive:
            self.kill()
            self._members.clear()
        return self._members[0].process if self._members else None

    @property
    def number(self) -> int:
        """The number of the process that serves among all that were started, from 1."""
        return self._members[0].number if self._members else 0

    @property
    def cost(self) -> float:
        """The seconds that the last start took, with the end of the one before it."""
        return self._cost

    def join(self, process: P) -> P | None:
        """Takes a process that has started, which now serves. Returns one for which there is no room."""
        self._started += 1
        self._members.insert(0, _Member(process, self._started))
        if len(self._members) <= MOST:
            return None
        oldest = min(self._members, key=lambda one: one.number)
        self._members.remove(oldest)
        return oldest.process

    def took(self, began: float, ended: float) -> None:
        """Tells from when to when the last start lasted."""
        self._began, self._cost = began, ended - began

    def keep(self) -> None:
        """Lets no other process be started any more."""
        self._several = False

    def due(self, now: float, left: float, drivers: int) -> bool:
        """Tells whether another process is to be started, beside those of so many drivers that take turns,
        with so much time `left`."""
        if not self._several or not 0.0 < self._cost <= _QUICK:
            return False
        whole = self._cost * MOST * drivers
        if len(self._members) < MOST and self._cost <= _AT_ONCE and whole <= _OF_THE_REST * left:
            return True
        return now - self._began >= self._cost * drivers / _SHARE

    def turn(self, of: Hashable = None) -> None:
        """Lets the process serve a round that served the fewest rounds of the same.

        Of several, it is the one that has not served for longest. Workloads share the processes, and each is
        to see all of them.
        """
        if self._members:
            next_one = min(reversed(self._members), key=lambda one: one.served[of])
            self._members.remove(next_one)
            self._members.insert(0, next_one)
            next_one.served[of] += 1

    def processes(self) -> list[P]:
        """All of them, in the order in which they served last."""
        return [one.process for one in self._members]

    def quit(self) -> None:
        """Asks all to quit, and waits for none: `close` does."""
        for one in self._members:
            one.process.quit()

    def close(self) -> None:
        self.quit()
        for one in self._members:
            one.process.close()

    def kill(self) -> None:
        for one in self._members:
            one.process.kill()
