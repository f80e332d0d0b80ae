"""What the report knows of a results folder, as `taskgrain.report.data` reads it. Every text is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taskgrain.results.curves import Curve
from taskgrain.words.warnings import Notice

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


@dataclass(frozen=True)
class Failure:
    """One attempt at a cell that failed."""

    cell: str
    error: str
    message: str
    log: str
    superseded: bool
    """Whether a later attempt at the same cell came to an end."""


@dataclass(frozen=True)
class Ratio:
    """METG of a cell over that of another, from the rounds in which both ran."""

    to: str
    """The name of the other."""
    value: float
    low: float | None
    high: float | None

    @property
    def surely_larger(self) -> bool:
        """Whether the interval lies above 1."""
        return self.low is not None and self.low > 1.0


@dataclass(frozen=True)
class Cell:
    """One system on one workload, and what came of it; times in seconds, rates in `work_unit` per second."""

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
    cores: int | None
    """That it occupies; or GPUs, where the reference measures these."""
    reference: str
    """The program that efficiency is measured against."""
    threshold: float
    ending: str
    """As in the results, or `unfinished` where there is no `metg` line."""
    metg: float | None
    low: float | None
    high: float | None
    start: float | None
    """Start and end of a run, in seconds; METG is without them."""
    overhead: float | None
    """Of a task: what remains at no work."""
    overhead_low: float | None
    overhead_high: float | None
    quiet: float | None
    """METG on quiet cores, where the machine was busy."""
    quiet_low: float | None
    quiet_high: float | None
    ratios: tuple[Ratio, ...]
    """To the best of the workload, and to the limit."""
    best: bool
    """Whether it has the smallest METG of the cells of its workload that use all cores."""
    floor: float | None
    floor_low: float | None
    floor_high: float | None
    iterations: float | None
    """Of a task at METG."""
    rounds: int | None
    runs: int
    repeated: int | None
    """Runs that were repeated because others took too much of the cores."""
    disturbed: int | None
    """Runs that stayed disturbed."""
    prepare: float | None
    """Seconds that a run spent on its graph before the clock started: the median of the longest runs."""
    prepare_tasks: int
    """Of each of these."""
    memory: int | None
    """Bytes, the largest process of its driver at its largest, since that was started."""
    peak_rate: float | None
    best_rate: float | None
    work_unit: str
    curve: tuple[Point, ...]
    known: Curve | None
    """The same as `advise` takes it; None if the cell did not come to its end."""
    warnings: tuple[Notice, ...]
    error: str
    """The kind of its last failure, if that ended it."""

    @property
    def to_best(self) -> Ratio | None:
        """The ratio to the best of the workload; the best itself has one to the limit at most."""
        apart = [] if self.best else sorted(self.ratios, key=lambda one: one.to.startswith("limit/"))
        return apart[0] if apart else None

    @property
    def at(self) -> tuple[Point, ...]:
        """The points at the task times that were asked for."""
        return tuple(point for point in self.curve if point.asked)

    @property
    def at_most(self) -> float | None:
        """The upper bound of a METG that lies below the smallest task tried."""
        return self.high if self.ending == "always_reached" else None

    @property
    def at_least(self) -> float | None:
        """The lower bound of a METG that lies above the largest task tried."""
        if self.ending != "never_reached":
            return None
        return max((point.granularity for point in self.curve), default=self.low)


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
    raw: bytes
    """The content of runs.jsonl, decompressed."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.system for cell in self.cells))

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))
