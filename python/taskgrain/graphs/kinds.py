"""The kinds of tasks of a graph: tasks of one name, except for numbers at its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from taskgrain.graphs.task_graph import TaskGraph

_NUMBERS = re.compile(r"(?:[_\-. ]*(?:ID)?\d+|\([\d, ]+\))+$")
"""The end of `gemm_3_7`, `split_fasta_ID0000012` and `POTRF(3, 1)`; not that of `update (lu.cpp:81)`."""


@dataclass
class Kind:
    """The tasks of a kind, and the time that they take together, each as often as it takes cores."""

    name: str
    tasks: int = 0
    work: float = 0.0


def kind_of(label: str) -> str:
    """The kind of a task that is called so."""
    return _NUMBERS.sub("", label) or "task"


def kinds(graph: TaskGraph) -> list[Kind]:
    """The kinds, that with most work first."""
    found: dict[str, Kind] = {}
    names: dict[str, str] = {}
    for label, time, cores in zip(graph.labels or graph.names, graph.durations, graph.cores, strict=True):
        name = names.get(label) or names.setdefault(label, kind_of(label))
        one = found.setdefault(name, Kind(name))
        one.tasks += 1
        one.work += time * cores
    return sorted(found.values(), key=lambda one: (-one.work, -one.tasks, one.name))
