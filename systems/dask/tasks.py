"""The task graphs of a run as Dask wants them.

A module of its own, so that workers import the tasks' function instead of being sent it with every task.
"""

from __future__ import annotations

from collections.abc import Callable

import dask
from dask.task_spec import Task, TaskRef

from taskgrain._core import Run
from taskgrain.system.processes import join

Key = tuple[str, int, int]
dask.config.refresh(paths=[])  # without the files of the user and the machine; workers import this too


def execute(graph: int, step: int, point: int, *inputs: bytes) -> bytes:
    """One task, in a worker process."""
    return join().run.execute(0, graph, step, point, inputs)


def task_graph(run: Run, number: int, function: Callable[..., bytes]) -> tuple[dict[Key, Task], list[Key]]:
    """The tasks of all graphs, and the keys of those no other needs. `number` tells executions apart."""
    tasks: dict[Key, Task] = {}
    ends: list[Key] = []
    for g in range(run.graphs):
        name = f"graph_{g}-{number}"
        for step in range(run.steps(g)):
            first, last = run.points(g, step)
            for point in range(first, last + 1):
                key = (name, step, point)
                inputs = [TaskRef((name, step - 1, j)) for j in run.deps(g, step, point)]
                tasks[key] = Task(key, function, g, step, point, *inputs)
                if not run.reverse_deps(g, step, point):
                    ends.append(key)
    return tasks, ends
