"""Comparisons in simulated worlds (`simulated_worlds.noisy`), where it is known which system is slower.

A study has several cells, each a system and its rival in common rounds. Within a session both sides are
measured together. Across sessions each side has sessions of its own, and each session of a cell is a machine
of its own, on which the system is slower or faster by what sessions of one build differ by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulated_worlds.clock import Machine, drive_together
from simulated_worlds.noisy import World
from taskgrain.answers.compare.cells import Compared, Comparison, Question, compare
from taskgrain.answers.compare.sides import Side
from taskgrain.drive.system import System as Described
from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import CellState
from taskgrain.measure.two_builds import LOOKS, Judge, Pair, UntilDecided
from taskgrain.results.lines import SessionLine
from taskgrain.results.measurements import Measurement
from taskgrain.study.workload import Cell, Workload

BETWEEN = 0.05
"""Standard deviation of what sessions of one build differ by, as a logarithm."""
_SESSION = SessionLine(machine="machine", cores=(0, 1))


@dataclass(frozen=True)
class Trial:
    """The outcome of one study: its comparison, rounds of a cell, simulated seconds."""

    found: Comparison
    rounds: int
    seconds: float
    times: Mapping[str, float]
    """METG of the new side in each workload, divided by that of the old one."""

    @property
    def wrong(self) -> bool:
        """True if a verdict of any cell says what is not so."""
        asked = self.found.question

        def not_so(cell: Compared) -> bool:
            off = abs(math.log(self.times[cell.workload]))
            if cell.verdict == "same":
                return off > math.log1p(asked.margin if cell.together else asked.apart)
            truth = "slower" if self.times[cell.workload] > 1.0 else "faster"
            decided = cell.verdict in ("slower", "faster")
            return decided and (cell.verdict != truth or off <= math.log1p(asked.margin))

        return any(map(not_so, self.found.cells))

    @property
    def alarm(self) -> bool:
        """True if any cell that did not change is called slower or faster."""
        return bool(self.share("slower", 1.0) + self.share("faster", 1.0))

    def share(self, verdict: str, times: float) -> float:
        """The share of the cells with METG so many times as large that have this verdict."""
        of = [cell.verdict == verdict for cell in self.found.cells if self.times[cell.workload] == times]
        return sum(of) / max(1, len(of))


def within(world: World, times: float, seed: int, cells: int = 4) -> Trial:
    """A study of `cells` workloads with two systems, the second with METG `times` as large."""
    sides: list[list[Measurement]] = [[], []]
    rounds = seconds = 0.0
    for number in range(cells):
        pair, machine = _measured(world, [1.0, times], [seed, number])
        for side, search in zip(sides, pair, strict=True):
            side.append(_measurement(Path("r"), f"w{number}", "aaaa", search.samples()))
        rounds += pair[0].rounds / cells
        seconds += machine.now / cells
    made = [Side(name, tuple(measurements)) for name, measurements in zip(("old", "new"), sides, strict=True)]
    every = {f"w{number}": times for number in range(cells)}
    return Trial(compare(made), round(rounds), seconds, every)


def across(
    world: World,
    times: float,
    seed: int,
    sessions: tuple[int, int] = (5, 1),
    cells: int = 2,
    slower: int | None = None,
    between: float = BETWEEN,
    budget: float = math.inf,
) -> Trial:
    """Two builds in sessions of their own: so many of the old one, so many of the new one. Only the first
    `slower` cells (None: all) differ. A session has a `budget` of simulated seconds."""
    every = {f"w{number}": times if number < (slower or cells) else 1.0 for number in range(cells)}
    rng = np.random.default_rng([seed, 77])
    sides: list[Side] = []
    seconds = 0.0
    for name, count in zip(("old", "new"), sessions, strict=True):
        measurements = []
        for session in range(count):
            for number, workload in enumerate(every):
                factor = every[workload] if name == "new" else 1.0
                factor *= math.exp(between * float(rng.standard_normal()))
                seeds = [seed, number, session, name == "new"]
                (search,), machine = _measured(world, [factor], seeds, budget / cells)
                build = "aaaa" if name == "old" else "bbbb"
                folder = Path(f"{name}{session}")
                measurements.append(_measurement(folder, workload, build, search.samples()))
                seconds += machine.now
        sides.append(Side(name, tuple(measurements)))
    return Trial(compare(sides), 0, seconds, every)


def until_decided(world: World, times: float, seed: int) -> Trial:
    """Two builds measured side by side, looked at now and then, until it is decided or for a minute."""
    question = Question(looks=len(LOOKS))
    settings = CellSettings(seed=seed, search_resamples=100, max_rounds=LOOKS[-1], precision=question.margin)
    systems = world.systems([1.0, times], seed)
    workload = Workload("fft", 4)
    states = [CellState(Cell(name, workload), UntilDecided(settings), "kernel") for name in ("old", "new")]
    described = [Described(name, Path(), name) for name in ("old", "new")]
    judge = Judge([Pair("system", *described)], question, settings.threshold)
    searches = [state.experiment for state in states]
    drive_together(searches, systems, 30.0, world.pause, lambda: judge(states))
    sides = []
    for name, search in zip(("old", "new"), searches, strict=True):
        assert isinstance(search, UntilDecided)
        sides.append(Side(name, (_measurement(Path("r"), "w", name, search.everything()),)))
    return Trial(compare(sides, question), searches[0].rounds, systems[0].machine.now, {"w": times})


def _measured(
    world: World, factors: Sequence[float], seed: Sequence[int], budget: float = math.inf
) -> tuple[list[MetgSearch], Machine]:
    """Searches of systems in common rounds, as a study makes them, of at most `budget` seconds each."""
    systems = world.systems(factors, seed)
    searches = [MetgSearch(CellSettings(seed=seed[0], search_resamples=100)) for _ in systems]
    drive_together(searches, systems, budget, world.pause)
    return searches, systems[0].machine


def _measurement(folder: Path, workload: str, build: str, samples: Sequence[Sample]) -> Measurement:
    return Measurement(
        *(folder, "system", workload, build),
        session=_SESSION,
        reference="kernel",
        reference_build="feed",
        cores=2,
        samples=tuple(samples),
    )
