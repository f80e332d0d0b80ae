"""The common part of `metg` and `study`: measure a study and show its results."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Sequence

import typer

from taskgrain.cli import at_table, metg_table
from taskgrain.cli.dry_run import show_plan
from taskgrain.cli.options import Measuring
from taskgrain.cli.printer import print_json, printer
from taskgrain.drive.system import System
from taskgrain.measure import call
from taskgrain.measure import dry_run as dry
from taskgrain.results.builds import Choice
from taskgrain.study.study import Study
from taskgrain.words.errors import EXIT_FAILED, Interrupted, UsageError


def measure(
    study: Study,
    chosen: Sequence[System],
    cores: Sequence[int],
    how: Measuring,
) -> None:
    """Measures a study as the options wish, and prints the table of its cells."""
    if how.dry_run:
        show_plan(dry.study(study, chosen, cores), how.as_json)
        return
    if how.restart and how.keep_both:
        raise UsageError("--restart: give this or --keep-both, not both")
    choice: Choice = "restart" if how.restart else "keep" if how.keep_both else "refuse"
    measured = call.measure(
        study, chosen, cores, how.output, retry=how.retry, quiet=how.quiet, other_builds=choice
    )
    if measured.interrupted:
        try:
            _show(measured, study, chosen, how)
            sys.stdout.flush()
        except (OSError, SystemExit):  # Ctrl-C also ended who would have read it; the console then exits
            with contextlib.suppress(OSError):
                sys.stdout.close()
        raise Interrupted(measured.interrupted)
    _show(measured, study, chosen, how)
    if not measured.complete:
        raise typer.Exit(EXIT_FAILED)


def _show(measured: call.Measured, study: Study, chosen: Sequence[System], how: Measuring) -> None:
    """Prints what was measured, as JSON or as a table."""
    output, every = how.output, [*measured.cells, *measured.earlier]
    if how.as_json:
        folder = str(output) if output else None
        threshold = study.settings.threshold
        cells = [one.to_json(threshold) for one in every]
        if study.settings.at:
            cells = [cell | {"at": at_table.points(one)} for cell, one in zip(cells, every, strict=True)]
        found = {"schema": 1, "output": folder, "interrupted": bool(measured.interrupted)}
        print_json(found | {"cells": cells, "failures": [one.to_json() for one in measured.failures]})
    else:
        out = printer()
        titles = {one.name: one.title for one in chosen}
        if study.settings.at:
            at_table.show(out, every, titles, study.settings.task_seconds)
        else:
            metg_table.show(out, every, titles, study.settings.threshold)
        metg_table.show_warnings(out, every)
        for failure in measured.failures:
            out.text(failure.text(), "red")
        if output is not None:
            out.text(f"results: {output}; `taskgrain report {shlex.quote(str(output))}` makes the report")
