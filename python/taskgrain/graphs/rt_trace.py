"""Reads traces of the project's runtime, which say what tasks of flows, graphs and sequences come after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from taskgrain.graphs.reading import Entry
from taskgrain.graphs.task_graph import TaskGraph, check_finite
from taskgrain.words import quantity
from taskgrain.words.errors import InputError

FORMAT = "trace of taskgrain::rt"
_ROUNDED = 1e-3
"""The microseconds by which times of events may differ from the clock's."""


@dataclass
class _Task:
    name: str
    after: dict[int, None]
    waits: int = 0
    """The number of waits until it was given."""
    end: float = 0.0
    seconds: float = 0.0


@dataclass
class _Tasks:
    """The tasks of a trace by number, and those that others wait for, which take no time."""

    all: dict[int, _Task] = field(default_factory=dict)

    def join(self, name: str, before: Iterable[int], after: Iterable[int]) -> int:
        """Lets tasks come after others, through one that takes no time. Returns its number."""
        number = -1 - len(self.all)
        self.all[number] = _Task(name, dict.fromkeys(before))
        for one in after:
            self.all[one].after[number] = None
        return number

    def ends(self, among: Iterable[int]) -> tuple[list[int], list[int]]:
        """Returns the tasks without predecessors among them, and those without successors."""
        among = dict.fromkeys(among)
        followed = {one for task in among for one in self.all[task].after if one in among}
        first = [task for task in among if not among.keys() & self.all[task].after.keys()]
        return first, [task for task in among if task not in followed]


def read_trace(trace: Mapping[str, Any]) -> TaskGraph:
    """The tasks of flows, compiled graphs and sequences, with times in microseconds. Launches of a graph come
    after each other, and what is given after a wait after what has ended before. Raises `InputError`."""
    tasks = _Tasks()
    launches: dict[int, dict[int, dict[int, None]]] = {}
    file = Entry("trace", trace)
    events = [Entry(f"event {n}", one) for n, one in enumerate(file.items("traceEvents"), 1)]
    marks = [one for one in events if one.get("ph") == "i"]
    waits = [one.amount("ts") for one in marks if one.get("name") == "wait"]
    for one in events:
        args = one.entry("args")
        if one.get("ph") != "X" or "task" not in args.fields:
            continue  # a task whose predecessors nobody knows
        number, took = args.whole("task"), one.amount("dur")
        task = tasks.all.get(number)
        if task is None:
            before = dict.fromkeys(args.wholes("after"))
            task = tasks.all[number] = _Task(one.text("name"), before, args.whole("waits"))
            if task.waits > len(waits):
                raise args.wrong(f"at most {len(waits)}, as there are waits", "waits")
        task.end = max(task.end, one.amount("ts") + took)
        # Without what the worker did or awaited meanwhile for others.
        task.seconds += max(0.0, took - (args.known("away") or 0.0)) / 1e6
        if "graph" in args.fields:
            of_graph = launches.setdefault(args.whole("graph"), {})
            of_graph.setdefault(args.whole("launch"), {})[number] = None
    if not tasks.all:
        raise InputError("traceEvents", len(events), "some of tasks of flows, compiled graphs or sequences")
    for number, task in tasks.all.items():
        if missing := [one for one in task.after if one not in tasks.all]:
            raise InputError(f"task {number}, after", missing[0], "a task that the trace has")
    given: dict[int, dict[int, int]] = {}
    for one in marks:
        if one.get("name") == "launch":
            args = one.entry("args")
            if args.whole("task") not in tasks.all:
                raise args.wrong("a task that the trace has", "task")
            given.setdefault(args.whole("graph"), {})[args.whole("launch")] = args.whole("task")
    recorded = [*tasks.all]
    for graph, of_graph in launches.items():
        _join_launches(tasks, of_graph, given.get(graph, {}))
    _join_waits(tasks, recorded, waits)
    places = {number: place for place, number in enumerate(tasks.all)}
    found = tasks.all.values()
    check_finite([one.seconds for one in found], [1.0] * len(found), "times")
    several = "ranks" in file.fields and file.whole("ranks") > 1
    lacks = f"the trace, of rank {file.whole('rank')}, lacks what other ranks send" if several else ""
    return TaskGraph(
        [one.name for one in found],
        [[places[other] for other in one.after] for one in found],
        [round(one.seconds, 10) for one in found],
        [1.0] * len(places),
        0,
        "s",
        FORMAT,
        no_order=lacks,
        left_out=_left_out(events),
    )


def _left_out(events: Iterable[Entry]) -> str:
    """Counts the events that are no tasks of the graph, and their time without that of tasks within them. A
    future that a task runs is a part of that task, unless the task was away for so long."""
    spans = [(one, one.amount("ts"), one.amount("dur")) for one in events if one.get("ph") == "X"]
    number, passed = 0, 0.0
    around: list[tuple[object, float, float, bool]] = []  # worker, end, time of others' work, in the graph
    for one, begin, took in sorted(spans, key=lambda span: (str(span[0].get("tid")), span[1], -span[2])):
        worker, args = one.get("tid"), one.entry("args")
        while around and (around[-1][0] != worker or around[-1][1] <= begin + _ROUNDED):
            around.pop()
        _, _, away, in_graph = around[-1] if around else (worker, 0.0, 0.0, True)
        passed -= 0.0 if in_graph else took
        if "task" in args.fields:
            around.append((worker, begin + took, args.known("away") or 0.0, True))
        elif around and in_graph and (took > away or not away):
            around.append((worker, begin + took, away, True))
        else:
            number, passed = number + 1, passed + took
            around.append((worker, begin + took, 0.0, False))
    time = quantity.seconds(max(0.0, passed) / 1e6)
    return f"{quantity.counted(number, 'event')}, {time}: futures, forks and loops" if number else ""


def _join_launches(
    tasks: _Tasks, launches: Mapping[int, Mapping[int, None]], given: Mapping[int, int]
) -> None:
    """Lets each launch of a graph come after the one before. Some tasks of sequences are launches, which come
    after what these come after, and with which these end."""
    before: list[int] = []
    for launch in sorted(launches):
        first, last = tasks.ends(launches[launch])
        if before:
            tasks.join("launch", before, first)
        if launch in given:
            task = tasks.all[given[launch]]
            for one in launches[launch]:
                tasks.all[one].waits = task.waits
            for one in first:
                tasks.all[one].after |= task.after
            task.after |= dict.fromkeys(last)
        before = last


def _join_waits(tasks: _Tasks, recorded: Iterable[int], waits: list[float]) -> None:
    """Lets tasks given after a wait come after all that had ended by then."""
    waits = sorted(waits)
    parts: dict[int, list[int]] = {}
    for number in recorded:
        parts.setdefault(tasks.all[number].waits, []).append(number)
    running: list[int] = []  # given before, and no wait has seen their end
    for part in sorted(parts):
        if part > 0:
            over = [one for one in running if tasks.all[one].end <= waits[part - 1]]
            running = [one for one in running if tasks.all[one].end > waits[part - 1]]
            first, _ = tasks.ends(parts[part])
            running.append(tasks.join("wait", tasks.ends(over)[1], first))
        running += parts[part]
