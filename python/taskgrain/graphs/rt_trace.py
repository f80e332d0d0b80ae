"""Reads traces of the project's runtime, which say what the tasks of graphs and sequences come after."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from taskgrain.graphs.task_graph import TaskGraph, amount
from taskgrain.words.errors import InputError

FORMAT = "trace of taskgrain::rt"


@dataclass
class _Task:
    name: str
    after: dict[int, None]
    begin: float = 0.0
    end: float = 0.0
    seconds: float = 0.0


@dataclass
class _Tasks:
    """The tasks of a trace by number, and those that others wait for, which take no time."""

    all: dict[int, _Task] = field(default_factory=dict)

    def join(self, name: str, before: Iterable[int], after: Iterable[int]) -> None:
        """Lets tasks come after others, through one that takes no time."""
        number = -1 - len(self.all)
        self.all[number] = _Task(name, dict.fromkeys(before))
        for one in after:
            self.all[one].after[number] = None

    def ends(self, among: Iterable[int]) -> tuple[list[int], list[int]]:
        """Returns those that come after none of the others, and those that none of the others comes after."""
        among = dict.fromkeys(among)
        followed = {one for task in among for one in self.all[task].after if one in among}
        first = [task for task in among if not among.keys() & self.all[task].after.keys()]
        return first, [task for task in among if task not in followed]


def read_trace(trace: Mapping[str, Any]) -> TaskGraph:
    """The tasks of compiled graphs and sequences, with times in microseconds. Launches of a graph come after
    each other, and what begins after a wait comes after what has ended before. Raises `InputError`."""
    try:
        return _read(trace["traceEvents"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        said = f"what is wrong with {type(error).__name__}: {error}"
        raise InputError("traceEvents", said, "what a program of taskgrain::rt writes") from error


def _read(events: list[dict[str, Any]]) -> TaskGraph:
    tasks = _Tasks()
    launches: dict[int, dict[int, dict[int, None]]] = {}
    for one in events:
        args = one.get("args", {})
        if one["ph"] != "X" or "task" not in args:
            continue  # a task of which nobody knows what it comes after, or the run of a whole graph
        number, begin = int(args["task"]), amount(one["ts"], "ts")
        took = amount(one["dur"], "dur")
        if number < 0:
            raise InputError("task", number, "a number from 0 on")
        task = tasks.all.get(number)
        if task is None:
            task = tasks.all[number] = _Task(str(one["name"]), dict.fromkeys(map(int, args["after"])), begin)
        task.begin, task.end = min(task.begin, begin), max(task.end, begin + took)
        task.seconds += took / 1e6
        if "graph" in args:
            of_graph = launches.setdefault(int(args["graph"]), {})
            of_graph.setdefault(int(args["launch"]), {})[number] = None
    if not tasks.all:
        raise InputError("traceEvents", len(events), "some of tasks of compiled graphs, or of sequences")
    if missing := {one for task in tasks.all.values() for one in task.after} - tasks.all.keys():
        raise InputError("after", missing.pop(), "a task that the trace has")
    given = {
        (int(one["args"]["graph"]), int(one["args"]["number"])): int(one["args"]["task"])
        for one in events
        if one["ph"] == "i" and one["name"] == "launch"
    }
    recorded = [*tasks.all]
    for graph, of_graph in launches.items():
        _join_launches(tasks, of_graph, {k: task for (of, k), task in given.items() if of == graph})
    _join_waits(tasks, recorded, [amount(one["ts"], "ts") for one in events if one["name"] == "wait"])
    places = {number: place for place, number in enumerate(tasks.all)}
    found = tasks.all.values()
    return TaskGraph(
        [one.name for one in found],
        [[places[other] for other in one.after] for one in found],
        [round(one.seconds, 10) for one in found],
        [1.0] * len(places),
        0,
        "s",
        FORMAT,
    )


def _join_launches(
    tasks: _Tasks, launches: Mapping[int, Mapping[int, None]], given: Mapping[int, int]
) -> None:
    """Lets each launch of a graph come after the one before. Some tasks of sequences are launches, which come
    after what these come after, and with which these end."""
    before: list[int] = []
    for place, launch in enumerate(sorted(launches)):
        first, last = tasks.ends(launches[launch])
        if before:
            tasks.join("launch", before, first)
        if place in given:
            task = tasks.all[given[place]]
            for one in first:
                tasks.all[one].after |= task.after
            task.after |= dict.fromkeys(last)
        before = last


def _join_waits(tasks: _Tasks, recorded: Iterable[int], waits: list[float]) -> None:
    """Lets what begins after a wait come after what has ended before it."""
    waits = sorted(waits)
    parts: dict[int, list[int]] = {}
    for number in recorded:
        parts.setdefault(bisect.bisect_right(waits, tasks.all[number].begin), []).append(number)
    running: list[int] = []  # in the wait before: others than it waited for
    before: list[int] = []
    for part in sorted(parts):
        first, last = tasks.ends(parts[part])
        if before:
            tasks.join("wait", before, first)
            before = [min(tasks.all)]
        wait = waits[part] if part < len(waits) else 0.0
        ended = [one for one in (*running, *last) if tasks.all[one].end <= wait]
        running = [one for one in (*running, *last) if tasks.all[one].end > wait]
        before = ended or before
