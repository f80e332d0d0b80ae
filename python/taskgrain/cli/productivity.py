"""`taskgrain productivity`: lines of code and constructs of each driver, and METG against both."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Formats, Json, Names, Systems, Text, figure_formats, split_names, valued
from taskgrain.words.errors import InputError, UsageError

if TYPE_CHECKING:
    from taskgrain.drive.system import System
    from taskgrain.productivity.count import Count
    from taskgrain.productivity.frontier import Measured


def productivity(
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS...", help="Results folders, whose METGs are set beside the counts."),
    ] = None,
    names: Names = None,
    folders: Systems = None,
    workload: Annotated[
        Text,
        valued("--workload", "NAME", "Only this one of RESULTS: stencil_1d/width=16."),
    ] = None,
    constructs: Annotated[
        bool, typer.Option("--constructs", help="Also list the constructs of each system.")
    ] = False,
    figures: Annotated[
        Path | None,
        valued("--figures", "DIR", "Also write METG against lines and constructs as plots into DIR."),
    ] = None,
    formats: Formats = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a page of documentation.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Counts lines of code and library constructs of each system's driver, and sets METG beside them."""
    if as_json and markdown:
        raise UsageError("--markdown is for people, and --json for programs: give one of them")
    for option, given in (("--workload", workload), ("--figures", figures)):
        if given is not None and not results:
            raise UsageError(f"{option} is for RESULTS: give a results folder too")
    kinds = figure_formats(formats, figures)
    for folder in results or []:
        if not folder.is_dir():
            raise InputError("RESULTS", str(folder), "a results folder")
    from taskgrain.cli import productivity_table
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.productivity.count import count

    known = catalogue.discover(folders or [])
    chosen = _chosen(known, names, bool(results))
    counts = {system.name: count(system) for system in chosen}
    workloads = _measured(results or [], counts, known, workload) if results else {}
    drawn = []
    if figures:
        from taskgrain.productivity.figure import save

        drawn = save(workloads, figures, kinds)
    if as_json:
        found = productivity_table.as_json(list(counts.values()), workloads)
        print_json(found | {"figures": [str(one) for one in drawn]})
        return
    tables = productivity_table.tables(list(counts.values()), workloads, constructs)
    if markdown:
        sys.stdout.write("\n".join(map(productivity_table.markdown, tables)))
        return
    out = printer()
    for table in tables:
        out.show(table)
    for one in drawn:
        out.whole(str(one))


def _chosen(known: Mapping[str, System], names: list[str] | None, measured: bool) -> list[System]:
    """The systems to count, whether they can run here or not.

    Variants share a driver: without names, those of results are all there, and else each driver is once.
    """
    from taskgrain.productivity.count import drivers

    able = {name: system for name, system in known.items() if system.sources}
    if names is None:
        return list(able.values()) if measured else list(drivers(list(able.values())))
    chosen: dict[str, System] = {}
    for name in split_names(names):
        if name in ("all", "default"):
            chosen |= {key: one for key, one in able.items() if name == "all" or one.default}
        elif name not in known:
            raise InputError("--system", name, [*known, "all", "default"], "taskgrain systems")
        elif name not in able:
            raise UsageError(
                f"--system: {name}: {known[name].folder}/system.toml names no `sources` to count"
            )
        else:
            chosen[name] = able[name]
    return list(chosen.values())


def _measured(
    folders: Sequence[Path], counts: Mapping[str, Count], known: Mapping[str, System], workload: str | None
) -> dict[str, list[Measured]]:
    """The systems by workload. Says on standard error which results have no driver here."""
    from taskgrain.answers import data
    from taskgrain.productivity.frontier import by_workload

    found: dict[str, list[Measured]] = {}
    for folder in folders:
        results = data.read(folder)
        strangers = [name for name in results.systems if name not in known]
        warnings = [*results.warnings, *(f"{name}: no system of this name is here" for name in strangers)]
        for warning in warnings:
            note(f"{folder}: {warning}")
        for name, rows in by_workload(results.cells, counts).items():
            found[name if name not in found else f"{name} ({folder})"] = rows
    if workload is None:
        return found
    if not found:
        raise UsageError("--workload: no system of RESULTS is counted here; give its folder with --systems")
    if workload not in found:
        raise InputError("--workload", workload, list(found))
    return {workload: found[workload]}
