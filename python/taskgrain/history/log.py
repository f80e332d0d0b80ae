"""A log: what a history keeps of a results folder (docs/reference/history.md), and how its line is spelled.

It holds lines of the folder, and is read as the folder is. The lines of runs are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from taskgrain.results import measurements, parse, values
from taskgrain.results.lines import (
    SCHEMA,
    CellLine,
    CurvePoint,
    FailureLine,
    Line,
    MetgLine,
    SessionLine,
    UnknownLine,
)
from taskgrain.results.measurements import Measurement
from taskgrain.study.settings import Settings
from taskgrain.words import quantity
from taskgrain.words.errors import UsageError
from taskgrain.words.plain import finite

_NEAR = (0.5, 1.5)
"""Points of a curve are kept whose efficiency is between these times the threshold."""
_END_OF_TIME = 253402300800.0
"""The year 10000, which `datetime` does not know."""


@dataclass(frozen=True, kw_only=True)
class Log(Line):
    """The lines of one results folder, which one session measured, or several that went on with it."""

    kind: ClassVar[str] = "log"
    time: float
    """Unix time, which says where in the history it stands."""
    label: str
    """Commit, or what else the user called it."""
    study: Mapping[str, Any]
    """The settings of `study.toml` that change what is measured, and are not in the lines."""
    lines: tuple[Line, ...]

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """The cells of the log, folded as in a results folder."""
        return measurements.of_lines(self.lines, self.study)

    @cached_property
    def names(self) -> frozenset[str]:
        """The random names of its sessions, by which it is known again."""
        return frozenset(one.session for one in self.lines if isinstance(one, SessionLine) and one.session)

    def to_json(self) -> dict[str, Any]:
        head = {"schema": self.schema, "kind": self.kind, "time": self.time, "label": self.label}
        lines = [line.to_json() for line in self.lines]
        return head | {"study": self.study, "lines": lines}


def from_json(table: Mapping[str, Any], odd: parse.Odd) -> Line:
    """The log that an object of JSON stands for."""
    label, time = values.text(table.get("label")), values.number(table.get("time"))
    lines, study = finite(table.get("lines")), finite(table.get("study"))
    schema = values.integer(table.get("schema"))
    schema = SCHEMA if schema is None else schema
    if table.get("kind") != Log.kind or label is None or time is None or not 0.0 <= time < _END_OF_TIME:
        return UnknownLine(schema=schema, content=table)
    return Log(
        schema=schema,
        time=time,
        label="".join(one if one.isprintable() else "\ufffd" for one in label),  # it goes to a terminal
        study=study if isinstance(study, dict) else {},
        lines=tuple(
            parse.from_json(one, odd)
            for one in (lines if isinstance(lines, list) else [])
            if isinstance(one, dict)
        ),
    )


def measured(folder: Path, label: str | None = None, time: float | None = None) -> tuple[Log, list[str]]:
    """The log of a results folder, and warnings about the folder. `label` and `time` (Unix time) come from
    the measurement if they are not given. Raises `UsageError` if the folder cannot be read, or has nothing to
    be kept."""
    place = measurements.opened(folder)
    contents, warnings = place.contents, [*place.warnings]
    every = [one for one in place.measurements if not one.earlier]
    supported = [one for one in every if one.cell.error != "unsupported"]
    ended = [one for one in supported if one.cell.ending.final]
    known = [one for one in ended if one.session.machine and one.reference_build]
    named = any(isinstance(line, SessionLine) and line.session for line in contents.stored)
    if not named or (ended and not known):
        raise UsageError(
            f"{folder}: does not say on which machine, or with which reference, it was measured; measure it "
            "again with this version of taskgrain"
        )
    if not known:
        raise UsageError(f"{folder}: no cell has a result yet")
    for count, what in (
        (len(every) - len(supported), "that the system does not support"),
        (len(supported) - len(ended), "without a result yet"),
        (len(ended) - len(known), "of an unknown machine or reference"),
    ):
        if count:
            warnings.append(f"{quantity.counted(count, 'cell')} {what}, left out")
    at = min((one.begin for one in known if one.begin is not None), default=None) if time is None else time
    if at is None:
        raise UsageError(f"{folder}: does not say when it was measured; give --time")
    log = Log(
        time=at,
        label=label or datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M"),
        study=measurements.of_a_study(place.study.table),
        lines=tuple(_kept(contents.lines, {one.cell.name: one for one in known})),
    )
    return log, warnings


def _kept(lines: tuple[Line, ...], cells: Mapping[str, Measurement]) -> Iterator[Line]:
    """The lines that say how these cells ended, without fields that are of no use in a history."""
    for line in lines:
        match line:
            case SessionLine():
                yield line
            case CellLine(cell=name) if name in cells:
                cell = cells[name]
                driver = {"version": cell.version} if cell.version else None
                yield replace(line, command=None, driver=driver, cores=cell.cores)
            case FailureLine(cell=name) if name in cells:
                yield replace(line, log=None)
            case MetgLine(cell=name) if name in cells:
                yield replace(line, curve=tuple(_near(line)), warnings=())


def _near(line: MetgLine) -> Iterator[CurvePoint]:
    low, high = (times * (line.threshold or Settings.threshold) for times in _NEAR)
    return (one for one in line.curve if one.efficiency is not None and low <= one.efficiency <= high)
