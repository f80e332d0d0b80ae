"""The cells of a results folder, from its lines: the one place where they are taken together.

Whoever wants to know how a cell stands asks a `Cell`: the harness that goes on with a study, and every
command that reads its folder. They agree because there is nothing else to ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypeVar

from taskgrain.results.builds import elsewhere, plain
from taskgrain.results.field import fields
from taskgrain.results.lines import (
    UNKNOWN_ERROR,
    CellLine,
    CrashLine,
    CurvePoint,
    FailureLine,
    Line,
    MetgLine,
    OfCell,
    RatioLine,
    ReferenceKey,
    ReferenceLine,
    RejectedLine,
    RunLine,
    SessionLine,
)
from taskgrain.words import numbers
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin
from taskgrain.words.warnings import Notice, read_notice

_OF_A_FAILURE = (
    "cell", "ending", "threshold", "rounds", "runs", "repeated_runs", "disturbed_runs", "warnings"
)  # fmt: skip
"""The fields of a failed cell's `metg` line that tell anything."""


_OF_ROUNDS = ("few_rounds", "rounds_before_precise", "rounds_before_efficiency")
"""Warnings that mean nothing of a simulation: its rounds are alike to the digit."""
_FIELDS = fields(MetgLine)
NUMBERS = ("metg", *(name for name in _FIELDS if f"{name}_low" in _FIELDS))
"""The quantities of a result that have an interval."""


def marked(system: str, bound: bool, origin: Origin) -> str:
    """A system in tables, with a mark if it is a bound, or simulated."""
    return system + " (bound)" * bound + origin.mark


@dataclass(repr=False)
class Cell:
    """One cell of one build, after the lines that it has taken."""

    name: str
    """The system, its hash where it is of an earlier build, and the workload."""
    started: CellLine | None = None
    """Its last `cell` line."""
    result: MetgLine | None = None
    """The result; None if the cell was measured, failed or began again after that."""
    failure: FailureLine | None = None
    """The failure that ended it, if it failed."""
    ratios: dict[str, RatioLine] = field(default_factory=dict)
    """METG divided by another cell's, by the other's name, from all of its runs."""
    runs: list[RunLine] = field(default_factory=list)
    """The runs that count."""
    rejected: int = 0
    """Runs that were repeated because others disturbed them."""
    problems: list[FailureLine | CrashLine] = field(default_factory=list)
    """All failures and crashes, whether they ended it or not."""
    last: OfCell | None = None
    """Its last line, whether it makes sense or not."""
    sessions: dict[int, SessionLine] = field(default_factory=dict)
    """The sessions of its lines, by their number in the log; 0 stands for lines before the first."""
    first: int = 0
    """The number of the session in which it began."""
    times: list[float] = field(default_factory=list)
    """The Unix times of its lines."""
    beside: list[tuple[int, Sequence[float]]] = field(default_factory=list)
    """The number of the session of each of its runs, and the last rates of its reference."""
    best: Cell | None = field(default=None, compare=False)
    """The best cell of its workload, once somebody has compared them."""

    def __repr__(self) -> str:
        """Its name and how it stands: the lines are thousands."""
        return f"<Cell {self.name}: {self.ending}, {len(self.runs)} runs>"

    @property
    def system(self) -> str:
        """The first part of its name."""
        return self.name.partition("/")[0]

    @property
    def earlier(self) -> bool:
        """True if it is of an earlier build than the folder's last."""
        return self.system != plain(self.system)

    @property
    def workload(self) -> str:
        """Its name without the system."""
        return self.name.partition("/")[2]

    @property
    def session(self) -> SessionLine:
        """The session of its last line."""
        return next(reversed(self.sessions.values()), SessionLine())

    @property
    def bound(self) -> bool:
        """True if its system shows what could be reached, and is no choice."""
        return bool(self.started and self.started.bound)

    @property
    def origin(self) -> Origin:
        line = self.started or CellLine(cell="")
        return Origin(bool(line.simulated), line.simulation_error or 1.0, elsewhere(self.system))

    @property
    def called(self) -> str:
        """Its system in tables, as `marked`."""
        return marked(self.system, self.bound, self.origin)

    @property
    def ending(self) -> Ending:
        """The reason why it ended, or that it has not."""
        if self.failure is not None:
            return Ending.FAILED
        ending = self.result.ending if self.result else None
        return ending or Ending.UNFINISHED

    @property
    def error(self) -> str:
        """The kind of the failure that ended it; empty if none did."""
        if self.ending is not Ending.FAILED:
            return ""
        return self.failure.kind_of if self.failure else UNKNOWN_ERROR

    @property
    def metg(self) -> Interval:
        """METG in seconds, or the bound that is known of it, or nothing."""
        return self.number("metg")

    def number(self, name: str) -> Interval:
        """A quantity of its result, with the error of its simulation.

        By name: one of `NUMBERS`. Raises `InputError` for another name.
        """
        numbers.text(name, "name", NUMBERS)
        return self.result.number(name).within(self.origin.error) if self.result else Interval()

    def ratio_to(self, other: str) -> Interval | None:
        """METG divided by another cell's, by its name; None if the two were not compared."""
        line = self.ratios.get(other)
        return line.ratio if line else None

    @property
    def time(self) -> float | None:
        """Unix time of its end."""
        line = self.result or self.failure
        return line.time if line else None

    @property
    def disturbed(self) -> float | None:
        """The share of its runs that others disturbed."""
        line = self.result
        if line is None or line.disturbed_runs is None:
            return None
        runs = line.runs or len(self.runs)
        return line.disturbed_runs / runs if runs else None

    @property
    def others(self) -> float | None:
        """The share of the cores' time that others used during its runs."""
        return fmean(run.busy or 0.0 for run in self.runs) if self.runs else None

    @property
    def slowdown(self) -> float | None:
        """The kernel alone at its best over the kernel alone beside its runs."""
        line = self.result
        return line.best_rate / line.peak_rate if line and line.best_rate and line.peak_rate else None

    @property
    def cores(self) -> int | None:
        """The cores that the system occupies."""
        last = self.runs[-1].cores if self.runs else None
        return last or (self.started.cores if self.started else None)

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """The efficiency curve of its result."""
        return self.result.curve if self.result else ()

    @property
    def warnings(self) -> list[Notice]:
        """The warnings about its result."""
        stored = self.result.warnings if self.result else ()
        known = [said for one in stored if (said := read_notice(one))]
        return [one for one in known if not self.origin.simulated or one.code not in _OF_ROUNDS]

    def to_json(self, threshold: float) -> dict[str, Any]:
        """The cell for programs: its `metg` line, and the comparisons with others."""
        line = self.result or MetgLine(cell=self.name, ending=self.ending, threshold=threshold, rounds=0)
        names = ("to", "value", "low", "high", "rounds")
        bounds = {} if self.origin.error == 1.0 else self._bounds()
        return (
            line.to_json()
            | bounds
            | {
                "system": self.system,
                "workload": self.workload,
                "cores": self.cores or 0,
                "simulated": self.origin.simulated,
                "warnings": [one.shown() for one in self.warnings],
                "ratios": [{name: getattr(one, name) for name in names} for one in self.ratios.values()],
            }
        )

    def _bounds(self) -> dict[str, float | None]:
        """The fields of a `metg` line that are bounds, with the error of its simulation."""
        found: dict[str, float | None] = {"simulation_error": self.origin.error}
        for name in NUMBERS:
            prefix, number = "" if name == "metg" else f"{name}_", self.number(name)
            if number.known:
                found |= {f"{prefix}low": number.low, f"{prefix}high": number.high}
        return found

    def take(self, line: OfCell) -> None:
        """Takes its next line. Raises `ValueError` for a bad one; the cell then stays as it was."""
        self.last = line
        match line:
            case CellLine():
                if self.failure is not None:  # it begins again
                    self.forget()
                self.started = line
            case RunLine():
                _check(line)
                self.forget()
                self.runs.append(line)
            case RejectedLine():
                self.rejected += 1
            case CrashLine():
                self.problems.append(line)
            case FailureLine():
                if line.error is None or line.message is None:
                    raise ValueError("a failure without words")
                self.forget()
                self.failure = line
                self.problems.append(line)
            case MetgLine():
                self._end(line)
            case RatioLine():
                if line.to is None or line.value is None:
                    raise ValueError("a ratio of nothing")
                self.ratios[line.to] = line

    def forget(self) -> None:
        """Forgets the ending: the cell goes on after it has ended."""
        self.result, self.failure, self.ratios = None, None, {}

    def _end(self, line: MetgLine) -> None:
        if line.ending is None:
            raise ValueError("a cell that ended nobody knows how")
        if line.ending is Ending.PRECISE and not line.number("metg").known:
            raise ValueError("a METG that is known precisely, without its interval")
        if line.ending is Ending.FAILED:  # its numbers mean nothing
            failure = self.failure or FailureLine(cell=self.name, time=line.time)
            self.forget()
            self.failure = failure
            line = MetgLine(
                **{name: getattr(line, name) for name in _OF_A_FAILURE}, time=line.time, elapsed=line.elapsed
            )
        else:
            self.failure = None
        self.result = line


def _check(line: RunLine) -> None:
    known = (line.phase, line.round, line.iterations, line.steps, line.work, *line.seconds)
    if None in known or not (
        line.seconds and line.tasks and line.cores and (line.work or not line.iterations)
    ):
        raise ValueError("a run of nothing")


C = TypeVar("C", bound=Cell)


def cells(lines: Iterable[Line]) -> dict[str, Cell]:
    """The cells of a results folder by name; its lines come under the names of their builds."""
    return folded(lines, Cell)


def folded(lines: Iterable[Line], make: Callable[[str], C], only: str | None = None) -> dict[str, C]:
    """The same, of cells that `make` makes of their names. `only` names a session, if others do not count."""
    found: dict[str, C] = {}
    number, session = 0, SessionLine()
    rates: dict[ReferenceKey, list[float]] = {}
    for line in lines:
        if isinstance(line, SessionLine):
            number, session = number + 1, line
        elif isinstance(line, ReferenceLine):
            rates[line.reference_key] = [] if None in line.rates else [one for one in line.rates if one]
        elif isinstance(line, OfCell) and only in (None, session.session):
            cell = found.setdefault(line.cell, make(line.cell))
            if not cell.sessions or (isinstance(line, CellLine) and cell.started is None):
                cell.first = number
            cell.sessions[number] = session
            cell.times += [] if line.time is None else [line.time]
            with contextlib.suppress(ValueError):
                cell.take(line)
                if isinstance(line, RunLine):
                    known = rates.get(cell.started.reference_key, []) if cell.started else []
                    cell.beside.append((number, known))
    return found
