"""Ray compiled graphs: actors, one for each core, and a compiled graph of some steps in which each task is a
node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ray
from compiled import MOST_IN_FLIGHT, CompiledSystem
from ray.dag import DAGContext, InputNode, MultiOutputNode
from ray_system import Output, value_of

from taskgrain._core import Unsupported
from taskgrain.system import Run, drive
from taskgrain.system.processes import join

MOST_STEPS = 8
"""The most steps of a compiled graph: they share what an execution costs in the driver."""
MOST_NODES = 256
"""The most nodes for tasks, in a compiled graph of more than one step."""
MOST_POINTS = 512
"""Ray's time to compile a graph grows with the square of its nodes: so many take it some ten seconds."""
MOST_BUFFER_BYTES = 2**29
"""The most bytes in all channels from an actor to others: half of the object store. Ray frees them when the
actors end, and not with the compiled graph (github.com/ray-project/ray/issues/43836)."""
START_BYTES = 4096
"""The first bytes of a buffer from the driver to the actors, for the first step."""


@ray.remote(num_cpus=1)
class Actor:
    """Executes nodes in the order in which they were bound; `first` is the first step of the execution."""

    def __init__(self, number: int, actors: int) -> None:
        self._member = join(number)
        self._kept: dict[tuple[int, int], Any] = {}
        """Outputs of the step before the first one, by graph and point."""

    def hand_on(self, first: int, graph: int, point: int) -> Output | None:
        """The outputs of the step before the first one that other actors need."""
        return self._kept.get((graph, point)) if first else None

    def task(
        self, first: int, graph: int, step: int, point: int, sources: tuple[int, ...], *outputs: Output
    ) -> Output | None:
        """`outputs` are those of `sources`: points that this one depends on in some step that the node
        executes. What is missing there is on this actor since the execution before."""
        run, step = self._member.run, first + step
        if step >= run.steps(graph):
            return None
        begin, last = run.points(graph, step)
        if not begin <= point <= last:
            return None
        given = dict(zip(sources, outputs, strict=True))
        inputs = [given[j] if j in given else self._kept[graph, j] for j in run.deps(graph, step, point)]
        return value_of(run.execute(0, graph, step, point, inputs))

    def end(self, keys: tuple[tuple[int, int], ...], first: int, *outputs: Output | None) -> None:
        """Keeps the last step, whose nodes come first, and tells the driver that all is done."""
        self._kept = dict(zip(keys, outputs, strict=False))

    def use_buffers(self, size: int) -> None:
        """Sets the size, in bytes, of the buffers of all channels to others that will be compiled."""
        DAGContext.get_current().buffer_size_bytes = size

    def ready(self) -> None:
        """Returns once the actor is there."""


@dataclass(frozen=True)
class Plan:
    """The nodes of a compiled graph."""

    sources: list[list[dict[int, tuple[int, ...]]]]
    """The points of each graph and step that have a node, each with the points of the step before that it
    depends on in some step that the node executes."""
    owners: list[list[int]]
    """The actor of each graph and point."""

    @property
    def steps(self) -> int:
        return len(self.sources[0])

    @cached_property
    def dependences(self) -> int:
        return sum(len(deps) for steps in self.sources for points in steps for deps in points.values())

    @cached_property
    def channels(self) -> int:
        """The number of channels that lead from an actor to others."""
        return sum(len(self.handed_on(g, k)) for g in range(len(self.sources)) for k in range(self.steps))

    def handed_on(self, graph: int, step: int) -> list[int]:
        """Points of the step before that other actors read."""
        owners, points = self.owners[graph], self.sources[graph][step]
        return sorted({j for point, deps in points.items() for j in deps if owners[j] != owners[point]})


class Dependences:
    """The dependences of a graph, by step."""

    def __init__(self, run: Run, graph: int) -> None:
        self._alike: list[int] = []
        self._deps: list[dict[int, list[int]]] = []
        known: dict[tuple[object, ...], int] = {}
        for step in range(run.steps(graph)):
            points = run.points(graph, step)
            key = (run.points(graph, step - 1), points, run.dependence_set(graph, step))
            if key not in known:
                known[key] = len(self._deps)
                self._deps.append({i: run.deps(graph, step, i) for i in range(points[0], points[1] + 1)})
            self._alike.append(known[key])

    def of_each(self, steps: int) -> list[dict[int, tuple[int, ...]]]:
        """The dependences of nodes in a compiled graph of so many steps, executed to the last step."""
        return [self._union({*self._alike[step::steps]}) for step in range(steps)]

    def _union(self, classes: Iterable[int]) -> dict[int, tuple[int, ...]]:
        found: dict[int, set[int]] = {}
        for one in classes:
            for point, deps in self._deps[one].items():
                found.setdefault(point, set()).update(deps)
        return {point: tuple(sorted(deps)) for point, deps in sorted(found.items())}


class EachTask(CompiledSystem):
    actor = Actor

    def __init__(self) -> None:
        super().__init__()
        DAGContext.get_current().buffer_size_bytes = START_BYTES
        self._buffer_bytes = 0

    def prepare(self, run: Run) -> None:
        super().prepare(run)
        points = sum(run.width(g) for g in range(run.graphs))
        if points > MOST_POINTS:
            raise Unsupported(
                f"{points} points, each of which is a node; this system compiles {MOST_POINTS} points at most"
            )
        owners = [
            [point * self.cores // run.width(g) for point in range(run.width(g))] for g in range(run.graphs)
        ]
        graphs = [Dependences(run, g) for g in range(run.graphs)]
        plans = [
            Plan([graph.of_each(steps) for graph in graphs], owners)
            for steps in range(max(1, min(MOST_STEPS, MOST_NODES // points)), 0, -1)
        ]
        buffer_bytes = max(run.output_bytes(g) for g in range(run.graphs)) + 1024
        most_channels = MOST_BUFFER_BYTES // buffer_bytes
        fitting = [plan for plan in plans if plan.channels <= most_channels]
        if not fitting:
            raise Unsupported(
                f"{plans[-1].channels} channels from an actor to another one with buffers of {buffer_bytes} "
                f"bytes; this system has {MOST_BUFFER_BYTES} bytes for them"
            )
        plan = min(fitting, key=lambda plan: plan.dependences / plan.steps)
        in_flight = min(MOST_IN_FLIGHT, most_channels // max(1, plan.channels))
        self.fit(plan, buffer_bytes, in_flight, steps=plan.steps, in_flight=in_flight)

    def compile(self, plan: Plan, buffer_bytes: int, in_flight: int) -> Any:
        needed = plan.channels * in_flight * buffer_bytes
        if self._buffer_bytes + needed > MOST_BUFFER_BYTES:
            self.renew()
            self._buffer_bytes = 0
        self._buffer_bytes += needed
        ray.get([actor.use_buffers.remote(buffer_bytes) for actor in self.actors])
        graphs = range(len(plan.sources))
        with InputNode() as first:
            before: list[dict[int, Any]] = [  # of each graph, by point
                {j: self._actor(plan, g, j).hand_on.bind(first, g, j) for j in plan.handed_on(g, 0)}
                for g in graphs
            ]
            unread: list[list[Any]] = [[] for _ in self.actors]  # which the actor's end must wait for
            for step in range(plan.steps):
                for g in graphs:
                    now = {}
                    for point, deps in plan.sources[g][step].items():
                        sources = tuple(j for j in deps if j in before[g])
                        outputs = [before[g][j] for j in sources]
                        now[point] = self._actor(plan, g, point).task.bind(
                            first, g, step, point, sources, *outputs
                        )
                    for point in before[g].keys() - set().union(*plan.sources[g][step].values()):
                        unread[plan.owners[g][point]].append(before[g][point])
                    before[g] = now
            ends = []
            for k, actor in enumerate(self.actors):
                keys = tuple((g, i) for g in graphs for i in before[g] if plan.owners[g][i] == k)
                last = [before[g][i] for g, i in keys]
                ends.append(actor.end.bind(keys, first, *last, *unread[k]))
        return MultiOutputNode(ends).experimental_compile(_max_inflight_executions=in_flight)

    def _actor(self, plan: Plan, graph: int, point: int) -> Any:
        return self.actors[plan.owners[graph][point]]


if __name__ == "__main__":
    drive(EachTask)
