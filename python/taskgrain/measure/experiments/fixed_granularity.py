"""The efficiency at given task times: rounds of these sizes, without a search for the crossing.

A few short runs come first, with the reference measured before each: the best of it is what the kernel does
on quiet cores. With the work of an iteration, this turns each task time into iterations: the work of a task
then takes so long alone on one core. All systems of a workload are asked in the same rounds, so that they get
the same iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from taskgrain.estimate.efficiency import Curve, efficiencies
from taskgrain.estimate.metg import Metg
from taskgrain.estimate.reference import best_rate
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.rounds import Rounds
from taskgrain.study.study import Study
from taskgrain.words.endings import Ending
from taskgrain.words.errors import UsageError
from taskgrain.words.warnings import notice

_LOOKS = 4
"""Short runs before the sizes are chosen: one reference may have been disturbed."""
TASK_TIME_OFF = 0.15
"""The share by which the time of a task's work may differ from the wished time before there is a warning."""
_OF_METG = ("no_bound", "gap_at_crossing", "floor_above_metg")
"""The warnings about a METG, which these cells do not have."""


class FixedGranularity(Rounds):
    """Measures the efficiency at the settings' `task_seconds`, or without any at `first_iterations`."""

    ROUND_RUNS = 2.0
    ROUND_WORK = 20.0
    TOO_FEW = ("budget_before_efficiency", "rounds_before_efficiency")

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        self.asked: dict[int, float] = {}
        """The task time that was asked for, by iterations, ascending; empty until the sizes are chosen."""
        self._first: list[Sample] = []
        self._best = math.nan
        self._guess: dict[int, float] = {}
        """Seconds of a step of each size before it is measured."""

    @classmethod
    def check(cls, study: Study, cores: int) -> None:
        if not study.settings.at:
            asked = study.settings_named("at")
            raise UsageError(f"{asked}: is missing; give the task times to measure at, such as 20us")

    def tell(
        self, request: Request, samples: Sequence[Sample], reference: ArrayLike, alone: float = 1.0
    ) -> None:
        if self._preparing:
            self._best = best_rate(reference)  # which all systems know alike
        super().tell(request, samples, reference, alone)

    def _prepare(self, request: Request, samples: list[Sample], alone: float) -> Request | None:
        s, one = self.settings, samples[0]
        self._first = samples
        if request.round + 1 < _LOOKS and not s.slow(one.seconds):
            return s.first_request(request.round + 1)
        iteration = one.work / one.tasks / request.iterations / self._best  # seconds, alone on a core
        found = [(max(1, round(time / iteration)), time) for time in s.task_seconds]
        self.asked = dict(sorted(found or [(s.first_iterations, s.first_iterations * iteration)]))
        self.sizes = tuple(self.asked)
        if s.steps is None:
            self._short = self.sizes[0]
        for n in self.sizes:
            task = max(one.granularity + (n - request.iterations) * iteration, n * iteration)
            self._guess[n] = task * self._per_step / one.cores
        self._typical = max(s.run_seconds, (s.steps or s.min_steps) * max(self._guess.values()))
        return None

    def _steps(self, iterations: int) -> int:
        s, step = self.settings, self._guess[iterations]
        if iterations in self._seconds:
            step = self._seconds[iterations] / self._planned[iterations]
        return s.clamped_steps(self._run_seconds / step, self._per_step)

    def _settled(self) -> bool:
        s = self.settings
        found = self._efficiencies(s.search_resamples)
        self._width = max(one.efficiency.half_width for one in found)
        # Others may go away: disturbed runs do not count where there are some others.
        enough = min(map(self._undisturbed, self.sizes)) >= min(s.min_rounds, FEW_ROUNDS)
        self._precise = self._round >= s.min_rounds and enough and self._width <= s.precision
        return self._precise and self._answers(found)

    def _answers(self, found: Curve) -> bool:
        """Tells whether efficiencies that are known to the precision need no more rounds."""
        return True

    def efficiencies_so_far(self) -> Curve:
        if self._preparing or not self._round:
            return ()
        found = self._at_asked(self._efficiencies(self.settings.search_resamples))
        # Of several rounds it has no interval where they were mostly start and end.
        return tuple(one for one in found if self._round == 1 or one.efficiency.known)

    def _at_asked(self, found: Curve) -> Curve:
        return tuple(replace(one, asked=self.asked[one.iterations]) for one in found)

    def _efficiencies(self, resamples: int) -> Curve:
        s = self.settings
        return efficiencies(self.samples(), resamples=resamples, seed=s.seed)

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """The efficiencies are the curve; METG has no number. `at` is the ending of what was measured to its
        end; a curve before that, or none, ends in `budget`. Raises ValueError before the first answer."""
        s = self.settings
        measured = any(not short for short, _ in self._runs)
        samples = self.samples() if measured else self._first
        if not samples:
            raise ValueError("nothing was told yet")
        found = self._estimate(samples, s.search_resamples, best_rate(reference))
        points = self._efficiencies(s.resamples) if measured else ()
        said = [one for one in found.warnings if one.code not in _OF_METG] if measured else []
        for one in points:
            asked = self.asked[one.iterations]
            if abs(one.work / asked - 1.0) > TASK_TIME_OFF:
                said.append(notice("task_time_off", asked=asked, took=one.work, iterations=one.iterations))
        return Metg(
            ending=Ending.AT if self._done else Ending.BUDGET,
            threshold=s.threshold,
            rounds=self._round if measured else 0,
            peak_rate=found.peak_rate,
            best_rate=found.best_rate,
            start=found.start,
            curve=self._at_asked(points),
            warnings=(*said, *([] if self._precise else self._too_few(out_of_budget))),
        )
