"""A results folder as tables for other programs: CSV and Parquet (docs/reference/export.md)."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from taskgrain.results.columns import CELL, TABLES, Column
from taskgrain.results.store import Line, read_lines
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

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
_KINDS = ("cell", "run", "rejected", "failure", "metg")
"""The lines about a cell."""


def write(folder: Path, table: str, kind: str | None, output: Path | None) -> list[str]:
    """Writes a table to a file, or to standard output; returns what is odd about the folder.

    `kind` is the format; without one the file's name says it. Raises `InputError` and `UsageError`.
    """
    numbers.text(table, "--table", tuple(TABLES))
    chosen = _format(kind, output)
    reader = Reader(folder)
    frame = reader.table(table)
    if chosen == "csv":
        _write(output, folder, frame.with_columns(_guarded()).write_csv().encode())
    else:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        _write(output, folder, buffer.getvalue())
    return reader.warnings()


def _format(kind: str | None, output: Path | None) -> str:
    if kind is not None:
        return numbers.text(kind, "--format", FORMATS)
    if output is None:
        return "csv"
    suffix = output.suffix.lower().removeprefix(".")
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
    ours = [folder / name for name in ("runs.jsonl", "study.toml", "machine.json")]
    if os.path.realpath(output) in map(os.path.realpath, ours):
        raise InputError("--output", str(output), "a file that is not the results' own")
    draft = output.with_name(f".{output.name}.new")
    try:
        draft.write_bytes(content)
        draft.replace(output)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError("--output", str(output), f"a file that can be written ({error.strerror})") from None


class Reader:
    """The tables of a results folder. What cannot be read is left out or empty, and counted."""

    def __init__(self, folder: Path) -> None:
        """Raises `UsageError` if there is no `runs.jsonl`, or one of a newer schema."""
        file = folder / "runs.jsonl"
        if not file.exists():
            raise UsageError(f"{file}: there is no such file; is {folder} a results folder?")
        self._contents = read_lines(file)
        self._odd: Counter[str] = Counter()
        self._lines: list[Line] = []
        for line in self._contents.lines:
            kind, cell = line.get("kind"), line.get("cell")
            if kind == "reference" or (kind in _KINDS and isinstance(cell, str)):
                self._lines.append(line)
            else:
                self._odd["lines of no known kind, left out"] += 1
        self._started = {line["cell"]: line for line in self._lines if line["kind"] == "cell"}

    def warnings(self) -> list[str]:
        """What was left out so far."""
        odd = [f"runs.jsonl: {what}: {count}" for what, count in self._odd.items()]
        return self._contents.warnings() + odd

    def table(self, name: str) -> pl.DataFrame:
        """One of `TABLES`; a missing value is null."""
        rows = {"runs": self._runs, "cells": self._cells, "curve": self._curve, "reference": self._reference}
        columns = TABLES[name]
        made = [[self._value(row.get(one.field), one) for one in columns] for row in rows[name]()]
        schema = {one.name: _TYPES[one.kind] for one in columns}
        return pl.DataFrame(made, schema=schema, orient="row")

    def _value(self, value: Any, column: Column) -> Any:
        if value in (None, ""):
            return None
        made = _converted(value, column.kind)
        if made is None:
            self._odd[f"values that are no {column.kind}, left empty"] += 1
        return made

    def _runs(self) -> Iterator[Row]:
        runs = (line for line in self._lines if line["kind"] in ("run", "rejected"))
        for number, line in enumerate(runs):
            common = self._cell(line["cell"]) | line | {"run": number, "counted": line["kind"] == "run"}
            prepared = self._list(line, "prepare_seconds")
            for sample, seconds in enumerate(self._list(line, "seconds")):
                own = {"sample": sample, "seconds": seconds}
                # One entry where all repeats share what was prepared.
                own["prepare_seconds"] = prepared[min(sample, len(prepared) - 1)] if prepared else None
                own["granularity"] = _share(seconds, line.get("cores"), line.get("tasks"))
                own["rate"] = _share(line.get("work"), 1, seconds)
                yield common | own

    def _cells(self) -> Iterator[Row]:
        found: dict[str, dict[str, Any]] = {}
        lines = [line for line in self._lines if line["kind"] != "reference"]
        runs = Counter((line["cell"], line["kind"]) for line in lines)
        for line in lines:
            name = line["cell"]
            row = found.setdefault(name, self._cell(name) | {"ending": "unfinished"})
            match line["kind"]:
                case "cell":  # it begins, or after a failure begins again
                    found[name] = row = line | _facts(line.get("driver")) | {"ending": "unfinished"}
                case "run":
                    row["cores"] = line.get("cores")
                    if line.get("iterations"):  # the empty kernel has a unit of its own
                        row["work_unit"] = line.get("work_unit")
                case "failure":
                    row |= {"ending": "failed"} | {key: line.get(key) for key in ("error", "message")}
                case "metg":
                    warnings = [one for one in self._list(line, "warnings") if isinstance(one, str)]
                    row |= line | {"warnings": " | ".join(warnings)}
            row |= {key: line.get(key) for key in ("time", "elapsed")}
        for name, row in found.items():
            yield row | {"runs": runs[name, "run"], "repeated_runs": runs[name, "rejected"]}

    def _curve(self) -> Iterator[Row]:
        ended = {line["cell"]: line for line in self._lines if line["kind"] == "metg"}
        for name, line in ended.items():
            cores = self._started.get(name, {}).get("cores")
            for point in self._list(line, "curve"):
                if isinstance(point, dict):
                    yield point | self._cell(name) | {"cores": cores}

    def _reference(self) -> Iterator[Row]:
        for number, line in enumerate(one for one in self._lines if one["kind"] == "reference"):
            for core, rate in enumerate(self._list(line, "rates")):
                yield line | {"measurement": number, "core": core, "rate": rate}

    def _cell(self, name: str) -> dict[str, Any]:
        """The columns of `CELL`, as far as the cell's own line says them."""
        line = self._started.get(name, {})
        return {one.name: line.get(one.name) for one in CELL} | {"cell": name}

    def _list(self, line: Line, field: str) -> list[Any]:
        value = line.get(field, [])
        if isinstance(value, list):
            return value
        self._odd["values that are no list, left out"] += 1
        return []


def _facts(driver: object) -> dict[str, Any]:
    """What the driver said of itself when it started."""
    kept = ("version", "compiler", "flags", "isa")
    return {key: driver.get(key) for key in kept} if isinstance(driver, dict) else {}


def _share(value: object, factor: object, whole: object) -> float | None:
    """value * factor / whole where that is a number."""
    match [_converted(one, "number") for one in (value, factor, whole)]:
        case [float(a), float(b), float(c)] if c:
            return a * b / c
    return None


def _converted(value: object, kind: str) -> object:
    """The value as its column holds it, or None."""
    match kind, value:
        case "text", str():
            return value.encode("utf-8", "replace").decode()  # JSON can spell half a surrogate pair
        case "flag", bool():
            return value
        case (("integer" | "number"), bool()):
            return None
        case "integer", int() if abs(value) < 2**63:
            return value
        case "number", int() | float() if abs(value) <= sys.float_info.max:
            return float(value)
    return None
