"""What the report knows of a results folder, as `taskgrain.report.data` reads it. Every text is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taskgrain.results import cell as stored
from taskgrain.results.curves import Curve
from taskgrain.results.lines import MetgLine
from taskgrain.results.reader import Contents
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.plain import text
from taskgrain.words.warnings import Notice

_NOTHING = MetgLine(cell="")
Fields = Mapping[str, object]


@dataclass(frozen=True)
class Point:
    """One task size of a cell's curve; granularities in seconds, efficiencies from 0 to 1."""

    iterations: float
    granularity: float
    granularity_low: float | None
    granularity_high: float | None
    efficiency: float
    efficiency_low: float | None
    efficiency_high: float | None
    repeats: int | None
    samples: tuple[float, ...] = ()
    """The granularity of every repeat behind the point."""
    disturbed: tuple[float, ...] = ()
    """Those of runs that others on the cores disturbed."""
    asked: float | None = None
    """What the work of a task was to take alone, in seconds, if the efficiency at this time was asked for."""

    @property
    def time(self) -> Interval:
        """The granularity with its interval."""
        return Interval(self.granularity, self.granularity_low, self.granularity_high)

    @property
    def share(self) -> Interval:
        """The efficiency with its interval."""
        return Interval(self.efficiency, self.efficiency_low, self.efficiency_high)


@dataclass(frozen=True)
class Failure:
    """One attempt at a cell that failed."""

    cell: str
    error: str
    message: str
    log: str
    superseded: bool
    """Whether the cell went on after it."""


@dataclass(frozen=True)
class Cell:
    """One system on one workload, and what came of it; times in seconds, rates in `work_unit` per second."""

    stored: stored.Cell
    """What its lines say: how it ended, and its numbers."""
    name: str
    system: str
    workload: str
    """The cell's name without the system: what systems are compared on."""
    pattern: str
    width: int | None
    radix: int | None
    graphs: int | None
    output_bytes: int | None
    kernel: str
    fields: Fields
    """All of the workload."""
    dependences: float | None
    """Of a task, the mean over its longest run."""
    tasks_per_step: float | None
    """The mean over its longest run."""
    command: str
    """What measures this cell alone in the same way; empty if that was not recorded."""
    reference: str
    """The program that efficiency is measured against."""
    best: bool
    """Whether it has the smallest METG of the cells of its workload that use all cores."""
    prepare: float | None
    """Seconds that a run spent on its graph before the clock started: the median of the longest runs."""
    prepare_tasks: int
    """Of each of these."""
    memory: int | None
    """Bytes, the largest process of its driver at its largest, since that was started."""
    peak_rate: float | None
    work_unit: str
    curve: tuple[Point, ...]
    known: Curve | None
    """The same as `advise` takes it; None if nothing is known of the cell."""
    warnings: tuple[Notice, ...]
    to_best: Interval | None
    """The ratio of its METG to the best one's, unless it is the best or was not compared."""
    best_system: str = ""
    """Who is the best of the workload."""

    @property
    def ending(self) -> Ending:
        """Why it ended."""
        return self.stored.ending

    @property
    def error(self) -> str:
        """The kind of the failure that ended it; empty if none did."""
        return text(self.stored.error)

    @property
    def bound(self) -> bool:
        """Whether its system only shows what could be reached."""
        return self.stored.bound

    @property
    def cores(self) -> int | None:
        """That it occupies; or GPUs, where the reference measures these."""
        return self.stored.cores

    @property
    def threshold(self) -> float:
        """The efficiency that METG is for."""
        lines = (self.stored.result, self.stored.started)
        return next((one.threshold for one in lines if one and one.threshold), 0.5)

    @property
    def metg(self) -> Interval:
        """METG, or the bound that is known of it."""
        return self.stored.metg

    @property
    def overhead(self) -> Interval:
        """Of a task: what remains at no work."""
        return self.stored.number("overhead")

    @property
    def quiet(self) -> Interval:
        """METG on quiet cores, where the machine was busy."""
        return self.stored.number("quiet")

    @property
    def floor(self) -> Interval:
        """The time of an empty task."""
        return self.stored.number("floor")

    @property
    def start(self) -> Interval:
        """Start and end of a run; METG is without them."""
        return self.stored.number("start")

    @property
    def result(self) -> MetgLine:
        """What it came to; without any field if it has not ended."""
        return self.stored.result or _NOTHING

    def ratio_to(self, other: str) -> Interval | None:
        """METG divided by that of the cell of this name."""
        return self.stored.ratio_to(other)

    @property
    def at(self) -> tuple[Point, ...]:
        """The points at the task times that were asked for."""
        return tuple(point for point in self.curve if point.asked)


@dataclass(frozen=True)
class Results:
    """A results folder."""

    folder: Path
    title: str
    study: str
    """The text of study.toml, empty if there is none."""
    settings: Fields
    """Its table."""
    machine: Fields
    cells: tuple[Cell, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder itself."""
    contents: Contents
    """The lines of runs.jsonl."""

    @property
    def raw(self) -> bytes:
        """The content of runs.jsonl, decompressed."""
        return self.contents.raw

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.system for cell in self.cells))

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))
