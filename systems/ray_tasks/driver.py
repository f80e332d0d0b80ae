"""Ray tasks: a call of a remote function for each task, with references to what it depends on."""

from __future__ import annotations

import time

import ray
from ray_system import Output, RaySystem, value_of

from taskgrain.system import Run, drive
from taskgrain.system.processes import join


@ray.remote(num_cpus=1)
def occupy() -> None:
    """Joins, and holds the worker until others have had to join, too. Ray retries it, for a worker that was just
    sent away may be given it."""
    join()
    time.sleep(0.5)


@ray.remote(num_cpus=1, retry_exceptions=True)
def execute(graph: int, step: int, point: int, *inputs: Output) -> Output:
    return value_of(join().run.execute(0, graph, step, point, inputs))


class RayTasks(RaySystem):
    name = "ray_tasks"

    def __init__(self) -> None:
        super().__init__()
        self.assemble()

    def recruit(self) -> None:
        ray.get([occupy.remote() for _ in range(self.cores)])

    def execute(self, run: Run) -> None:
        ends: list[ray.ObjectRef[Output]] = []
        before: list[dict[int, ray.ObjectRef[Output]]] = [{} for _ in range(run.graphs)]
        for step in range(max(run.steps(g) for g in range(run.graphs))):
            for g in range(run.graphs):
                if step >= run.steps(g):
                    continue
                first, last = run.points(g, step)
                now = {}
                for point in range(first, last + 1):
                    inputs = [before[g][j] for j in run.deps(g, step, point)]
                    now[point] = execute.remote(g, step, point, *inputs)
                    if not run.reverse_deps(g, step, point):
                        ends.append(now[point])
                before[g] = now
        ray.get(ends)


if __name__ == "__main__":
    drive(RayTasks)
