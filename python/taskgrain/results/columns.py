"""The columns of the tables that `taskgrain export` writes; docs/reference/export.md lists them.

Those that are fields of a line have their type, unit and meaning from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from taskgrain.results import lines
from taskgrain.results.lines import (
    Attempt,
    Build,
    CellLine,
    CurvePoint,
    FailureLine,
    MetgLine,
    ReferenceLine,
    SessionLine,
)
from taskgrain.study.fields import GIVEN, WORKLOAD


@dataclass(frozen=True)
class Column:
    """One column; `source` is the field of `runs.jsonl` that it is, if it has another name there."""

    name: str
    kind: lines.Kind
    unit: str
    meaning: str
    source: str = ""

    @property
    def field(self) -> str:
        return self.source or self.name


def _of(owner: type, names: str) -> tuple[Column, ...]:
    """The columns of fields of a kind of line: their names, or `name=field` where the names differ."""
    found = []
    for word in names.split():
        name, _, source = word.partition("=")
        field = lines.fields(owner)[source or name]
        found.append(Column(name, field.kind, field.unit, field.meaning, source))
    return tuple(found)


def _time(meaning: str) -> tuple[Column, ...]:
    written = f"Unix time at which {meaning} was written"
    return Column("time", "number", "s", written), *_of(CellLine, "elapsed")


def _of_workload(name: str) -> Column:
    field = GIVEN[name]
    kind = lines.Field(lines.WORKLOAD[name], "").kind
    return Column(field.column, kind, field.unit, field.text.removesuffix("."))


CELL = (
    *_of(CellLine, "cell system"),
    *(_of_workload(name) for name in GIVEN if name in WORKLOAD),
)
"""What every table but `reference` begins with: the cell and its workload."""

_ALONE = "of the kernel alone, averaged over the cores that the system occupies,"

RUNS = (
    *CELL,
    *_time("the run"),
    *_of(SessionLine, "session"),
    Column("run", "integer", "", "number of the run in the folder, from 0; its samples share it"),
    Column("sample", "integer", "", "which of the run's timed repeats, from 0"),
    Column("counted", "flag", "", "false for a run that others disturbed and that was repeated"),
    *_of(Attempt, "phase round iterations steps seconds"),
    Column("granularity", "number", "s", "seconds × cores ÷ tasks"),
    Column("rate", "number", "work_unit/s", "work ÷ seconds, of all cores together"),
    *_of(Attempt, "prepare_seconds tasks dependencies work work_unit cores peak_rss_bytes"),
    *_of(Attempt, "busy steal switches joules"),
    Column("reference_before", "number", "work_unit/s", f"{_ALONE} just before the run"),
    Column("reference_after", "number", "work_unit/s", f"{_ALONE} just after the run"),
    *_of(Attempt, "slowdown disturbed attempts"),
)

CELLS = (
    *CELL,
    *_time("the cell's last line"),
    *_of(CellLine, "cores reference threshold"),
    *_of(MetgLine, "ending metg low high crossing_iterations=iterations overhead overhead_low overhead_high"),
    *_of(MetgLine, "quiet quiet_low quiet_high floor floor_low floor_high start start_low start_high"),
    *_of(MetgLine, "rounds systematic inflation"),
    Column("runs", "integer", "", "runs that count"),
    *_of(MetgLine, "repeated_runs disturbed_runs peak_rate best_rate"),
    *_of(Attempt, "work_unit"),
    *_of(FailureLine, "failure=error failure_message=message"),
    Column("warnings", "text", "", "warnings, with a vertical bar between them"),
    Column("version", "text", "", "version of the system"),
    Column("compiler", "text", "", "compiler of its driver"),
    Column("flags", "text", "", "flags of that compiler"),
    Column("isa", "text", "", "instruction set of the compute kernel"),
    *_of(CellLine, "command"),
)

CURVE = (
    *CELL,
    *_of(CellLine, "cores"),
    *_of(CurvePoint, " ".join(lines.fields(CurvePoint))),
)

REFERENCE = (
    *_time("the measurement"),
    *_of(SessionLine, "session"),
    Column("measurement", "integer", "", "number of the measurement in the folder, from 0"),
    *_of(ReferenceLine, "program"),
    Column("core", "integer", "", "position of the core among those measured on, from 0"),
    *_of(ReferenceLine, "rate=rates work_unit"),
    *map(_of_workload, lines.OF_A_REFERENCE),
    *_of(ReferenceLine, "busy steal load hertz"),
)

SESSIONS = (
    *_time("the session's line"),
    *_of(SessionLine, "session machine boot taskgrain commit"),
    *_of(Build, "system=name build"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": RUNS,
    "cells": CELLS,
    "curve": CURVE,
    "reference": REFERENCE,
    "sessions": SESSIONS,
}
