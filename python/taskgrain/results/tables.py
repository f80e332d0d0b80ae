"""The tables that a results folder is exported as, row by row (docs/reference/export.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from statistics import fmean
from typing import Any, TypeVar

from taskgrain.results import reader, values
from taskgrain.results.cell import cells
from taskgrain.results.columns import CELL, TABLES
from taskgrain.results.lines import (
    Attempt,
    CellLine,
    Line,
    ReferenceLine,
    RunLine,
    SessionLine,
)

L = TypeVar("L", bound=Line)
Row = Mapping[str, Any]
FORMULA = "=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20"
"""What a text begins with that a spreadsheet may take for a formula, the mark that is put before it included;
the last four are the full-width forms of the first."""


class Tables:
    """The tables of a results folder; what it does not say is empty."""

    def __init__(self, contents: reader.Contents) -> None:
        self._lines = contents.shown
        self._found = cells(self._lines)

    def rows(self, name: str) -> Iterator[list[Any]]:
        """The rows of one of `TABLES`; a missing value is None."""
        rows = {
            "runs": self._runs,
            "cells": self._cells,
            "curve": self._curve,
            "reference": self._reference,
            "sessions": self._sessions,
        }
        for row in rows[name]():
            yield [row.get(one.field) for one in TABLES[name]]

    def _runs(self) -> Iterator[Row]:
        for number, (line, session) in enumerate(self._in_session(Attempt)):
            common = self._cell(line.cell) | line.to_json() | {"session": session}
            common |= {"run": number, "counted": isinstance(line, RunLine)}
            for side in ("reference_before", "reference_after"):
                common[side] = _mean(getattr(line, side)[: line.cores])
            prepared = line.prepare_seconds
            for sample, seconds in enumerate(line.seconds):
                own: dict[str, Any] = {"sample": sample, "seconds": seconds}
                # One entry where all repeats share what was prepared.
                own["prepare_seconds"] = prepared[min(sample, len(prepared) - 1)] if prepared else None
                own["granularity"] = _share(seconds, line.cores, line.tasks)
                own["rate"] = _share(line.work, 1, seconds)
                yield common | own

    def _cells(self) -> Iterator[Row]:
        for name, cell in self._found.items():
            row = self._cell(name)
            if cell.started:
                row |= cell.started.to_json() | _facts(cell.started)
            if cell.result:
                row |= cell.result.to_json()
            row |= {"error": cell.error, "message": cell.failure.message if cell.failure else None}
            # The empty kernel has a unit of its own.
            unit = next((one.work_unit for one in reversed(cell.runs) if one.iterations), None)
            yield row | {
                "cores": cell.cores,
                "ending": str(cell.ending),
                "warnings": " | ".join(one.text for one in cell.warnings),
                "work_unit": unit,
                "time": cell.last.time if cell.last else None,
                "elapsed": cell.last.elapsed if cell.last else None,
                "runs": len(cell.runs),
                "repeated_runs": cell.rejected,
            }

    def _curve(self) -> Iterator[Row]:
        for name, cell in self._found.items():
            for point in cell.curve:
                yield asdict(point) | self._cell(name) | {"cores": cell.started and cell.started.cores}

    def _reference(self) -> Iterator[Row]:
        for number, (line, session) in enumerate(self._in_session(ReferenceLine)):
            common = line.to_json() | {"measurement": number, "session": session}
            for core, rate in enumerate(line.rates):
                yield common | {"core": core, "rates": rate}

    def _sessions(self) -> Iterator[Row]:
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
        """The columns of `CELL`, as far as the cell's own line says them."""
        line = self._found[name].started
        said = line.to_json() if line else {}
        return {one.name: said.get(one.name) for one in CELL} | {"cell": name}


def _facts(line: CellLine) -> dict[str, str | None]:
    """What the driver said of itself when it started."""
    driver = line.driver or {}
    return {key: values.text(driver.get(key)) for key in ("version", "compiler", "flags", "isa")}


def _mean(rates: tuple[float | None, ...]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return fmean(known) if known and len(known) == len(rates) else None


def _share(value: float | None, factor: int | None, whole: float | None) -> float | None:
    """value * factor / whole where that is a number."""
    if value is None or factor is None or not whole:
        return None
    return values.number(value * factor / whole)
