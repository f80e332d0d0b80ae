"""A comparison in a terminal, and for programs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from taskgrain.cli.printer import Printer
from taskgrain.estimate.drawn import Quantity
from taskgrain.estimate.ratio import Ratio
from taskgrain.results.compare.cells import Compared, Comparison, Verdict
from taskgrain.words import quantity

_NAMES: Mapping[Quantity, str] = {"metg": "METG"}
"""Others are called as they are."""
_BESIDE: tuple[Quantity, ...] = ("metg", "floor", "rate", "efficiency")
"""Ratios that are shown beside the one that decides."""
_VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "undecided", "not comparable")
_NARROWEST = 12
"""Characters that a name gets at least."""
_SHOWN = 3
"""Cells that a reason names."""


def show(out: Printer, found: Comparison) -> None:
    """The cells of each side against the first one, why some have no verdict, and a sentence above all."""
    for sentence in summary(found):
        out.text(sentence)
    groups: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    for cell in found.cells:
        groups[cell.side, cell.baseline].append(cell)
    for (side, baseline), cells in groups.items():
        if compared := [cell for cell in cells if cell.verdict != "not comparable"]:
            out.text(f"\n{side} against {baseline}", "bold")
            _tables(out, found, compared)
    for said in remarks(found):
        out.text(said)


def remarks(found: Comparison) -> list[str]:
    """Why some cells have no verdict, and what else to know of it."""
    return [*_reasons(found.cells), *_notes(found)]


def summary(found: Comparison) -> list[str]:
    """What came of it, in two sentences."""
    if not found.cells:
        return ["The sides share no cell."]
    counts = Counter(cell.verdict for cell in found.cells)
    margin = quantity.percent(found.question.margin, 0 if found.question.margin * 100 % 1 < 1e-9 else 1)
    each = ", ".join(f"{counts[one]} {one}" for one in _VERDICTS if counts[one])
    by = called(found.question.by)
    first = f"{quantity.counted(len(found.cells), 'cell')} by {by}: {each}. The margin is {margin}."
    if counts["not comparable"] == len(found.cells):
        return [first]
    return [
        first,
        f"All intervals of {by} hold at once with {quantity.percent(found.question.confidence)} "
        f"(each with {quantity.percent(found.confidence, 2)}); the others hold with 95 % each.",
    ]


def called(one: Quantity) -> str:
    """The quantity in words."""
    return _NAMES.get(one, one)


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
    out.table(heads, wrapped(out, heads, first), bold)
    if beside:
        heads = ["", *map(called, beside)]
        out.table(heads, wrapped(out, heads, others))


def ratios_beside(found: Comparison, cells: Sequence[Compared]) -> list[Quantity]:
    """What ratios there are beside the one that decides."""
    return [one for one in _BESIDE if one != found.question.by and any(one in cell.ratios for cell in cells)]


def labels(cells: Sequence[Compared]) -> list[str]:
    """Names of cells without what is the same in all of them."""
    systems = {(cell.system, cell.against) for cell in cells}
    workloads = {cell.workload for cell in cells}
    if len(systems) == 1 and len(workloads) > 1:
        return [cell.workload for cell in cells]
    return [f"{cell.system}/{cell.workload}" for cell in cells]


def shown(found: Ratio | None) -> str:
    """A ratio with its interval."""
    if found is None:
        return quantity.NOTHING
    if found.value is not None:
        return quantity.ratio_interval(found)
    low, high = (None if one is None else quantity.ratio(one) for one in (found.low, found.high))
    return f"above {low}" if low else f"below {high}"


def wrapped(out: Printer, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows with names that go on in a new line behind a slash, so that the numbers stay whole."""
    numbers = zip(columns[1:], *(row[1:] for row in rows), strict=True)
    room = max(_NARROWEST, out.width - 2 - sum(max(map(len, column)) + 3 for column in numbers))
    return [["\n".join(_folded(row[0], room)), *row[1:]] for row in rows]


def _folded(name: str, room: int) -> list[str]:
    lines = [""]
    for part in re.findall(r"[^/]*/|[^/]+$", name):
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append("")
        lines[-1] += part
    return lines


def _reasons(cells: Sequence[Compared]) -> list[str]:
    """Why cells are not comparable, each reason once."""
    found: dict[str, list[str]] = defaultdict(list)
    for cell in cells:
        if cell.verdict == "not comparable":
            found[cell.why].append(f"{cell.system}/{cell.workload}")
    return [f"Not comparable: {why}: {_listed(names)}." for why, names in found.items()]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {quantity.counted(more, 'other')}" if more > 0 else "")


def _notes(found: Comparison) -> list[str]:
    notes = [
        f"{label} has {quantity.counted(number, 'cell')} that the other side lacks."
        for label, number in found.alone
    ]
    notes += list(dict.fromkeys(f"Note: {note}." for cell in found.cells for note in cell.notes))
    for together, what in ((False, "Sessions of one build"), (True, "Ratios of single sessions")):
        across = [one.between for one in found.cells if one.between and one.together == together]
        if not across:
            continue
        known = [one.deviation for one in across if one.deviation is not None]
        if not known:
            continue
        low, high = (quantity.percent(end(known), 1) for end in (min, max))
        freedom = min(one.freedom for one in across)
        notes.append(
            f"{what} scatter by {low} to {high} (standard deviation), known with "
            f"{quantity.counted(freedom, 'degree')} of freedom at least."
        )
    return notes


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison for programs (docs/reference/compare.md)."""
    return {
        "schema": 1,
        "by": found.question.by,
        "margin": found.question.margin,
        "confidence": found.question.confidence,
        "interval_confidence": found.confidence,
        "regressions": sum(cell.regression for cell in found.cells),
        "cells": [_cell(cell) for cell in found.cells],
        "alone": [{"side": label, "cells": number} for label, number in found.alone],
    }


def _cell(cell: Compared) -> dict[str, Any]:
    between = cell.between
    return {
        "side": cell.side,
        "baseline": cell.baseline,
        "system": cell.system,
        "baseline_system": cell.against,
        "workload": cell.workload,
        "verdict": cell.verdict,
        "why": cell.why or None,
        "regression": cell.regression,
        "together": cell.together,
        "sessions": list(cell.sessions),
        "scatter": between and {"deviation": between.deviation, "freedom": between.freedom},
        "iterations": cell.iterations,
        "ratios": {
            name: {"value": one.value, "low": one.low, "high": one.high, "rounds": one.rounds}
            for name, one in cell.ratios.items()
        },
        "notes": list(cell.notes),
    }
