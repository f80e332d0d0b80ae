"""The tables that a results folder is exported as, with their columns and rows (docs/reference/export.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from taskgrain.results import lines, values
from taskgrain.results.cell import Cell, cells
from taskgrain.results.columns import OF_A_CELL, OF_A_WORKLOAD, Column, of, of_workload, plain, time_of
from taskgrain.results.field import fields
from taskgrain.results.lines import (
    Attempt,
    Build,
    CellLine,
    CurvePoint,
    Line,
    ReferenceLine,
    RunLine,
    SessionLine,
)

L = TypeVar("L", bound=Line)
Values = Mapping[str, Any]
FORMULA = "=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20"
"""The characters at the beginning of a text that a spreadsheet may take for a formula, the mark that is put
before it included; the last four are the full-width forms of the first."""

CELL = tuple(one for each in OF_A_WORKLOAD for one in each.exported)

RUNS = (
    *CELL,
    *time_of("the run"),
    *of(SessionLine, "session"),
    Column("run", "integer", "", "number of the run in the folder, from 0; its samples share it"),
    Column("sample", "integer", "", "which of the run's timed repeats, from 0"),
    Column("counted", "flag", "", "false for a run that others disturbed and that was repeated"),
    *of(Attempt, "phase round iterations steps seconds"),
    Column("granularity", "number", "s", "seconds × cores ÷ tasks"),
    Column("rate", "number", "work_unit/s", "work ÷ seconds, of all cores together"),
    *of(Attempt, "prepare_seconds tasks dependencies work work_unit cores peak_rss_bytes"),
    *of(Attempt, "busy steal switches joules disturbed attempts waited"),
)

CELLS = tuple(one for each in OF_A_CELL for one in each.exported)

CURVE = (*CELL, *of(CellLine, "cores"), *of(CurvePoint, " ".join(fields(CurvePoint))))

REFERENCE = (
    *time_of("the measurement"),
    *of(SessionLine, "session"),
    Column("measurement", "integer", "", "number of the measurement in the folder, from 0"),
    *of(ReferenceLine, "program"),
    Column("core", "integer", "", "position of the core among those measured on, from 0"),
    *of(ReferenceLine, "rate=rates work_unit"),
    *map(of_workload, lines.OF_A_REFERENCE),
    *of(ReferenceLine, "busy steal load hertz"),
)

SESSIONS = (
    *time_of("the session's line"),
    *of(SessionLine, "session machine boot taskgrain commit"),
    *of(Build, "system=name build"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": RUNS,
    "cells": CELLS,
    "curve": CURVE,
    "reference": REFERENCE,
    "sessions": SESSIONS,
}


class Tables:
    """The tables of a results folder; missing values are empty."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._found = cells(lines)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that the tables are of."""
        return tuple(self._found.values())

    def rows(self, name: str) -> Iterator[list[Any]]:
        """The rows of one of `TABLES`; a missing value, and an empty text, is None."""
        rows = {
            "runs": self._runs,
            "cells": self._cells,
            "curve": self._curve,
            "reference": self._reference,
            "sessions": self._sessions,
        }
        for row in rows[name]():
            found = (row.get(one.name, row.get(one.field)) for one in TABLES[name])
            yield [None if one == "" else one for one in found]

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """The same, each row by the names of its columns."""
        names = [one.name for one in TABLES[name]]
        return (dict(zip(names, row, strict=True)) for row in self.rows(name))

    def _runs(self) -> Iterator[Values]:
        for number, (line, session) in enumerate(self._in_session(Attempt)):
            common = self._cell(line.cell) | line.to_json() | {"session": session}
            common |= {"run": number, "counted": isinstance(line, RunLine)}
            prepared = line.prepare_seconds
            for sample, seconds in enumerate(line.seconds):
                own: dict[str, Any] = {"sample": sample, "seconds": seconds}
                # One entry where all repeats share the preparation.
                own["prepare_seconds"] = prepared[min(sample, len(prepared) - 1)] if prepared else None
                own["waited"] = line.waited[sample] if sample < len(line.waited) else None
                own["granularity"] = _share(seconds, line.cores, line.tasks)
                own["rate"] = _share(line.work, 1, seconds)
                yield common | own

    def _cells(self) -> Iterator[Values]:
        for cell in self._found.values():
            warnings = " | ".join(one.text for one in cell.warnings)
            yield plain(cell) | {"warnings": warnings}

    def _curve(self) -> Iterator[Values]:
        for name, cell in self._found.items():
            for point in cell.curve:
                yield asdict(point) | self._cell(name) | {"cores": cell.started and cell.started.cores}

    def _reference(self) -> Iterator[Values]:
        for number, (line, session) in enumerate(self._in_session(ReferenceLine)):
            common = line.to_json() | {"measurement": number, "session": session}
            for core, rate in enumerate(line.rates):
                yield common | {"core": core, "rates": rate}

    def _sessions(self) -> Iterator[Values]:
        for line in self._lines:
            if isinstance(line, SessionLine):
                yield from (line.to_json() | asdict(one) for one in line.systems)

    def _in_session(self, kind: type[L]) -> Iterator[tuple[L, str | None]]:
        """The lines of a kind, each with the name of its session."""
        session: str | None = None
        for line in self._lines:
            if isinstance(line, SessionLine):
                session = line.session
            elif isinstance(line, kind):
                yield line, session

    def _cell(self, name: str) -> dict[str, Any]:
        """Returns the beginning of a row: the cell and its workload."""
        return plain(self._found[name], OF_A_WORKLOAD)


def _share(value: float | None, factor: int | None, whole: float | None) -> float | None:
    """The share value * factor / whole, where that is a number."""
    if value is None or factor is None or not whole:
        return None
    return values.number(value * factor / whole)
