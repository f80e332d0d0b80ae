"""Makes of a results folder what the report shows.

What cannot be read becomes a warning or a missing value, never an error. Every text that comes from here is
untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from taskgrain.report.cells import Cell, Failure, Point, Results
from taskgrain.report.repeat import command
from taskgrain.report.runs import Run, counting, curve, peak, samples
from taskgrain.results import cell as stored
from taskgrain.results import curves, lines, ranking, reader, values
from taskgrain.results.curves import Curve
from taskgrain.results.lines import (
    CellLine,
    CrashLine,
    CurvePoint,
    FailureLine,
    ReferenceLine,
    RunLine,
)
from taskgrain.study.fields import WORKLOAD
from taskgrain.words.plain import text
from taskgrain.words.warnings import Notice

_NOTHING = CellLine(cell="")


@dataclass
class _Reference:
    """What the lines of runs.jsonl say about a kernel alone."""

    work_unit: str = ""
    rates: list[list[float]] = field(default_factory=list)


_References = Mapping[lines.ReferenceKey, _Reference]


def read(folder: Path) -> Results:
    """Reads `folder`. Raises `UsageError` only if there are no lines that can be opened."""
    contents, study = reader.read(folder), reader.study(folder)
    machine, odd = reader.machine(folder)
    references: dict[lines.ReferenceKey, _Reference] = {}
    for line in contents.shown:
        if isinstance(line, ReferenceLine):
            _refer(references.setdefault(line.reference_key, _Reference()), line)
    found = stored.cells(contents.shown).values()
    best = {name: ranking.best(here) for name, here in ranking.by_workload(found).items()}
    cells = [
        _cell(one, references, study.table, curves.of(one, folder, machine, study.table), best[one.workload])
        for one in found
    ]
    failures = [
        Failure(text(one.name), _error(line), text(line.message), text(line.log), line is not one.failure)
        for one in found
        for line in one.problems
    ]
    return Results(
        folder=folder,
        title=_title(folder, study),
        study=text(study.text),
        settings=study.table,
        machine=machine,
        cells=tuple(cells),
        failures=tuple(failures),
        warnings=(*contents.warnings(), *contents.strays(), *study.warnings, *odd),
        contents=contents,
    )


def _error(line: FailureLine | CrashLine) -> str:
    return "crash" if isinstance(line, CrashLine) else text(line.kind_of)


def _runs(line: RunLine) -> list[Run]:
    """The run of a line, or nothing if it makes no sense."""
    if not line.tasks or not line.cores or line.iterations is None or line.work is None:
        return []
    granularities = tuple(one * line.cores / line.tasks for one in line.seconds if one)
    work = line.work / line.tasks
    run = Run(text(line.phase), line.iterations, granularities, work, line.disturbed is True)
    return [run] if granularities else []


def _refer(reference: _Reference, line: ReferenceLine) -> None:
    reference.work_unit = text(line.work_unit)
    rates = [rate for rate in line.rates if rate]
    if rates and len(rates) == len(line.rates):
        reference.rates.append(rates)


def _cell(
    cell: stored.Cell,
    references: _References,
    settings: Mapping[str, object],
    known: Curve | None,
    best: stored.Cell | None,
) -> Cell:
    started = cell.started or _NOTHING
    workload = started.workload
    system = text(started.system or cell.system)
    name = text(cell.name)
    shown = name.removeprefix(f"{system}/")
    reference = references.get(started.reference_key, _Reference())
    ended = cell.result
    peak_rate = (ended and ended.peak_rate) or peak(reference.rates, started.cores)
    counted = [one for one in cell.runs if one.tasks and one.dependencies is not None]
    tasks, dependences, steps = max(
        ((one.tasks or 0, one.dependencies or 0, one.steps or 0) for one in counted), default=(0, 0, 0)
    )
    most, prepared = _prepared(cell.runs)
    units = [text(one.work_unit) for one in cell.runs if one.iterations and one.work_unit]
    runs = [run for line in cell.runs for run in _runs(line)]
    return Cell(
        stored=cell,
        name=name,
        system=system,
        workload=shown,
        pattern=text(workload.get("pattern")) or shown.partition("/")[0],
        width=workload.get("width"),
        radix=workload.get("radix"),
        graphs=workload.get("graphs"),
        output_bytes=workload.get("output_bytes"),
        kernel=text(workload.get("kernel")),
        fields={name: workload.get(name, one.default) for name, one in WORKLOAD.items()},
        dependences=dependences / tasks if tasks else None,
        tasks_per_step=tasks / steps if steps else None,
        command=command(text(started.command), settings),
        reference=text(started.reference_key[0]),
        best=cell is best,
        prepare=median(prepared) if prepared else None,
        prepare_tasks=most,
        memory=max((one.peak_rss_bytes or 0 for one in cell.runs), default=0) or None,
        peak_rate=peak_rate,
        # The empty kernel has a unit of its own.
        work_unit=units[-1] if units else reference.work_unit,
        curve=_curve(cell.curve, counting(runs), peak_rate),
        known=known,
        warnings=tuple(_notices(cell)),
        to_best=cell.ratio_to(best.name) if best and best is not cell else None,
        best_system=text(best.system) if best else "",
    )


def _prepared(runs: Sequence[RunLine]) -> tuple[int, list[float]]:
    """The tasks of the longest runs, and the seconds that these spent before the clock started."""
    most = max((one.tasks or 0 for one in runs), default=0)
    longest = (one for one in runs if (one.tasks or 0) == most)
    return most, [seconds for one in longest for seconds in one.prepare_seconds if seconds is not None]


def _notices(cell: stored.Cell) -> Iterator[Notice]:
    """The warnings of a cell, without what would drive a terminal."""
    for one in cell.warnings:
        cleaned = {text(k): text(v) if isinstance(v, str) else v for k, v in one.values.items()}
        yield Notice(text(one.code), cleaned)


def _curve(stored: Sequence[CurvePoint], runs: Sequence[Run], peak_rate: float | None) -> tuple[Point, ...]:
    """The curve as stored; of a cell that has not come to its end, what its runs make of it."""
    points = [point for one in stored if (point := _point(one))]
    if not points:
        return curve(runs, peak_rate)
    return tuple(
        replace(
            point,
            samples=samples(runs, point.iterations),
            disturbed=samples(runs, point.iterations, disturbed=True),
        )
        for point in points
    )


def _point(one: CurvePoint) -> Point | None:
    if one.iterations is None or one.granularity is None or one.efficiency is None:
        return None
    return Point(
        iterations=one.iterations,
        granularity=one.granularity,
        granularity_low=one.granularity_low,
        granularity_high=one.granularity_high,
        efficiency=one.efficiency,
        efficiency_low=one.efficiency_low,
        efficiency_high=one.efficiency_high,
        repeats=one.repeats,
        asked=one.asked,
    )


def _title(folder: Path, study: reader.Study) -> str:
    """The study's name: from its file, or the folder's."""
    named = (values.text(study.table.get(key)) for key in ("title", "name"))
    return text(next((one for one in named if one and one.strip()), folder.resolve().name))
