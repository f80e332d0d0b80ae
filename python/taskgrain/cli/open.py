"""`taskgrain open`: opens a report in a browser."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from taskgrain.words.errors import InputError, TaskgrainError, UsageError

REPORT = "report.html"
"""The name that `taskgrain report` gives it."""


def open(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A results folder with a report, or the report itself.")
    ],
) -> None:
    """Opens the report of a results folder in a browser."""
    report = report_of(folder)
    if not webbrowser.open(report.resolve().as_uri()):
        raise TaskgrainError(f"{report}: no browser can be started here; copy the file to where there is one")
    sys.stdout.write(f"{report}\n")


def report_of(folder: Path) -> Path:
    """The report of a folder. Raises `InputError`, or `UsageError` that says how to make it."""
    if folder.is_file() and folder.suffix == ".html":
        return folder
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder, or a report")
    report = folder / REPORT
    if not report.is_file():
        command = f"taskgrain report {shlex.quote(str(folder))}"
        raise UsageError(f"{report}: there is no report yet; `{command}` makes it")
    return report
