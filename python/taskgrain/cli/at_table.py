"""The efficiency at given task times, in a terminal and for programs: systems against task times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taskgrain.cli.printer import Printer
from taskgrain.results.cell import Cell
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

Point = Mapping[str, Any]


def points(cell: Cell) -> list[dict[str, Any]]:
    """What was measured of a cell at each task time, in seconds; `work` is what its work took alone."""
    return [
        {
            "asked": one.asked,
            "iterations": one.iterations,
            "work": one.granularity * one.efficiency,
            "granularity": one.granularity,
            "efficiency": one.efficiency,
            "low": one.efficiency_low,
            "high": one.efficiency_high,
        }
        for one in cell.curve
        if one.asked and one.granularity and one.efficiency is not None
    ]


def show(out: Printer, rows: Sequence[Cell], titles: Mapping[str, str], asked: Sequence[float]) -> None:
    """A table for each workload."""
    out.text("Efficiency with 95 % intervals, by what the work of a task takes alone on one core")
    for workload in dict.fromkeys(row.workload for row in rows):
        here = [row for row in rows if row.workload == workload]
        out.text("\n" + workload, "bold")
        head = [heading(here, time) for time in asked]
        lines = [[titles.get(row.system, row.system), *cells(row, asked)] for row in here]
        if len(asked) == 1:
            lines = [[*line, _lasts(row, asked[0])] for line, row in zip(lines, here, strict=True)]
            head.append("a task takes")
        out.table(["system", *head], lines)


def heading(rows: Sequence[Cell], asked: float) -> str:
    """`20 µs (310 iterations)`; without iterations where systems were given different ones."""
    found = {one["iterations"] for row in rows if (one := at(row, asked))}
    time = quantity.seconds(asked)
    return f"{time} ({int(found.pop())} iterations)" if len(found) == 1 else time


def cells(row: Cell, asked: Sequence[float]) -> list[str]:
    """The efficiency at each task time, or why there is none."""
    if row.ending is Ending.FAILED:
        return ["failed"] * len(asked)
    return [efficiency(at(row, time)) for time in asked]


def efficiency(point: Point | None) -> str:
    """With its interval; without one it is not known."""
    if point is None:
        return "not measured"
    if point["low"] is None and point["high"] is None:
        return "not known"
    return quantity.percent_interval(Interval(point["efficiency"], point["low"], point["high"]))


def _lasts(row: Cell, asked: float) -> str:
    point = at(row, asked)
    return quantity.seconds(point["granularity"]) if point else quantity.NOTHING


def at(row: Cell, asked: float) -> Point | None:
    """What was measured at a task time."""
    return next((one for one in points(row) if abs(one["asked"] / asked - 1.0) < 1e-9), None)
