"""A results folder as tables for other programs: CSV, JSON and Parquet (docs/reference/export.md)."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskgrain.results import dashboards, reader, whole_file
from taskgrain.results.reader import Contents
from taskgrain.results.tables import FORMULA, TABLES, Tables
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.extras import needing

if TYPE_CHECKING:
    import polars


def write(folder: Path, table: str, kind: str | None, output: Path | None) -> list[str]:
    """Writes a table to a file, or to standard output; returns warnings about the folder, and the rows that
    are left out. `kind` is the format; without one the file's name says it. Raises `InputError` and
    `UsageError`."""
    numbers.text(table, "--table", tuple(TABLES))
    chosen = _format(kind, output)
    if chosen in dashboards.FORMATS and table != "cells":
        raise InputError("--table", table, f"cells, of which --format {chosen} is")
    contents = reader.read(folder)
    reader.refuse_garbage(contents)
    left_out: list[str] = []
    if chosen in dashboards.FORMATS:
        made, left_out = dashboards.made(contents, chosen)
    else:
        made = FORMATS[chosen](contents, table)
    if output and os.path.realpath(output) in [os.path.realpath(folder / name) for name in reader.FILES]:
        raise InputError("--output", str(output), "a file that is not the results' own")
    whole_file.put_out(output, made)
    return contents.notes() + left_out


def _format(kind: str | None, output: Path | None) -> str:
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    if kind is not None:
        chosen = numbers.text(kind, "--format", (*FORMATS, *dashboards.FORMATS))
        if suffix in _NAMED and suffix != _SUFFIXES.get(chosen, "json"):
            raise UsageError(f"--format: {chosen} does not fit {output}; give one of them, or another name")
        return chosen
    if output is None:
        return "csv"
    if suffix not in _NAMED:
        endings = ", ".join(f".{one}" for one in _NAMED)
        raise InputError("--output", str(output), f"a name that ends in one of {endings}; or --format")
    return _NAMED[suffix]


def csv_text(tables: Tables, table: str) -> str:
    heads = [one.name for one in TABLES[table]]
    return "".join(f"{','.join(map(_field, row))}\n" for row in (heads, *tables.rows(table)))


def _field(value: str | float | None) -> str:
    """A value of a row. A text that a spreadsheet would take for a formula gets an apostrophe."""
    match value:
        case None:
            return ""
        case str():
            text = f"'{value}" if value.startswith(tuple(FORMULA)) else value
            doubled = text.replace('"', '""')
            return f'"{doubled}"' if set(text) & set('",\r\n') else text
        case bool():
            return str(value).lower()
    text = repr(value)  # of a small number as polars wrote it
    return f"{Decimal(text):f}" if "e-05" in text else text.replace("e-0", "e-")


def _csv(contents: Contents, table: str) -> bytes:
    return csv_text(Tables(contents.shown), table).encode()


def _json(contents: Contents, table: str) -> bytes:
    """A list of records, one a line."""
    each = Tables(contents.shown).records(table)
    records = ",\n ".join(json.dumps(one, allow_nan=False) for one in each)
    return f"[{records}]\n".encode()


def _parquet(contents: Contents, table: str) -> bytes:
    buffer = io.BytesIO()
    frame(contents, table).write_parquet(buffer)
    return buffer.getvalue()


def frame(contents: Contents, table: str) -> polars.DataFrame:
    """One of `TABLES`; a missing value is null. Raises `UsageError` where polars is not installed."""
    with needing("export", "--format parquet"):
        import polars as pl
    types: dict[str, Any] = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "flag": pl.Boolean}
    schema = {one.name: types[one.kind] for one in TABLES[table]}
    return pl.DataFrame(list(Tables(contents.shown).rows(table)), schema=schema, orient="row")


FORMATS: dict[str, Callable[[Contents, str], bytes]] = {"csv": _csv, "json": _json, "parquet": _parquet}
_SUFFIXES = {"csv": "csv", "json": "json", "markdown": "md", "parquet": "parquet"}
"""The endings of files' names by format, where they are not `.json`."""
_NAMED = {suffix: name for name, suffix in _SUFFIXES.items()}
"""The formats that the name of a file may say."""
