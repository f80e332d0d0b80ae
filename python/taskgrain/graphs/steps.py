"""A task graph of any shape in steps, as the core reads it: a task depends on the step before alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words.errors import InputError

_FEW = 50_000
"""Tasks of which all those before each fit into some hundred megabytes, a bit for each."""
_SOON = 10_000
"""Dependences of a graph for which the best steps are found in seconds."""
_MOST_POINTS = 1 << 24
"""Tasks and points that pass outputs on, in a file of steps; src/core/dag.cpp takes no more."""
_MOST_BYTES = 1 << 26
"""The most bytes of that file."""


@dataclass(frozen=True)
class Step:
    """The points of a step, which lie beside each other."""

    first: int
    points: Sequence[tuple[int, bool]]
    """The task of each, and whether it runs there; else its output is passed on."""
    inputs: Sequence[Sequence[int]]
    """The points of the step before that each reads."""


@dataclass(frozen=True)
class Steps:
    """The step of each task. A point in each step between passes on what a later task reads; it takes no
    time of its own. Where other dependences imply one, that is left out."""

    graph: TaskGraph
    levels: Sequence[int]
    passes: Sequence[int]
    """The number of steps over which each task's output is passed on."""

    @property
    def number(self) -> int:
        return max(self.levels) + 1

    @property
    def passed_on(self) -> int:
        return sum(self.passes)

    @property
    def points(self) -> int:
        """All tasks and all points that pass outputs on."""
        return len(self.levels) + self.passed_on

    @property
    def widest(self) -> int:
        """The most tasks of a step."""
        widths = [0] * self.number
        for level in self.levels:
            widths[level] += 1
        return max(widths)

    def text(self, name: str = "graph") -> str:
        """The file for `--dag` (docs/reference/patterns.md). Raises `InputError`, which names the graph so,
        for more points or bytes than that takes."""
        if self.points > _MOST_POINTS:
            raise InputError(
                name,
                f"one of {self.points} points in steps",
                f"at most {_MOST_POINTS}: tasks, and points that pass outputs on",
            )
        longest = max(self.graph.durations)
        times = [one / longest if longest else 0.0 for one in self.graph.durations]
        # Not where all points take equally long, or none takes any time.
        weighted = max(times) > 0.0 and (self.passed_on > 0 or min(times) < max(times))
        written: list[str] = []
        size = len('{"steps":[]}')
        for one in self.placed():
            step: dict[str, object] = {"first_point": one.first, "width": len(one.points)}
            step["dependences"] = one.inputs
            if weighted:
                step["weights"] = [float(f"{times[task]:.6g}") if runs else 0 for task, runs in one.points]
            written.append(json.dumps(step, separators=(",", ":")))
            size += len(written[-1]) + (len(written) > 1)
            if size > _MOST_BYTES:
                raise InputError(
                    name,
                    f"one of {self.points} points in steps",
                    f"one whose steps take at most {_MOST_BYTES >> 20} MiB, as --dag reads them",
                )
        return f'{{"steps":[{",".join(written)}]}}'

    def placed(self) -> Iterator[Step]:
        """The steps in order. A task lies near what it reads, and each step in the middle of the widest one,
        so that systems that give each worker a part of the width share narrow steps."""
        before, levels, passes = self.graph.before, self.levels, self.passes
        steps: list[list[tuple[int, bool]]] = [[] for _ in range(self.number)]  # a task, and whether it runs
        for task, level in enumerate(levels):
            steps[level].append((task, True))
            for later in range(level + 1, level + 1 + passes[task]):
                steps[later].append((task, False))
        wide = max(map(len, steps))
        # Where a task's output is in the step before.
        at = [0] * len(levels)
        for points in steps:
            inputs = [
                sorted(at[one] for one in before[task]) if runs else [at[task]] for task, runs in points
            ]
            middle = wide / 2
            near = [sum(one) / len(one) if one else middle for one in inputs]
            order = sorted(range(len(points)), key=near.__getitem__)
            first = (wide - len(points)) // 2
            for place, k in enumerate(order, first):
                at[points[k][0]] = place
            yield Step(first, [points[k] for k in order], [inputs[k] for k in order])


def in_steps(graph: TaskGraph) -> Steps:
    """Puts each task into a step after those that it depends on, in as few steps as there can be. Where that
    is known soon, the fewest points pass outputs on. Raises `InputError` for a cycle."""
    if len(graph.before) <= _FEW:
        graph = _without_implied(graph)
    levels, last = graph.counted.late()
    if 0 < graph.dependences <= _SOON:
        levels, last = _latest(graph, max(levels))
    passes = [max(0, end - level - 1) for end, level in zip(last, levels, strict=True)]
    return Steps(graph, levels, passes)


def _without_implied(graph: TaskGraph) -> TaskGraph:
    """The graph without dependences that others imply: they change no order, and would be passed on."""
    place = {task: bit for bit, task in enumerate(graph.order)}
    unread = [0] * len(place)
    for before in graph.before:
        for one in before:
            unread[one] += 1
    kept: list[Sequence[int]] = [()] * len(place)
    before_all: dict[int, int] = {}  # a bit for each task before one, while somebody is yet to read it
    for task in graph.order:
        direct = 0
        implied = 0
        for one in graph.before[task]:
            direct |= 1 << place[one]
            implied |= before_all[one]
        kept[task] = tuple(one for one in graph.before[task] if not implied >> place[one] & 1)
        if unread[task]:
            before_all[task] = direct | implied
        for one in graph.before[task]:
            unread[one] -= 1
            if not unread[one]:
                del before_all[one]
    return replace(graph, before=kept)


def _latest(graph: TaskGraph, steps: int) -> tuple[list[int], list[int]]:
    """The step of each task, up to `steps`, and that of the last that reads its output, so that the sum of
    the steps between is least: a linear program of differences, whose solution has whole numbers."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    number = len(graph.before)
    edges = np.array([(one, task) for task, before in enumerate(graph.before) for one in before])
    first, reader = edges.T
    one, rows = np.ones(len(edges)), np.tile(np.arange(len(edges)), 2)

    def no_more(less: Any, more: Any) -> Any:
        """One row for each dependence: the first variable minus the second."""
        ends = rows, np.concatenate([less, more])
        return coo_array((np.concatenate([one, -one]), ends), shape=(len(edges), 2 * number))

    # A task comes after the tasks that it reads, and the last reader is no earlier than it.
    read = np.isin(np.arange(number), first).astype(float)
    found = linprog(
        np.concatenate([-read, read]),
        A_ub=vstack([no_more(first, reader), no_more(reader, number + first)]),
        b_ub=np.concatenate([-one, 0.0 * one]),
        bounds=(0, steps),
        method="highs",
    )
    assert found.x is not None
    levels, last = np.rint(found.x).astype(int).reshape(2, number)
    return levels.tolist(), np.where(read > 0.0, last, -1).tolist()
