"""Columns of the graphs on actors, one actor for each core: what the drivers with actors share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ray_system import Output, value_of

from taskgrain._core import Run
from taskgrain.system.processes import join

Outputs = Mapping[int, Output]
"""The outputs by point."""


@dataclass(frozen=True)
class Part:
    """The part of an actor in a step."""

    tasks: list[tuple[int, list[int]]]
    """Its points, and the points of the step before that each depends on."""
    sources: list[int]
    """Other actors whose outputs it reads."""
    handed_on: list[int]
    """Points whose outputs other actors read."""


class Partition:
    """A graph's columns in blocks, one for each actor, whose sizes differ by one at most."""

    def __init__(self, run: Run, graph: int, actors: int) -> None:
        self._run, self._graph = run, graph
        share, rest = divmod(run.width(graph), actors)
        self._first = [share * actor + min(actor, rest) for actor in range(actors + 1)]
        self._owner = [a for a in range(actors) for _ in range(self._first[a], self._first[a + 1])]
        self._parts: dict[tuple[object, ...], Part] = {}

    def part(self, actor: int, step: int) -> Part:
        """Made once for all steps that look alike."""
        run, g = self._run, self._graph
        alike = (
            actor, run.points(g, step - 1), run.points(g, step), run.points(g, step + 1),
            run.dependence_set(g, step), run.dependence_set(g, step + 1),
        )  # fmt: skip
        part = self._parts.get(alike)
        if part is None:
            first, last = run.points(g, step)
            points = range(max(first, self._first[actor]), min(last + 1, self._first[actor + 1]))
            tasks = [(point, run.deps(g, step, point)) for point in points]
            sources = {self._owner[j] for _, deps in tasks for j in deps} - {actor}
            handed_on = [
                i for i in points if any(self._owner[j] != actor for j in run.reverse_deps(g, step, i))
            ]
            part = self._parts[alike] = Part(tasks, sorted(sources), handed_on)
        return part


class Columns:
    """An actor's columns: what they put out last stays here, and what others read of it is handed on."""

    def __init__(self, number: int, actors: int) -> None:
        self._member = join(number)
        self._number, self._actors = number, actors
        self._run: Run | None = None
        self._partitions: list[Partition] = []
        self._outputs: list[dict[int, Output]] = []

    def execute(self, graph: int, step: int, halos: Iterable[Outputs]) -> Outputs:
        """The tasks of a step on this actor; `halos` is what others have handed on in the step before."""
        run, partition = self._present(), self._partitions[graph]
        before = self._outputs[graph]
        for halo in halos:
            before.update(halo)
        self._outputs[graph] = {
            point: run.execute(0, graph, step, point, [before[j] for j in deps])
            for point, deps in partition.part(self._number, step).tasks
        }
        return self.handed_on(graph, step)

    def handed_on(self, graph: int, step: int) -> Outputs:
        """The outputs of the step that was executed last that others will read."""
        outputs, part = self._outputs[graph], self._partitions[graph].part(self._number, step)
        return {point: value_of(outputs[point]) for point in part.handed_on}

    def _present(self) -> Run:
        run = self._member.run
        if run is not self._run:
            self._run = run
            self._partitions = [Partition(run, g, self._actors) for g in range(run.graphs)]
            self._outputs = [{} for _ in range(run.graphs)]
        return run
