"""The columns of tables. Each quantity of a cell is declared once, with its title, unit, meaning and value:
the terminal, `--json`, the page and `taskgrain export` show it from here (docs/how-to/add-a-quantity.md).

Columns that are fields of a line have their type, unit and meaning from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, auto
from statistics import median
from typing import Any

from taskgrain.results import lines, outcome, ranking, values
from taskgrain.results.cell import Cell
from taskgrain.results.field import Field, Kind
from taskgrain.results.field import fields as fields_of
from taskgrain.results.lines import Attempt, CellLine, FailureLine, MetgLine, RunLine
from taskgrain.results.samples import of_sizes
from taskgrain.study.fields import GIVEN, WORKLOAD
from taskgrain.words import quantity
from taskgrain.words.interval import Interval


@dataclass(frozen=True)
class Column:
    """A column of an exported table; `source` is its field of `runs.jsonl`, if that has another name."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    source: str = ""

    @property
    def field(self) -> str:
        return self.source or self.name


class Shown(Flag):
    """The places where a quantity has a column besides exported tables and `--json`."""

    NOWHERE = 0
    AT_FIRST = auto()
    """The page's table of cells."""
    ON_REQUEST = auto()
    """The same table, if the reader chooses it."""
    TERMINAL = auto()
    """The tables of `metg` and `study`."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of a cell, with the columns that show it."""

    value: Callable[[Cell], Any]
    """An `Interval`, a number, a text, a list of warnings, or None; times in seconds."""
    exported: tuple[Column, ...] = ()
    """Its columns in `export` and `--json`: three for an `Interval`, else one, or none."""
    title: str = ""
    shown: Shown = Shown.NOWHERE
    as_text: Callable[[Cell], str] | None = None
    """Its text, where that is not simply the value with its unit."""
    numeric: bool = True

    @property
    def heading(self) -> str:
        """Its title in a terminal."""
        return self.title if self.title[:2].isupper() else self.title[:1].lower() + self.title[1:]

    def text(self, cell: Cell) -> str:
        """Returns the text in the row of a cell."""
        if self.as_text:
            return self.as_text(cell)
        value, unit = self.value(cell), self.exported[0].unit if self.exported else ""
        if isinstance(value, Interval) and unit == "s":
            return outcome.middle(value)
        if isinstance(value, Interval):
            value = value.value
        if value is None or unit in ("s", "B"):
            return (quantity.size if unit == "B" else quantity.seconds)(value)
        return f"{quantity.mean(value)} {unit}".rstrip() if isinstance(value, float) else str(value)

    def number(self, cell: Cell) -> float | None:
        """The number that rows are sorted by; None if there is none, as in columns of text."""
        value = self.value(cell)
        found = (
            value.about if isinstance(value, Interval) else len(value) if isinstance(value, list) else value
        )
        return found if isinstance(found, int | float) else None

    def plain(self, cell: Cell) -> dict[str, Any]:
        """The values of its exported columns."""
        value = self.value(cell)
        each = (value.value, value.low, value.high) if isinstance(value, Interval) else (value,)
        return {one.name: part for one, part in zip(self.exported, each, strict=False)}


def of(owner: type, names: str) -> tuple[Column, ...]:
    """The columns of fields of a kind of line: their names, or `name=field` where the names differ."""
    found = []
    for word in names.split():
        name, _, source = word.partition("=")
        field = fields_of(owner)[source or name]
        found.append(Column(name, field.kind, field.unit, field.meaning, source))
    return tuple(found)


def time_of(meaning: str) -> tuple[Column, ...]:
    written = f"Unix time at which {meaning} was written"
    return Column("time", "number", "s", written), *of(CellLine, "elapsed")


def of_workload(name: str) -> Column:
    field = GIVEN[name]
    kind = Field(lines.WORKLOAD[name], "").kind
    return Column(field.column, kind, field.unit, field.text.removesuffix("."))


_LINES = {"started": CellLine, "result": MetgLine, "failure": FailureLine}


def field(path: str, title: str = "", shown: Shown = Shown.NOWHERE, name: str = "", **rest: Any) -> Quantity:
    """A field of a line of a cell: `started.reference`, `result.rounds`, `failure.message`. `name` is that of
    its column, if it is another. It is an `Interval` if the line has fields `…_low` and `…_high` too."""
    line, _, source = path.partition(".")
    fields = fields_of(_LINES[line])
    columns = of(_LINES[line], f"{name}={source}" if name else source)
    if f"{source}_low" in fields:
        bounds = of(_LINES[line], f"{source}_low {source}_high")
        return Quantity(lambda cell: cell.number(source), columns + bounds, title, shown, **rest)

    def value(cell: Cell) -> Any:
        return getattr(getattr(cell, line), source, None)

    return Quantity(value, columns, title, shown, numeric=fields[source].kind != "text", **rest)


def _workload(name: str) -> Quantity:
    """A field of the workload."""

    def value(cell: Cell) -> Any:
        return cell.started.workload.get(name) if cell.started else None

    column, title = of_workload(name), _TITLES.get(name, "")
    shown = Shown.ON_REQUEST if title else Shown.NOWHERE
    return Quantity(value, (column,), title, shown, numeric=column.kind != "text")


def _driver(name: str, meaning: str) -> Quantity:
    """Returns the driver's description of itself."""

    def value(cell: Cell) -> str | None:
        said = cell.started.driver if cell.started else None
        return values.text(said.get(name)) if said else None

    return Quantity(value, (Column(name, "text", "", meaning),))


def threshold(cell: Cell) -> float | None:
    """The efficiency that METG is for."""
    known = (cell.result, cell.started)
    return next((one.threshold for one in known if one and one.threshold), None)


def to_best(cell: Cell) -> Interval | None:
    """The ratio of its METG to the best one's; the best has 1."""
    if cell is cell.best:
        return Interval(1.0, 1.0, 1.0)
    return ranking.ratio(cell, cell.best) if cell.best else None


def times_the_best(cell: Cell) -> str:
    """The same in words."""
    found = to_best(cell)
    return (
        quantity.ratio_interval(found)
        if found and cell is not cell.best
        else "best"
        if found
        else quantity.NOTHING
    )


def longest(cell: Cell) -> list[RunLine]:
    """The runs of a cell that have the most tasks."""
    most = max((one.tasks or 0 for one in cell.runs), default=0)
    return [one for one in cell.runs if (one.tasks or 0) == most]


def _prepare(cell: Cell) -> float | None:
    """The median of the longest runs."""
    spent = [one for run in longest(cell) for one in run.prepare_seconds if one is not None]
    return median(spent) if spent else None


def _prepared(cell: Cell) -> str:
    if (spent := _prepare(cell)) is None:
        return quantity.NOTHING
    return f"{quantity.seconds(spent, 2)} for {quantity.counted(longest(cell)[0].tasks or 0, 'task')}"


def steps(cell: Cell) -> int | None:
    """Returns the steps of the runs at the size nearest to METG: for runs of that length it holds."""
    at = cell.result.iterations if cell.result else None
    rounds = of_sizes(cell.runs)
    if not at or not rounds or (cell.started and cell.started.workload.get("pattern") == "dag"):
        return None  # of a DAG, its file says them
    return min(reversed(rounds), key=lambda one: abs(math.log((one.iterations or 1) / at))).steps


def memory(cell: Cell) -> int | None:
    """The most memory that a process of its driver took, in bytes."""
    return max((one.peak_rss_bytes or 0 for one in cell.runs), default=0) or None


def _dependences(cell: Cell) -> float | None:
    """The mean over its longest run."""
    each = ((one.dependencies, one.tasks) for one in longest(cell))
    return max((some / tasks for some, tasks in each if some is not None and tasks), default=None)


def mean_dependences(cell: Cell) -> str:
    """The dependences of a task, as a text."""
    found = _dependences(cell)
    return quantity.NOTHING if found is None else f"{found:.2f}"


def work_unit(cell: Cell) -> str | None:
    """Returns the unit of work of its runs; the empty kernel has a unit of its own."""
    return next((one.work_unit for one in reversed(cell.runs) if one.iterations and one.work_unit), None)


def ending(cell: Cell) -> str:
    """The ending in words, with the error."""
    return f"{cell.ending.shown}: {cell.error}" if cell.error else cell.ending.shown


_FIRST, _REQUEST, _TERMINAL = Shown.AT_FIRST, Shown.ON_REQUEST, Shown.TERMINAL
_TIME, _ELAPSED = time_of("the cell's last line")
_MEAN = "dependences of a task, the mean of the longest run"
_DEPENDENCES = Column("dependences_per_task", "number", "", _MEAN)
_STEPS = Column("metg_steps", "integer", "", "steps of the runs at the size nearest to METG")
_RUNS = Column("runs", "integer", "", "runs that count")
_WARNINGS = Column("warnings", "text", "", "warnings, with a vertical bar between them")
_TITLES = {"pattern": "Pattern", "width": "Width", "radix": "Radix", "graphs": "Graphs", "kernel": "Kernel"}
_TITLES |= {"output_bytes": "Output"}
"""The titles of the fields of a workload that the page can show."""

OF_A_WORKLOAD = (
    Quantity(lambda cell: cell.name, of(CellLine, "cell")),
    field("started.system"),
    *(_workload(name) for name in GIVEN if name in WORKLOAD),
)
"""The first columns of every exported table but `reference` and `sessions`: the cell and its workload."""

OF_A_CELL = (
    *OF_A_WORKLOAD,
    Quantity(_dependences, (_DEPENDENCES,), "Dependences per task", _REQUEST, mean_dependences),
    Quantity(lambda cell: cell.last and cell.last.time, (_TIME,)),
    Quantity(lambda cell: cell.last and cell.last.elapsed, (_ELAPSED,)),
    Quantity(lambda cell: cell.cores, of(CellLine, "cores"), "Cores", _REQUEST),
    Quantity(lambda cell: cell.bound, of(CellLine, "bound")),
    Quantity(lambda cell: cell.origin.simulated, of(CellLine, "simulated")),
    field("started.reference", "Reference", _REQUEST),
    Quantity(
        threshold,
        of(CellLine, "threshold"),
        "Threshold",
        _REQUEST,
        lambda cell: quantity.percent(threshold(cell)),
    ),
    Quantity(lambda cell: str(cell.ending), of(MetgLine, "ending")),
    Quantity(lambda cell: cell.metg, (), "METG", _TERMINAL, outcome.long),
    Quantity(lambda cell: cell.metg, of(MetgLine, "metg low high"), "METG", _FIRST),
    Quantity(
        lambda cell: cell.metg.factor if cell.metg.value else None,
        (),
        "95 % interval",
        _FIRST,
        lambda cell: quantity.around(cell.metg)[1],
    ),
    Quantity(steps, (_STEPS,), "Steps", _FIRST | _TERMINAL),
    Quantity(to_best, (), "Times the best", _FIRST | _TERMINAL, times_the_best),
    Quantity(
        lambda cell: next((one.efficiency for one in outcome.asked(cell)), None),
        (),
        "Efficiency at task times",
        _REQUEST,
        lambda cell: outcome.long(cell) if outcome.asked(cell) else quantity.NOTHING,
    ),
    field(
        "result.work",
        "Work at METG",
        _REQUEST,
        as_text=lambda cell: quantity.work(cell.number("work").value, work_unit(cell) or ""),
    ),
    field("result.iterations", "Iterations at METG", _REQUEST, name="crossing_iterations"),
    field("result.overhead", "Overhead", _FIRST | _TERMINAL),
    field("result.floor", "Floor", _REQUEST),
    field("result.start", "Start and end of a run", _REQUEST),
    Quantity(_prepare, of(Attempt, "prepare_seconds"), "Graph made ahead", _REQUEST, _prepared),
    Quantity(memory, of(Attempt, "peak_rss_bytes"), "Memory of a process", _FIRST),
    Quantity(ending, (), "Ending", _FIRST | _TERMINAL, numeric=False),
    field("result.rounds", "Rounds", _FIRST),
    field("result.systematic"),
    field("result.inflation"),
    Quantity(lambda cell: len(cell.runs), (_RUNS,), "Runs", _REQUEST),
    Quantity(lambda cell: cell.rejected, of(MetgLine, "repeated_runs"), "Repeated runs", _REQUEST),
    field("result.disturbed_runs", "Disturbed runs", _REQUEST),
    field(
        "result.peak_rate",
        "Peak rate per core",
        _REQUEST,
        as_text=lambda cell: quantity.rate(cell.result and cell.result.peak_rate, work_unit(cell) or ""),
    ),
    field("result.best_rate"),
    Quantity(work_unit, of(Attempt, "work_unit")),
    Quantity(lambda cell: cell.error or None, of(FailureLine, "failure=error")),
    field("failure.message", name="failure_message"),
    Quantity(
        lambda cell: cell.warnings, (_WARNINGS,), "Warnings", _FIRST, lambda cell: str(len(cell.warnings))
    ),
    _driver("version", "version of the system"),
    _driver("compiler", "compiler of its driver"),
    _driver("flags", "flags of that compiler"),
    _driver("isa", "instruction set of the compute kernel"),
    field("started.command"),
)
"""All quantities, in the order of their columns."""


def shown(where: Shown) -> list[Quantity]:
    """The quantities that have a column there."""
    return [one for one in OF_A_CELL if one.shown & where]


def plain(cell: Cell, quantities: Iterable[Quantity] = OF_A_CELL) -> dict[str, Any]:
    """A cell for programs: the values of the exported columns by their names."""
    return {name: value for one in quantities for name, value in one.plain(cell).items()}
