"""Ray actors: one for each core, which holds columns; a call for each task, with references to what other actors
have handed on."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import ray

sys.path.append(str(Path(__file__).parents[1] / "ray_tasks"))
from ray_system import Output, RaySystem, value_of

from taskgrain.system import Run, drive
from taskgrain.system.processes import join


@ray.remote(num_cpus=1)
class Actor:
    def __init__(self, number: int) -> None:
        self._member = join(number)
        self._outputs: dict[tuple[int, int], dict[int, Output]] = defaultdict(dict)
        """The outputs of each point, by graph and by whether the step is odd."""

    def task(self, graph: int, step: int, point: int, is_read: bool, *inputs: Output | int) -> Output | None:
        """An input is what another actor has handed on, or a point of this one. Others get the output if they
        read it."""
        before, now = self._outputs[graph, (step - 1) % 2], self._outputs[graph, step % 2]
        values = [before[one] if isinstance(one, int) else one for one in inputs]
        now[point] = self._member.run.execute(0, graph, step, point, values)
        return value_of(now[point]) if is_read else None

    def ready(self) -> None:
        """Returns once the actor is there."""


class EachTask(RaySystem):
    name = "ray_actors"

    def __init__(self) -> None:
        super().__init__()
        self._actors = self.start_actors(Actor)
        self._owners: list[list[int]] = []

    def prepare(self, run: Run) -> None:
        super().prepare(run)
        self._owners = [
            [point * self.cores // run.width(g) for point in range(run.width(g))] for g in range(run.graphs)
        ]

    def execute(self, run: Run) -> None:
        last: dict[int, Any] = {}  # of each actor, which does calls in order
        before: list[dict[int, Any]] = [{} for _ in range(run.graphs)]
        for step in range(max(run.steps(g) for g in range(run.graphs))):
            for g, owners in enumerate(self._owners):
                if step >= run.steps(g):
                    continue
                now = {}
                for point in range(run.points(g, step)[0], run.points(g, step)[1] + 1):
                    own = owners[point]
                    inputs = [j if owners[j] == own else before[g][j] for j in run.deps(g, step, point)]
                    is_read = any(owners[j] != own for j in run.reverse_deps(g, step, point))
                    now[point] = self._actors[own].task.remote(g, step, point, is_read, *inputs)
                    last[own] = now[point]
                before[g] = now
        ray.get(list(last.values()))


if __name__ == "__main__":
    drive(EachTask)
