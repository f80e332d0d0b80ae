"""Worlds to search for METG in: machines that are not quiet, and curves that are not straight.

The truth of a search is what its simulated machine lived through, never what the estimator makes of it: METG
of the curve without noise, in the state that the median run saw. A run sees the average of the states during
it, so a state that lasts for milliseconds counts by its share. One that lasts for seconds counts where more
than half of the runs saw it. Where a state slows only the kernel, METG in seconds is the same in all states.

Beside it stands METG in the mean state. The two differ where some runs are in another state than most. What a
machine lived through has then no single METG: an interval holds it if it holds one between these two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simulated_worlds.clock import (
    TAU,
    Curve,
    Machine,
    Processes,
    Scatter,
    State,
    StatesOf,
    System,
    Timeline,
    always,
    drive_together,
    markov,
    recorded,
    wandering,
)
from taskgrain.estimate.metg import Metg
from taskgrain.estimate.ratio import Ratio, ratio
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch

ITERATIONS = 100.0
"""The iterations at the crossing, where the overhead is constant."""
APART = 1.5
"""METG of the third system divided by that of the other two, which are the same."""
CONSTANT = Curve(lambda n: ITERATIONS * TAU)
SCATTER = Scatter()
STEADY = always()
ONE_PROCESS = Processes()


@dataclass(frozen=True)
class World:
    says: str
    scatter: Scatter = SCATTER
    machine: StatesOf = STEADY
    system: StatesOf = STEADY
    """The states of each system, apart from those of the others."""
    curve: Curve = CONSTANT
    pause: float = 0.0
    """Seconds between two rounds, in which other cells are measured."""
    processes: Processes = ONE_PROCESS
    one_overhead: bool = True
    """True if the overhead of a task is the same at all sizes, so that it is one number."""

    def systems(self, times: Sequence[float], seed: int | Sequence[int]) -> list[System]:
        """Systems on one machine, with METG so many times as large."""
        rng = np.random.default_rng(seed)
        machine = Machine(self.machine, self.scatter, rng)
        curves: list[Curve] = [self.curve.scaled(one) for one in times]
        return [System(machine, curve, Timeline(self.system(rng)), self.processes) for curve in curves]


def _smt(slow: float, quiet: float, scatter: Scatter = SCATTER, pause: float = 0.0) -> World:
    """A neighbour on the other hardware thread takes what the kernel needs, and little of the overhead."""
    says = f"neighbour on the other hardware thread for {slow:g} s, then none for {quiet:g} s"
    if scatter.unseen:
        says += f"; the reference misses it in {scatter.unseen:.0%} of the runs"
    if pause:
        says += f"; {pause:g} s between rounds"
    return World(says, scatter, markov((State(2.2, 1.2), slow), (State(), quiet)), pause=pause)


def _clock(factor: float) -> State:
    return State(factor, factor)


def _knee(n: float) -> float:
    above = 1.0 / (1.0 + math.exp(-math.log(max(n, 1e-9) / (1.175 * ITERATIONS)) / 0.15))
    return ITERATIONS * TAU * (1.0 + 0.35 * above)


WORLDS: dict[str, World] = {
    "quiet": World("runs scatter by 2 %, repeats and reference by 1 %"),
    "noisy": World("runs scatter by 10 %, the reference by 5 %", Scatter(0.1, 0.05, 0.05)),
    "outliers": World(
        "5 % of repeats, 2 % of runs take 3 to 100 times as long", Scatter(outliers=0.05, outlier_runs=0.02)
    ),
    "interrupts": World(
        "5 % of the measurements of the reference lose 5 to 30 % of their time", Scatter(interrupts=0.05)
    ),
    "tiny": World("the crossing lies between one and two iterations", curve=Curve(lambda n: 1.5 * TAU)),
    "clock": World(
        "two clocks, 1.6 apart, for 2 and 3 s", machine=markov((_clock(1.6), 2.0), (_clock(1.0), 3.0))
    ),
    "clock levels": World(
        "four clocks up to 1.8 apart, for 5 ms to 4 s",
        machine=markov((_clock(1.8), 0.005), (_clock(1.4), 0.3), (_clock(1.15), 4.0), (_clock(1.0), 2.0)),
    ),
    "clock for minutes": World(
        "two clocks, 1.6 apart, for 60 s; 3 s between rounds",
        machine=markov((_clock(1.6), 60.0), (_clock(1.0), 60.0)),
        pause=3.0,
    ),
    "smt 10 ms": _smt(0.01, 0.015),
    "smt 1 s": _smt(1.0, 1.5),
    "smt 30 s": _smt(30.0, 45.0),
    "smt 30 s in a study": _smt(30.0, 45.0, pause=3.0),
    "smt 10 ms unseen": _smt(0.01, 0.015, Scatter(unseen=0.2)),
    "smt 1 s unseen": _smt(1.0, 1.5, Scatter(unseen=0.2)),
    "smt 30 s unseen": _smt(30.0, 45.0, Scatter(unseen=0.2)),
    "wandering clock": World("a clock that wanders by 20 % in 5 s", machine=wandering(0.2, 5.0)),
    "placement": World(
        "40 % of runs are 25 % slower, the reference is not",
        Scatter(slow_runs=0.4, slower=(1.25, 1.25)),
    ),
    "lasting placement": World(
        "a system is 25 % slower for 5 s, then not for 7.5 s",
        system=markov((State(run=1.25), 5.0), (State(), 7.5)),
    ),
    "processes 3 %": World("each process is 3 % slower or quicker", processes=Processes(0.03, 0.35)),
    "processes 8 %": World("each process is 8 % slower or quicker", processes=Processes(0.08, 0.35)),
    "quick starts 8 %": World("the same, and starts in 5 ms", processes=Processes(0.08, 0.005)),
    "load": World(
        "88 % of runs lose 5 to 40 % of their time to others",
        Scatter(slow_runs=0.88, slower=(1.0 / 0.95, 1.0 / 0.6)),
    ),
    "knee": World(
        "from the crossing on the overhead is 1.35 times as large", curve=Curve(_knee), one_overhead=False
    ),
    "growing": World(
        "the overhead grows as the size to the power 0.3",
        curve=Curve(lambda n: ITERATIONS * TAU * (max(n, 1e-9) / ITERATIONS) ** 0.3),
        one_overhead=False,
    ),
    "kernel at 85 %": World(
        "beside others the kernel reaches 85 %",
        curve=replace(CONSTANT, task=lambda a, c: a + c / 0.85),
    ),
    "overlap": World("a task hides its overhead behind its work", curve=replace(CONSTANT, task=max)),
    "start": World(
        "start and end of a run take 5 % of it",
        curve=replace(CONSTANT, start_seconds=0.05 * CellSettings().run_seconds),
    ),
} | {
    file.stem: World(f"what {file.stem} was recorded to do", machine=recorded(file))
    for file in sorted((Path(__file__).parent / "recordings").glob("*.npz"))
}


@dataclass(frozen=True)
class Found:
    """The result of one search, and what it should have been."""

    metg: Metg
    rounds: int
    typical: float
    mean: float
    overhead: float | None


@dataclass(frozen=True)
class Trial:
    """Three searches at once: two of the same system, and one of a system with a larger METG."""

    found: tuple[Found, ...]
    same: Ratio
    apart: Ratio
    """The ratio of the third to the first."""
    seconds: float
    """The simulated seconds of a search."""


def trial(world: World, seed: int, budget: float = 60.0, resamples: int = 1000) -> Trial:
    """Three searches in one world, of at most `budget` simulated seconds each."""
    systems = world.systems([1.0, 1.0, APART], seed)
    machine = systems[0].machine
    settings = CellSettings(seed=seed, resamples=resamples, search_resamples=min(resamples, 200))
    searches = [MetgSearch(settings) for _ in systems]
    over = drive_together(searches, systems, budget, world.pause)
    found = [
        Found(
            search.result(machine.rates, out_of_budget=over and not search.done),
            search.rounds,
            system.typical_metg(),
            system.mean_metg(),
            system.typical_overhead() if world.one_overhead else None,
        )
        for search, system in zip(searches, systems, strict=True)
    ]
    first, again, third = (search.samples() for search in searches)
    same, apart = (ratio(one, first, resamples=resamples, seed=seed) for one in (again, third))
    return Trial(tuple(found), same, apart, machine.now / len(searches))
