"""Reads a results folder (docs/reference/results.md) for the report.

Lenient: what cannot be read becomes a warning or a missing value, never an error, because the report of a run
that was killed is the one that is needed most. Every text that comes from here is untrusted.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taskgrain.errors import UsageError

SCHEMA = 1
"""The newest schema that this reader knows."""

Fields = Mapping[str, object]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Point:
    """One task size of a cell's curve; granularities in seconds, efficiencies from 0 to 1."""

    iterations: float
    granularity: float
    granularity_low: float
    granularity_high: float
    efficiency: float
    efficiency_low: float
    efficiency_high: float
    repeats: int | None


@dataclass(frozen=True)
class Failure:
    """One attempt at a cell that failed."""

    cell: str
    error: str
    message: str
    log: str
    superseded: bool
    """Whether a later attempt at the same cell came to an end."""


@dataclass(frozen=True)
class Cell:
    """One system on one workload, and what came of it; times in seconds, rates in `work_unit` per second."""

    name: str
    system: str
    pattern: str
    workload: str
    """The cell's name without the system: what systems are compared on."""
    command: str
    cores: int | None
    threshold: float
    ending: str
    """As in the results, or `unfinished` where there is no `metg` line."""
    metg: float | None
    low: float | None
    high: float | None
    floor: float | None
    floor_low: float | None
    floor_high: float | None
    rounds: int | None
    runs: int
    peak_rate: float | None
    work_unit: str
    curve: tuple[Point, ...]
    warnings: tuple[str, ...]

    @property
    def at_most(self) -> float | None:
        """The upper bound of a METG that lies below the smallest task tried."""
        return self.high if self.ending == "always_reached" else None

    @property
    def at_least(self) -> float | None:
        """The lower bound of a METG that lies above the largest task tried."""
        if self.ending != "never_reached":
            return None
        return max((point.granularity for point in self.curve), default=self.low)


@dataclass(frozen=True)
class Results:
    """A results folder."""

    folder: Path
    title: str
    study: str
    """The text of study.toml, empty if there is none."""
    machine: Fields
    cells: tuple[Cell, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder itself."""
    metg_lines: tuple[Fields, ...]
    """The last `metg` line of every cell, as it was read."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.system for cell in self.cells))

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))


@dataclass
class _Gathered:
    """What the lines of runs.jsonl say about one cell."""

    started: Fields = field(default_factory=dict)
    ended: Fields | None = None
    failures: list[tuple[Fields, bool]] = field(default_factory=list)
    runs: int = 0
    work_unit: str = ""


def read(folder: Path) -> Results:
    """Reads `folder`. Raises `UsageError` only if there is no runs.jsonl that can be opened."""
    warnings: list[str] = []
    gathered: dict[str, _Gathered] = {}
    units: dict[str, str] = {}
    for line in _lines(folder / "runs.jsonl", warnings):
        name = line.get("cell")
        if line.get("kind") == "reference":
            units[text(line.get("kernel"))] = text(line.get("work_unit"))
        if isinstance(name, str):
            _gather(gathered.setdefault(text(name), _Gathered()), line)
    machine = _json_file(folder / "machine.json", warnings)
    study, title = _study(folder)
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
        cells=tuple(_cell(name, one, units) for name, one in gathered.items()),
        failures=tuple(failures),
        warnings=tuple(warnings),
        metg_lines=tuple(one.ended for one in gathered.values() if one.ended is not None),
    )


def text(value: object) -> str:
    """A text without terminal colours and control characters; another value as JSON; nothing for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _CONTROL.sub("\ufffd", _ANSI.sub("", shown.replace("\r\n", "\n").replace("\r", "\n")))


def _lines(file: Path, warnings: list[str]) -> Iterator[Fields]:
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}; is this a results folder?") from None
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    newer = False
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        line = _object(raw)
        if line is None:
            torn = "is torn (the measurement was interrupted there)"
            what = torn if number == last else "is not a JSON object"
            warnings.append(f"{file.name}: line {number} {what} and was skipped")
            continue
        schema = line.get("schema")
        if isinstance(schema, int) and schema > SCHEMA and not newer:
            newer = True
            warnings.append(
                f"{file.name}: has schema {schema}, this version knows {SCHEMA}: parts may be missing"
            )
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
            cell.runs += 1
            cell.work_unit = text(line.get("work_unit")) or cell.work_unit
        case "failure":
            cell.failures = [(earlier, False) for earlier, _ in cell.failures] + [(line, True)]
        case "metg":
            cell.ended = line
            if line.get("ending") != "failed":
                cell.failures = [(earlier, False) for earlier, _ in cell.failures]


def _cell(name: str, gathered: _Gathered, units: Mapping[str, str]) -> Cell:
    started, ended = gathered.started, gathered.ended or {}
    system = text(started.get("system")) or name.partition("/")[0]
    workload = name.removeprefix(f"{system}/")
    ending = text(ended.get("ending")) or "unfinished"
    if not ended and any(last for _, last in gathered.failures):
        ending = "failed"
    curve = ended.get("curve")
    points = [_point(one) for one in curve if isinstance(one, dict)] if isinstance(curve, list) else []
    listed = ended.get("warnings")
    return Cell(
        name=name,
        system=system,
        pattern=text(started.get("pattern")) or workload.partition("/")[0],
        workload=workload,
        command=text(started.get("command")),
        cores=_integer(started.get("cores")),
        threshold=_share(ended.get("threshold")) or _share(started.get("threshold")) or 0.5,
        ending=ending,
        metg=_positive(ended.get("metg")),
        low=_positive(ended.get("low")),
        high=_positive(ended.get("high")),
        floor=_positive(ended.get("floor")),
        floor_low=_positive(ended.get("floor_low")),
        floor_high=_positive(ended.get("floor_high")),
        rounds=_integer(ended.get("rounds")),
        runs=gathered.runs,
        peak_rate=_positive(ended.get("peak_rate")),
        work_unit=gathered.work_unit or units.get(text(started.get("kernel")), ""),
        curve=tuple(point for point in points if point is not None),
        warnings=tuple(text(one) for one in listed) if isinstance(listed, list) else (),
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


def _study(folder: Path) -> tuple[str, str]:
    """The text of study.toml, and the study's name: from there, or the folder's."""
    fallback = text(folder.resolve().name)
    try:
        study = text((folder / "study.toml").read_bytes().decode("utf-8", "replace"))
    except OSError:
        return "", fallback
    try:
        table = tomllib.loads(study)
    except tomllib.TOMLDecodeError:
        return study, fallback
    named = [table.get("title"), table.get("name")]
    return study, next((text(one) for one in named if isinstance(one, str) and one.strip()), fallback)
