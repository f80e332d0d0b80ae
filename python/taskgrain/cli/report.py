"""`taskgrain report`: the report of a results folder, and its figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taskgrain.cli.options import Json, split_names
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError, UsageError


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: report.html in DIR.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", metavar="DIR", help="Also write each plot into DIR, sized for two-column papers."
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Format of the figures: svg, png, pdf; several with commas (default: all).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the report of a results folder as one HTML file, and with --figures also its plots."""
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder")
    if formats and figures is None:
        raise UsageError("--format is for figures: give --figures DIR too")
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.report import data
    from taskgrain.report.figures import FORMATS
    from taskgrain.report.write import draw, write
    from taskgrain.results.reader import FILES

    kinds = split_names(formats, "--format") if formats else FORMATS
    for kind in kinds:  # before anything is written
        numbers.text(kind, "--format", FORMATS)
    if output is not None and output.resolve() in [(folder / name).resolve() for name in FILES]:
        raise InputError("--output", str(output), "a file that is not the results' own")
    results = data.read(folder)
    target = write(results, output)
    drawn = draw(results, figures, kinds) if figures else []
    for warning in results.warnings:
        sys.stderr.write(f"taskgrain: {folder}: {warning}\n")
    if as_json:
        print_json({"report": str(target), "figures": [str(one) for one in drawn]})
        return
    out = printer()
    out.text(str(target))
    if drawn:
        out.text(f"{figures}: {quantity.counted(len(drawn), 'figure')}")
