"""A compiled graph of some steps on actors, one for each core, that is executed over and over: what the
drivers with compiled graphs share."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections import deque
from pathlib import Path
from typing import Any

import ray

sys.path.append(str(Path(__file__).parents[1] / "ray_tasks"))
from ray_system import RaySystem

from taskgrain.system import Run

MOST_IN_FLIGHT = 4
"""Executions of the compiled graph that are under way at most."""


class CompiledSystem(RaySystem):
    name = "ray_compiled"
    actor: Any
    """Class of the actors; each gets its number, and how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self._start()
        self._shape: tuple[Any, ...] = ()
        self._compiled: Any = None
        self._steps = self._in_flight = 1

    @abstractmethod
    def compile(self, *shape: Any) -> Any:
        """The compiled graph of a shape, whose input is the first step that it executes."""

    def fit(self, *shape: Any, steps: int, in_flight: int = MOST_IN_FLIGHT) -> None:
        """Compiles this shape, unless the compiled graph there is has it; an execution does so many steps."""
        self._steps, self._in_flight = steps, in_flight
        if shape != self._shape:
            self._forget()
            self._compiled, self._shape = self.compile(*shape), shape

    def execute(self, run: Run) -> None:
        under_way: deque[Any] = deque()
        try:
            for first in range(0, max(run.steps(g) for g in range(run.graphs)), self._steps):
                if len(under_way) == self._in_flight:
                    ray.get(under_way.popleft())
                under_way.append(self._compiled.execute(first))
            for refs in under_way:
                ray.get(refs)
        except Exception:
            self._forget()
            raise

    def renew(self) -> None:
        """Gives the present run new actors."""
        for actor in self.actors:
            ray.kill(actor)
        self._start()

    def _start(self) -> None:
        self.actors = self.start_actors(self.actor, self.cores)

    def _forget(self) -> None:
        """An actor takes part in one compiled graph at a time."""
        if self._compiled:
            self._compiled.teardown()
        self._compiled, self._shape = None, ()

    def close(self) -> None:
        self._forget()
        super().close()
