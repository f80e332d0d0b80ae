"""The efficiency curves of results folders, one for each cell that has ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskgrain.estimate.advice import Point, Value
from taskgrain.results import reader
from taskgrain.results.lines import CellLine, CurvePoint, Line, MetgLine, SessionLine
from taskgrain.study.fields import WORKLOAD
from taskgrain.study.workload import Workload


@dataclass(frozen=True)
class Curve:
    """What was measured of one cell."""

    system: str
    """An earlier build has its hash in the name: `mpi@ab12cd34`."""
    workload: Workload
    """On whichever cores: `cores` says on how many."""
    cores: int | None
    """Of the workload, not only those that the system occupies."""
    points: tuple[Point, ...]
    """Of the sizes whose efficiency has an interval."""
    threshold: float | None
    metg: Value
    folder: Path
    machine: str
    """Its processor, as `machine.json` says it."""
    fingerprint: str | None
    """Of the machine, by the session."""
    time: float | None
    """Unix time of the cell's end."""
    disturbed: float | None = None
    """The share of its runs that others disturbed."""
    cell: str = ""
    """Its name in the folder."""

    def needed(self, level: float) -> Value | None:
        """The work that an efficiency needs, if METG was searched for it: at METG, work is that share of a
        task."""
        if self.threshold is None or self.metg.value is None or not math.isclose(level, self.threshold):
            return None
        known = (self.metg.value, self.metg.low, self.metg.high)
        return Value(*(None if one is None else level * one for one in known))


def read(folder: Path) -> list[Curve]:
    """The curves of a folder, the last of each cell. Raises `UsageError` if it is no results folder."""
    return opened(folder)[0]


def opened(folder: Path) -> tuple[list[Curve], list[str]]:
    """The same, and what is odd about the folder, in words."""
    contents, study = reader.read(folder), reader.study(folder)
    facts, odd = reader.machine(folder)
    curves = of_lines(contents.shown, folder, facts, study.table)
    return curves, reader.warnings(contents, study, odd)


def of_lines(
    lines: tuple[Line, ...], folder: Path, machine: Mapping[str, Any], study: Mapping[str, Any]
) -> list[Curve]:
    """The curves of a folder that has been read; `machine` and `study` are its tables of these names."""
    cpu, cores = machine.get("cpu"), study.get("cores")
    name = str(cpu.get("model") or "") if isinstance(cpu, dict) else ""
    found = _of_lines(lines, folder, name, cores if isinstance(cores, int) else None)
    return list({(one.system, one.workload, one.cores): one for one in found}.values())


def _of_lines(lines: tuple[Line, ...], folder: Path, machine: str, cores: int | None) -> Iterator[Curve]:
    started: dict[str, CellLine] = {}
    session = SessionLine()
    for line in lines:
        match line:
            case SessionLine():
                session = line
            case CellLine():
                started[line.cell] = line
            case MetgLine() if (cell := started.get(line.cell)) and cell.system:
                asked = cell.workload.get("cores") or len(session.cores) or cores or cell.cores
                yield Curve(
                    cell.system,
                    _workload(cell.workload),
                    asked,
                    tuple(_points(line)),
                    line.threshold,
                    Value(line.metg, line.low, line.high),
                    folder,
                    machine,
                    session.machine,
                    line.time,
                    None if line.disturbed_runs is None or not line.runs else line.disturbed_runs / line.runs,
                    cell.cell,
                )


def _workload(fields: Mapping[str, Any]) -> Workload:
    """That of a line, which may lack fields that its version did not know."""
    known = {name: fields.get(name, one.default) for name, one in WORKLOAD.items()} | {"cores": 0}
    return Workload(**known | {"pattern": known["pattern"] or "", "width": known["width"] or 0})


def _points(line: MetgLine) -> Iterator[Point]:
    # The intervals of a search's curve take its rounds for independent; of task times they are wider already.
    wider = math.sqrt(max(1.0, line.inflation or 1.0))
    for one in line.curve:
        work, found = _work(one), (one.efficiency, one.efficiency_low, one.efficiency_high)
        if work is None or None in found:
            continue
        value, low, high = (float(each or 0.0) for each in found)
        if 0.0 < low <= value <= high:
            yield Point(work, value, value * (low / value) ** wider, value * (high / value) ** wider)


def _work(one: CurvePoint) -> float | None:
    """What the work of a task took alone."""
    if not one.granularity or not one.efficiency or one.efficiency <= 0.0:
        return None
    return one.granularity * one.efficiency
