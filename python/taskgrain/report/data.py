"""Reads a results folder (docs/reference/results.md) for the report.

Lenient: what cannot be read becomes a warning or a missing value, never an error, because the report of a run
that was killed is the one that is needed most. Every text that comes from here is untrusted.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from taskgrain.drive.catalogue import REFERENCE
from taskgrain.report.cells import Cell, Failure, Fields, Point, Results
from taskgrain.report.repeat import command
from taskgrain.report.runs import Run, counting, curve, peak, samples
from taskgrain.words.errors import UsageError

SCHEMA = 1
"""The newest schema that this reader knows."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass
class _Gathered:
    """What the lines of runs.jsonl say about one cell."""

    started: Fields = field(default_factory=dict)
    ended: Fields | None = None
    failures: list[tuple[Fields, bool]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    count: int = 0
    """Of the lines of runs, those that make no sense included."""
    longest: tuple[float, float] = (0.0, 0.0)
    """Tasks and dependences of the longest run."""
    memory: int = 0
    """The largest that a run names, in bytes."""
    work_unit: str = ""


@dataclass
class _Reference:
    """What the lines of runs.jsonl say about a kernel alone."""

    work_unit: str = ""
    rates: list[list[float]] = field(default_factory=list)


def read(folder: Path) -> Results:
    """Reads `folder`. Raises `UsageError` only if there is no runs.jsonl that can be opened."""
    warnings: list[str] = []
    gathered: dict[str, _Gathered] = {}
    references: dict[_Kernel, _Reference] = {}
    raw = _bytes(folder / "runs.jsonl")
    for line in _lines(raw, "runs.jsonl", warnings):
        name = line.get("cell")
        if line.get("kind") == "reference":
            _refer(references.setdefault(_kernel(line, line.get("program")), _Reference()), line)
        if isinstance(name, str):
            _gather(gathered.setdefault(text(name), _Gathered()), line)
    machine = _json_file(folder / "machine.json", warnings)
    study, settings, title = _study(folder)
    failures = [
        Failure(
            cell=name,
            error=text(line.get("error")) or "unknown",
            message=text(line.get("message")),
            log=text(line.get("log")),
            superseded=not last,
        )
        for name, one in gathered.items()
        for line, last in one.failures
    ]
    return Results(
        folder=folder,
        title=title,
        study=study,
        machine=machine,
        cells=tuple(_cell(name, one, references, settings) for name, one in gathered.items()),
        failures=tuple(failures),
        warnings=tuple(warnings),
        raw=raw,
    )


def text(value: object) -> str:
    """A text without terminal colours and control characters; another value as JSON; nothing for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _CONTROL.sub("\ufffd", _ANSI.sub("", shown.replace("\r\n", "\n").replace("\r", "\n")))


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}; is this a results folder?") from None


def _lines(raw: bytes, name: str, warnings: list[str]) -> Iterator[Fields]:
    lines = raw.split(b"\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    newer = False
    for number, one in enumerate(lines, 1):
        if not one.strip():
            continue
        line = _object(one)
        if line is None:
            torn = "is torn (the measurement was interrupted there)"
            what = torn if number == last else "is not a JSON object"
            warnings.append(f"{name}: line {number} {what} and was skipped")
            continue
        schema = line.get("schema")
        if isinstance(schema, int) and schema > SCHEMA and not newer:
            newer = True
            warnings.append(f"{name}: has schema {schema}, this version knows {SCHEMA}: parts may be missing")
        yield line


def _object(raw: bytes) -> Fields | None:
    try:
        # JSON has no NaN; a number too large for a float is none either.
        value = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _gather(cell: _Gathered, line: Fields) -> None:
    match line.get("kind"):
        case "cell":
            cell.started = line
        case "run":
            cell.count += 1
            cell.runs += _runs(line)
            tasks, dependences = _positive(line.get("tasks")), _number(line.get("dependencies"))
            if tasks and dependences is not None:
                cell.longest = max(cell.longest, (tasks, dependences))
            cell.memory = max(cell.memory, _integer(line.get("peak_rss_bytes")) or 0)
            if line.get("iterations"):  # the empty kernel has a unit of its own
                cell.work_unit = text(line.get("work_unit")) or cell.work_unit
        case "failure":
            cell.failures = [(earlier, False) for earlier, _ in cell.failures] + [(line, True)]
        case "crash":  # the driver was started again
            cell.failures.append(({**line, "error": "crash"}, False))
        case "metg":
            cell.ended = line
            if line.get("ending") != "failed":
                cell.failures = [(earlier, False) for earlier, _ in cell.failures]


def _runs(line: Fields) -> list[Run]:
    """The run of a line, or nothing if it makes no sense."""
    seconds, tasks, cores = line.get("seconds"), _positive(line.get("tasks")), _positive(line.get("cores"))
    iterations, work = _number(line.get("iterations")), _number(line.get("work"))
    if not isinstance(seconds, list) or not tasks or not cores or iterations is None or work is None:
        return []
    times = [time for one in seconds if (time := _positive(one))]
    granularities = tuple(time * cores / tasks for time in times)
    disturbed = line.get("disturbed") is True
    run = Run(text(line.get("phase")), iterations, granularities, work / tasks, disturbed)
    return [run] if times else []


_Kernel = tuple[str, str, str, str]


def _kernel(line: Fields, program: object) -> _Kernel:
    """What tells references apart: older lines do not name the program, there being one."""
    sizes = text(line.get("scratch_bytes") or 0), text(line.get("samples") or 16)
    return text(program) or REFERENCE, text(line.get("kernel")), *sizes


def _refer(reference: _Reference, line: Fields) -> None:
    reference.work_unit = text(line.get("work_unit"))
    rates = line.get("rates")
    known = [_positive(rate) for rate in rates] if isinstance(rates, list) else []
    if known and all(known):
        reference.rates.append([rate for rate in known if rate])


def _cell(name: str, gathered: _Gathered, references: Mapping[_Kernel, _Reference], settings: Fields) -> Cell:
    started, ended = gathered.started, gathered.ended or {}
    system = text(started.get("system")) or name.partition("/")[0]
    workload = name.removeprefix(f"{system}/")
    error = next((text(line.get("error")) or "unknown" for line, last in gathered.failures if last), "")
    ending = text(ended.get("ending")) or ("failed" if error else "unfinished")
    kernel = _kernel(started, started.get("reference"))
    reference = references.get(kernel, _Reference())
    cores = _integer(started.get("cores"))
    peak_rate = _positive(ended.get("peak_rate")) or peak(reference.rates, cores)
    listed = ended.get("warnings")
    tasks, dependences = gathered.longest
    return Cell(
        name=name,
        system=system,
        workload=workload,
        pattern=text(started.get("pattern")) or workload.partition("/")[0],
        width=_integer(started.get("width")),
        radix=_integer(started.get("radix")),
        graphs=_integer(started.get("graphs")),
        output_bytes=_integer(started.get("output_bytes")),
        kernel=text(started.get("kernel")),
        dependences=dependences / tasks if tasks else None,
        command=command(text(started.get("command")), settings),
        cores=cores,
        reference=kernel[0],
        threshold=_share(ended.get("threshold")) or _share(started.get("threshold")) or 0.5,
        ending=ending,
        metg=_positive(ended.get("metg")),
        low=_positive(ended.get("low")),
        high=_positive(ended.get("high")),
        floor=_positive(ended.get("floor")),
        floor_low=_positive(ended.get("floor_low")),
        floor_high=_positive(ended.get("floor_high")),
        iterations=_positive(ended.get("iterations")),
        rounds=_integer(ended.get("rounds")),
        runs=gathered.count,
        repeated=_integer(ended.get("repeated_runs")),
        disturbed=_integer(ended.get("disturbed_runs")),
        memory=gathered.memory or None,
        peak_rate=peak_rate,
        work_unit=gathered.work_unit or reference.work_unit,
        curve=_curve(ended.get("curve"), counting(gathered.runs), peak_rate),
        warnings=tuple(text(one) for one in listed) if isinstance(listed, list) else (),
        error=error,
    )


def _curve(stored: object, runs: Sequence[Run], peak_rate: float | None) -> tuple[Point, ...]:
    """The curve as stored; of a cell that has not come to its end, what its runs make of it."""
    lines = [one for one in stored if isinstance(one, dict)] if isinstance(stored, list) else []
    points = [point for line in lines if (point := _point(line))]
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


def _point(line: Fields) -> Point | None:
    iterations, granularity = _positive(line.get("iterations")), _positive(line.get("granularity"))
    efficiency = _number(line.get("efficiency"))
    if iterations is None or granularity is None or efficiency is None:
        return None
    low, high = _number(line.get("efficiency_low")), _number(line.get("efficiency_high"))
    return Point(
        iterations=iterations,
        granularity=granularity,
        granularity_low=_positive(line.get("granularity_low")) or granularity,
        granularity_high=_positive(line.get("granularity_high")) or granularity,
        efficiency=efficiency,
        efficiency_low=efficiency if low is None else low,
        efficiency_high=efficiency if high is None else high,
        repeats=_integer(line.get("repeats")),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _positive(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and number > 0 else None


def _share(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and 0 < number < 1 else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _json_file(file: Path, warnings: list[str]) -> Fields:
    try:
        value = _object(file.read_bytes())
    except OSError as error:
        warnings.append(f"{file.name}: {error.strerror}; the report does not know the machine")
        return {}
    if value is None:
        warnings.append(f"{file.name}: is not a JSON object; the report does not know the machine")
        return {}
    return value


def _study(folder: Path) -> tuple[str, Fields, str]:
    """The text of study.toml, its table, and the study's name: from there, or the folder's."""
    fallback = text(folder.resolve().name)
    try:
        study = text((folder / "study.toml").read_bytes().decode("utf-8", "replace"))
    except OSError:
        return "", {}, fallback
    try:
        table = tomllib.loads(study)
    except tomllib.TOMLDecodeError:
        return study, {}, fallback
    named = [table.get("title"), table.get("name")]
    return study, table, next((text(one) for one in named if isinstance(one, str) and one.strip()), fallback)
