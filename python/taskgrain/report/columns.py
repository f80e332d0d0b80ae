"""The columns of the report's table of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from taskgrain.report.cells import Cell
from taskgrain.report.rows import long_result, short_result
from taskgrain.words import quantity


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
    return f"{cell.ending.shown}: {cell.error}" if cell.error else cell.ending.shown


def _metg(cell: Cell) -> tuple[str, float | None]:
    value = cell.metg.about
    return (quantity.NOTHING, None) if value is None else (short_result(cell), value)


def _asked(cell: Cell) -> tuple[str, float | None]:
    """Sorted by the efficiency at the first of the task times."""
    return (long_result(cell), cell.at[0].efficiency) if cell.at else (quantity.NOTHING, None)


def _interval(cell: Cell) -> tuple[str, float | None]:
    """Sorted by how many times as large its upper end is: infinitely if one is missing."""
    if cell.metg.value is None:
        return quantity.NOTHING, None
    return quantity.around(cell.metg)[1], cell.metg.factor


def to_best(cell: Cell) -> tuple[str, float | None]:
    if cell.best:
        return "best", 1.0
    found = cell.to_best
    return (quantity.NOTHING, None) if found is None else (quantity.ratio_interval(found), found.value)


def _overhead(cell: Cell) -> tuple[str, float | None]:
    return quantity.around(cell.overhead)[0], cell.overhead.value


def _quiet(cell: Cell) -> tuple[str, float | None]:
    return quantity.interval(cell.quiet), cell.quiet.value


def _start(cell: Cell) -> tuple[str, float | None]:
    return quantity.seconds(cell.start.value, 2), cell.start.value


def _floor(cell: Cell) -> tuple[str, float | None]:
    return quantity.around(cell.floor)[0], cell.floor.value


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
    Column("Start and end of a run", False, True, _start),
    Column("METG on quiet cores", False, True, _quiet),
    Column("Floor", False, True, _floor),
    Column("Graph made ahead", False, True, _prepare),
    Column("Memory of a process", True, True, _memory),
    Column("Ending", True, False, _text(ending)),
    Column("Rounds", True, True, lambda cell: _number(cell.result.rounds)),
    Column("Warnings", True, True, lambda cell: _number(len(cell.warnings))),
    Column("Threshold", False, True, lambda cell: (quantity.percent(cell.threshold), cell.threshold)),
    Column("Iterations at METG", False, True, lambda cell: _number(cell.result.iterations, ".3g")),
    Column(
        "Peak rate per core",
        False,
        True,
        lambda cell: (quantity.rate(cell.peak_rate, cell.work_unit), cell.peak_rate),
    ),
    Column("Cores", False, True, lambda cell: _number(cell.cores)),
    Column("Reference", False, False, _text(lambda cell: cell.reference)),
    Column("Runs", False, True, lambda cell: _number(len(cell.stored.runs))),
    Column("Repeated runs", False, True, lambda cell: _number(cell.result.repeated_runs)),
    Column("Disturbed runs", False, True, lambda cell: _number(cell.result.disturbed_runs)),
    Column("Pattern", False, False, _text(lambda cell: cell.pattern)),
    Column("Width", False, True, lambda cell: _number(cell.width, "d")),
    Column("Radix", False, True, lambda cell: _number(cell.radix, "d")),
    Column("Dependences per task", False, True, lambda cell: _number(cell.dependences, ".2f")),
    Column("Graphs", False, True, lambda cell: _number(cell.graphs, "d")),
    Column("Output", False, True, lambda cell: (quantity.size(cell.output_bytes), cell.output_bytes)),
    Column("Kernel", False, False, _text(lambda cell: cell.kernel)),
)
"""After the system and the workload, which name the cell."""
