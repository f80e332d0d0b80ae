"""The efficiency curves of results folders, one for each cell that has ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from taskgrain.estimate.advice import Efficiencies
from taskgrain.estimate.sample import Sample
from taskgrain.results import measurements, outcome
from taskgrain.results.cell import Cell, cells
from taskgrain.results.lines import CurvePoint, MetgLine
from taskgrain.results.measurements import Folder
from taskgrain.study.steps import most_efficiency
from taskgrain.study.workload import Workload, whole
from taskgrain.words.interval import Interval

_MOST_INFLATION = 1e3
"""The largest inflation; beyond it nothing is known."""


@dataclass(frozen=True)
class Curve:
    cell: Cell
    workload: Workload
    """The workload on whichever cores: `cores` says on how many."""
    cores: int | None
    """The cores of the workload, not only those that the system occupies."""
    points: Efficiencies
    """The sizes whose efficiency is known; of one run, without an interval."""
    folder: Path
    machine: str
    """Its processor, as `machine.json` says it."""
    problem: str = ""
    """The reason why it has no points, if it has none."""
    sizes: Mapping[float, float] = field(default_factory=dict)
    """The iterations of the tasks of each point."""

    @cached_property
    def most(self) -> float:
        """The most that its efficiency can be: the shape of the graph may leave cores idle."""
        started = self.cell.started
        if not self.cell.cores or started is None:
            return 1.0
        return most_efficiency(self.workload, self.cell.cores, started.steps or None)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The samples that it rests on; rounds of one number ran together in its folder."""
        return measurements.samples(self.cell)

    def needed(self, level: float) -> Interval | None:
        """The work that an efficiency needs, if METG was searched for it: at METG, work is that share of a
        task."""
        result, metg = self.cell.result, self.cell.metg
        threshold = result.threshold if result else None
        if threshold is None or metg.value is None or not math.isclose(level, threshold):
            return None
        return metg.times(level)


def opened(folder: Path, *, interrupted: bool = False) -> tuple[list[Curve], tuple[str, ...]]:
    """The curves of a folder, and warnings about it. They are the last of each cell; of cells that were
    `interrupted`, too, if they are asked for. Raises `UsageError` if it is no results folder."""
    place = measurements.opened(folder)
    found = (of(one, place, interrupted=interrupted) for one in cells(place.contents.shown).values())
    return [one for one in found if one], place.warnings


def of(cell: Cell, place: Folder, *, interrupted: bool = False) -> Curve | None:
    """The curve of a cell of a folder that has ended, or was `interrupted`."""
    started, failure = cell.started, cell.failure
    known = cell.result is not None or failure is not None
    if started is None or not known or not started.system or not (cell.ending.final or interrupted):
        return None
    cpu, cores = place.machine.get("cpu"), place.study.table.get("cores")
    asked = started.workload.get("cores") or len(cell.session.cores)
    points, problem = list(_points(cell.result)) if cell.result else [], "it was not measured long enough"
    if failure is not None:
        problem = f"{failure.kind_of}: {failure.message or ''}"
    elif outcome.all_start(cell):
        points, problem = [], "its runs were mostly start and end"
    workload = dict(started.workload)
    dag = place.folder / Path(str(workload.get("dag") or "")).name
    if dag.is_file():  # wherever the folder was when it was measured
        workload["dag"] = str(dag)
    return Curve(
        cell,
        workload_of(workload),
        asked or (cores if isinstance(cores, int) else None) or started.cores,
        {work: share for work, share, _ in points},
        place.folder,
        str(cpu.get("model") or "") if isinstance(cpu, dict) else "",
        "" if points else problem,
        {work: size for work, _, size in points},
    )


def workload_of(fields: Mapping[str, Any]) -> Workload:
    """The workload of a line, which may lack fields that its version did not know."""
    known = whole(fields) | {"cores": 0}
    return Workload(**known | {"pattern": known["pattern"] or "", "width": known["width"] or 0})


def _points(line: MetgLine) -> Iterator[tuple[float, Interval, float]]:
    """The work, the efficiency and the iterations of each size."""
    # The intervals of a search's curve take its rounds for independent; of task times they are wider already.
    wider = math.sqrt(min(max(1.0, line.inflation or 1.0), _MOST_INFLATION))
    for one in line.curve:
        work, value, size = _work(one), one.efficiency, one.iterations
        low, high = (end if end and end > 0.0 else None for end in (one.efficiency_low, one.efficiency_high))
        if work is None or size is None or not value or not (low or value) <= value <= (high or value):
            continue
        ends = (end and value * (end / value) ** wider for end in (low, high))
        yield work, Interval(value, *ends), size


def _work(one: CurvePoint) -> float | None:
    """The time of the work of a task alone."""
    if not one.granularity or not one.efficiency or one.efficiency <= 0.0:
        return None
    return one.granularity * one.efficiency
