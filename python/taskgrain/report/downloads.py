"""The files that a reader can save from the page, beside the raw data."""

from __future__ import annotations

import csv
import io
import json

from taskgrain.report.cells import Results
from taskgrain.results.tables import FORMULA, TABLES, Tables
from taskgrain.words.plain import text


def files(results: Results) -> dict[str, str]:
    """File names and contents."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(one.name for one in TABLES["cells"])
    for row in Tables(results.contents.shown).rows("cells"):
        writer.writerow(map(_spreadsheet, row))
    return {
        "cells.csv": table.getvalue(),
        "study.toml": results.study,
        "machine.json": json.dumps(results.machine, indent=1),
    }


def _spreadsheet(value: object) -> object:
    """A text that a spreadsheet would take for a formula is made one that it does not."""
    if not isinstance(value, str):
        return value
    shown = text(value)
    return f"'{shown}" if shown[:1] and shown[0] in FORMULA else shown
