"""The plan that a runner carries out: the cells, how to measure them, and what makes the drivers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.estimate.start import FEWEST_ROUNDS
from taskgrain.measure.crew import DriverName
from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.progress import Reporter
from taskgrain.measure.record import CellState
from taskgrain.measure.timing import Timing
from taskgrain.study.settings import Settings
from taskgrain.study.steps import with_steps
from taskgrain.study.workload import Cell, Workload

_FEW_TASKS, _MOST_TASKS = 2**12, 2**20
"""The tasks that are enough for a simulated run, if its fewest steps have no more; those that it may have."""

_SIMULATED_TASK = 1e-4
"""Seconds of this machine, one core of which simulates nodes, for each of their tasks. With 16 bytes and
three dependences they are 50 to 200 µs, more with many nodes or large outputs."""
BRACKET_RUNS = 3.0
"""The length of the bracket, in runs at the crossing."""

Judge = Callable[[Sequence[CellState], bool], None]


@dataclass
class Plan:
    """The cells, and all that it takes to measure them."""

    cells: Sequence[Cell]
    systems: Mapping[str, System]
    settings: Settings
    make_driver: Callable[[DriverName], Session]
    """Makes a driver, not yet started."""
    retry: bool = False
    """Cells that failed in an earlier call get another try."""
    clock: Callable[[], float] = time.monotonic
    reporter: Reporter = field(default_factory=Reporter)
    experiment: type[Experiment] | None = None
    """The experiment that measures the cells instead of the one that the settings name."""
    judge: Judge | None = None
    """Gets all cells of a workload after each of its rounds, and may end their experiments; at the end of all
    once more, with True."""
    cores: Sequence[int] = ()
    """The processors that are measured on, of each node."""
    hosts: Sequence[str] = ()
    """The names of the nodes, if there are several."""
    others: Collection[str] = ()
    """Cells of the study that are not measured now: their lines are none of its business."""
    commands: bool = True
    """A command can measure a cell by itself, so that its first line names it."""
    begun: float | None = None
    """The time at which the budget of this call began, by `clock`; None: when the first cell is prepared."""

    def __post_init__(self) -> None:
        self.timing = Timing(self.clock)
        """The timing of the call, from here on."""


def cell_settings(settings: Settings, workload: Workload, simulated: bool) -> CellSettings:
    """Returns what a study's settings ask of a cell of the `workload`, whose nodes may be `simulated`.

    A simulation repeats to the digit: a run is simulated once, and counts in as many rounds as it takes to
    tell start and end of a run from its steps. A run that is longer than it has to be costs seconds of the
    budget.
    """
    asked = CellSettings.of(settings)
    if not simulated:
        return with_steps(asked, workload)
    asked = with_steps(replace(asked, max_tasks=_MOST_TASKS), workload)
    most = max(_FEW_TASKS // workload.tasks(1), asked.min_steps)
    rounds = FEWEST_ROUNDS
    return replace(asked, repeats=1, warmup=0, min_rounds=rounds, max_rounds=rounds, max_steps=most)


def simulated_seconds(workload: Workload, experiment: type[Experiment], settings: CellSettings) -> float:
    """A guess of a simulated cell's time: a round is simulated once."""
    tasks = workload.tasks(settings.steps or settings.max_steps)
    return (BRACKET_RUNS + experiment.ROUND_WORK) * tasks * _SIMULATED_TASK
