"""Ray compiled graphs: actors that hold columns, and a compiled graph of some steps that is executed over and
over."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ray
from ray.dag import InputNode, MultiOutputNode

sys.path.append(str(Path(__file__).parents[1] / "ray_tasks"))
sys.path.append(str(Path(__file__).parents[1] / "ray_actors"))
from columns import Columns, Outputs, Partition
from compiled import MOST_IN_FLIGHT, CompiledSystem

from taskgrain.system import Run, drive

MOST_STEPS = 8
"""The most steps of a compiled graph: they share what an execution costs in the driver."""
MOST_NODES = 32
"""The most nodes of a compiled graph on an actor."""
LEAST_BUFFER_BYTES = 2**16


@ray.remote(num_cpus=1)
class Actor(Columns):
    """Executes nodes in the order in which they were bound. `own` is the node before, of the same actor."""

    def begin(self, first: int, graph: int) -> Outputs:
        """The outputs of the step before the first one that other actors need."""
        self._first = first
        return self.handed_on(graph, first - 1) if 0 < first < self._present().steps(graph) else {}

    def step(self, own: object, graph: int, step: int, *halos: Outputs) -> Outputs:
        step += self._first
        return self.execute(graph, step, halos) if step < self._present().steps(graph) else {}

    def end(self, *own: object) -> None:
        """Tells the driver that all steps are done."""

    def ready(self) -> None:
        """Returns once the actor is there."""


class RayCompiled(CompiledSystem):
    actor = Actor

    def prepare(self, run: Run) -> None:
        super().prepare(run)
        sources: list[list[set[int]]] = []  # of a graph and an actor, in any step
        most_bytes = LEAST_BUFFER_BYTES
        for g in range(run.graphs):
            partition = Partition(run, g, self.cores)
            sources.append([set() for _ in self.actors])
            for k in range(self.cores):
                for step in range(run.steps(g)):
                    part = partition.part(k, step)
                    sources[g][k].update(part.sources)
                    most_bytes = max(most_bytes, len(part.handed_on) * (run.output_bytes(g) + 1024))
        steps = max(1, min(MOST_STEPS, MOST_NODES // run.graphs))
        self.fit(sources, 1 << (most_bytes - 1).bit_length(), steps, steps=steps)

    def compile(self, sources: list[list[set[int]]], buffer_bytes: int, steps: int) -> Any:
        with InputNode() as first:
            last = [[actor.begin.bind(first, g) for actor in self.actors] for g in range(len(sources))]
            for step in range(steps):
                for g, nodes in enumerate(last):
                    last[g] = [
                        actor.step.bind(
                            nodes[k], g, step, *[nodes[source] for source in sorted(sources[g][k])]
                        )
                        for k, actor in enumerate(self.actors)
                    ]
            ends = [actor.end.bind(*[nodes[k] for nodes in last]) for k, actor in enumerate(self.actors)]
        return MultiOutputNode(ends).experimental_compile(
            _buffer_size_bytes=buffer_bytes, _max_inflight_executions=MOST_IN_FLIGHT
        )


if __name__ == "__main__":
    drive(RayCompiled)
