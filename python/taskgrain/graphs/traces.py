"""Reads traces of other tools' runs: Chakra's (https://github.com/mlcommons/chakra) in the JSON of their
`chakra_jsonizer`, and what Ray (`ray timeline`) and Dask (`get_task_stream`) tell of tasks and times."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from taskgrain.graphs.reading import Entry, decoded
from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

CHAKRA, RAY, DASK = "Chakra", "Ray timeline", "Dask task stream"
_DURATION = ("durationMicros", "duration_micros")
_BEFORE = (("ctrlDeps", "ctrl_deps"), ("dataDeps", "data_deps"))
_WHOLE = ("int", "uint", "sint", "fixed", "sfixed")
_NUMBERS = (*(f"{kind}{bits}" for kind in _WHOLE for bits in (64, 32)), "double", "float")
_VALUES = tuple(kind + end for kind in _NUMBERS for end in ("Val", "_val"))
"""The names of fields are those in JSON, and those of protobuf, which some writers keep."""
_SIZES = ("comm_size", "tensor_size")
_TENSOR = re.compile(r"\[\d+, *\d+, *\d+, *(\d{1,15}), *(\d{1,15}), *['\"]", re.ASCII)
"""A tensor in a text: its id and that of its storage, its offset, elements, the bytes of one, its device."""
_NO_ACTOR = "f" * 24
"""The actor in the id of a task that has none."""
_HASH = re.compile(r"-([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def is_chakra(first: object, more: bool) -> bool:
    """Tells a trace from other JSON by its first object: it is a node, or `more` follows it."""
    if not isinstance(first, dict) or {"workflow", "steps"} & first.keys():
        return False
    fields = {*_DURATION, *_BEFORE[0], *_BEFORE[1]}
    return (more and "width" not in first) or bool(fields & first.keys())


def read_chakra(text: str) -> TaskGraph:
    """The nodes of a trace, one JSON object after another, with times in microseconds. What is 0 or empty is
    not written. Raises `InputError`."""
    durations: dict[str, float | None] = {}
    labels: dict[str, str] = {}
    outputs: dict[str, float | None] = {}
    before = []
    objects = at = 0
    while at < len(text):
        fields, at = decoded(text, at)
        objects += 1
        node = Entry(f"node {objects}", fields)
        if not {"id", "name", "type"} & node.fields.keys():
            if objects > 1:
                raise InputError(node.place, fields, "an id, a name or a type")
            continue  # the metadata
        name = node.text("id") if "id" in node.fields else "0"
        if name in durations:
            raise InputError(f"{node.place}, id", name, "an id that no other node has")
        labels |= {name: node.text("name")} if node.get("name") else {}
        took = node.known(*_DURATION)
        durations[name] = None if took is None else took / 1e6
        if (size := _bytes(node)) is not None:
            outputs[name] = size
        before += [(name, other) for keys in _BEFORE for other in node.texts(*keys)]
    return made(CHAKRA, durations, before, "s", None, labels, outputs=outputs)


def _bytes(node: Entry) -> float | None:
    """The bytes of a communication, a load or a store, or of the tensors that another node returns."""
    for one in node.entries("attr"):
        if one.get("name") in _SIZES:
            return one.known(*_VALUES)
    tensors = _TENSOR.findall(str(node.entry("outputs").get("values")))
    return sum(float(number) * float(of_each) for number, of_each in tensors) if tensors else None


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
