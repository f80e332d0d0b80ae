"""The columns of the report's table of cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from taskgrain.report.cells import Cell
from taskgrain.report.rows import bound, long_result, short_result, span
from taskgrain.words import quantity

ENDINGS = {
    "precise": ("precise", "the interval is as narrow as was asked"),
    "budget": ("out of time", "time ran out first; the interval says how well the number is known"),
    "never_reached": ("never reached", "even the largest task tried is below the threshold"),
    "always_reached": ("always reached", "even the smallest task tried is above the threshold"),
    "several_crossings": ("several crossings", "the curve crosses the threshold more than once: no one METG"),
    "at": ("task times", "the efficiency at given task times was measured, and no METG searched for"),
    "failed": ("failed", "the cell failed; see the failures"),
    "unfinished": ("unfinished", "the measurement stopped before the cell came to an end"),
}
"""What an ending is called in the table, and what it means."""


@dataclass(frozen=True)
class Column:
    """A column: its title, and what of a cell stands in it."""

    title: str
    shown: bool
    """At first; the reader chooses."""
    numeric: bool
    content: Callable[[Cell], tuple[str, float | None]]
    """The text, and the number to sort by (None: there is none)."""


def ending(cell: Cell) -> str:
    name = ENDINGS.get(cell.ending, (cell.ending.replace("_", " "), ""))[0]
    return f"{name}: {cell.error}" if cell.error else name


def _metg(cell: Cell) -> tuple[str, float | None]:
    value = bound(cell)
    return (quantity.NOTHING, None) if value is None else (short_result(cell), value)


def _asked(cell: Cell) -> tuple[str, float | None]:
    """Sorted by the efficiency at the first of the task times."""
    return (long_result(cell), cell.at[0].efficiency) if cell.at else (quantity.NOTHING, None)


def _interval(cell: Cell) -> tuple[str, float | None]:
    """Sorted by how many times as large its upper end is: infinitely if one is missing."""
    if cell.metg is None:
        return quantity.NOTHING, None
    low, high = span(cell)
    return quantity.around(cell.metg, cell.low, cell.high)[1], high / low if low else math.inf


def to_best(cell: Cell) -> tuple[str, float | None]:
    if cell.best:
        return "best", 1.0
    found = cell.to_best
    if found is None:
        return quantity.NOTHING, None
    return quantity.ratio_interval(found.value, found.low, found.high), found.value


def _overhead(cell: Cell) -> tuple[str, float | None]:
    return quantity.around(cell.overhead, cell.overhead_low, cell.overhead_high)[0], cell.overhead


def _quiet(cell: Cell) -> tuple[str, float | None]:
    return quantity.interval(cell.quiet, cell.quiet_low, cell.quiet_high), cell.quiet


def _floor(cell: Cell) -> tuple[str, float | None]:
    return quantity.around(cell.floor, cell.floor_low, cell.floor_high)[0], cell.floor


def _prepare(cell: Cell) -> tuple[str, float | None]:
    if cell.prepare is None:
        return quantity.NOTHING, None
    return (
        f"{quantity.seconds(cell.prepare, 2)} for {quantity.counted(cell.prepare_tasks, 'task')}",
        cell.prepare,
    )


def _memory(cell: Cell) -> tuple[str, float | None]:
    return (quantity.NOTHING, None) if cell.memory is None else (quantity.size(cell.memory), cell.memory)


def _number(value: float | None, digits: str = "g") -> tuple[str, float | None]:
    return (quantity.NOTHING, None) if value is None else (f"{value:{digits}}", value)


def _text(of: Callable[[Cell], str]) -> Callable[[Cell], tuple[str, float | None]]:
    return lambda cell: (of(cell), None)


COLUMNS = (
    Column("METG", True, True, _metg),
    Column("95 % interval", True, True, _interval),
    Column("Times the best", True, True, to_best),
    Column("Efficiency at task times", False, True, _asked),
    Column("Overhead of a task", True, True, _overhead),
    Column("Start and end of a run", False, True, lambda cell: (quantity.seconds(cell.start, 2), cell.start)),
    Column("METG on quiet cores", False, True, _quiet),
    Column("Floor", False, True, _floor),
    Column("Graph made ahead", False, True, _prepare),
    Column("Memory of a process", True, True, _memory),
    Column("Ending", True, False, _text(ending)),
    Column("Rounds", True, True, lambda cell: _number(cell.rounds)),
    Column("Warnings", True, True, lambda cell: _number(len(cell.warnings))),
    Column("Threshold", False, True, lambda cell: (quantity.percent(cell.threshold), cell.threshold)),
    Column("Iterations at METG", False, True, lambda cell: _number(cell.iterations, ".3g")),
    Column(
        "Peak rate per core",
        False,
        True,
        lambda cell: (quantity.rate(cell.peak_rate, cell.work_unit), cell.peak_rate),
    ),
    Column("Cores", False, True, lambda cell: _number(cell.cores)),
    Column("Reference", False, False, _text(lambda cell: cell.reference)),
    Column("Runs", False, True, lambda cell: _number(cell.runs)),
    Column("Repeated runs", False, True, lambda cell: _number(cell.repeated)),
    Column("Disturbed runs", False, True, lambda cell: _number(cell.disturbed)),
    Column("Pattern", False, False, _text(lambda cell: cell.pattern)),
    Column("Width", False, True, lambda cell: _number(cell.width, "d")),
    Column("Radix", False, True, lambda cell: _number(cell.radix, "d")),
    Column("Dependences per task", False, True, lambda cell: _number(cell.dependences, ".2f")),
    Column("Graphs", False, True, lambda cell: _number(cell.graphs, "d")),
    Column("Output", False, True, lambda cell: (quantity.size(cell.output_bytes), cell.output_bytes)),
    Column("Kernel", False, False, _text(lambda cell: cell.kernel)),
)
"""After the system and the workload, which name the cell."""
