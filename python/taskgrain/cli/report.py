"""`taskgrain report`: the report of a results folder, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Formats, Json, Text, figure_formats, valued
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError

if TYPE_CHECKING:
    from taskgrain.answers.compare.cells import Comparison


def report(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="A results folder. Before it you may name others: the report then says what changed since "
            "each of them, as `compare` does.",
        ),
    ],
    output: Annotated[
        Path | None,
        valued("--output -o", "FILE", "Default: report.html in the last DIR."),
    ] = None,
    at: Annotated[
        Text,
        valued(
            "--at",
            "TIME",
            "How long the work of your tasks takes, such as 20us: the report opens with whether that is "
            "long enough.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Also print what the report says.")] = False,
    figures: Annotated[
        Path | None,
        valued("--figures", "DIR", "Also write each plot into DIR, sized for two-column papers."),
    ] = None,
    formats: Formats = None,
    as_json: Json = False,
) -> None:
    """Writes the report of a results folder as one HTML file, and with --figures also its plots."""
    folder = Path(words[-1])
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder")
    kinds = figure_formats(formats, figures)
    seconds = None if at is None else numbers.duration(at, "--at")
    from taskgrain.answers import data
    from taskgrain.answers.compare.cells import compare
    from taskgrain.answers.compare.sides import sides
    from taskgrain.cli import compare_table, report_table
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.report.figures import save
    from taskgrain.report.page import write
    from taskgrain.results.measurements import opened
    from taskgrain.results.reader import FILES, refuse_garbage

    folders = [part.partition("@")[0] for word in words for part in word.split(",")]
    own = [(Path(one) / name).resolve() for one in folders for name in FILES]
    if output is not None and output.resolve() in own:
        raise InputError("--output", str(output), "a file that is not the results' own")
    results = data.read(folder)
    if not results.cells:
        refuse_garbage(results.contents)
    changes: dict[str, Comparison] = {}
    for baseline in words[:-1]:
        both = sides([baseline, str(folder)], read=lambda one: results if one == folder else opened(one))
        changes[baseline] = compare(both)
        for said in dict.fromkeys(said for each in both for said in each.warnings):
            note(said)
    target = write(results, output, changes, seconds)
    drawn = save(results, figures, kinds) if figures else []
    for warning in results.warnings:
        note(f"{folder}: {warning}")
    if as_json:
        made: dict[str, Any] = {"report": str(target), "figures": [str(one) for one in drawn]}
        made |= report_table.as_json(results, seconds)
        print_json(made | {"changes": {one: compare_table.as_json(found) for one, found in changes.items()}})
        return
    out = printer()
    out.whole(str(target))
    for baseline, found in changes.items():
        compare_table.show_briefly(out, found, baseline)
    if drawn:
        out.text(f"{figures}: {quantity.counted(len(drawn), 'figure')}")
    if show:
        report_table.show(out, results, seconds)
        for baseline, found in changes.items():
            out.text(f"\nWhat changed against {baseline}?", "bold")
            compare_table.show(out, found)
