"""Writes the report of a results folder, and its figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from taskgrain.report import figures, page
from taskgrain.report.changes import Changes
from taskgrain.report.data import Results
from taskgrain.report.figures import FORMATS
from taskgrain.words.errors import UsageError, unwritable


def write(
    results: Results,
    target: Path | None = None,
    changes: Changes | None = None,
    at: float | None = None,
) -> Path:
    """Writes the report of the results to `target` (default: report.html in their folder).

    It also shows what changed since others, and asks at first about tasks of `at` seconds. Returns where it
    lies. Raises `UsageError` if `target` cannot be written.
    """
    target = results.folder / "report.html" if target is None else target
    if target.parent.is_dir() and not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{target}: cannot be written: no permission, or a read-only file system")
    try:
        target.write_text(page.render(results, changes or {}, at), "utf-8")
    except OSError as error:
        raise unwritable(target, error) from None
    return target


def draw(results: Results, target: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes the plots of the results into the folder `target`; returns the files.

    Raises `InputError` for an unknown format, `UsageError` like `write`.
    """
    return figures.save(results, target, formats)
