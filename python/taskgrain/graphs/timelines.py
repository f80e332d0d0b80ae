"""Reads what Ray (`ray timeline`) and Dask (`get_task_stream`) tell of a run: tasks and their times."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

RAY, DASK = "Ray timeline", "Dask task stream"
_NO_ACTOR = "f" * 24
"""In the id of a task, in the place of its actor."""
_HASH = re.compile(r"-([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def read_timeline(events: Sequence[Any]) -> TaskGraph:
    """The tasks of a list of events. Raises `InputError`."""
    try:
        return _ray(events) if any("cat" in one for one in events) else _dask(events)
    except (KeyError, TypeError, AttributeError) as error:
        said = f"what is wrong with {type(error).__name__}: {error}"
        raise InputError("JSON", said, f"a {RAY}, or a {DASK}") from error


def _ray(events: Sequence[Mapping[str, Any]]) -> TaskGraph:
    """The time of a task is that of its `task:execute`; if there is none, it has that of its arguments, too.
    Tasks of an actor come after each other where they did not overlap. The last attempt of a task counts."""
    executed: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in events:
        if one["cat"] == "task:execute":
            executed[one["tid"]].append((amount(one["ts"], "ts"), amount(one["dur"], "dur")))
    for of_worker in executed.values():
        of_worker.sort()
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    of_actors: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    tasks = [one for one in events if one["cat"].startswith("task::")]
    for one in sorted(tasks, key=lambda one: amount(one["ts"], "ts")):
        begin, took = amount(one["ts"], "ts"), amount(one["dur"], "dur")
        name = str(one["args"]["task_id"])
        of_worker = executed[one["tid"]]
        at = bisect_left(of_worker, (begin, 0.0))
        inside = at < len(of_worker) and of_worker[at][0] <= begin + took
        durations[name] = (of_worker[at][1] if inside else took) / 1e6
        labels[name] = one["cat"].removeprefix("task::")
        if not name[16:].startswith(_NO_ACTOR):
            of_actors[name[16:]][name] = (begin, begin + took)
    before = []
    for ran in of_actors.values():
        in_time = sorted(ran, key=ran.__getitem__)
        before += [(b, a) for a, b in pairwise(in_time) if ran[a][1] <= ran[b][0]]
    graph = made(RAY, durations, before, "s", labels=labels)
    return replace(graph, no_order="the file has none but those of an actor")


def _dask(events: Sequence[Mapping[str, Any]]) -> TaskGraph:
    """Without the tasks that failed."""
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    for one in events:
        if one["status"] != "OK":
            continue
        key = str(one["key"])
        times = [each for each in one["startstops"] if each["action"] == "compute"]
        durations[key] = sum(amount(each["stop"] - each["start"], f"time of {key}") for each in times)
        labels[key] = _HASH.split(key)[0].strip("'([")
    return replace(made(DASK, durations, (), "s", labels=labels), no_order="the file has none")
