"""A bracket, then rounds over sizes around the crossing: what METG and the sweep have in common.

1.  *bracket*: where the efficiency crosses the threshold (`bracket.py`).
2.  Rounds: every size, and the empty kernel, once a round with the same steps and repeats; the order rotates
    from round to round, so that drift hits all sizes alike. Where the fewest steps already take long, a run
    is one repeat after the warm-up: rounds tell more.
3.  The end: the interval is as narrow as asked, or the rounds are used up.

Every decision falls at the end of a round. Which sizes, the experiment says.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import ClassVar, Literal

from numpy.typing import ArrayLike

from taskgrain.estimate.disturbance import Run, chosen, samples_of, widened
from taskgrain.estimate.metg import Metg, estimate
from taskgrain.estimate.samples import FEW_ROUNDS, Sample
from taskgrain.measure.experiments.bracket import Bracket, Reach
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Request
from taskgrain.words.warnings import notice

_FLOOR_ROUNDS = 5  # of a cell of which only the floor is measured: its tasks are slow


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
        self.steps = 0
        """Of every run of the rounds; 0 until the bracket has ended."""
        self.sizes: tuple[int, ...] = ()
        """Iterations, ascending; empty until the bracket has ended, and where no crossing was found."""
        self._measuring = False
        self._repeats = settings.repeats
        self._runs: dict[int, list[Run]] = {}  # of the rounds, by iterations; 0 is the empty kernel
        self._seconds: dict[int, float] = {}  # of one repeat at each size
        self._typical = settings.run_seconds  # of one repeat, where nothing better is known
        self._verdict: Metg | None = None  # as of the end of the last complete round
        self._precise = False

    @abstractmethod
    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        """The sizes to measure, ascending, around a crossing at so many iterations; `found` if it is one."""

    def _longest_step(self, at_crossing: float) -> float:
        """Seconds of a core of the task by which the number of steps is chosen."""
        return at_crossing

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes that join at the end of a round."""
        return []

    @property
    def preparing(self) -> bool:
        return not self._measuring

    def _take(self, request: Request, samples: list[Sample], reference: ArrayLike, slowdown: float) -> None:
        if not self._measuring:
            self._typical = max(self.settings.run_seconds, *(s.seconds for s in samples))
            following = self._bracket.take(request, samples, reference)
            self._round = self._bracket.runs
            self._pending = [following] if following else self._start_rounds()
            return
        self._runs.setdefault(request.iterations, []).append(Run(tuple(samples), slowdown))
        self._seconds[request.iterations] = median(s.seconds for s in samples)
        if not self._pending:
            self._round += 1
            self._end_round(reference)

    def interval_width(self) -> float:
        return self._verdict.half_width if self._verdict else math.inf

    def expected_seconds_left(self) -> float:
        s = self.settings
        if self._done:
            return 0.0
        each = self._repeats + s.warmup
        if not self._measuring:
            return (3.0 + s.min_rounds * 14.0) * self._typical * each
        known = [self._seconds.get(n, self._typical) for n in (*self.sizes, 0)]
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
        crossing, at = bracket.crossing()
        found = bracket.enclosing() is not None or bracket.least.efficiency >= s.threshold
        self.sizes = self._first_sizes(crossing, found)
        top = bracket.top
        step_seconds = self._longest_step(at) * top.tasks_per_step / top.cores
        self.steps = s.steps or s.clamped_steps(s.run_seconds / step_seconds, top.tasks_per_step)
        self._typical = max(s.run_seconds, self.steps * step_seconds)
        if s.slow(self._typical):
            self._repeats = 1
        return self._round_requests()

    def _round_requests(self) -> list[Request]:
        s, order = self.settings, (*self.sizes, 0)
        turn = self._round % len(order)
        return [
            Request(self.PHASE if n else "floor", self._round, n, self.steps, self._repeats, s.warmup)
            for n in order[turn:] + order[:turn]
        ]

    def _end_round(self, reference: ArrayLike) -> None:
        s = self.settings
        if not self.sizes:  # never reached: only the floor was left to measure
            self._done = self._round >= min(_FLOOR_ROUNDS, s.max_rounds)
        else:
            verdict = self._verdict = self._estimate(reference)
            added = self._added_sizes(verdict)
            self.sizes = tuple(sorted({*self.sizes, *added}))
            # Disturbed runs do not count, and sizes may join late: those that decide need some rounds only.
            enough = self._fewest_rounds(verdict) >= min(s.min_rounds, FEW_ROUNDS)
            ripe = not added and self._round >= s.min_rounds and enough
            self._precise = ripe and verdict.half_width <= s.precision
            decided = verdict.metg is None and verdict.ending != "budget"
            self._done = self._precise or (ripe and decided) or self._round >= s.max_rounds
        self._pending = [] if self._done else self._round_requests()

    def _fewest_rounds(self, verdict: Metg) -> float:
        """Rounds of the two sizes nearest to the crossing, or without one of all sizes: the fewest."""
        at = verdict.iterations
        deciding = sorted(verdict.curve, key=lambda p: abs(math.log(p.iterations / at)) if at else 0.0)
        return min(p.repeats for p in deciding[: 2 if at else None]) / self._repeats

    # -- results ------------------------------------------------------------------------------------------

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """What the cell came to, by everything told so far, a half-finished round included.

        A number is `precise` if the interval is as narrow as asked over at least `min_rounds` rounds, else
        `budget`. Where the bracket ended before the crossing was found, the ending is `budget` and there is
        no number. Raises ValueError before the first answer.
        """
        s = self.settings
        if self._round == 0 or not self.sizes:
            return self._bracket_result(reference)
        found = self._estimate(reference)
        if not self._conclusive(found):
            return self._without_number(found)
        if found.metg is None:
            return found
        if self._precise:  # as of the last round: the reference may since have moved the interval a little
            return replace(found, ending="precise")
        if not (out_of_budget or self._done):
            return found
        if out_of_budget:
            said = notice("budget_before_precise", precision=s.precision)
        else:
            said = notice("rounds_before_precise", rounds=s.max_rounds, precision=s.precision)
        return replace(found, warnings=(*found.warnings, said))

    def _estimate(self, reference: ArrayLike) -> Metg:
        used = [run for n, runs in self._runs.items() if n for run in chosen(runs)]
        floor = chosen(self._runs.get(0, []))
        found = self._estimate_of(samples_of(used), reference, samples_of(floor))
        if all(run.slowdown <= 1.0 for run in used):
            return found
        at_best = [samples_of(run.at_best() for run in runs) for runs in (used, floor)]
        return widened(found, self._estimate_of(at_best[0], reference, at_best[1]))

    def _estimate_of(self, samples: Sequence[Sample], reference: ArrayLike, floor: Sequence[Sample]) -> Metg:
        s = self.settings
        return estimate(
            samples,
            reference,
            threshold=s.threshold,
            confidence=s.confidence,
            resamples=s.resamples,
            seed=s.seed,
            floor_samples=floor,
        )

    def _bracket_result(self, reference: ArrayLike) -> Metg:
        """From the bracket alone: nothing reached the threshold, or no measured round is complete."""
        samples = self._bracket.samples()
        if not samples:
            raise ValueError("nothing was told yet")
        found = self._estimate_of(samples, reference, samples_of(chosen(self._runs.get(0, []))))
        if self._measuring and not self.sizes:
            return found
        enclosing = self._bracket.enclosing()
        if enclosing and found.metg is not None:
            low, high = (point.granularity for point in enclosing)
            return replace(
                found,
                low=min(low, found.metg),
                high=max(high, found.metg),
                warnings=(*found.warnings, notice("budget_before_rounds")),
            )
        return self._without_number(found)

    def _conclusive(self, found: Metg) -> bool:
        """Whether an ending holds for all sizes there could be, and not only for those that were measured."""
        if found.ending == "always_reached":
            return found.curve[0].iterations == 1
        largest = self._bracket.largest_allowed()
        return found.ending != "never_reached" or found.curve[-1].iterations * 1.25 >= largest

    def _without_number(self, found: Metg) -> Metg:
        least, largest = found.curve[0], found.curve[-1]
        near = largest if largest.efficiency < self.settings.threshold else least
        said = notice("budget_before_crossing", granularity=near.granularity, efficiency=near.efficiency)
        return replace(found, ending="budget", metg=None, iterations=None, warnings=(*found.warnings, said))
