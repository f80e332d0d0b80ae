"""METG in a terminal: systems against workloads, the best of each in bold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from taskgrain.cli.printer import Printer
from taskgrain.results import ranking
from taskgrain.results.cell import Cell
from taskgrain.results.verdict import verdict
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.warnings import grouped

_WORDS = {
    Ending.NEVER_REACHED: "never",
    Ending.SEVERAL_CROSSINGS: "several",
    Ending.FAILED: "failed",
}


def value(cell: Cell) -> str:
    """A cell's METG with its interval, or why there is none."""
    metg = cell.metg
    if metg.value is not None:
        return quantity.interval(metg)
    if cell.ending is Ending.ALWAYS_REACHED:
        return f"≤ {quantity.seconds(metg.high, 2)}"
    if cell.ending is Ending.UNFINISHED and not cell.curve:
        return "not measured"
    return _WORDS.get(cell.ending, quantity.NOTHING)


def times(cell: Cell, top: Cell | None) -> str:
    """The ratio to the best with its interval."""
    if cell is top:
        return "best"
    found = cell.ratio_to(top.name) if top else None
    return quantity.ratio_interval(found) if found else quantity.NOTHING


def show(out: Printer, cells: Sequence[Cell], titles: Mapping[str, str], threshold: float) -> None:
    """METG of systems (rows) and workloads (columns); one table a workload where they would not fit."""
    workloads = ranking.by_workload(cells)
    systems = _by_metg(cells)
    found = {(cell.system, cell.workload): cell for cell in cells}
    best = {name: ranking.best(here) for name, here in workloads.items()}
    share = f"{100 * threshold:g} %"
    for sentence in verdict(cells):
        out.text(sentence)
    out.text(f"METG({share}): the smallest task of {share} efficiency, with 95 % intervals")
    lines: list[list[str]] = []
    marks: list[list[bool]] = []
    for system in systems:
        row = [found.get((system, name)) for name in workloads]
        lines.append(
            [_titled(system, titles, cells), *(value(one) if one else quantity.NOTHING for one in row)]
        )
        marks.append([False, *(one is not None and one is best[one.workload] for one in row)])
    columns = ["system", *workloads]
    if len(workloads) > 1 and _fits(out, columns, lines):
        out.table(columns, lines, marks)
        return
    for name, here in workloads.items():
        lines, marks = [], []
        for cell in sorted(here, key=lambda one: systems.index(one.system)):
            # Alone, a workload has room for what cross-checks METG.
            overhead = quantity.seconds(cell.number("overhead").value, 2)
            title = _titled(cell.system, titles, cells)
            lines.append([title, value(cell), overhead, times(cell, best[name]), cell.ending])
            marks.append([False, cell is best[name], False, False, False])
        out.text("\n" + name, "bold")
        out.table(["system", "METG", "overhead", "times the best", "ending"], lines, marks)


def _by_metg(cells: Sequence[Cell]) -> list[str]:
    """The systems by METG, or the bound of it (geometric mean over a system's cells); then those that only
    show what could be reached."""
    logs: dict[str, list[float]] = {cell.system: [] for cell in cells}
    for cell in cells:
        if cell.metg.about:
            logs[cell.system].append(math.log(cell.metg.about))
    bounds = {cell.system for cell in cells if cell.bound}
    return sorted(logs, key=lambda one: (one in bounds, fmean(logs[one]) if logs[one] else math.inf))


def _titled(system: str, titles: Mapping[str, str], cells: Sequence[Cell]) -> str:
    bound = any(cell.bound for cell in cells if cell.system == system)
    return titles.get(system, system) + (" (bound)" if bound else "")


def show_warnings(out: Printer, cells: Sequence[Cell]) -> None:
    """What to know of the numbers above, each kind of warning once."""
    for group in grouped((cell.name, one) for cell in cells for one in cell.warnings):
        first, *others = group.cells
        more = quantity.counted(len(others), "more cell")
        where = f"{first} (and, with other numbers, {more})" if others else first
        out.text(f"{where}: {group.text}", "yellow")


def _fits(out: Printer, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    widths = [max(len(line[index]) for line in [columns, *rows]) for index in range(len(columns))]
    return sum(widths) + 3 * len(widths) <= out.width
