"""The files that a reader can save from the page, beside the raw data."""

from __future__ import annotations

import csv
import io
import json

from taskgrain.report.cells import Results

FIELDS = (
    "ending", "error", "metg", "low", "high", "floor", "floor_low", "floor_high", "threshold", "rounds",
    "runs", "repeated", "disturbed", "prepare", "memory", "cores", "reference", "peak_rate", "work_unit",
    "pattern", "width", "radix", "graphs", "output_bytes", "kernel", "dependences", "command",
)  # fmt: skip
"""Of a cell, in cells.csv: SI units."""


def files(results: Results) -> dict[str, str]:
    """File names and contents."""
    header = ("cell", "system", "workload", *FIELDS)
    lines = [
        header,
        *(
            (cell.name, cell.system, cell.workload, *(getattr(cell, one) for one in FIELDS))
            for cell in results.cells
        ),
    ]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([_spreadsheet(one) for one in line] for line in lines)
    return {
        "cells.csv": table.getvalue(),
        "study.toml": results.study,
        "machine.json": json.dumps(results.machine, indent=1),
    }


def _spreadsheet(value: object) -> object:
    """A text that a spreadsheet would take for a formula is made one that it does not."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
