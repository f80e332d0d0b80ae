"""Reads what Ray (`ray timeline`) and Dask (`get_task_stream`) tell of a run: tasks and their times."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from taskgrain.graphs.reading import Entry
from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

RAY, DASK = "Ray timeline", "Dask task stream"
_NO_ACTOR = "f" * 24
"""The actor in the id of a task that has none."""
_HASH = re.compile(r"-([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def read_timeline(events: Sequence[Any]) -> TaskGraph:
    """The tasks of a list of events. Raises `InputError`."""
    found = [Entry(f"event {n}", one) for n, one in enumerate(events, 1)]
    if any("cat" in one.fields for one in found):
        return _ray([one for one in found if "cat" in one.fields])
    if any("startstops" in one.fields for one in found):
        return _dask(found)
    raise InputError("JSON", f"a list of {len(found)}", f"the events of a {RAY} or a {DASK}")


def _ray(events: Sequence[Entry]) -> TaskGraph:
    """The time of a task is that of its `task:execute`; if there is none, it has that of its arguments, too.
    Tasks of an actor come after each other where they did not overlap. The last attempt of a task counts."""
    executed: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in events:
        if one.get("cat") == "task:execute":
            executed[one.text("tid")].append((one.amount("ts"), one.amount("dur")))
    for of_worker in executed.values():
        of_worker.sort()
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    of_actors: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    tasks = [one for one in events if one.text("cat").startswith("task::")]
    for one in sorted(tasks, key=lambda one: one.amount("ts")):
        begin, took = one.amount("ts"), one.amount("dur")
        name = one.entry("args").text("task_id")
        of_worker = executed[one.text("tid")]
        at = bisect_left(of_worker, (begin, 0.0))
        inside = at < len(of_worker) and of_worker[at][0] <= begin + took
        durations[name] = (of_worker[at][1] if inside else took) / 1e6
        labels[name] = one.text("cat").removeprefix("task::")
        if not name[16:].startswith(_NO_ACTOR):
            of_actors[name[16:]][name] = (begin, begin + took)
    before = []
    for ran in of_actors.values():
        in_time = sorted(ran, key=ran.__getitem__)
        before += [(b, a) for a, b in pairwise(in_time) if ran[a][1] <= ran[b][0]]
    graph = made(RAY, durations, before, "s", labels=labels)
    return replace(graph, no_order="the file has none but those of an actor")


def _dask(events: Sequence[Entry]) -> TaskGraph:
    """Leaves out the tasks that failed. One that was computed again is there as often."""
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    for one in events:
        if one.text("status") != "OK":
            continue
        key = one.get("key")
        key = str(key) if isinstance(key, list) else one.text("key")
        spans = [each for each in one.entries("startstops") if each.text("action") == "compute"]
        times = [each.amount("stop") - each.amount("start") for each in spans]
        durations[one.place] = amount(sum(times), f"{one.place}, time of {key}")
        labels[one.place] = _HASH.split(key)[0].strip("'([")
    return replace(made(DASK, durations, (), "s", labels=labels), no_order="the file has none")
