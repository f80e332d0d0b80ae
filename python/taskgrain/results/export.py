"""A results folder as tables for other programs: CSV and Parquet (docs/reference/export.md)."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import polars as pl

from taskgrain.results import lines, reader, values
from taskgrain.results.columns import CELL, TABLES
from taskgrain.results.lines import (
    Attempt,
    CellLine,
    FailureLine,
    Line,
    MetgLine,
    OfCell,
    ReferenceLine,
    RunLine,
    SessionLine,
)
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

L = TypeVar("L", bound=Line)
Row = Mapping[str, Any]
FORMATS = ("csv", "parquet")
FORMULA = "=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20"
"""What a text begins with that a spreadsheet may take for a formula, the mark that is put before it included;
the last four are the full-width forms of the first."""
_TYPES: dict[str, type[pl.DataType]] = {
    "text": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "flag": pl.Boolean,
}


def write(folder: Path, table: str, kind: str | None, output: Path | None) -> list[str]:
    """Writes a table to a file, or to standard output; returns what is odd about the folder.

    `kind` is the format; without one the file's name says it. Raises `InputError` and `UsageError`.
    """
    numbers.text(table, "--table", tuple(TABLES))
    chosen = _format(kind, output)
    contents = reader.read(folder)
    reader.refuse_garbage(contents)
    frame = Tables(contents).table(table)
    if chosen == "csv":
        _write(output, folder, frame.with_columns(_guarded()).write_csv().encode())
    else:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        _write(output, folder, buffer.getvalue())
    return contents.warnings() + contents.strays()


def _format(kind: str | None, output: Path | None) -> str:
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    if kind is not None:
        chosen = numbers.text(kind, "--format", FORMATS)
        if suffix in FORMATS and suffix != chosen:
            raise UsageError(f"--format: {chosen} does not fit {output}; give one of them, or another name")
        return chosen
    if output is None:
        return "csv"
    if suffix not in FORMATS:
        raise InputError("--output", str(output), "a name that ends in .csv or .parquet, or --format")
    return suffix


def _guarded() -> pl.Expr:
    """Text columns with an apostrophe before what a spreadsheet would take for a formula."""
    return pl.col(pl.String).str.replace(f"^([{re.escape(FORMULA)}])", "'${1}")


def _write(output: Path | None, folder: Path, content: bytes) -> None:
    if output is None:
        if b"\0" in content and sys.stdout.isatty():
            raise InputError("--output", "", "a file for Parquet, or standard output into one")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    ours = [folder / name for name in reader.FILES]
    if os.path.realpath(output) in map(os.path.realpath, ours):
        raise InputError("--output", str(output), "a file that is not the results' own")
    draft = output.with_name(f".{output.name}.new")
    try:
        draft.write_bytes(content)
        draft.replace(output)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError("--output", str(output), f"a file that can be written ({error.strerror})") from None


class Tables:
    """The tables of a results folder; what it does not say is empty."""

    def __init__(self, contents: reader.Contents) -> None:
        self._lines = contents.shown
        self._started = {line.cell: line for line in self._lines if isinstance(line, CellLine)}

    def table(self, name: str) -> pl.DataFrame:
        """One of `TABLES`; a missing value is null."""
        rows = {
            "runs": self._runs,
            "cells": self._cells,
            "curve": self._curve,
            "reference": self._reference,
            "sessions": self._sessions,
        }
        columns = TABLES[name]
        made = [[row.get(one.field) for one in columns] for row in rows[name]()]
        schema = {one.name: _TYPES[one.kind] for one in columns}
        frame = pl.DataFrame(made, schema=schema, orient="row")
        return frame.with_columns(pl.col(pl.String).replace("", None))

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
        found: dict[str, dict[str, Any]] = {}
        about = [line for line in self._lines if isinstance(line, OfCell)]
        runs = Counter((line.cell, line.kind) for line in about)
        for line in about:
            name = line.cell
            row = found.setdefault(name, self._cell(name) | {"ending": "unfinished"})
            match line:
                case CellLine():  # it begins, or after a failure begins again
                    found[name] = row = line.to_json() | _facts(line) | {"ending": "unfinished"}
                case RunLine():
                    row["cores"] = line.cores
                    if line.iterations:  # the empty kernel has a unit of its own
                        row["work_unit"] = line.work_unit
                case FailureLine():
                    row |= {"ending": "failed", "error": line.error, "message": line.message}
                case MetgLine():
                    row |= line.to_json() | {"warnings": " | ".join(map(lines.said, line.warnings))}
            row |= {"time": line.time, "elapsed": line.elapsed}
        for name, row in found.items():
            yield row | {"runs": runs[name, "run"], "repeated_runs": runs[name, "rejected"]}

    def _curve(self) -> Iterator[Row]:
        ended = {line.cell: line for line in self._lines if isinstance(line, MetgLine)}
        for name, line in ended.items():
            started = self._started.get(name)
            for point in line.curve:
                yield asdict(point) | self._cell(name) | {"cores": started.cores if started else None}

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
        line = self._started.get(name)
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
