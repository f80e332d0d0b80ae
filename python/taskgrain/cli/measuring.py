"""The common part of `metg` and `study`: measure a study and show its results."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence

import typer

from taskgrain.answers.verdict import state_of_the_machine, verdict
from taskgrain.cli.dry_run import show_plan
from taskgrain.cli.options import Measuring
from taskgrain.cli.printer import Printer, print_json, printer
from taskgrain.drive.system import System
from taskgrain.measure import call, progress
from taskgrain.measure import dry_run as dry
from taskgrain.results import columns, outcome, ranking
from taskgrain.results.builds import Choice
from taskgrain.results.cell import Cell
from taskgrain.results.columns import Shown
from taskgrain.results.lines import CurvePoint
from taskgrain.study.study import Study
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.errors import EXIT_FAILED, Interrupted, UsageError
from taskgrain.words.origin import Origin
from taskgrain.words.warnings import Weight, grouped


def measure(study: Study, chosen: Sequence[System], cores: Sequence[int], how: Measuring) -> None:
    """Measures a study as the options wish, and prints the table of its cells."""
    if how.restart and how.keep_both:
        raise UsageError("--restart: give this or --keep-both, not both")
    choice: Choice = "restart" if how.restart else "keep" if how.keep_both else "refuse"
    if how.dry_run:
        note = progress.reporter(how.quiet).note
        show_plan(dry.study(study, chosen, cores, how.output, choice, note), how.as_json)
        return
    measured = call.measure(
        study, chosen, cores, how.output, retry=how.retry, quiet=how.quiet, other_builds=choice
    )
    if measured.interrupted:
        try:
            _show(measured, study, how)
            sys.stdout.flush()
        except OSError:  # Ctrl-C also ended the reader
            with contextlib.suppress(OSError):
                sys.stdout.close()
        raise Interrupted(measured.interrupted)
    _show(measured, study, how)
    if not measured.complete:
        raise typer.Exit(EXIT_FAILED)


def _show(measured: call.Measured, study: Study, how: Measuring) -> None:
    """Prints the results, as JSON or as a table."""
    output, every = how.output, [*measured.cells, *measured.earlier]
    if how.as_json:
        folder = str(output) if output else None
        threshold = study.settings.threshold
        cells = [columns.plain(one) | one.to_json(threshold) for one in every]
        if study.settings.at:
            cells = [
                cell | {"at": outcome.at_task_times(one)} for cell, one in zip(cells, every, strict=True)
            ]
        found: dict[str, object] = {"schema": 1, "output": folder, "interrupted": bool(measured.interrupted)}
        if how.timing:
            found["timing"] = dict(measured.timing)
        print_json(found | {"cells": cells, "failures": [one.to_json() for one in measured.failures]})
    else:
        out = printer()
        if study.settings.at:
            show_task_times(out, every, study.settings.task_seconds)
        else:
            show_metg(out, every, study.settings.threshold)
        show_warnings(out, every)
        for failure in measured.failures:
            out.text(failure.text(), "red")
        budget, ended = study.settings.budget, measured.cells
        spent = max((one.last.elapsed or 0.0 for one in ended if one.last), default=0.0)
        if 0.0 < budget <= spent and any(one.ending is Ending.BUDGET for one in ended):
            more = 2 * budget
            while more < 1.5 * spent:  # an earlier call may have had more
                more *= 2
            on = "goes on from here" if output else "tells more"
            said = f"the same command with `--budget {more:g}` {on}"
            out.text(f"The budget of {budget:g} s is used up; {said}.")
        if how.timing and measured.timing:
            out.text(_timing(measured.timing))
        if output is not None:
            out.text(f"results: {output}; `taskgrain report {shlex.quote(str(output))}` makes the report")


def _timing(seconds: Mapping[str, float]) -> str:
    """A line that says where the time of a call went."""
    whole = sum(seconds.values())
    parts = (f"{name} {quantity.percent(one / whole)}" for name, one in seconds.items())
    return f"Where the {quantity.seconds(whole)} of this call went: {', '.join(parts)}."


def show_metg(out: Printer, cells: Sequence[Cell], threshold: float) -> None:
    """A table for each workload: METG of the systems, and other quantities beside it. The best is bold, and
    bounds stand last."""
    ranking.mark_best(cells)
    share = f"{100 * threshold:g} %"
    for sentence in verdict(cells):
        out.text(sentence)
    out.text(f"METG({share}): the smallest task of {share} efficiency{_intervals(cells)}")
    for name, here in ranking.by_workload(cells).items():
        order = ranking.systems(here)
        here.sort(key=lambda one: order.index(one.system))
        shown = columns.shown(Shown.TERMINAL)
        heads, rows = _table(here, shown)
        if not out.fits(heads, rows) or not any(map(columns.steps, here)):
            shown = [one for one in shown if one.value is not columns.steps]  # what is missed least
            heads, rows = _table(here, shown)
        out.text("\n" + name, "bold")
        bold = [[False, cell is cell.best, *[False] * (len(shown) - 1)] for cell in here]
        out.table(heads, rows, bold)


def _table(cells: Sequence[Cell], shown: Sequence[columns.Quantity]) -> tuple[list[str], list[list[str]]]:
    heads = ["system", *(one.heading for one in shown)]
    return heads, [[cell.called, *(one.text(cell) for one in shown)] for cell in cells]


def _intervals(cells: Sequence[Cell]) -> str:
    return f", with {Origin.of(one.origin for one in cells).interval}s"


def show_task_times(out: Printer, cells: Sequence[Cell], asked: Sequence[float]) -> None:
    """The efficiency of systems (rows) at task times (columns), in a table for each workload."""
    if said := state_of_the_machine(cells):
        out.text(said)
    out.text(f"Efficiency{_intervals(cells)}, by what the work of a task takes alone on one core")
    for workload, here in ranking.by_workload(cells).items():
        points = [[_at(cell, time) for time in asked] for cell in here]
        heads = [_heading(time, some) for time, some in zip(asked, zip(*points, strict=True), strict=True)]
        lines = [
            [
                cell.called,
                *(outcome.efficiency(cell, one) for one in some),
                *(quantity.seconds(one.granularity if one else None) for one in some if len(asked) == 1),
            ]
            for cell, some in zip(here, points, strict=True)
        ]
        out.text("\n" + workload, "bold")
        out.table(["system", *heads, *(["a task takes"] if len(asked) == 1 else [])], lines)


def _heading(asked: float, points: Sequence[CurvePoint | None]) -> str:
    """`20 µs (310 iterations)`; without iterations where systems were given different ones."""
    found = {one.iterations for one in points if one and one.iterations}
    time = quantity.seconds(asked)
    return f"{time} ({int(found.pop())} iterations)" if len(found) == 1 else time


def _at(cell: Cell, asked: float) -> CurvePoint | None:
    """Returns the numbers that were measured at a task time."""
    return next((one for one in outcome.asked(cell) if abs((one.asked or 0.0) / asked - 1.0) < 1e-9), None)


def show_warnings(out: Printer, cells: Sequence[Cell]) -> None:
    """Shows the warnings about the numbers above, each kind once, those that decide first."""
    for group in grouped((cell.name, one) for cell in cells for one in cell.warnings):
        first, *others = group.cells
        more = quantity.counted(len(others), "more cell")
        how = "" if group.alike else ", with other numbers,"
        where = f"{first} (and{how} {more})" if others else first
        out.text(f"{where}: {group.text}", "" if group.weight is Weight.HARMLESS else "yellow")
