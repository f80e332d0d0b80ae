"""What METG and the sweep have in common: a bracket, then rounds of one run of each size, until the end.

1.  The bracket looks for the crossing of the efficiency with the threshold.
2.  Rounds: every size and, last of the phase's letters, the empty kernel as the floor. Every run lasts about
    as long: larger tasks take fewer steps. The order rotates from round to round, so that drift hits all
    sizes alike. Sizes far from the crossing, and the floor, are measured in every third round. Where the
    fewest steps already take long, a run is one repeat after the warm-up: rounds tell more. Beside the run of
    one size there is one of a tenth of the steps, which tells start and end of a run.
3.  The end: the interval is as narrow as asked, or the rounds are used up, or ten more rounds would not make
    the interval narrower by a tenth. Neighbouring rounds that are alike count as fewer.

Every decision falls at the end of a round. Which sizes, the experiment says.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.metg import Metg, estimate
from taskgrain.estimate.reference import best_rate
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import FEWEST_ROUNDS
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.bracket import Bracket, Reach
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Request
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import notice

_FLOOR_ROUNDS = 5  # of a cell of which only the floor is measured: its tasks are slow
_SELDOM = 3
"""Rounds from one measurement of an outer size, or of the floor, to the next."""
_SHORTER, _FEWEST_STEPS = 10, 4
"""How many times fewer steps a run has that shows start and end of a run, and how many at least."""
_LONG_START, _MOST_LONGER = 0.2, 10.0
"""Share of a run that start and end take from which on runs become longer, and how many times at most."""
_FULL = 0.1
"""How far its tasks a step may be from those of other runs: patterns that grow from step to step differ."""
_MOST_WORK = 0.99
"""The share of a task's time that its work takes, at most: where the bracket's short runs were faster than
the reference, a task without work would last no time."""
_PATIENT = 20
"""Rounds after which a search may end on disturbed runs."""
_AHEAD, _GAIN = 10, 0.1
"""The search ends where so many more rounds would make the interval narrower by less than this share."""


_Of = tuple[int, bool]
"""Iterations, 0 for the empty kernel, and whether the runs have few steps."""


class Rounds(Experiment):
    """Looks for the crossing, then measures the sizes that `_first_sizes` chooses."""

    PHASE: ClassVar[Literal["measure", "sweep"]]
    """What its rounds are called in the results."""
    REACH: ClassVar[Reach | None] = None
    """How far beyond the crossing the bracket goes."""

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        self._bracket = Bracket(settings, self.REACH)
        self._pending = [self._bracket.first()]
        self.sizes: tuple[int, ...] = ()
        """Iterations, ascending; empty until the bracket has ended, and where no crossing was found."""
        self.outer: tuple[int, ...] = ()
        """Sizes that are measured now and then."""
        self._shorts: list[int] = []
        """Sizes that were measured with few steps too; the last one still is. Empty if that tells nothing."""
        self._measuring = False
        self._repeats = settings.repeats
        self._runs: dict[_Of, list[list[Sample]]] = {}  # of the rounds
        self._disturbed: dict[_Of, list[list[Sample]]] = {}  # likewise, of runs that others disturbed
        self._seconds: dict[int, float] = {}  # of one repeat at each size
        self._planned: dict[int, int] = {}  # its steps
        self._per_step = 0.0  # tasks, of the last run with many steps
        self._typical = settings.run_seconds  # of one repeat, where nothing better is known
        self._verdict: Metg | None = None  # as of the end of the last complete round
        self._precise = False

    @abstractmethod
    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        """The sizes to measure, ascending, around a crossing at so many iterations; `found` if it is one."""

    def _seldom(self, crossing: float) -> tuple[int, ...]:
        """The sizes to measure now and then."""
        return ()

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes that join at the end of a round."""
        return []

    @property
    def preparing(self) -> bool:
        return not self._measuring

    def _take(self, request: Request, samples: list[Sample], disturbed: bool) -> None:
        if not self._measuring:
            self._typical = max(self.settings.run_seconds, *(s.seconds for s in samples))
            following = self._bracket.take(request, samples)
            self._round = self._bracket.runs
            self._pending = [following] if following else self._start_rounds()
            return
        short = request.phase == "start"
        if short and not self._at_full_width(request, samples):
            self._shorts = []
        else:
            runs = self._disturbed if disturbed else self._runs
            # What others took of the cores is no part of the system: a repeat may have fallen between.
            counting = [min(samples, key=lambda one: one.seconds)] if disturbed else samples
            runs.setdefault((request.iterations, short), []).append(counting)
        if not short:
            self._seconds[request.iterations] = median(s.seconds for s in samples)
            self._planned[request.iterations] = request.steps
            self._per_step = samples[0].tasks / request.steps
        if not self._pending:
            self._round += 1
            self._end_round()

    def interval_width(self) -> float:
        return self._verdict.half_width if self._verdict else math.inf

    def expected_seconds_left(self) -> float:
        s = self.settings
        if self._done:
            return 0.0
        each = self._repeats + s.warmup
        if not self._measuring:
            return (3.0 + s.min_rounds * self.ROUND_RUNS) * self._typical * each
        known = [self._seconds.get(n, self._typical) for n in self.sizes]
        known += [self._seconds.get(n, self._typical) / _SELDOM for n in (*self.outer, 0)]
        width = self.interval_width()
        # An interval shrinks with the square root of the rounds.
        wanted = s.min_rounds if not self.sizes else self._round * (width / s.precision) ** 2
        rounds = min(max(wanted, s.min_rounds), s.max_rounds) if math.isfinite(wanted) else s.min_rounds
        left = max(rounds - self._round - 1.0, 0.0) * sum(known) * each
        return left + sum(self._seconds.get(r.iterations, self._typical) * each for r in self._pending)

    # -- rounds -------------------------------------------------------------------------------------------

    def _start_rounds(self) -> list[Request]:
        s, bracket = self.settings, self._bracket
        self._measuring, self._round = True, 0
        crossing, _ = bracket.crossing()
        found = bracket.enclosing() is not None or bracket.least.efficiency >= s.threshold
        self.sizes = self._first_sizes(crossing, found)
        self.outer = tuple(n for n in self._seldom(crossing) if n not in self.sizes) if self.sizes else ()
        if s.steps is None:  # else start and end count, as they do in Task Bench
            self._shorts = [n for n in self.sizes if n >= crossing][:1]
        self._typical = max(s.run_seconds, self._steps(round(crossing)) * self._step_seconds(crossing))
        if s.slow(self._typical):
            self._repeats = 1
        return self._round_requests()

    def _step_seconds(self, iterations: float) -> float:
        """About how long a step of such tasks lasts, by the bracket."""
        known = self._bracket.points
        sizes = sorted(known)
        granularity = float(np.interp(iterations, sizes, [known[n].granularity for n in sizes]))
        end = known[sizes[0] if iterations < sizes[0] else sizes[-1]]
        if not sizes[0] <= iterations <= sizes[-1]:  # only the work of a task changes with its size
            granularity *= 1.0 + min(end.efficiency, _MOST_WORK) * (iterations / end.iterations - 1.0)
        return granularity * end.tasks_per_step / end.cores

    def _steps(self, iterations: int) -> int:
        """Of runs of such tasks: as many as make a run last as long as asked, whatever the size."""
        s, top = self.settings, self._bracket.top
        start = (self._verdict.start.value if self._verdict else None) or 0.0
        known = self._seconds.get(iterations, 0.0)
        if known and start > _LONG_START * s.run_seconds and s.steps is None:
            # The bracket took start and end for a part of the tasks, so that runs are too short.
            step = max(known - start, (1.0 - _LONG_START) * 0.1 * known) / self._planned[iterations]
            longer = min(start / _LONG_START, _MOST_LONGER * s.run_seconds)
            return s.clamped_steps(max(s.run_seconds, longer) / step, top.tasks_per_step)
        return s.steps or s.clamped_steps(s.run_seconds / self._step_seconds(iterations), top.tasks_per_step)

    def _round_requests(self) -> list[Request]:
        s = self.settings
        now_and_then = (*self.outer, 0) if self._round % _SELDOM == 0 or not self.sizes else ()
        order = [*self.sizes, *now_and_then]
        turn = self._round % len(order)
        requests = []
        for n in order[turn:] + order[:turn]:
            phase, steps = self.PHASE if n else "floor", self._steps(n)
            requests.append(Request(phase, self._round, n, steps, self._repeats, s.warmup))
            few = max(steps // _SHORTER, _FEWEST_STEPS)
            if self._shorts[-1:] == [n] and few < steps:
                requests.append(replace(requests[-1], phase="start", steps=few))
        return requests

    def _move_short(self, crossing: float) -> None:
        """Start and end are measured near the crossing, also where that has moved."""
        if abs(math.log2(self._shorts[-1] / crossing)) > 1.0:
            self._shorts.append(min((n for n in self.sizes if n >= crossing), default=self.sizes[-1]))

    def _at_full_width(self, request: Request, samples: Sequence[Sample]) -> bool:
        """Whether a run of few steps has as many tasks in each of them as longer runs have."""
        full = self._per_step or self._bracket.top.tasks_per_step
        return abs(samples[0].tasks / request.steps / full - 1.0) <= _FULL

    def _end_round(self) -> None:
        s = self.settings
        if not self.sizes:  # never reached: only the floor was left to measure
            self._done = self._round >= min(_FLOOR_ROUNDS, s.max_rounds)
        else:
            verdict = self._verdict = self._estimate(s.search_resamples)
            added = self._added_sizes(verdict)
            self.sizes = tuple(sorted({*self.sizes, *added}))
            self.outer = tuple(n for n in self.outer if n not in self.sizes)
            if added and self._shorts:
                self._move_short(verdict.iterations or float(added[len(added) // 2]))
            # Disturbed runs do not count, and sizes may join late: those that decide need some rounds only.
            enough = self._fewest_rounds(verdict) >= min(s.min_rounds, FEW_ROUNDS)
            independent = self._round / verdict.inflation >= min(s.min_rounds, FEW_ROUNDS)
            ripe = not added and self._round >= s.min_rounds and enough and independent
            self._precise = ripe and verdict.half_width <= s.precision
            self._done = (ripe and self._settled(verdict)) or self._round >= s.max_rounds
        self._pending = [] if self._done else self._round_requests()

    def _settled(self, verdict: Metg) -> bool:
        """Whether more rounds are not worth their time, once every size has enough of them."""
        return self._precise or self._without_crossing(verdict) or self._gains_little(verdict)

    def _without_crossing(self, verdict: Metg) -> bool:
        """Whether the curve surely has no METG."""
        return verdict.metg.value is None and verdict.ending != "budget"

    def _gains_little(self, verdict: Metg) -> bool:
        """Whether more rounds would hardly make the interval narrower: it shrinks with their square root."""
        width, lasting = verdict.half_width, min(verdict.systematic, verdict.half_width)
        if not math.isfinite(width) or self._round < _AHEAD:
            return False
        noise = math.sqrt(width**2 - lasting**2) * math.sqrt(self._round / (self._round + _AHEAD))
        return math.hypot(noise, lasting) > (1.0 - _GAIN) * width

    def _fewest_rounds(self, verdict: Metg) -> int:
        """Rounds of the two sizes nearest to the crossing, or without one of all sizes: the fewest."""
        at = verdict.iterations
        deciding = sorted(verdict.curve, key=lambda p: abs(math.log(p.iterations / at)) if at else 0.0)
        rounds = min(self._rounds_of(p.iterations) for p in deciding[: 2 if at else None])
        quiet = min(len(self._runs.get((p.iterations, False), [])) for p in deciding[: 2 if at else None])
        # Others may go away: the search waits some rounds for runs that they did not disturb.
        return rounds if self._round >= _PATIENT else min(rounds, quiet + 1)

    def _rounds_of(self, iterations: int, short: bool = False) -> int:
        """Rounds that count of a size."""
        return len({sample.round for sample in self._counting((iterations, short))})

    def _telling(self) -> int | None:
        """The size whose short runs tell start and end: the last one with enough of them."""
        ripe = [n for n in self._shorts if self._rounds_of(n, short=True) >= FEWEST_ROUNDS]
        return ripe[-1] if ripe else self._shorts[-1] if self._shorts else None

    # -- results ------------------------------------------------------------------------------------------

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """What the cell came to, by everything told so far, a half-finished round included.

        A number is `precise` if the interval is as narrow as asked over at least `min_rounds` rounds, else
        `budget`. Where the bracket ended before the crossing was found, the ending is `budget` and there is
        no number. `reference` are the rates [measurements x cores] that say what quiet cores would do.
        Raises ValueError before the first answer.
        """
        s, best = self.settings, best_rate(reference)
        if self._round == 0 or not self.sizes:
            return self._bracket_result(best)
        found = self._estimate(s.resamples, best)
        if not self._conclusive(found):
            return self._without_number(found)
        if found.metg.value is None:
            return found
        if self._precise and found.half_width <= 1.2 * s.precision:  # with more resamples, a little off
            return replace(found, ending="precise")
        if not (out_of_budget or self._done):
            return found
        if out_of_budget:
            said = notice("budget_before_precise", precision=s.precision)
        else:
            said = notice("rounds_before_precise", rounds=self._round, precision=s.precision)
        return replace(found, warnings=(*found.warnings, said))

    def _counting(self, of: _Of) -> list[Sample]:
        """The samples of such runs: disturbed ones count only where there are too few others."""
        runs, disturbed = self._runs.get(of, []), self._disturbed.get(of, [])
        used = runs if len(runs) >= FEW_ROUNDS - 1 else runs + disturbed
        return [sample for run in used for sample in run]

    def samples(self) -> list[Sample]:
        measured = sorted({of for of in (*self._runs, *self._disturbed) if of[0]})
        told = [of for of in measured if of in ((of[0], False), (self._telling(), True))]
        return [sample for of in told for sample in self._counting(of)]

    def _estimate(self, resamples: int, best: float | None = None) -> Metg:
        return self._estimate_of(self.samples(), resamples, best)

    def _estimate_of(self, samples: Sequence[Sample], resamples: int, best: float | None) -> Metg:
        s = self.settings
        return estimate(
            samples,
            threshold=s.threshold,
            confidence=s.confidence,
            resamples=resamples,
            seed=s.seed,
            floor_samples=self._counting((0, False)),
            best_rate=best,
        )

    def _bracket_result(self, best: float) -> Metg:
        """From the bracket alone: nothing reached the threshold, or no measured round is complete."""
        samples = self._bracket.samples()
        if not samples:
            raise ValueError("nothing was told yet")
        found = self._estimate_of(samples, self.settings.resamples, best)
        if self._measuring and not self.sizes:
            return found
        if self._bracket.enclosing() and found.metg.value is not None:
            return replace(found, warnings=(*found.warnings, notice("budget_before_rounds")))
        return self._without_number(found)

    def _conclusive(self, found: Metg) -> bool:
        """Whether an ending holds for all sizes there could be, and not only for those that were measured."""
        if found.ending == "always_reached":
            return found.curve[0].iterations == 1
        largest = self._bracket.largest_allowed()
        return found.ending != "never_reached" or found.curve[-1].iterations * 1.25 >= largest

    def _without_number(self, found: Metg) -> Metg:
        least, largest = found.curve[0], found.curve[-1]
        near = largest if largest.efficiency.number < self.settings.threshold else least
        told = {"granularity": near.granularity.number, "efficiency": near.efficiency.number}
        if self._measuring:
            said = notice("no_crossing_measured", rounds=max(1, self._round), **told)
        else:
            said = notice("budget_before_crossing", **told)
        # What lies beyond the measured sizes is not known, so these bound nothing.
        return replace(
            found,
            ending="budget",
            metg=Interval(),
            iterations=None,
            warnings=(*found.warnings, said),
        )
