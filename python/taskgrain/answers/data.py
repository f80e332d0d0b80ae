"""A results folder as the report and predictions have it: its cells, with the points and samples to be drawn.

What cannot be read becomes a warning or a missing value, never an error. Texts from the folder are untrusted;
control characters are taken out of them here, once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from taskgrain.answers.program import Program, of_graph
from taskgrain.graphs import files
from taskgrain.results import cell as stored
from taskgrain.results import columns, curves, measurements, ranking, store, values
from taskgrain.results.curves import Curve
from taskgrain.results.lines import CellLine, CrashLine, CurvePoint, FailureLine, Line, RunLine
from taskgrain.results.measurements import Folder
from taskgrain.results.samples import of_sizes
from taskgrain.study.settings import Settings
from taskgrain.study.workload import whole
from taskgrain.words.errors import InputError
from taskgrain.words.origin import Origin
from taskgrain.words.plain import cleaned, text

Fields = Mapping[str, Any]
_FLAGS = {"first_iterations": "--iterations"}
_SHARED = ("budget",)
"""Settings of a whole study, that say nothing of a cell."""


@dataclass(frozen=True, kw_only=True)
class Point(CurvePoint):
    """A task size of a cell's curve, with the values that charts draw."""

    iterations: float
    granularity: float
    efficiency: float
    samples: tuple[float, ...] = ()
    """The granularity of every repeat behind the point."""
    disturbed: tuple[float, ...] = ()
    """The samples of runs that others on the cores disturbed."""


@dataclass
class Cell(stored.Cell):
    """A cell, with what its folder tells of it besides its own lines."""

    known: Curve | None = field(default=None, compare=False)
    """Its curve as `advise` takes it; None if nothing is known of the cell."""
    command: str = ""
    """The command that measures this cell alone in the same way; empty if that was not recorded."""

    @property
    def threshold(self) -> float:
        """The efficiency that METG is for."""
        return columns.threshold(self) or Settings.threshold

    @property
    def rounds(self) -> int | None:
        """Complete rounds of its result."""
        return self.result.rounds if self.result else None

    @property
    def fields(self) -> dict[str, Any]:
        """All of the workload."""
        return whole(self.started.workload if self.started else {})

    @property
    def points_of_a_step(self) -> int:
        """The points of all graphs, whether a task runs there or not."""
        return (self.fields["width"] or 0) * int(self.fields["graphs"])

    @property
    def nodes(self) -> int:
        """The nodes that it was measured on."""
        return int(self.fields["nodes"])

    @property
    def cores_there(self) -> int:
        """The cores of all its nodes, whether the system occupies them or not; 0 if nobody knows."""
        return self.nodes * (self.fields["cores"] or len(self.session.cores))

    @property
    def reference(self) -> str:
        """The program that efficiency is measured against."""
        return str((self.started or CellLine(cell="")).reference_key[0])

    @cached_property
    def tasks_per_step(self) -> float | None:
        """The mean over its longest run."""
        run = next((one for one in columns.longest(self) if one.tasks and one.steps), None)
        return run.tasks / run.steps if run and run.tasks and run.steps else None

    @cached_property
    def work_unit(self) -> str:
        return columns.work_unit(self) or ""

    @property
    def peak_rate(self) -> float | None:
        """The peak rate of one core beside its runs."""
        return self.result.peak_rate if self.result else None

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The curve as stored, with the samples behind it."""
        runs = of_sizes(self.runs)
        known = [one for one in self.curve if None not in (one.iterations, one.granularity, one.efficiency)]
        return tuple(_drawn(one, runs) for one in known)

    @property
    def at(self) -> tuple[Point, ...]:
        """The points at the task times that were asked for."""
        return tuple(point for point in self.points if point.asked)


@dataclass(frozen=True)
class Results(Folder):
    title: str
    cells: tuple[Cell, ...]
    lines: Sequence[Line] = ()
    """The lines that are shown."""
    program: Program | None = None
    """The program whose graph all cells have, if the folder keeps one."""

    @property
    def study_text(self) -> str:
        """The content of study.toml, empty if there is none."""
        return text(self.study.text)

    @property
    def failures(self) -> list[FailureLine | CrashLine]:
        """All failures and crashes of the cells; one that is not its cell's `failure` did not end it."""
        return [line for cell in self.cells for line in cell.problems]

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.system for cell in self.cells))

    @property
    def origin(self) -> Origin:
        return Origin.of(cell.origin for cell in self.cells)

    @property
    def ranked(self) -> list[str]:
        """The systems by METG, those without one at the end."""
        return ranking.systems(self.cells)

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))


def read(folder: Path) -> Results:
    """Reads `folder`. Raises `UsageError` only if there are no lines that can be opened."""
    place = measurements.opened(folder)
    study = place.study.table
    shown = [cleaned(line) for line in place.contents.shown]
    found = stored.folded(shown, Cell)
    for cell in found.values():
        cell.known = curves.of(cell, place)
        if cell.started:
            cell.command = command(cell.started.command or "", study)
    ranking.mark_best(found.values())
    cells = _in_order(found.values(), study)
    simulated = "Simulated: " * any(cell.origin.simulated for cell in cells)
    title = simulated + _title(folder, study)
    program, odd = _program(folder)
    known = (place.contents, place.study, place.machine, (*place.warnings, *odd))
    return Results(folder, *known, title, tuple(cells), shown, program)


def _program(folder: Path) -> tuple[Program | None, list[str]]:
    """The program that the folder keeps, and why it cannot be read."""
    path = folder / store.GRAPH
    if not path.is_file():
        return None, []
    try:
        graph = files.read(path, "program")
        return of_graph(text(graph.program) or path.name, graph, None, 1.0), []
    except InputError as error:
        return None, [text(str(error))]


def _in_order(cells: Iterable[Cell], study: Fields) -> list[Cell]:
    """Sorts cells by the study's order of workloads; those that it does not have come last, as logged."""
    stored = study.get("workloads")
    tables = [one for one in stored if isinstance(one, dict)] if isinstance(stored, list) else []
    known = [whole(one) for one in tables]
    return sorted(cells, key=lambda cell: known.index(cell.fields) if cell.fields in known else len(known))


def _drawn(one: CurvePoint, runs: Sequence[RunLine]) -> Point:
    size = one.iterations or 0.0
    return Point(**vars(one), samples=samples(runs, size), disturbed=samples(runs, size, disturbed=True))


def samples(runs: Iterable[RunLine], iterations: float, disturbed: bool = False) -> tuple[float, ...]:
    """The granularity of every repeat at a size, of the runs that were disturbed or of the others."""
    return tuple(
        seconds * run.cores / run.tasks
        for run in runs
        if run.iterations == iterations and (run.disturbed is True) == disturbed
        for seconds in run.seconds
        if seconds and run.cores and run.tasks
    )


def command(recorded: str, study: Mapping[str, object]) -> str:
    """`recorded`, the command of the cell's workload, with the study's settings that are no defaults.

    `study` is the table of study.toml, which writes all of them out.
    """
    words = [recorded]
    for key, default in asdict(Settings()).items():
        value = study.get(key, default)
        flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
        if key in _SHARED or value == default or flag in recorded.split() or not recorded:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, str | int | float):
            words.append(f"{flag} {shlex.quote(f'{value:g}' if isinstance(value, float) else str(value))}")
    return " ".join(words)


def _title(folder: Path, study: Fields) -> str:
    """The study's name: from its file, or the folder's."""
    named = values.text(study.get("title")) or ""
    return text(named if named.strip() else folder.resolve().name)
