"""The efficiency at given task times: rounds of these sizes alone, without a search.

A few short runs come first, with the reference measured before each: the best of it is what the kernel does
on quiet cores. With the work of an iteration, this turns each task time into iterations: the work of a task
then takes so long alone on one core. All systems of a workload are asked in the same rounds, so that they get
the same iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from numpy.typing import ArrayLike

from taskgrain.estimate.efficiency import Efficiency, efficiencies
from taskgrain.estimate.metg import CurvePoint, Metg, estimate
from taskgrain.estimate.reference import best_rate
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Request
from taskgrain.words.warnings import Notice, notice

_LOOKS = 4
"""Short runs before the sizes are chosen: one reference may have been disturbed."""
_SHORTER, _FEWEST_STEPS = 10, 4
"""How many times fewer steps a run has that shows start and end of a run, and how many at least."""
_FULL = 0.1
"""How far its tasks a step may be from those of longer runs: patterns that grow from step to step differ."""
_STEPS, _LONGER = 64, 5.0
"""Steps that a run has if it does not become so many times longer than others: it shall not be all start."""
TASK_TIME_OFF = 0.15
"""How far the time of a task's work may be from what was asked before that is a warning."""
_OF_METG = ("no_bound", "gap_at_crossing", "floor_above_metg")
"""Warnings about a METG, of which there is none here."""


class At(Experiment):
    """Measures the efficiency at the settings' `task_seconds`, or without any at `first_iterations`."""

    ROUND_RUNS = 2.0
    ROUND_WORK = 20.0

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        s = settings
        self._pending = [self._look(0)]
        self.asked: dict[int, float] = {}
        """The task time that was asked for, by iterations, ascending; empty until the sizes are chosen."""
        self._first: list[Sample] = []
        self._best = math.nan
        self._per_step = 0.0
        self._step_seconds: dict[int, float] = {}
        self._repeats = s.repeats
        self._short = True
        self._runs: dict[tuple[int, bool], list[list[Sample]]] = {}
        self._disturbed: dict[tuple[int, bool], list[list[Sample]]] = {}
        self._width = math.inf
        self._precise = False

    @property
    def preparing(self) -> bool:
        return not self.asked

    def tell(
        self, request: Request, samples: Sequence[Sample], reference: ArrayLike, disturbed: bool = False
    ) -> None:
        if self.preparing:
            self._best = best_rate(reference)  # which all systems know alike
        super().tell(request, samples, reference, disturbed)

    def _take(self, request: Request, samples: list[Sample], disturbed: bool) -> None:
        if self.preparing:
            self._first = samples
            following = request.round + 1
            if following < _LOOKS and not self.settings.slow(samples[0].seconds):
                self._round, self._pending = following, [self._look(following)]
            else:
                self._round = 0
                self._choose_sizes(request, samples[0])
            return
        short = request.phase == "start"
        per_step = samples[0].tasks / request.steps
        if short and abs(per_step / self._per_step - 1.0) > _FULL:
            self._short = False
        else:
            runs = self._disturbed if disturbed else self._runs
            # What others took of the cores is no part of the system: a repeat may have fallen between.
            counting = [min(samples, key=lambda one: one.seconds)] if disturbed else samples
            runs.setdefault((request.iterations, short), []).append(counting)
        if not short:
            self._per_step = per_step
            self._step_seconds[request.iterations] = median(s.seconds for s in samples) / request.steps
        if not self._pending:
            self._round += 1
            self._end_round()

    def _look(self, number: int) -> Request:
        s = self.settings
        steps = min(s.min_steps, s.steps or s.min_steps)
        return Request("bracket", number, s.first_iterations, steps, 1, min(s.warmup, 1))

    def _choose_sizes(self, request: Request, one: Sample) -> None:
        s = self.settings
        alone = one.work / one.tasks / request.iterations / self._best  # seconds of an iteration
        found = [(max(1, round(time / alone)), time) for time in s.task_seconds]
        self.asked = dict(sorted(found or [(s.first_iterations, s.first_iterations * alone)]))
        self._per_step = one.tasks / request.steps
        for iterations in self.asked:
            task = max(one.granularity + (iterations - request.iterations) * alone, iterations * alone)
            self._step_seconds[iterations] = task * self._per_step / one.cores
        if s.slow(s.min_steps * max(self._step_seconds.values())):
            self._repeats = 1
        self._pending = self._requests()

    def _steps(self, iterations: int) -> int:
        s, step = self.settings, self._step_seconds[iterations]
        lasting = min(max(s.run_seconds, _STEPS * step), _LONGER * s.run_seconds)
        return s.steps or s.clamped_steps(lasting / step, self._per_step)

    def _requests(self) -> list[Request]:
        sizes = list(self.asked)
        turn = self._round % len(sizes)
        requests = []
        for n in sizes[turn:] + sizes[:turn]:
            steps = self._steps(n)
            requests.append(Request("measure", self._round, n, steps, self._repeats, self.settings.warmup))
            few = max(steps // _SHORTER, _FEWEST_STEPS)
            if self._short and n == sizes[0] and few < steps:
                requests.append(replace(requests[-1], phase="start", steps=few))
        return requests

    def _end_round(self) -> None:
        s = self.settings
        found = self._efficiencies(s.search_resamples)
        self._width = max(one.efficiency.half_width for one in found)
        # Others may go away: disturbed runs do not count where there are some others.
        enough = min(len(self._runs.get((n, False), [])) for n in self.asked) >= min(s.min_rounds, FEW_ROUNDS)
        self._precise = self._round >= s.min_rounds and enough and self._width <= s.precision
        self._done = (self._precise and self._answers(found)) or self._round >= s.max_rounds
        self._pending = [] if self._done else self._requests()

    def _answers(self, found: Sequence[Efficiency]) -> bool:
        """Whether efficiencies that are known to the precision need no more rounds."""
        return True

    def samples(self) -> list[Sample]:
        return [sample for of in sorted({*self._runs, *self._disturbed}) for sample in self._counting(of)]

    def _counting(self, of: tuple[int, bool]) -> list[Sample]:
        """The samples of such runs: disturbed ones count only where there are too few others."""
        if of[1] and not self._short:
            return []
        runs, disturbed = self._runs.get(of, []), self._disturbed.get(of, [])
        used = runs if len(runs) >= FEW_ROUNDS - 1 else runs + disturbed
        return [sample for run in used for sample in run]

    def _efficiencies(self, resamples: int) -> tuple[Efficiency, ...]:
        s = self.settings
        return efficiencies(self.samples(), confidence=s.confidence, resamples=resamples, seed=s.seed)

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """The efficiencies are the curve; METG has no number. `at` is the ending of what was measured to its
        end; a curve before that, or none, ends in `budget`. Raises ValueError before the first answer."""
        s = self.settings
        measured = any(not short for _, short in (*self._runs, *self._disturbed))
        samples = self.samples() if measured else self._first
        if not samples:
            raise ValueError("nothing was told yet")
        found = estimate(
            samples,
            threshold=s.threshold,
            confidence=s.confidence,
            resamples=s.search_resamples,
            seed=s.seed,
            best_rate=best_rate(reference),
        )
        points = self._efficiencies(s.resamples) if measured else ()
        said = [one for one in found.warnings if one.code not in _OF_METG] if measured else []
        return Metg(
            ending="at" if self._done else "budget",
            threshold=s.threshold,
            rounds=self._round if measured else 0,
            peak_rate=found.peak_rate,
            best_rate=found.best_rate,
            start=found.start,
            curve=tuple(self._point(one) for one in points),
            warnings=(*said, *self._notices(points, out_of_budget)),
        )

    def _point(self, one: Efficiency) -> CurvePoint:
        asked = self.asked[one.iterations]
        return CurvePoint(one.iterations, one.granularity, one.efficiency, one.repeats, asked)

    def _notices(self, points: Sequence[Efficiency], out_of_budget: bool) -> list[Notice]:
        s, found = self.settings, []
        for one in points:
            asked = self.asked[one.iterations]
            if abs(one.work / asked - 1.0) > TASK_TIME_OFF:
                found.append(notice("task_time_off", asked=asked, took=one.work, iterations=one.iterations))
        if out_of_budget and not self._precise:
            found.append(notice("budget_before_efficiency", precision=s.precision))
        elif self._done and not self._precise:
            found.append(notice("rounds_before_efficiency", rounds=self._round, precision=s.precision))
        return found

    def interval_width(self) -> float:
        return self._width

    def expected_seconds_left(self) -> float:
        s = self.settings
        if self._done:
            return 0.0
        each = self._repeats + s.warmup
        if self.preparing:
            return s.min_rounds * max(1, len(s.task_seconds)) * s.run_seconds * each
        round_seconds = sum(self._steps(n) * self._step_seconds[n] for n in self.asked) * each
        wanted = self._round * (self._width / s.precision) ** 2 if math.isfinite(self._width) else 0.0
        return max(1.0, min(max(wanted, s.min_rounds), s.max_rounds) - self._round) * round_seconds
