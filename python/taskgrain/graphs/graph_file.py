"""taskgrain's own file of a task graph (docs/reference/patterns.md): columns, with an entry for each task."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from taskgrain.graphs.reading import decoded, wrong_at
from taskgrain.graphs.task_graph import TaskGraph, amount, check_finite
from taskgrain.words.errors import InputError

FORMAT = "taskgrain graph"
VERSION = 1
BEGIN = re.compile(r'\{\s*"taskgrain_graph"')
"""The first key, by which the format is known."""
_UNITS = ("s", "task", "")
_KEYS = (
    *("taskgrain_graph", "program", "unit", "names", "named"),
    *("durations", "cores", "outputs", "untimed", "before"),
)


def write(graph: TaskGraph) -> str:
    """The file of a graph, recorded from a program or not."""
    names = graph.labels or graph.names
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    columns: dict[str, object] = {"taskgrain_graph": VERSION}
    columns |= {"program": graph.program} if graph.program else {}
    columns |= {"unit": graph.unit, "names": [*numbers], "named": [numbers[name] for name in names]}
    columns |= {"durations": [*graph.durations]}
    columns |= {"cores": [*graph.cores]} if any(one != 1 for one in graph.cores) else {}
    columns |= {"outputs": [*graph.outputs]} if graph.outputs else {}
    columns |= {"untimed": graph.untimed} if graph.untimed else {}
    columns |= {"before": [[*one] for one in graph.before]}
    return json.dumps(columns, separators=(",", ":"), ensure_ascii=False)


def stored(graph: TaskGraph, path: Path) -> bytes:
    """The same as bytes, which are compressed for a path that ends in .gz."""
    text = write(graph).encode("utf-8", "replace")
    return gzip.compress(text, 6, mtime=0) if path.suffix == ".gz" else text


def read(text: str) -> TaskGraph:
    """The graph of such a file. Raises `InputError` for values that no writer of these files writes."""
    file, end = decoded(text, 0, json.JSONDecoder(object_pairs_hook=_once))
    if end < len(text):
        raise wrong_at(text, end, f"nothing after a {FORMAT}")
    version = file["taskgrain_graph"]
    if type(version) is not int or version != VERSION:
        raise InputError("taskgrain_graph", version, f"{VERSION}, the version of the format")
    if unknown := [one for one in file if one not in _KEYS]:
        raise InputError("key", unknown[0], _KEYS)
    before = _list(file, "before")
    size = len(before)
    if not size:
        raise InputError("before", before, "a list of the tasks before each task, and at least one task")
    if {*map(type, before)} != {list} or not _numbers_below(size, chain.from_iterable(before)):
        task, one = next(
            each
            for each in enumerate(before)
            if type(each[1]) is not list or not _numbers_below(size, each[1])
        )
        raise InputError(f"before, task {task}", one, f"a list of numbers of tasks, 0 to {size - 1}")
    edges = [tuple(dict.fromkeys(one)) for one in before]
    unit = file.get("unit", "")
    if unit not in _UNITS:
        raise InputError(
            "unit", unit, 's; task, where no task has a time; or "", where nobody knows the unit'
        )
    durations, cores = (_amounts(file, key, size) for key in ("durations", "cores"))
    if 0.0 in cores:
        raise InputError(f"cores, task {cores.index(0.0)}", 0, "a number above 0")
    check_finite(durations, cores, "durations")
    untimed = file.get("untimed", 0)
    if type(untimed) is not int or not 0 <= untimed <= size:
        raise InputError("untimed", untimed, "the number of tasks whose time is not known")
    program = file.get("program", "")
    if type(program) is not str:
        raise InputError("program", program, "a text")
    outputs = [
        None if one is None else _amount(one, f"outputs, task {task}")
        for task, one in enumerate(_list(file, "outputs", size) if "outputs" in file else ())
    ]
    return TaskGraph(
        _names(file, size), edges, durations, cores, untimed, unit, FORMAT, program, outputs=outputs
    )


def _numbers_below(size: int, values: Iterable[object]) -> bool:
    """Tells whether all are whole numbers from 0 on and below a size, of millions of them soon."""
    found = [*values]
    return not found or ({*map(type, found)} == {int} and min(found) >= 0 and max(found) < size)  # type: ignore[type-var, operator]


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys all differ. Raises `InputError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        raise InputError("key", max(times, key=times.__getitem__), "each key once")
    return found


def _list(file: dict[str, Any], key: str, size: int | None = None) -> list[Any]:
    found = file.get(key, [])
    if type(found) is not list or (size is not None and len(found) != size):
        shown = f"{len(found)} entries" if type(found) is list else found
        raise InputError(
            key, shown, "a list" if size is None else f"a list with an entry for each of {size} tasks"
        )
    return found


def _amounts(file: dict[str, Any], key: str, size: int) -> list[float]:
    """A column of numbers, which is all 1 if it is not there."""
    if key not in file:
        return [1.0] * size
    return [_amount(one, f"{key}, task {task}") for task, one in enumerate(_list(file, key, size))]


def _amount(value: object, what: str) -> float:
    """A number, which no text is here."""
    if isinstance(value, str):
        raise InputError(what, repr(value), "a number from 0 on")
    return amount(value, what)


def _names(file: dict[str, Any], size: int) -> Sequence[str]:
    if "names" not in file:
        return tuple(map(str, range(size)))
    names = _list(file, "names")
    named = _list(file, "named", size)
    if not _numbers_below(len(names), named):
        task = next(task for task, one in enumerate(named) if not _numbers_below(len(names), [one]))
        raise InputError(f"named, task {task}", named[task], f"the number of a name, 0 to {len(names) - 1}")
    if wrong := [one for one in names if type(one) is not str]:
        raise InputError("names", wrong[0], "texts")
    return tuple(names[one] for one in named)
