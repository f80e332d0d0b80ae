"""`taskgrain export`: the tables of a results folder, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Text, valued


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    table: Annotated[
        str,
        valued("--table", "NAME", "runs, cells, curve, reference, sessions (default cells)."),
    ] = "cells",
    kind: Annotated[
        Text,
        valued(
            "--format",
            "NAME",
            "csv, json, parquet, markdown (default: by FILE's name, or csv); for CI: "
            "github-action-benchmark, bencher, google-benchmark.",
        ),
    ] = None,
    output: Annotated[Path | None, valued("--output -o", "FILE", "Default: standard output.")] = None,
) -> None:
    """Writes a table of a results folder for other programs (docs/reference/export.md)."""
    from taskgrain.results.export import write

    for warning in write(folder, table, kind, output):
        note(f"{folder}: {warning}")
