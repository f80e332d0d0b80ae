"""The adaptive search of one cell for its METG: a state machine, without clock and without I/O.

The caller runs what `next_round` asks for and reports it with `tell`; the search decides what is next:

1.  *bracket*: one size at a time until the efficiency crosses the threshold between two sizes a factor of
    two apart. The next one is where it would cross if a task's overhead were the same at all sizes. Runs
    are short here: coarse answers do.
2.  *measure*: seven to nine sizes, sqrt(2) apart around the crossing and coarser to both sides, and the empty
    kernel; every size once a round with the same steps and repeats, the order rotated from round to round,
    so that drift hits all sizes alike. A crossing that turns out to lie elsewhere gets sizes of its own.
    Where the fewest steps already take long, a run is one repeat after the warm-up: rounds tell more.
3.  The end: the interval is as narrow as asked, or the rounds are used up.

Every decision falls at the end of a round and depends on nothing but what was told, with the reference as it
was then. A study is resumed by telling the stored answers in their stored order, each with the rates stored
before it: the search then stands where it stood, in the middle of a round if need be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.bootstrap import peak_rate
from taskgrain.estimate.disturbance import Run, chosen, samples_of, widened
from taskgrain.estimate.metg import Metg, estimate
from taskgrain.estimate.samples import FEW_ROUNDS, Sample
from taskgrain.measure.experiments.sizes import DENSE, Point, crossing_between, crossing_of, grid
from taskgrain.study.settings import Settings
from taskgrain.words import quantity

Phase = Literal["bracket", "measure", "floor", "sweep"]

_MOST_SIZES = 16  # with those added when the crossing moved
_SETTLED_ROUNDS = 3  # before this many rounds the crossing is not known well enough to move sizes
_FLOOR_ROUNDS = 5  # of a cell of which only the floor is measured: its tasks are slow
_BRACKET_ROUNDS = 60  # an end for a curve that makes no sense; doubling from 1 to 2**53 takes fewer
_SWEEP_EFFICIENCY = 0.95
_SWEEP_REACH = 64  # a sweep ends at this multiple of the crossing even if the efficiency is never reached


@dataclass(frozen=True)
class Request:
    """One run: `repeats` timed repeats after `warmup` others. `iterations` 0 stands for the empty kernel."""

    phase: Phase
    round: int
    iterations: int
    steps: int
    repeats: int
    warmup: int

    @property
    def key(self) -> tuple[str, int, int, int]:
        """What tells requests of a cell apart: also the fields that a stored `run` line has."""
        return self.phase, self.round, self.iterations, self.steps


@dataclass(frozen=True)
class SearchSettings:
    """What is asked of a cell. Times in seconds."""

    threshold: float = Settings.threshold
    confidence: float = 0.95
    precision: float = Settings.precision  # relative half-width of the interval
    min_rounds: int = Settings.min_rounds
    max_rounds: int = Settings.max_rounds
    repeats: int = Settings.repeats
    warmup: int = 1
    first_iterations: int = Settings.first_iterations
    run_seconds: float = 0.004  # how long one repeat at the crossing lasts
    steps: int | None = None  # fixed by the user, else chosen from run_seconds
    min_steps: int = 16
    max_steps: int = 1_000_000
    max_tasks: int = 2**26  # of one run
    max_task_seconds: float = 1.0  # coarser tasks are not tried
    sweep: bool = Settings.sweep
    sweep_sizes: int = 22
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("threshold", "confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")
        for name in ("precision", "run_seconds", "max_task_seconds"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        for name in ("min_rounds", "repeats", "first_iterations", "min_steps", "sweep_sizes", "resamples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"steps must be at least 1, not {self.steps}")
        if self.max_rounds < self.min_rounds or self.max_steps < self.min_steps or self.warmup < 0:
            raise ValueError("max_rounds >= min_rounds, max_steps >= min_steps and warmup >= 0 must hold")

    @classmethod
    def of(cls, settings: Settings) -> SearchSettings:
        """What a study's settings ask of each cell."""
        return cls(
            threshold=settings.threshold,
            precision=settings.precision,
            min_rounds=settings.min_rounds,
            max_rounds=settings.max_rounds,
            repeats=settings.repeats,
            steps=settings.steps or None,
            sweep=settings.sweep,
            first_iterations=settings.first_iterations,
        )

    def slow(self, run_seconds: float) -> bool:
        """Whether a run lasts so much longer than wished that it is not repeated."""
        return run_seconds >= 10.0 * self.run_seconds


class Search:
    """The search of one cell. `next_round`, run it, `tell` each answer, until `done`; then `result`."""

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        self.steps = 0
        """Of every run of the measure phase; 0 until the bracket has ended."""
        self.sizes: tuple[int, ...] = ()
        """Iterations of the measure phase, ascending; empty until then, and where no crossing was found."""
        self._repeats = settings.repeats  # of the measure phase
        self._phase: Phase = "bracket"
        self._round = 0
        self._bracket: dict[int, list[Sample]] = {}  # of each size its last run, which is its longest
        self._runs: dict[int, list[Run]] = {}  # of the measure phase, by iterations; 0 is the empty kernel
        self._points: dict[int, Point] = {}
        self._seconds: dict[int, float] = {}  # of one repeat at each size of the measure phase
        self._typical = settings.run_seconds  # of one repeat, where nothing better is known
        self._verdict: Metg | None = None  # as of the end of the last complete round
        self._done = False
        self._precise = False
        # The first run only finds out how long a run takes: on a slow system even this may be seconds.
        steps = min(settings.min_steps, settings.steps or settings.min_steps)
        self._pending = [Request("bracket", 0, settings.first_iterations, steps, 1, min(settings.warmup, 1))]

    @property
    def done(self) -> bool:
        """Whether nothing more is to be run."""
        return self._done

    @property
    def phase(self) -> Phase:
        """`bracket`, then `measure` or `sweep`."""
        return self._phase

    @property
    def rounds(self) -> int:
        """Complete rounds of the present phase."""
        return self._round

    def next_round(self) -> list[Request]:
        """What is still to be run of the present round, in order; nothing once `done`."""
        return list(self._pending)

    def tell(
        self, request: Request, samples: Sequence[Sample], reference: ArrayLike, slowdown: float = 1.0
    ) -> None:
        """Take the repeats of one run, with the reference's rates [measurements x cores] known by now.

        `slowdown` above 1 says that the run was disturbed, and by how much its cores were slower.
        Only `request.key` has to be that of a pending request, so that one made from a stored line does, in
        any order within a round; the samples' own `round` is not looked at. Raises ValueError, and changes
        nothing, for a run that was not asked for, for one without samples, and for times not positive.
        """
        pending = next((r for r in self._pending if r.key == request.key), None)
        if pending is None:
            asked = ", ".join(str(r.key) for r in self._pending) or "nothing"
            raise ValueError(
                f"run {request.key} (phase, round, iterations, steps) was not asked for, but {asked}"
            )
        if not samples or not all(s.seconds > 0.0 and s.tasks > 0 and s.cores > 0 for s in samples):
            raise ValueError(f"no samples, or samples without time or tasks, for the run {request.key}")
        peak_rate(reference)  # raises before anything has changed
        samples = [replace(s, iterations=pending.iterations, round=pending.round) for s in samples]
        self._pending.remove(pending)
        if pending.phase == "bracket":
            self._bracket[pending.iterations] = samples
            self._typical = max(self.settings.run_seconds, *(s.seconds for s in samples))
            self._pending = self._after_bracket_run(pending, samples, reference)
        else:
            self._runs.setdefault(pending.iterations, []).append(Run(tuple(samples), slowdown))
            self._seconds[pending.iterations] = float(np.median([s.seconds for s in samples]))
            if not self._pending:
                self._round += 1
                self._end_round(reference)

    def interval_width(self) -> float:
        """Relative half-width of METG's interval after the last complete round; infinite while unknown."""
        return self._verdict.half_width if self._verdict else math.inf

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """What the cell came to, by everything told so far, a half-finished round included.

        A number is `precise` if the interval is as narrow as asked over at least `min_rounds` rounds, else
        `budget`. Where the search ended before the crossing was found, the ending is `budget` and there is no
        number. Raises ValueError before the first answer.
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
        limit = "The budget" if out_of_budget else f"The limit of {s.max_rounds} rounds"
        note = (
            f"{limit} ended this cell before the interval was within {s.precision:.0%} of METG. "
            f"Raise it, or measure on a quieter machine."
        )
        return replace(found, warnings=(*found.warnings, note))

    def expected_seconds_left(self) -> float:
        """A guess of the run time still to come, warm-up included; 0 once done."""
        s = self.settings
        if self._done:
            return 0.0
        each = self._repeats + s.warmup
        if self._phase == "bracket":
            return (3.0 + s.min_rounds * 14.0) * self._typical * each
        known = [self._seconds.get(n, self._typical) for n in (*self.sizes, 0)]
        width = self.interval_width()
        # An interval shrinks with the square root of the rounds.
        wanted = s.min_rounds if not self.sizes else self._round * (width / s.precision) ** 2
        rounds = min(max(wanted, s.min_rounds), s.max_rounds) if math.isfinite(wanted) else s.min_rounds
        left = max(rounds - self._round - 1.0, 0.0) * sum(known) * each
        return left + sum(self._seconds.get(r.iterations, self._typical) * each for r in self._pending)

    # -- bracket ------------------------------------------------------------------------------------------

    def _bracket_request(self, iterations: int, steps: int, run_seconds: float = 0.0) -> Request:
        slow = self.settings.slow(run_seconds)
        return Request("bracket", self._round, iterations, steps, 1 if slow else 3, 0 if slow else 1)

    def _after_bracket_run(
        self, request: Request, samples: list[Sample], reference: ArrayLike
    ) -> list[Request]:
        self._round += 1
        s = self.settings
        peak = peak_rate(reference)
        seconds = min(x.seconds for x in samples)
        per_step = samples[0].tasks / request.steps
        # Over a few steps the start and the end of a run dominate: such a run only tells how many it takes.
        enough = self._clamp_steps(request.steps * 0.25 * s.run_seconds / seconds, per_step)
        if enough >= 4 * request.steps and self._round < _BRACKET_ROUNDS:
            return [self._bracket_request(request.iterations, enough)]
        efficiency = float(np.median([x.rate for x in samples])) / (peak * samples[0].cores)
        granularity = min(x.granularity for x in samples)
        point = Point(request.iterations, efficiency, granularity, per_step, samples[0].cores)
        self._points[request.iterations] = point
        following = self._next_size() if self._round < _BRACKET_ROUNDS else None
        if following is None:
            return self._start_measuring()
        longer = point.granularity * max(1.0, following / point.iterations) * per_step / point.cores
        steps = self._clamp_steps(0.25 * s.run_seconds / longer, per_step)
        return [self._bracket_request(following, steps, longer * steps)]

    def _clamp_steps(self, steps: float, tasks_per_step: float) -> int:
        s = self.settings
        most = max(1, min(s.max_steps, int(s.max_tasks / tasks_per_step)))
        if s.steps is not None:
            most = min(most, s.steps)
        return int(min(max(round(min(steps, most)), s.min_steps), most))

    def _next_size(self) -> int | None:
        """The next size of the bracket; None once it is closed or cannot be closed."""
        x = self.settings.threshold
        sizes = sorted(self._points)
        enclosing = self._enclosing()
        if enclosing:
            low, high = enclosing
            if high > 2.1 * low and high - low > 1:
                aim = crossing_between(self._points[low], self._points[high], x)
                beside = aim / math.sqrt(2.0) if low < 0.96 * aim / math.sqrt(2.0) else aim * math.sqrt(2.0)
                return max(low + 1, min(high - 1, round(beside)))
            return self._next_of_sweep(high)
        if self._points[sizes[0]].efficiency >= x:
            if sizes[0] == 1:
                return self._next_of_sweep(1)
            aim = crossing_of(sizes[0], self._points[sizes[0]].efficiency, x)
            return max(1, min(sizes[0] // 2, round(aim * math.sqrt(2.0))))
        top = self._points[sizes[-1]]
        return self._larger(top, max(2.0, crossing_of(1.0, top.efficiency, x) / math.sqrt(2.0)))

    def _larger(self, top: Point, factor: float) -> int | None:
        """The next size up, as far as tasks may grow; None where that is no further."""
        allowed = self.settings.max_task_seconds / top.granularity
        size = int(top.iterations * min(factor, allowed))
        return size if size > 1.25 * top.iterations else None

    def _next_of_sweep(self, crossing: int) -> int | None:
        top = self._points[max(self._points)]
        reached = top.efficiency > _SWEEP_EFFICIENCY or top.iterations >= _SWEEP_REACH * crossing
        return None if reached or not self.settings.sweep else self._larger(top, 2)

    def _enclosing(self) -> tuple[int, int] | None:
        """The lowest size at or above the threshold, and the one next below it, if both are known."""
        x = self.settings.threshold
        high = min((n for n, p in self._points.items() if p.efficiency >= x), default=0)
        low = max((n for n, p in self._points.items() if p.efficiency < x and n < high), default=0)
        return (low, high) if low and high else None

    # -- measure ------------------------------------------------------------------------------------------

    def _start_measuring(self) -> list[Request]:
        s = self.settings
        enclosing = self._enclosing()
        least, top = self._points[min(self._points)], self._points[max(self._points)]
        self._phase, self._round = ("sweep" if s.sweep else "measure"), 0
        crossing, at = 1.0, least.granularity
        if enclosing:
            below, above = enclosing
            crossing = crossing_between(self._points[below], self._points[above], s.threshold)
            known = sorted(self._points)
            at = float(np.interp(crossing, known, [self._points[n].granularity for n in known]))
        if s.sweep:
            largest = 2 ** math.ceil(math.log2(top.iterations))
            self.sizes = tuple(sorted({largest >> k for k in range(s.sweep_sizes) if largest >> k}))
            at = max(at, top.granularity / 100.0)  # the largest tasks take as many steps as the smallest
        elif enclosing or least.efficiency >= s.threshold:
            self.sizes = grid(crossing, s.threshold, self._largest_allowed())
        step_seconds = at * top.tasks_per_step / top.cores
        self.steps = s.steps or self._clamp_steps(s.run_seconds / step_seconds, top.tasks_per_step)
        self._typical = max(s.run_seconds, self.steps * step_seconds)
        if s.slow(self._typical):
            self._repeats = 1
        return self._round_requests()

    def _largest_allowed(self) -> int:
        top = self._points[max(self._points)]
        return max(1, int(top.iterations * max(1.0, self.settings.max_task_seconds / top.granularity)))

    def _round_requests(self) -> list[Request]:
        s, order = self.settings, (*self.sizes, 0)
        turn = self._round % len(order)
        return [
            Request(self._phase if n else "floor", self._round, n, self.steps, self._repeats, s.warmup)
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

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes around a crossing that has turned out to lie where the sizes are sparse, or beyond them."""
        s = self.settings
        joined = min(self._round, FEW_ROUNDS) * self._repeats  # sizes added before must count before more are
        if s.sweep or self._round < _SETTLED_ROUNDS or min(p.repeats for p in verdict.curve) < joined:
            return []
        first, last = verdict.curve[0], verdict.curve[-1]
        most = self._largest_allowed()
        if verdict.ending == "always_reached":
            aim = max(crossing_of(first.iterations, first.efficiency, s.threshold), first.iterations / 8.0)
        elif verdict.ending == "never_reached":
            aim = min(crossing_of(last.iterations, last.efficiency, s.threshold), last.iterations * 8.0)
        elif verdict.iterations is not None:
            aim = verdict.iterations
            low = max((n for n in self.sizes if n <= aim), default=self.sizes[0])
            high = min((n for n in self.sizes if n > aim), default=self.sizes[-1])
            if high <= low * 2.0**0.75 or high - low <= 1:
                return []
        else:
            return []
        wanted = {min(max(1, round(aim * f)), most) for f in DENSE}
        added = sorted(
            n
            for n in wanted
            if n not in self.sizes and all(abs(math.log2(n / m)) > 0.2 or n < 8 for m in self.sizes)
        )
        return added[: _MOST_SIZES - len(self.sizes)]

    def _fewest_rounds(self, verdict: Metg) -> float:
        """Rounds of the two sizes nearest to the crossing, or without one of all sizes: the fewest."""
        at = verdict.iterations
        deciding = sorted(verdict.curve, key=lambda p: abs(math.log(p.iterations / at)) if at else 0.0)
        return min(p.repeats for p in deciding[: 2 if at else None]) / self._repeats

    # -- results ------------------------------------------------------------------------------------------

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
        if not self._bracket:
            raise ValueError("nothing was told yet")
        # One round, for each size was measured once and at another time.
        samples = [replace(x, round=0) for run in self._bracket.values() for x in run]
        found = self._estimate_of(samples, reference, samples_of(chosen(self._runs.get(0, []))))
        if self._phase == "measure" and not self.sizes:
            return found
        enclosing = self._enclosing()
        if enclosing and found.metg is not None:
            low, high = (self._points[n].granularity for n in enclosing)
            note = "The budget ended before the crossing was measured; the interval is that of the search."
            return replace(
                found,
                low=min(low, found.metg),
                high=max(high, found.metg),
                warnings=(*found.warnings, note + " Raise the budget."),
            )
        return self._without_number(found)

    def _conclusive(self, found: Metg) -> bool:
        """Whether an ending holds for all sizes there could be, and not only for those that were measured."""
        if found.ending == "always_reached":
            return found.curve[0].iterations == 1
        return found.ending != "never_reached" or found.curve[-1].iterations * 1.25 >= self._largest_allowed()

    def _without_number(self, found: Metg) -> Metg:
        least, largest = found.curve[0], found.curve[-1]
        near = largest if largest.efficiency < self.settings.threshold else least
        reached = (
            f"tasks of {quantity.seconds(near.granularity)} reached {quantity.percent(near.efficiency, 1)}"
        )
        note = f"The search ended before the crossing was found: {reached}. Raise the budget."
        return replace(found, ending="budget", metg=None, iterations=None, warnings=(*found.warnings, note))
