"""Ray compiled graphs: actors that hold columns, and a compiled graph of some steps that is executed over and
over."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import Any

import ray
from ray.dag import InputNode, MultiOutputNode

sys.path.append(str(Path(__file__).parents[1] / "ray_tasks"))
sys.path.append(str(Path(__file__).parents[1] / "ray_actors"))
from columns import Columns, Outputs, Partition
from ray_system import RaySystem

from taskgrain.system import Run, drive

MOST_STEPS = 8
"""In a compiled graph: so many share what an execution costs in the driver."""
MOST_NODES = 32
"""Of a compiled graph on an actor."""
LEAST_BUFFER_BYTES = 2**16
IN_FLIGHT = 4
"""Executions of the compiled graph that are under way at most."""


@ray.remote(num_cpus=1)
class Actor(Columns):
    """Executes nodes in the order in which they were bound. `own` is the node before, of the same actor."""

    def begin(self, first: int, graph: int) -> Outputs:
        """What other actors need of the step before the first one."""
        self._first = first
        return self.handed_on(graph, first - 1) if 0 < first < self._present().steps(graph) else {}

    def step(self, own: object, graph: int, step: int, *halos: Outputs) -> Outputs:
        step += self._first
        return self.execute(graph, step, halos) if step < self._present().steps(graph) else {}

    def end(self, *own: object) -> None:
        """Tells the driver that all steps are done."""

    def ready(self) -> None:
        """Returns once the actor is there."""


class RayCompiled(RaySystem):
    name = "ray_compiled"

    def __init__(self) -> None:
        super().__init__()
        self._actors = [Actor.remote(k, self.cores) for k in range(self.cores)]
        ray.get([actor.ready.remote() for actor in self._actors])
        self._shape: tuple[object, ...] = ()
        self._compiled: Any = None
        self._steps = 1

    def prepare(self, run: Run) -> None:
        super().prepare(run)
        sources: list[list[set[int]]] = []  # of a graph and an actor, in any step
        most_bytes = LEAST_BUFFER_BYTES
        for g in range(run.graphs):
            partition = Partition(run, g, self.cores)
            sources.append([set() for _ in self._actors])
            for k in range(self.cores):
                for step in range(run.steps(g)):
                    part = partition.part(k, step)
                    sources[g][k].update(part.sources)
                    most_bytes = max(most_bytes, len(part.handed_on) * (run.output_bytes(g) + 1024))
        self._steps = max(1, min(MOST_STEPS, MOST_NODES // run.graphs))
        shape = (sources, 1 << (most_bytes - 1).bit_length())
        if shape != self._shape:  # else the compiled graph there is fits this request, too
            self._forget()
            self._compiled, self._shape = self._compile(*shape), shape

    def _compile(self, sources: list[list[set[int]]], buffer_bytes: int) -> Any:
        with InputNode() as first:
            last = [[actor.begin.bind(first, g) for actor in self._actors] for g in range(len(sources))]
            for step in range(self._steps):
                for g, nodes in enumerate(last):
                    last[g] = [
                        actor.step.bind(
                            nodes[k], g, step, *[nodes[source] for source in sorted(sources[g][k])]
                        )
                        for k, actor in enumerate(self._actors)
                    ]
            ends = [actor.end.bind(*[nodes[k] for nodes in last]) for k, actor in enumerate(self._actors)]
        return MultiOutputNode(ends).experimental_compile(
            _buffer_size_bytes=buffer_bytes, _max_inflight_executions=IN_FLIGHT
        )

    def execute(self, run: Run) -> None:
        under_way: deque[Any] = deque()
        try:
            for first in range(0, max(run.steps(g) for g in range(run.graphs)), self._steps):
                if len(under_way) == IN_FLIGHT:
                    ray.get(under_way.popleft())
                under_way.append(self._compiled.execute(first))
            for refs in under_way:
                ray.get(refs)
        except Exception:
            self._forget()
            raise

    def _forget(self) -> None:
        """An actor takes part in one compiled graph at a time."""
        if self._compiled:
            self._compiled.teardown()
        self._compiled, self._shape = None, ()

    def close(self) -> None:
        self._forget()
        super().close()


if __name__ == "__main__":
    drive(RayCompiled)
