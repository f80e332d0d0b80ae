"""A comparison in a terminal, and for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from taskgrain.answers.compare.cells import Compared, Comparison
from taskgrain.answers.compare.text import called, ratios_beside, remarks, shown, summary
from taskgrain.cli.printer import Printer


def show(out: Printer, found: Comparison) -> None:
    """The cells of each side against the first one, why some have no verdict, and a sentence above all."""
    for sentence in summary(found):
        out.text(sentence)
    groups: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    for cell in found.cells:
        groups[cell.contender, cell.baseline].append(cell)
    for (side, baseline), cells in groups.items():
        if compared := [cell for cell in cells if cell.verdict != "not comparable"]:
            out.text(f"\n{side} against {baseline}", "bold")
            _tables(out, found, compared)
    for said in remarks(found):
        out.text(said)


def show_briefly(out: Printer, found: Comparison, baseline: str) -> None:
    """The first sentence, and where nothing could be compared also the reasons."""
    said = summary(found)[:1]
    if all(cell.verdict == "not comparable" for cell in found.cells):
        said += remarks(found)
    out.text(f"against {baseline}: {' '.join(said)}")


def _tables(out: Printer, found: Comparison, cells: Sequence[Compared]) -> None:
    by = found.question.by
    names = dict(zip(map(id, cells), labels(cells), strict=True))
    beside = ratios_beside(found, cells)
    first = [[names[id(cell)], shown(cell.ratios.get(by)), cell.verdict] for cell in cells]
    bold = [[False, False, cell.regression] for cell in cells]
    others = [[names[id(cell)], *(shown(cell.ratios.get(one)) for one in beside)] for cell in cells]
    wide = [
        [*row, *(shown(cell.ratios.get(one)) for one in beside)]
        for row, cell in zip(first, cells, strict=True)
    ]
    heads = ["", called(by), "verdict"]
    columns = [*heads, *map(called, beside)]
    if out.fits(columns, wide):
        out.table(columns, wide, [[*marks, *([False] * len(beside))] for marks in bold])
        return
    out.table(heads, first, bold)
    if beside:
        heads = ["", *map(called, beside)]
        out.table(heads, others)


def labels(cells: Sequence[Compared]) -> list[str]:
    """The names of cells without the parts that all of them share."""
    systems = {(cell.system, cell.against) for cell in cells}
    workloads = {cell.workload for cell in cells}
    if len(systems) == 1 and len(workloads) > 1:
        return [cell.workload for cell in cells]
    return [f"{cell.system}/{cell.workload}" for cell in cells]


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison for programs (docs/reference/compare.md)."""
    return {
        "schema": 1,
        "by": found.question.by,
        "margin": found.question.margin,
        "margin_apart": found.question.apart,
        "confidence": found.question.confidence,
        "interval_confidence": found.confidence,
        "regressions": sum(cell.regression for cell in found.cells),
        "undecided": found.undecided,
        "missing": found.missing,
        "cells": [_cell(cell) for cell in found.cells],
        "alone": [{"side": label, "cells": number} for label, number in found.unmatched],
    }


def _cell(cell: Compared) -> dict[str, Any]:
    between = cell.between
    return {
        "side": cell.contender,
        "baseline": cell.baseline,
        "system": cell.system,
        "baseline_system": cell.against,
        "workload": cell.workload,
        "verdict": cell.verdict,
        "why": cell.why or None,
        "regression": cell.regression,
        "together": cell.together,
        "sessions": list(cell.sessions),
        "scatter": between
        and {"deviation": between.deviation, "freedom": between.freedom, "measured": between.own},
        "clock": cell.clock,
        "iterations": cell.iterations,
        "ratios": {name: asdict(one) for name, one in cell.ratios.items()},
        "notes": list(cell.notes),
        "again": _cell(cell.again) if cell.again else None,
    }
