"""A results folder as tables for other programs: CSV and Parquet (docs/reference/export.md)."""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl

from taskgrain.results import dashboards, exported_file, reader
from taskgrain.results.tables import FORMULA, TABLES, Tables
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

FORMATS = ("csv", "parquet")
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
    if chosen == "csv":
        text = frame(contents, table).with_columns(_guarded()).write_csv()
        exported_file.write(output, folder, text.encode())
    else:
        buffer = io.BytesIO()
        frame(contents, table).write_parquet(buffer)
        exported_file.write(output, folder, buffer.getvalue())
    return contents.warnings() + contents.strays()


def frame(contents: reader.Contents, table: str) -> pl.DataFrame:
    """One of `TABLES`; a missing value, and an empty text, is null."""
    schema = {one.name: _TYPES[one.kind] for one in TABLES[table]}
    made = pl.DataFrame(list(Tables(contents.shown).rows(table)), schema=schema, orient="row")
    return made.with_columns(pl.col(pl.String).replace("", None))


def _format(kind: str | None, output: Path | None) -> str:
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    if kind is not None:
        chosen = numbers.text(kind, "--format", (*FORMATS, *dashboards.FORMATS))
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
