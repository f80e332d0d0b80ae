"""The graph of a program: how long it takes with a system, and which of its tasks are too short for that."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from taskgrain.estimate.advice import Efficiency
from taskgrain.graphs.steps import Steps, in_steps
from taskgrain.graphs.task_graph import Bound, TaskGraph
from taskgrain.study.fields import WORKLOAD
from taskgrain.words.errors import InputError
from taskgrain.words.interval import Interval

_LEAST, _MOST = 1e-11, 1e9
"""Seconds of the mean of all points, and of all together, that can be asked for."""
_MOST_HANDED_ON = 1 << 28
"""Bytes of the outputs of the widest step that are handed on unless somebody asks for it."""
_STORED = 1e-12
"""Seconds to which a results folder keeps the time that was asked for."""


@dataclass(frozen=True)
class Cost:
    """The time that the graph takes with a system, on the cores that it occupies, and where it goes."""

    time: Interval
    """Seconds from the first task to the last."""
    lost: Interval
    """The share of the time that the graph itself does not need on these cores."""
    overhead: float | None
    """Seconds that a point of the measured graph takes beside its work, by which the critical path or the
    work of all cores comes to this time."""
    shorter: float | None
    """The share of tasks whose work takes less than that."""


@dataclass(frozen=True)
class Program:
    """A graph whose tasks have their times, in seconds."""

    name: str
    graph: TaskGraph
    steps: Steps
    """The graph as it is measured, with the times that the file says."""

    @cached_property
    def bound(self) -> Bound:
        """The shortest time that it takes, whatever the system."""
        return self.graph.bound()

    @cached_property
    def ranked(self) -> Sequence[float]:
        """The times of the tasks, ascending."""
        return sorted(self.graph.durations)

    @property
    def total(self) -> float:
        """The work of all tasks, in seconds of one core."""
        return sum(self.ranked)

    @property
    def mean(self) -> float:
        """The mean work of the measured points: tasks, and points that pass outputs on."""
        return self.total / self.steps.points

    @property
    def chain(self) -> int:
        """The tasks of the critical path."""
        return len(self.graph.longest_chain)

    @property
    def _points_of_chain(self) -> int:
        """The same with the points that pass outputs on: it has one in each step."""
        first, last = self.graph.longest_chain[0], self.graph.longest_chain[-1]
        return self.steps.levels[last] - self.steps.levels[first] + 1

    @property
    def output_bytes(self) -> int | None:
        """The bytes that each task hands on by default: those of the file, if they fit."""
        return output_bytes(self.steps)

    def lasting(self, mean: float) -> Program:
        """The same with other times, whose mean over the points is this, in seconds."""
        if abs(mean - self.mean) < _STORED:
            return self
        times = [one * (mean / self.mean) for one in self.graph.durations]
        return replace(self, graph=replace(self.graph, durations=times))

    def cost(self, efficiency: Efficiency, cores: int) -> Cost:
        """The cost by the efficiency on so many cores."""
        time = efficiency.found.inverse(self.total / cores)
        least = self.least(cores)
        time = time.from_on(least) if time.about else time
        lost = Interval(
            *(None if one is None else 1.0 - least / one for one in (time.value, time.low, time.high))
        )
        if time.value is None:
            return Cost(time, lost, None, None)
        # Whichever of the two takes the time: the critical path, or all points on these cores.
        overhead = min(
            (time.value - self.bound.critical_path) / self._points_of_chain,
            (time.value * cores - self.total) / self.steps.points,
        )
        return Cost(time, lost, overhead, bisect_left(self.ranked, overhead) / len(self.ranked))

    def least(self, cores: int) -> float:
        """The least time on so many cores. A task of the measured graph takes one core."""
        return max(self.bound.critical_path, self.total / cores)

    def fused(self, overhead: float, tasks: int, cores: int) -> float:
        """The time if so many points after each other were one, and no chain took longer for that. These are
        not divided among cores, so that some core has as many as are left over, too."""
        least = overhead / tasks
        path = self.bound.critical_path + self._points_of_chain * least
        time = max(path, (self.total + self.steps.points * least) / cores)
        if tasks == 1:
            return time
        whole = math.ceil(self.steps.points / tasks)
        return max(time, math.ceil(whole / cores) * (self.total / whole + overhead))

    @property
    def most_cores(self) -> float:
        """The cores beyond which no more shorten the time, whatever the system."""
        path = self.bound.critical_path
        return self.total / path if path else 1.0


def output_bytes(steps: Steps) -> int | None:
    """The bytes that each task of a graph hands on by its file; None if it has none, or they do not fit."""
    said = steps.graph.handed_on
    if said is None or said * steps.widest > _MOST_HANDED_ON:
        return None
    return max(int(WORKLOAD["output_bytes"].default), round(said))


def of_graph(name: str, graph: TaskGraph, unit: float | None, scale: float) -> Program:
    """The program of a graph whose times are multiplied by `scale`.

    `unit` has the seconds of one of its units of time. Raises `InputError` for a unit that is needed or is
    not, and for times whose sum is no time.
    """
    if (unit is None) != (graph.unit == "s"):
        what = graph.no_times if graph.unit == "task" else "it does not say its unit of time"
        allowed = "nothing: the times of the file are in seconds"
        if unit is None:
            allowed = f"the time of 1, such as 1us: {what} ({graph.kind})"
        raise InputError("--unit", "" if unit is None else f"{unit:g} s", allowed)
    factor = scale * (unit or 1.0)
    times, steps = [one * factor for one in graph.durations], in_steps(graph)
    total = sum(times)
    if total < _LEAST * steps.points or not total < _MOST:
        raise InputError(
            f"times of {name}",
            f"{total:g} s together",
            f"{_LEAST:g} s for each point and less than {_MOST:g} s",
        )
    return Program(name, replace(graph, durations=times, unit="s"), steps)
