"""The state of a study, built from the lines of `runs.jsonl` one after another.

Stored lines and new ones go the same way, so that a study that goes on after a kill stands exactly where it
stood: every decision depends on nothing but the lines before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskgrain.drive.system import REFERENCE
from taskgrain.estimate.sample import Sample
from taskgrain.machine.busy import BUSY_SHARE
from taskgrain.measure.driver import DriverName
from taskgrain.measure.experiments.experiment import Experiment, Request
from taskgrain.results import cell as stored
from taskgrain.results import lines
from taskgrain.results.lines import (
    CellLine,
    FailureLine,
    Line,
    MetgLine,
    OfCell,
    ReferenceLine,
    RejectedLine,
    RunLine,
    SessionLine,
)
from taskgrain.results.samples import beside
from taskgrain.study.workload import Cell
from taskgrain.words.warnings import Notice, read_notice

ReferenceKey = lines.ReferenceKey
RunKey = tuple[str, int, int, int]
"""Phase, round, iterations and steps: `Request.key`."""


def _known(line: Line, *names: str) -> list[Any]:
    """Fields that a line must have to be of use. ValueError if it lacks one."""
    found = [getattr(line, name) for name in names]
    for name, value in zip(names, found, strict=True):
        if value is None or (isinstance(value, tuple) and (not value or None in value)):
            raise ValueError(f"a line of the kind {line.kind} without {name}")
    return found


@dataclass(frozen=True)
class _Answer:
    """A `run` line, checked."""

    key: RunKey
    seconds: list[float]
    work: float
    tasks: int
    cores: int
    peak: float
    """What the reference did beside the run, per core; NaN if that was not measured."""
    disturbed: bool
    """Whether other processes took a part of the cores."""
    warnings: list[Notice]

    @classmethod
    def of(cls, line: RunLine) -> _Answer:
        """The answer of a line. ValueError for one that makes no sense."""
        key = tuple(_known(line, "phase", "round", "iterations", "steps"))
        seconds, work, tasks, cores = _known(line, "seconds", "work", "tasks", "cores")
        if not tasks or not cores or not (work or not line.iterations):
            raise ValueError("a run of nothing")
        busy, warnings = line.busy or 0.0, [said for one in line.warnings if (said := read_notice(one))]
        # Whether a probe found the cores slower, as older lines say, does not matter: the reference was too.
        disturbed = busy > BUSY_SHARE
        return cls(
            key, list(seconds), work, tasks, cores, beside(line, cores, disturbed), disturbed, warnings
        )


class CellState:
    """One cell: its experiment, and how it ended."""

    def __init__(self, cell: Cell, experiment: Experiment, reference: str) -> None:
        self.cell = cell
        self.driver = DriverName(cell.system, cell.workload.cores)
        self.kernel: ReferenceKey = (reference, *cell.workload.reference().values(), cell.workload.cores)
        self.begun = False
        """Whether its `cell` line is written."""
        self.stored = stored.Cell(cell.name)
        """What its lines say, as everybody reads them who opens the folder."""
        self.retried: FailureLine | None = None
        """Its failure, if it is to begin again all the same."""
        self.problem = ""
        """Why its answers make no sense, if they do not: a failure that is not yet written."""
        self.cut: Notice | None = None
        """Why this call makes no more runs of it, if it has ended because one did not fit the budget."""
        self.cores = 0
        """That the system occupies; 0 before its first run."""
        self.runs = 0
        self.spent = 0.0
        """Seconds of the study that its runs took, with waiting and with those that were repeated."""
        self.run_seconds = 0.0
        """Seconds of the runs that count, without all that."""
        self.disturbed = 0
        """Runs that stayed disturbed after all repeats."""
        self.warnings: list[Notice] = []
        """Each of those that its answers carry, once."""
        self.experiment = experiment
        self.reference: NDArray[np.float64] = np.empty((0, 0))
        """Of its cores, the rates known at its last run: what it comes to depends on no later ones."""
        self._seconds: dict[tuple[int, int], float] = {}
        self._step_work = 0.0
        """Work of a step of one iteration a task."""
        self._early: dict[RunKey, _Answer] = {}

    @property
    def failure(self) -> FailureLine | None:
        """What ended it, if it failed."""
        return self.stored.failure if self.stored.failure is not self.retried else None

    @property
    def result(self) -> MetgLine | None:
        """Its last `metg` line, if it was neither measured nor has failed since."""
        return None if self.retried and self.stored.failure is self.retried else self.stored.result

    @property
    def done(self) -> bool:
        return bool(self.failure is not None or self.problem or self.cut) or self.experiment.done

    @property
    def settling(self) -> bool:
        """Whether it still lacks the rounds that every cell gets."""
        return self.experiment.settling

    @property
    def ignored(self) -> int:
        """Stored runs that the experiment did not ask for, at least not yet."""
        return len(self._early)

    def expected_seconds(self, request: Request) -> float | None:
        """How long the whole request may be expected to take at most, by the runs made before."""
        bounds = [
            seconds * max(1.0, request.steps / steps) * max(1.0, request.iterations / max(1, iterations))
            for (iterations, steps), seconds in self._seconds.items()
        ]
        return min(bounds) * (request.repeats + request.warmup) if bounds else None

    def likely_seconds(self, request: Request) -> float | None:
        """About how long the whole request takes: as an earlier run, and all that is more at the peak."""
        peak = self.reference.sum(axis=1).max(initial=0.0)
        longer = self._step_work / peak if peak else 0.0
        steps = [
            seconds / steps + max(0, request.iterations - iterations) * longer
            for (iterations, steps), seconds in self._seconds.items()
        ]
        return min(steps) * request.steps * (request.repeats + request.warmup) if steps else None

    def expected_seconds_left(self, pace: float) -> float:
        """A guess of the time still to come, at its own pace (`spent` for a second of runs) or this."""
        own = self.spent / self.run_seconds if self.run_seconds else pace
        return 0.0 if self.done else own * self.experiment.expected_seconds_left()

    def try_again(self) -> None:
        """Lets a cell that has failed begin again."""
        self.retried, self.problem, self.begun = self.stored.failure, "", False

    def take_run(self, line: RunLine, reference: NDArray[np.float64]) -> None:
        """Takes a `run` line; `reference` are the rates known before it.

        A stored line that is not asked for is kept: where one before it was lost, its turn may come.
        """
        answer = _Answer.of(line)
        if not reference.size or not any(one.key == answer.key for one in self.experiment.next_round()):
            self._early[answer.key] = answer
            return
        self._tell(answer, reference)
        while found := [one.key for one in self.experiment.next_round() if one.key in self._early]:
            for key in found:
                self._tell(self._early.pop(key), reference)

    def _tell(self, answer: _Answer, reference: NDArray[np.float64]) -> None:
        request = next(one for one in self.experiment.next_round() if one.key == answer.key)
        self.runs += 1
        self.cores = answer.cores
        self.reference = reference[:, : answer.cores]
        self.disturbed += answer.disturbed
        self.warnings += [one for one in answer.warnings if one not in self.warnings]
        self._seconds[request.iterations, request.steps] = max(answer.seconds)
        if request.iterations:
            self._step_work = answer.work / (request.iterations * request.steps)
        self.run_seconds += max(answer.seconds) * (request.repeats + request.warmup)
        samples = [
            Sample(
                request.iterations,
                request.round,
                seconds,
                answer.work,
                answer.tasks,
                answer.cores,
                answer.peak,
            )
            for seconds in answer.seconds
        ]
        try:
            self.experiment.tell(request, samples, self.reference, answer.disturbed)
        except ValueError as error:
            self.problem = str(error)


class Record:
    """All cells of a study, by name, and the measurements of the reference."""

    def __init__(
        self,
        cells: Sequence[Cell],
        experiment: Callable[[Cell], Experiment],
        cores: int,
        references: Mapping[str, str],
    ) -> None:
        """`experiment` makes a cell's; `references` are those of systems that do not run on the cores."""
        self.cells = {
            cell.name: CellState(cell, experiment(cell), references.get(cell.system, REFERENCE))
            for cell in cells
        }
        self._cores = cores
        self._clock = self._skipped = 0.0
        """What `elapsed` last was in a line, and by how much that is more than what counts here."""
        self.unknown = 0
        """Lines of cells that the study does not have."""
        self._rates: dict[ReferenceKey, NDArray[np.float64]] = {}
        self.work_units: dict[ReferenceKey, str] = {}

    def processors(self, kernel: ReferenceKey) -> int | None:
        """How many the reference measures on, all at once; None of others than the cores until measured."""
        rates = self._rates.get(kernel)
        own = kernel[-1] or self._cores
        return own if kernel[0] == REFERENCE else None if rates is None else rates.shape[1]

    def reference(self, kernel: ReferenceKey) -> NDArray[np.float64]:
        """Work per second of the kernel alone [measurements x processors]; none yet is an empty table."""
        return self._rates.get(kernel, np.empty((0, kernel[-1] or self._cores)))

    @property
    def elapsed(self) -> float:
        """Seconds that have been spent, over all calls, on the builds that there are now."""
        return self._clock - self._skipped

    def skip(self, line: Line) -> None:
        """Passes over a line of another build: the time that it took does not count either."""
        before = self._clock
        self._clock = max(before, line.elapsed or 0.0)
        self._skipped += self._clock - before

    def take(self, line: Line) -> None:
        """Takes one line. Raises ValueError for one that is not as it must be."""
        elapsed = line.elapsed or 0.0
        if isinstance(line, SessionLine):
            if line.elapsed is not None:  # from there on its lines count
                self._skipped += line.elapsed - self._clock
                self._clock = line.elapsed
        elif isinstance(line, ReferenceLine):
            self._take_reference(line)
        elif isinstance(line, OfCell):
            state = self.cells.get(line.cell)
            if state is None:
                self.unknown += 1
            else:
                self._take_of_cell(state, line)
                if isinstance(line, RunLine | RejectedLine):
                    state.spent += max(0.0, elapsed - self._clock)
        self._clock = max(self._clock, elapsed)

    def _take_reference(self, line: ReferenceLine) -> None:
        key = line.reference_key
        rates, unit = _known(line, "rates", "work_unit")
        if "kernel" not in line.workload or len(rates) != (self.processors(key) or len(rates)):
            raise ValueError("not the rates of this study's processors")
        self._rates[key] = np.vstack([*self._rates.get(key, []), rates])
        self.work_units[key] = unit

    def _take_of_cell(self, state: CellState, line: OfCell) -> None:
        failed = state.failure is not None
        state.stored.take(line)
        match line:
            case CellLine():
                state.begun = True
                state.problem = "" if failed else state.problem
            case RunLine():
                state.take_run(line, self.reference(state.kernel))
