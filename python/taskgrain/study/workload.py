"""The things that are measured: a workload is a task graph without its task size, a cell a system on it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from taskgrain._core import Run, Unsupported
from taskgrain.study.field import flag
from taskgrain.study.fields import OF_THE_HARNESS, WORKLOAD

REFERENCE = "taskgrain-reference"
"""The program that measures the kernel alone on the cores."""
EMPTY = "empty"
"""The kernel that does nothing: its tasks show what a system costs."""
_SAME_PEAK = ("imbalance", "persistent")
"""Fields of a kernel that do not change how fast it runs alone on all cores."""

_PLACES = {name: place for place, name in enumerate(WORKLOAD)}


def core_run(graphs: Sequence[Mapping[str, Any]], isa: str = "auto") -> Run:
    """The graphs as the core has them. Raises `InvalidSpec` or `Unsupported`."""
    return Run(json.dumps({"op": "run", "graphs": graphs, "validate": "off", "isa": isa}))


def whole(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a workload; those that are not there have their defaults."""
    return {name: fields.get(name, one.default) for name, one in WORKLOAD.items()}


class Workload:
    """`graphs` copies of one graph, with a value for each field of `fields.WORKLOAD`. Immutable."""

    __slots__ = ("_values",)

    def __init__(self, pattern: str, width: int, **others: Any) -> None:
        """Fields that are not given have their defaults. Raises `TypeError` for one that is none."""
        if unknown := others.keys() - WORKLOAD.keys():
            raise TypeError(f"a workload has no {', '.join(sorted(unknown))}")
        self._values = tuple(whole({"pattern": pattern, "width": width, **others}).values())

    def fields(self) -> dict[str, Any]:
        return dict(zip(WORKLOAD, self._values, strict=True))

    def __getitem__(self, name: str) -> Any:
        return self._values[_PLACES[name]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Workload({self.name})"

    @property
    def graph(self) -> tuple[Any, ...]:
        """The fields of the workload, without the path of a file whose hash it has."""
        hashed = self["dag_hash"] != WORKLOAD["dag_hash"].default
        left_out = _PLACES["dag"] if hashed else -1
        return tuple(value for place, value in enumerate(self._values) if place != left_out)

    @property
    def pattern(self) -> str:
        return str(self["pattern"])

    @property
    def width(self) -> int:
        return int(self["width"])

    @property
    def cores(self) -> int:
        """The cores of each node that it is measured on; 0 stands for all of the study's."""
        return int(self["cores"])

    @property
    def nodes(self) -> int:
        return int(self["nodes"])

    def cores_of_all(self, cores: int) -> int:
        """The cores of all its nodes together; the study has so many `cores` of each."""
        return self.nodes * (self.cores or cores)

    @property
    def graphs(self) -> int:
        return int(self["graphs"])

    def kernel(self) -> dict[str, Any]:
        """Returns the kernel of a task, as the driver protocol says it, without iterations."""
        own = {
            one.name: value
            for one, value in zip(WORKLOAD.values(), self._values, strict=True)
            if one.of_kernel
        }
        return {"name": own.pop("kernel"), **own}

    def reference(self) -> dict[str, Any]:
        """The kernel that the reference runs to find the peak."""
        return {key: value for key, value in self.kernel().items() if key not in _SAME_PEAK}

    def request(self, iterations: int, steps: int) -> list[dict[str, object]]:
        """The GRAPHs of a `run` request; 0 iterations stand for the empty kernel."""
        values = self.fields()
        graph = {
            name: values[name]
            for name, one in WORKLOAD.items()
            if not one.of_kernel and name not in OF_THE_HARNESS
        }
        kernel = self.kernel() if iterations else {"name": EMPTY}
        graph |= {"steps": steps, "kernel": kernel | {"iterations": iterations}}
        return [graph] * self.graphs

    @property
    def name(self) -> str:
        """Pattern and width, and whatever else is not the default: `nearest/radix=5/width=16/graphs=4`."""
        parts = [f"{name}={_shown(name, value)}" for name, value in self._own().items() if name != "pattern"]
        return "/".join([self.pattern, *parts])

    def _own(self) -> dict[str, Any]:
        """The fields that are not their defaults."""
        return {name: value for name, value in self.fields().items() if value != WORKLOAD[name].default}

    def tasks(self, steps: int) -> int:
        """An upper bound on the tasks of one run."""
        return self.width * steps * self.graphs

    @lru_cache(maxsize=256)  # noqa: B019 - a workload is a small value that lives as long as the study
    def exact_tasks(self, steps: int) -> int | None:
        """The tasks of one run, as the core counts them; None for graphs that this machine cannot run."""
        try:
            return core_run(self.request(1, steps)).tasks
        except Unsupported:
            return None

    @property
    def tasks_in_flight(self) -> int:
        """The tasks of one step of all graphs, which may run or wait at the same time; 0 for a DAG, whose
        file says them."""
        return 0 if self.pattern == "dag" else self.width * self.graphs

    def options(self) -> str:
        """The flags that give this workload on the command line."""
        words = []
        for name, value in self._own().items():
            words.append(flag(name) if value is True else f"{flag(name)} {shlex.quote(_plain(value))}")
        return " ".join(words)


def _shown(name: str, value: object) -> str:
    # A slash parts the fields of a name, so of a file only its own name goes in.
    return Path(str(value)).name if WORKLOAD[name].is_file else _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


@dataclass(frozen=True)
class Cell:
    """One system on one workload."""

    system: str
    workload: Workload

    @property
    def name(self) -> str:
        return f"{self.system}/{self.workload.name}"
