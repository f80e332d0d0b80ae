"""METG in a terminal: systems against workloads, the best of each in bold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taskgrain.cli.printer import Printer
from taskgrain.words import quantity
from taskgrain.words.verdict import Judged, verdict
from taskgrain.words.warnings import grouped, read_notice

_WORDS = {
    "never_reached": "never",
    "several_crossings": "several",
    "failed": "failed",
    "budget": quantity.NOTHING,
    "precise": quantity.NOTHING,
    "unfinished": quantity.NOTHING,
}
Row = Mapping[str, Any]


def value(row: Row) -> str:
    """A cell's METG with its interval, or why there is none."""
    if row["metg"] is not None:
        return quantity.interval(row["metg"], row["low"], row["high"])
    if row["ending"] == "always_reached":
        return f"≤ {quantity.seconds(row['high'], 2)}"
    if row["ending"] == "unfinished" and not row["curve"]:
        return "not measured"
    return _WORDS.get(str(row["ending"]), str(row["ending"]))


def best(rows: Sequence[Row]) -> float | None:
    """The smallest METG of a workload among the systems that use all of its cores: half of a machine is no
    match for the whole of it."""
    most = max((row["cores"] for row in rows), default=0)
    metgs = (row["metg"] for row in rows if row["cores"] == most)
    return min((metg for metg in metgs if metg is not None), default=None)


def best_cell(rows: Sequence[Row]) -> Row | None:
    """The cell of a workload that the others are compared with: that of the smallest METG."""
    smallest = best(rows)
    return next((row for row in rows if smallest is not None and row["metg"] == smallest), None)


def judged(rows: Sequence[Row]) -> list[Judged]:
    """The cells for a verdict."""
    found = []
    for row in rows:
        top = best_cell([one for one in rows if one["workload"] == row["workload"]])
        ratio = ratio_to(row, top)
        rate, peak = row.get("best_rate"), row.get("peak_rate")
        disturbed, runs = row.get("disturbed_runs"), row.get("runs")
        found.append(
            Judged(
                system=row["system"],
                workload=row["workload"],
                cores=row["cores"],
                metg=row["metg"],
                low=row["low"],
                high=row["high"],
                best=row is top,
                ratio=(ratio["low"], ratio["high"]) if ratio else None,
                slowdown=rate / peak if rate and peak else None,
                disturbed=disturbed / runs if disturbed is not None and runs else None,
            )
        )
    return found


def ratio_to(row: Row, other: Row | None) -> Row | None:
    """The ratio of METG to that of another cell, if it is known."""
    return next((one for one in row["ratios"] if other is not None and one["to"] == other["cell"]), None)


def times(row: Row, top: Row | None) -> str:
    """The ratio to the best with its interval."""
    if row is top:
        return "best"
    found = ratio_to(row, top)
    return quantity.ratio_interval(found["value"], found["low"], found["high"]) if found else quantity.NOTHING


def show(out: Printer, rows: Sequence[Row], titles: Mapping[str, str], threshold: float) -> None:
    """METG of systems (rows) and workloads (columns); one table a workload where they would not fit."""
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    found = {(row["system"], row["workload"]): row for row in rows}
    smallest = {name: best([row for row in rows if row["workload"] == name]) for name in workloads}
    share = f"{100 * threshold:g} %"
    for sentence in verdict(judged(rows)):
        out.text(sentence)
    out.text(f"METG({share}): the smallest task of {share} efficiency, with 95 % intervals")
    lines: list[list[str]] = []
    marks: list[list[bool]] = []
    for system in systems:
        cells = [found.get((system, name)) for name in workloads]
        lines.append(
            [titles.get(system, system), *(value(cell) if cell else quantity.NOTHING for cell in cells)]
        )
        marks.append([False, *(_is_best(cell, smallest) for cell in cells)])
    if len(workloads) == 1 or not _fits(out, ["system", *workloads], lines):
        _one_by_one(out, workloads, systems, found, titles, smallest)
    else:
        out.table(["system", *workloads], lines, marks)


def show_warnings(out: Printer, rows: Sequence[Row]) -> None:
    """What to know of the numbers above, each kind of warning once."""
    found = ((row["cell"], said) for row in rows for one in row["warnings"] if (said := read_notice(one)))
    for group in grouped(found):
        first, *others = group.cells
        more = quantity.counted(len(others), "more cell")
        where = f"{first} (and, with other numbers, {more})" if others else first
        out.text(f"{where}: {group.text}", "yellow")


def _fits(out: Printer, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    widths = [max(len(line[index]) for line in [columns, *rows]) for index in range(len(columns))]
    return sum(widths) + 3 * len(widths) <= out.width


def _one_by_one(
    out: Printer,
    workloads: Sequence[str],
    systems: Sequence[str],
    found: Mapping[tuple[str, str], Row],
    titles: Mapping[str, str],
    smallest: Mapping[str, float | None],
) -> None:
    for name in workloads:
        here = [row for row in found.values() if row["workload"] == name]
        top = best_cell(here)
        lines, marks = [], []
        for system in systems:
            if row := found.get((system, name)):
                # Alone, a workload has room for what cross-checks METG.
                overhead = quantity.seconds(row.get("overhead"), 2)
                lines.append(
                    [titles.get(system, system), value(row), overhead, times(row, top), row["ending"]]
                )
                marks.append([False, _is_best(row, smallest), False, False, False])
        out.text("\n" + name, "bold")
        out.table(["system", "METG", "overhead", "times the best", "ending"], lines, marks)


def _is_best(row: Row | None, smallest: Mapping[str, float | None]) -> bool:
    return row is not None and row["metg"] is not None and row["metg"] == smallest[row["workload"]]
