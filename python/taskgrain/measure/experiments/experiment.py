"""An experiment on one cell: it chooses the next runs, and computes the result. A state machine, without
clock or I/O.

The caller runs what `next_round` asks for, tells each answer with `tell`, and goes on until `done`; `result`
then says what the cell came to. Every decision depends on nothing but what was told, with the reference as it
was then. That is how a study resumes: the stored answers are told in their stored order, each with the rates
stored before it, and the experiment stands where it stood, in the middle of a round if need be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal

from numpy.typing import ArrayLike

from taskgrain.estimate.efficiency import Curve
from taskgrain.estimate.metg import Metg
from taskgrain.estimate.reference import peak_beside
from taskgrain.estimate.sample import Sample
from taskgrain.study.settings import Settings
from taskgrain.study.steps import Steps
from taskgrain.study.study import Study
from taskgrain.words.errors import UsageError

Phase = Literal["bracket", "measure", "start", "longer", "floor", "sweep"]


@dataclass(frozen=True)
class Request:
    """One run: `repeats` timed repeats after `warmup` others. `iterations` 0 stands for the empty kernel.

    The phase `start` is a run of few steps, beside one of the same size with many; `longer` is one of more.
    """

    phase: Phase
    round: int
    iterations: int
    steps: int
    repeats: int
    warmup: int

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The key that no other request of a cell has: also the fields that a stored `run` line has."""
        return self.phase, self.round, self.iterations, self.steps


@dataclass(frozen=True, kw_only=True)
class CellSettings(Steps):
    """The settings of a search. Times in seconds."""

    threshold: float = Settings.threshold
    precision: float = Settings.precision  # relative half-width of the interval
    min_rounds: int = Settings.min_rounds
    max_rounds: int = Settings.max_rounds
    repeats: int = Settings.repeats
    warmup: int = 1
    first_iterations: int = Settings.first_iterations
    task_seconds: tuple[float, ...] = ()  # that the work of a task shall take, of fixed granularity
    points: int = 0  # of a step of all graphs; 0: as many as its tasks
    run_seconds: float = 0.004  # how long one repeat at the crossing lasts, if its steps are not given
    max_task_seconds: float = 1.0  # coarser tasks are not tried
    resamples: int = 1000
    search_resamples: int = 200  # while it goes on, where the interval only has to say when it may end
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold must lie between 0 and 1, not {self.threshold}")
        for name in ("precision", "run_seconds", "max_task_seconds"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        for name in ("min_rounds", "repeats", "first_iterations", "min_steps", "resamples", "steps"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.max_rounds < self.min_rounds or self.max_steps < self.min_steps or self.warmup < 0:
            raise ValueError("max_rounds >= min_rounds, max_steps >= min_steps and warmup >= 0 must hold")

    @classmethod
    def of(cls, settings: Settings) -> CellSettings:
        """Returns the settings of each cell, from a study's settings."""
        shared = [one.name for one in fields(cls) if hasattr(settings, one.name)]
        given = {name: getattr(settings, name) for name in shared}
        return cls(**given | {"steps": settings.steps or None})

    def first_request(self, number: int = 0) -> Request:
        """The run that only finds out how long a run takes: on a slow system even this may be seconds."""
        return Request("bracket", number, self.first_iterations, self.least, 1, min(self.warmup, 1))

    def slow(self, run_seconds: float) -> bool:
        """Tells whether a run lasts so much longer than wished that it is not repeated."""
        return run_seconds >= 10.0 * self.run_seconds

    def clamped_steps(self, steps: float, tasks_per_step: float) -> int:
        """Returns about so many steps, in whole periods, within the limits of a run of such steps."""
        if self.steps is not None:
            return self.steps
        most = max(1, min(self.max_steps, int(self.max_tasks / tasks_per_step)))
        allowed = int(min(max(round(min(steps, most)), self.min_steps), most))
        return allowed // self.period * self.period or allowed


def _answers(request: Request, pending: Request) -> bool:
    """Tells whether a run is the pending one; that may have become shorter after it was asked for."""
    same = request.key[:3] == pending.key[:3]
    return same and request.steps >= pending.steps


class Experiment(ABC):
    """One experiment on one cell. A new one defines its requests, and takes the answers in `_take`."""

    ROUND_RUNS: ClassVar[float]
    """The runs that a round takes where all last equally long; a dry run foretells by it."""
    ROUND_WORK: ClassVar[float]
    """The same where all have as many steps, in runs at the crossing."""
    NEEDS_THRESHOLD: ClassVar[bool] = False
    """True if the experiment is of no use where the threshold cannot be reached."""

    def __init__(self, settings: CellSettings) -> None:
        self.settings = settings
        self._pending: list[Request] = []
        """The runs that the present round still lacks; derived classes fill it."""
        self._round = 0
        self._done = False

    @classmethod
    def check(cls, study: Study, cores: int) -> None:
        """Raises `UsageError` for a study that the experiment cannot measure on so many cores."""
        if study.settings.at:
            asked = study.settings_named("at")
            raise UsageError(f"{asked}: give this or the experiment {study.settings.experiment}, not both")

    @property
    def done(self) -> bool:
        """Tells whether nothing more is to be run."""
        return self._done

    @property
    def rounds(self) -> int:
        """Complete rounds of the present phase."""
        return self._round

    @property
    def preparing(self) -> bool:
        """Tells whether it still looks for what to measure; the cells of a study do that before all else."""
        return False

    @property
    def settling(self) -> bool:
        """Tells whether it lacks some of the rounds that every cell gets."""
        return self.preparing or self._round < self.settings.min_rounds

    def samples(self) -> list[Sample]:
        """The samples of its result, by which two cells are compared; none yet, or none of use."""
        return []

    def efficiencies_so_far(self) -> Curve:
        """The points at the task times that were asked for, as far as they were measured; none if no task
        time was asked for."""
        return ()

    def next_round(self) -> list[Request]:
        """Returns the runs that the present round still lacks, in order; none once `done`."""
        return list(self._pending)

    def tell(
        self, request: Request, samples: Sequence[Sample], reference: ArrayLike, alone: float = 1.0
    ) -> None:
        """Takes the repeats of one run, with the reference's rates [measurements x cores] known by now.

        Samples that do not say what the reference did beside them take its last measurement. `alone` is the
        share of the run's time for which others left it alone: the samples are those repeats, or all of them
        if it is 0. Only `request.key` has to be that of a pending request, or of one that was, and has become
        shorter: one made from a stored line does, in any order within a round. The samples' own `round` is
        not looked at. Raises ValueError, and changes nothing, for a run that was not asked for, for one
        without samples, and for times not positive.
        """
        pending = next((r for r in self._pending if _answers(request, r)), None)
        if pending is None:
            asked = ", ".join(str(r.key) for r in self._pending) or "nothing"
            raise ValueError(f"run {request.key} was not asked for, but {asked}")
        if not samples or not all(s.seconds > 0.0 and s.tasks > 0 and s.cores > 0 for s in samples):
            raise ValueError(f"no samples, or samples without time or tasks, for the run {request.key}")
        last = peak_beside(reference)  # raises before anything has changed
        self._pending.remove(pending)
        n, number, short = pending.iterations, pending.round, pending.phase == "start"
        told = [replace(s, iterations=n, round=number, short=short) for s in samples]
        told = [replace(s, peak=last) if math.isnan(s.peak) else s for s in told]
        self._take(replace(pending, steps=request.steps), told, alone)

    @abstractmethod
    def _take(self, request: Request, samples: list[Sample], alone: float) -> None:
        """Takes an answer, and once nothing is pending asks for the next round, or is done."""

    @abstractmethod
    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """Tells what the cell came to, by everything told so far, a half-finished round included.

        Raises ValueError before the first answer.
        """

    @abstractmethod
    def interval_width(self) -> float:
        """Relative half-width of the result's interval after the last complete round; infinite while unknown.

        The widest is measured next.
        """

    @abstractmethod
    def expected_seconds_left(self) -> float:
        """A guess of the run time still to come, warm-up included; 0 once done."""
