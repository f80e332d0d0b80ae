"""`taskgrain predict`: the time to solution of a program on more cores, from the curves of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import Json, Text, split_names, valued
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin

if TYPE_CHECKING:
    from taskgrain.answers.data import Cell, Results
    from taskgrain.answers.predict import Prediction
    from taskgrain.cli.printer import Printer
    from taskgrain.estimate.scaling import Scaled

_MOST_SECONDS = 1e15
"""The most work; more would take numbers of cores beyond all counting."""


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    work: Annotated[
        str,
        valued("--work", "TIME", "All the work of the program, on one core: 90, 10m, 2h."),
    ],
    steps: Annotated[str, valued("--steps", "N", "Time steps of the work (default 1000).")] = "1000",
    cores: Annotated[
        Text,
        valued("--cores", "LIST", "Numbers of cores (default: doubled until more do not help)."),
    ] = None,
    names: Annotated[
        list[str] | None,
        valued("--system", "NAMES", "Systems of DIR (default: all that have a METG)."),
    ] = None,
    workload: Annotated[
        Text,
        valued("--workload", "NAME", "Of DIR, if that has several: stencil_1d/width=16."),
    ] = None,
    simulate: Annotated[
        Path | None,
        valued(
            "--simulate",
            "DIR",
            "Results of the same drivers on simulated nodes: for more than were measured.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predicts how a program with the tasks of a workload scales to more cores."""
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder")
    total = numbers.seconds(work, "--work", high=_MOST_SECONDS)
    number = numbers.integer(steps, "--steps", low=1)
    given = (
        [numbers.integer(one, "--cores", low=1) for one in split_names([cores], "--cores")] if cores else []
    )
    from taskgrain.answers import data
    from taskgrain.answers import predict as answers
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.words.warnings import grouped

    results = data.read(folder)
    _warn(results)
    name, cells = answers.chosen(results, workload, split_names(names) if names else None, note)
    if simulate:
        from taskgrain.drive import catalogue

        if not simulate.is_dir():
            raise InputError("--simulate", str(simulate), "a results folder")
        more = data.read(simulate)
        _warn(more)
        sources = {name: one.source for name, one in catalogue.discover().items()}
        cells += answers.simulated(cells, more, sources, note)
    said = [] if as_json else grouped((cell.name, one) for cell in cells for one in cell.warnings)
    for group in said:
        note(f"{', '.join(group.cells)}: {group.text}")
    found = answers.predictions(cells, total, number)
    counts = given or answers.doubled(found)
    if as_json:
        print_json({"work": total, "steps": number, "cells": [_fields(name, one, counts) for one in found]})
    else:
        _show(printer(), name, found, counts)


def _warn(results: Results) -> None:
    for warning in results.warnings:
        note(f"{results.folder}: {warning}")


def _show(out: Printer, name: str, found: Sequence[Prediction], counts: Sequence[int]) -> None:
    first = found[0]
    names = [one.cells[0].called for one in found]
    share = quantity.percent(first.cells[0].threshold)
    out.text(name, "bold")
    lines = []
    for called, one in zip(names, found, strict=True):
        until, least, beyond = one.until, one.program.at_least(), one.program.no_gain_beyond()
        lines.append(
            [
                called + " (partly simulated)" * one.simulated_on(one.cells[-1].cores or 0),
                _cores(until) if until else quantity.NOTHING,
                quantity.interval(least) if least else quantity.NOTHING,
                quantity.NOTHING if beyond is None else _count(beyond),
            ]
        )
    out.table(["system", f"{share} efficient up to, cores", "shortest time", "no gain beyond, cores"], lines)
    out.text("Time to solution, and efficiency")
    rows = [
        [
            str(count),
            quantity.seconds(first.program.curves[0][1].work / count),
            *(_time(one.program.on(count)) + Origin(one.simulated_on(count)).mark for one in found),
        ]
        for count in counts
    ]
    out.table(["cores", "ideal", *names], rows, texts=0)
    if any(not one.program.on(count).measured for one in found for count in counts):
        out.text("≈: no tasks of this size were measured")
    every = [cell for one in found for cell in one.cells]
    simulated = [cell for cell in every if cell.origin.simulated]
    where = {"measured": [cell for cell in every if not cell.origin.simulated], "simulated": simulated}
    said = " and ".join(f"{how} on {_where(here)}" for how, here in where.items() if here)
    if simulated:
        out.text(Origin.of(one.origin for one in simulated).note)
    out.text(
        f"{said.capitalize()}. For more of them, this supposes that the overhead of a task stays the "
        "same, and that the work divides evenly. A network, or memory that more cores share, may cost more.",
        "yellow",
    )


def _where(cells: Sequence[Cell]) -> str:
    """Says on how many cores or nodes the curves were measured."""
    counts = sorted({(cell.nodes, cell.cores) for cell in cells if cell.cores})
    if all(nodes <= 1 for nodes, _ in counts):
        every = [cores for _, cores in counts]
        return f"{' and '.join(map(str, every))} {'core' if every == [1] else 'cores'}"
    count = quantity.counted
    return " and ".join(
        f"{count(nodes, 'node')} of {count(cores // nodes, 'core')}" for nodes, cores in counts
    )


def _time(scaled: Scaled) -> str:
    shown = f"{quantity.seconds(scaled.seconds.value)} {quantity.percent(scaled.efficiency.value):>5}"
    return shown if scaled.measured else f"≈ {shown}"


def _cores(span: Interval) -> str:
    bounds = " – ".join("?" if one is None else _count(one) for one in (span.low, span.high))
    return f"{_count(span.number)} ({bounds})"


def _count(value: float) -> str:
    """Cores, to three digits: `12.5`, `1 230`, `45 600 000`."""
    return (
        f"{value:.3g}" if value < 100 else f"{round(value, 2 - len(str(int(value)))):,.0f}".replace(",", " ")
    )


def _fields(name: str, found: Prediction, counts: Sequence[int]) -> dict[str, Any]:
    cells, program = found.cells, found.program
    until, least = found.until, program.at_least()
    most = [one for one in cells if one.origin.simulated == cells[0].origin.simulated][-1]
    rows = [program.on(count) for count in counts]
    return {
        "system": most.system,
        "workload": name,
        "measured_cores": most.cores,
        "warnings": [one.shown() for cell in cells for one in cell.warnings],
        "threshold": most.threshold,
        "efficient_until": until and asdict(until),
        "shortest_seconds": least and asdict(least),
        "no_gain_beyond": program.no_gain_beyond(),
        "scaled": [
            {
                "cores": count,
                "task_seconds": row.task,
                "seconds": asdict(row.seconds),
                "efficiency": asdict(row.efficiency),
                "measured": row.measured,
            }
            | Origin(found.simulated_on(count)).fields
            for count, row in zip(counts, rows, strict=True)
        ],
    } | (
        {"simulated_cores": cells[-1].cores}
        if cells[-1].origin.simulated and not most.origin.simulated
        else most.origin.fields
    )
