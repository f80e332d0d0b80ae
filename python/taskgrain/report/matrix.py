"""Systems against workloads: how many times as long as with the best system a task must last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taskgrain.answers.data import Cell, Results
from taskgrain.answers.task_times import of_the_study
from taskgrain.drive import catalogue
from taskgrain.drive.system import System
from taskgrain.report import rows
from taskgrain.results import outcome, ranking
from taskgrain.results.builds import plain
from taskgrain.results.lines import Build, Line, SessionLine
from taskgrain.results.ranking import Standing
from taskgrain.words import quantity
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.interval import Interval

SHADES = (1.1, 1.5, 3.0, 10.0, 100.0)
"""The multiples of the best up to which the shades go; the last one has no end."""
OTHER = "Not in the catalogue"
"""The kind of systems that nothing is known of."""
BOUNDS = "Bounds, which nobody can choose"
_WIDE = 2.0
"""A ratio whose ends are a larger factor apart is not sure."""


@dataclass(frozen=True)
class Entry:
    """One cell in the matrix; texts are ready to be shown, but not escaped."""

    number: int
    """The number of the cell in the results."""
    cell: Cell
    place: str
    """`best`, `tie`: may be the best too, `behind`, `apart`: leaves cores unused, `bound`: shows what
    could be reached, `unknown`: no number."""
    ratio: Interval | None
    """Its METG over the best one's; without bounds if no rounds are shared."""
    text: str
    sure: bool
    """True if the ratio is known within a factor of two."""

    @property
    def shade(self) -> int | None:
        """The shade, from 0, the best, to 5."""
        if self.ratio is None or self.place in ("apart", "bound", "unknown"):
            return None
        return sum((self.ratio.about or 0.0) > end for end in SHADES)


@dataclass(frozen=True)
class Row:
    """A system."""

    system: str
    title: str
    entries: tuple[Entry | None, ...]
    """One for each workload; None where the system was not measured."""


@dataclass(frozen=True)
class Column:
    """A workload."""

    workload: str
    best: tuple[str, ...]
    """The systems that may be the best, as far as is known."""


@dataclass(frozen=True)
class Matrix:
    """All systems by their kind, the best first; all workloads in the study's order."""

    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]

    @property
    def entries(self) -> list[Entry]:
        """Row by row."""
        return [one for _, group in self.groups for row in group for one in row.entries if one]


def of(results: Results) -> Matrix:
    """The matrix of a results folder."""
    columns, found = [], {}
    for workload in results.workloads:
        numbers = rows.numbers(results, workload)
        here = [results.cells[number] for number in numbers]
        contest = ranking.contest(here)
        stand = ranking.standing(contest)
        columns.append(Column(workload, tuple(cell.system for cell in stand.ties)))
        for number, cell in zip(numbers, here, strict=True):
            found[cell.system, workload] = _entry(number, cell, cell in contest, stand)
    known = kinds(results.systems, results.lines)
    groups: dict[str, list[Row]] = {}
    bounds = {cell.system for cell in results.cells if cell.bound}
    for system in results.ranked:
        entries = tuple(found.get((system, workload)) for workload in results.workloads)
        kind = BOUNDS if system in bounds else known[system].kind
        groups.setdefault(kind, []).append(Row(system, known[system].title, entries))
    return Matrix(tuple(columns), tuple((kind, tuple(group)) for kind, group in groups.items()))


def _entry(number: int, cell: Cell, competes: bool, stand: Standing[Cell]) -> Entry:
    first = next((one for one in stand.ties[:1] if one.metg.value or one.metg.high), None)
    ratio = ranking.ratio(cell, first) if first else None
    if cell.metg.about is None:
        place = "unknown"
    elif cell.bound:
        place = "bound"
    elif first is None:
        place = "unknown"
    elif cell in stand.ties:
        place = "best" if len(stand.ties) == 1 else "tie"
    else:
        place = "behind" if competes else "apart"
    sure = cell is first or ratio is None or ratio.factor <= _WIDE
    return Entry(number, cell, place, ratio, _text(cell, place, ratio, sure), sure)


def _text(cell: Cell, place: str, ratio: Interval | None, sure: bool) -> str:
    if ratio is None:
        return outcome.short(cell)
    if place == "best":
        return "best"
    times = quantity.ratio(ratio.about)
    if ratio.value is None and ratio.low and ratio.high:  # no one number says how far they are apart
        return "tie" if place == "tie" else outcome.short(cell)
    if ratio.value is None:
        return f"{'>' if ratio.high is None else '≤'} {times}"
    return f"{'=' if sure else '?'} {times}" if place == "tie" else times


def legend() -> list[tuple[int, str]]:
    """The shades with their meanings."""
    starts = (1.0, *SHADES)
    named = [f"{low:g} – {high:g} ×" for low, high in zip(starts, SHADES, strict=False)]
    return [*enumerate([*named, f"over {SHADES[-1]:g} ×"])]


def drawn(results: Results, matrix: Matrix, most: int) -> list[str]:
    """The systems that charts show at first: the best of each workload, then the quickest at the wished task
    times, then those of the smallest METG."""
    best = [column.best[0] for column in matrix.columns if column.best]
    answers = [one for asked in of_the_study(results) for one in asked.answers]
    able = [one for one in answers if one.curve and not one.curve.cell.bound]
    quick = [one.system for one in sorted(able, key=lambda one: -one.speed)]
    return [*dict.fromkeys([*best, *quick, *results.ranked])][:most]


@dataclass(frozen=True)
class Kind:
    """The words of the report on a system besides its name."""

    title: str
    kind: str
    """The kind: the place where it runs, and the way in which it learns the dependences."""


def kinds(systems: Iterable[str], lines: Sequence[Line] = ()) -> dict[str, Kind]:
    """The kind of each system, as it was when it was measured: the sessions among the lines tell. Older ones
    only name systems, and then the catalogue of this taskgrain counts."""
    try:
        known: dict[str, Build | System] = {**catalogue.discover()}
    except (InputError, UsageError):  # a system.toml that is just being written must not cost a report
        known = {}
    for line in lines:
        if isinstance(line, SessionLine):
            known |= {one.name: one for one in line.systems if one.name and one.title}
    return {name: _kind(name, _found(name, known)) for name in systems}


def _found(name: str, known: Mapping[str, Build | System]) -> Build | System | None:
    """Builds are called `mpi@ab12cd34`, or `mpi.old` and `mpi.new`, and a system with variables of its own
    `mpi+NAME=value`: they are of the kind of their system."""
    name = plain(name)
    return known.get(name) or known.get(name.partition("+")[0]) or known.get(name.rpartition(".")[0])


def _kind(name: str, system: Build | System | None) -> Kind:
    if system is None:
        return Kind(name, OTHER)
    where = "Several nodes" if system.distributed else "One node"
    return Kind(
        system.title or name, f"{where}, {system.parallelism} parallelism" if system.parallelism else where
    )
