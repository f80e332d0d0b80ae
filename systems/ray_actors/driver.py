"""Ray actors: one for each core, which holds columns; a call for each step of its columns, with references to
what other actors have handed on."""

from __future__ import annotations

import sys
from pathlib import Path

import ray

sys.path.append(str(Path(__file__).parents[1] / "ray_tasks"))
from columns import Columns, Outputs, Partition
from ray_system import RaySystem

from taskgrain.system import Run, drive


@ray.remote(num_cpus=1)
class Actor(Columns):
    def step(self, graph: int, step: int, *halos: Outputs) -> Outputs:
        return self.execute(graph, step, halos)

    def ready(self) -> None:
        """Returns once the actor is there."""


class RayActors(RaySystem):
    name = "ray_actors"

    def __init__(self) -> None:
        super().__init__()
        self._actors = self.start_actors(Actor, self.cores)
        self._partitions: list[Partition] = []

    def prepare(self, run: Run) -> None:
        super().prepare(run)
        self._partitions = [Partition(run, g, self.cores) for g in range(run.graphs)]

    def execute(self, run: Run) -> None:
        last: dict[
            tuple[int, int], ray.ObjectRef[Outputs]
        ] = {}  # by graph and actor; calls are done in order
        for step in range(max(run.steps(g) for g in range(run.graphs))):
            for g in range(run.graphs):
                if step >= run.steps(g):
                    continue
                now = {}
                for k, actor in enumerate(self._actors):
                    part = self._partitions[g].part(k, step)
                    if part.tasks:
                        now[g, k] = actor.step.remote(g, step, *[last[g, source] for source in part.sources])
                last |= now
        ray.get(list(last.values()))


if __name__ == "__main__":
    drive(RayActors)
