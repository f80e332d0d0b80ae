"""Makes of a results folder what the report shows.

What cannot be read becomes a warning or a missing value, never an error. Every text that comes from here is
untrusted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from taskgrain.report.cells import Cell, Failure, Point, Ratio, Results
from taskgrain.report.repeat import command
from taskgrain.report.runs import Run, counting, curve, peak, samples
from taskgrain.results import curves, lines, reader, values
from taskgrain.results.curves import Curve
from taskgrain.results.lines import (
    CellLine,
    CrashLine,
    CurvePoint,
    FailureLine,
    Line,
    MetgLine,
    OfCell,
    RatioLine,
    ReferenceLine,
    RunLine,
)
from taskgrain.study.fields import WORKLOAD
from taskgrain.words.warnings import Notice, read_notice

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


_NOTHING_STARTED = CellLine(cell="")
_NOTHING_ENDED = MetgLine(cell="")


@dataclass
class _Gathered:
    """What the lines of runs.jsonl say about one cell."""

    started: CellLine = _NOTHING_STARTED
    ended: MetgLine = _NOTHING_ENDED
    failures: list[tuple[FailureLine | CrashLine, bool]] = field(default_factory=list)
    """Each with whether it ended the cell."""
    ratios: dict[str, Ratio] = field(default_factory=dict)
    """Those after its last `metg` line, by the cell that it is compared with."""
    runs: list[Run] = field(default_factory=list)
    count: int = 0
    """Of the lines of runs, those that make no sense included."""
    longest: tuple[int, int, int] = (0, 0, 0)
    """Tasks, dependences and steps of the longest run."""
    prepared: dict[int, list[float]] = field(default_factory=dict)
    """Seconds before the clock of the runs, by their tasks."""
    memory: int = 0
    """The largest that a run names, in bytes."""
    work_unit: str = ""

    @property
    def error(self) -> str:
        """The kind of the failure that ended it, if one did."""
        return next((_error(line) for line, last in self.failures if last), "")


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
    gathered: dict[str, _Gathered] = {}
    references: dict[lines.ReferenceKey, _Reference] = {}
    for line in contents.shown:
        if isinstance(line, ReferenceLine):
            _refer(references.setdefault(line.reference_key, _Reference()), line)
        elif isinstance(line, OfCell):
            _gather(gathered.setdefault(text(line.cell), _Gathered()), line)
    known = {text(one.cell): one for one in curves.of_lines(contents.shown, folder, machine, study.table)}
    cells = [_cell(name, one, references, study.table, known.get(name)) for name, one in gathered.items()]
    failures = [
        Failure(name, _error(line), text(line.message), text(line.log), superseded=not last)
        for name, one in gathered.items()
        for line, last in one.failures
    ]
    return Results(
        folder=folder,
        title=_title(folder, study),
        study=text(study.text),
        settings=study.table,
        machine=machine,
        cells=_with_the_best(cells),
        failures=tuple(failures),
        warnings=(*contents.warnings(), *contents.strays(), *study.warnings, *odd),
        raw=contents.raw,
    )


def _with_the_best(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The same, with the best of each workload marked."""
    best: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda one: (-(one.cores or 0), one.metg or math.inf)):
        best.setdefault(cell.workload, cell)
    return tuple(replace(one, best=bool(one.metg) and one is best[one.workload]) for one in cells)


def text(value: object) -> str:
    """A text without terminal colours and control characters; another value as JSON; nothing for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _CONTROL.sub("\ufffd", _ANSI.sub("", shown.replace("\r\n", "\n").replace("\r", "\n")))


def _gather(cell: _Gathered, line: Line) -> None:
    match line:
        case CellLine():
            cell.started = line
        case RunLine():
            cell.count += 1
            cell.runs += _runs(line)
            if line.tasks and line.dependencies is not None:
                cell.longest = max(cell.longest, (line.tasks, line.dependencies, line.steps or 0))
            seconds = [one for one in line.prepare_seconds if one is not None]
            cell.prepared.setdefault(line.tasks or 0, []).extend(seconds)
            cell.memory = max(cell.memory, line.peak_rss_bytes or 0)
            if line.iterations:  # the empty kernel has a unit of its own
                cell.work_unit = text(line.work_unit) or cell.work_unit
        case FailureLine():
            cell.failures = [(earlier, False) for earlier, _ in cell.failures] + [(line, True)]
        case CrashLine():  # the driver was started again
            cell.failures.append((line, False))
        case RatioLine() if line.to and line.value:
            to = text(line.to)
            cell.ratios[to] = Ratio(to, line.value, line.low, line.high)
        case MetgLine():
            cell.ended, cell.ratios = line, {}
            if line.ending != "failed":
                cell.failures = [(earlier, False) for earlier, _ in cell.failures]


def _error(line: FailureLine | CrashLine) -> str:
    return "crash" if isinstance(line, CrashLine) else text(line.error) or "unknown"


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
    name: str,
    gathered: _Gathered,
    references: _References,
    settings: Mapping[str, object],
    known: Curve | None,
) -> Cell:
    started, ended = gathered.started, gathered.ended
    workload = started.workload
    system = text(started.system) or name.partition("/")[0]
    shown = name.removeprefix(f"{system}/")
    reference = references.get(started.reference_key, _Reference())
    peak_rate = ended.peak_rate or peak(reference.rates, started.cores)
    tasks, dependences, steps = gathered.longest
    prepared = max(gathered.prepared.items(), default=(0, []))
    return Cell(
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
        cores=started.cores,
        reference=text(started.reference_key[0]),
        threshold=ended.threshold or started.threshold or 0.5,
        ending=text(ended.ending) or ("failed" if gathered.error else "unfinished"),
        metg=ended.metg,
        low=ended.low,
        high=ended.high,
        start=ended.start,
        overhead=ended.overhead,
        overhead_low=ended.overhead_low,
        overhead_high=ended.overhead_high,
        quiet=ended.quiet,
        quiet_low=ended.quiet_low,
        quiet_high=ended.quiet_high,
        ratios=tuple(gathered.ratios.values()),
        best=False,
        floor=ended.floor,
        floor_low=ended.floor_low,
        floor_high=ended.floor_high,
        iterations=ended.iterations,
        rounds=ended.rounds,
        runs=gathered.count,
        repeated=ended.repeated_runs,
        disturbed=ended.disturbed_runs,
        prepare=median(prepared[1]) if prepared[1] else None,
        prepare_tasks=prepared[0],
        memory=gathered.memory or None,
        peak_rate=peak_rate,
        best_rate=ended.best_rate,
        work_unit=gathered.work_unit or reference.work_unit,
        curve=_curve(ended.curve, counting(gathered.runs), peak_rate),
        known=known,
        warnings=tuple(_notices(ended)),
        error=gathered.error,
    )


def _notices(ended: MetgLine) -> Iterator[Notice]:
    """The warnings of a cell, without what would drive a terminal."""
    for one in map(read_notice, ended.warnings):
        if one is not None:
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
