"""Rounds: the search that all experiments share. A subclass says how it begins, and when it ends.

1.  The preparation: short runs, one at a time, until the sizes are chosen.
2.  The rounds: one run of each size. Larger tasks take fewer steps, so that all runs last about as long. The
    order rotates from round to round, so that drift hits all sizes alike. Some sizes, and the empty kernel,
    are measured in every third round. Where the fewest steps already take long, a run is one repeat after
    the warm-up: rounds tell more. Beside the run of one size there is one of a tenth of the steps, which
    tells start and end of a run. Where runs are long, some rounds have one of more steps, which tells whether
    the cost of a task grows. Where others disturb most repeats, these become shorter, to fall between
    the disturbances.
3.  The end: the stopping rule holds, or the rounds are used up. Every decision falls at the end of a round.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median
from typing import ClassVar, Literal

from taskgrain.estimate.metg import Metg, estimate
from taskgrain.estimate.sample import Sample, quick
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Phase, Request
from taskgrain.results.samples import Counting, counted, told
from taskgrain.words.warnings import Notice, notice

_SELDOM = 3
"""Rounds from one measurement of a size that is measured seldom to the next."""
_SHORTER, _LEAST_SHORTER = 10, 2
"""A run that tells start and end has a tenth of the steps of the other one. If its shape needs more, it may
have up to a half of them; else there is no such run."""
LONGER, LONGER_ROUNDS = 4, range(2, 6)
"""A run that tells whether the cost of a task grows has so many times more steps. The first rounds matter
more where the budget has hardly more of them."""

OFTEN_ALONE, SELDOM_ALONE = 0.9, 0.5
"""Shares of the time of runs for which others left them alone: above the one in a whole round repeats become
longer again, below the other in some runs in a row shorter."""
_IN_A_ROW = 2
SHORTEST = 16
"""The most by which a repeat becomes shorter."""

_Of = tuple[bool, int]
"""The key of runs: True if they have few steps, and their iterations, 0 for the empty kernel."""


class Rounds(Experiment):
    """Chooses sizes, then measures them in rounds until its stopping rule holds."""

    PHASE: ClassVar[Literal["measure", "sweep"]] = "measure"
    """The name of its rounds in the results."""
    TOO_FEW: ClassVar[tuple[str, str]]
    """The warnings of a result that is not precise: where the budget ended it, and where the rounds did."""

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        self._pending = [settings.first_request()]
        self._preparing = True
        self.sizes: tuple[int, ...] = ()
        """Iterations, ascending; empty while it prepares, and where it measures the empty kernel alone."""
        self.seldom: tuple[int, ...] = ()
        """Sizes that are measured in every third round; 0 is the empty kernel."""
        self._short: int | None = None
        """The size that is measured with few steps too; None if that tells nothing."""
        self._repeats = settings.repeats
        self._shorter = 1
        """A repeat lasts so many times shorter than asked, and a run has more of them, by the root of it."""
        self._alone: list[float] = []
        """The share of the time of each run of this round and length for which others left it alone."""
        self._runs: dict[_Of, list[Counting]] = defaultdict(list)
        self._longer: list[Sample] = []  # of runs that nobody disturbed
        self._seconds: dict[int, float] = {}  # of one repeat at each size
        self._planned: dict[int, int] = {}  # its steps
        self._per_step = 0.0  # tasks, of the last run with many steps
        self._typical = settings.run_seconds  # of one repeat, where nothing better is known
        self._width = math.inf
        self._precise = False

    # -- what differs -------------------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self, request: Request, samples: list[Sample], alone: float) -> Request | None:
        """Takes an answer of the preparation. Returns the next run, or None once it has chosen the sizes."""

    @abstractmethod
    def _steps(self, iterations: int) -> int:
        """Returns the steps of a run of such tasks."""

    @abstractmethod
    def _settled(self) -> bool:
        """The stopping rule, at the end of a round. It keeps `_width` and `_precise` up to date."""

    # -- rounds -------------------------------------------------------------------------------------------

    @property
    def preparing(self) -> bool:
        return self._preparing

    def _take(self, request: Request, samples: list[Sample], alone: float) -> None:
        disturbed = not alone
        # What others took of the cores is no part of the system: a repeat may have fallen between.
        counting = [quick(samples)] if disturbed else samples
        if self._preparing:
            self._typical = max(self.settings.run_seconds, *(s.seconds for s in samples))
            self._per_step = samples[0].tasks / request.steps
            following = self._prepare(request, counting, alone)
            if following:
                self._round, self._pending = self._round + 1, [following]
            else:
                self._preparing, self._round = False, 0
                self._repeats = 1 if self.settings.slow(self._typical) else self._repeats
                self._pending = self._requests()
            return
        short, longer = request.phase == "start", request.phase == "longer"
        if longer:
            self._longer += [] if disturbed else counting
        else:
            self._runs[short, request.iterations].append(Counting(counting, disturbed))
        if not short and not longer:
            self._seconds[request.iterations] = median(s.seconds for s in counting)
            self._planned[request.iterations] = request.steps
            self._per_step = samples[0].tasks / request.steps
        self._alone.append(alone)
        seldom = len(self._alone) >= _IN_A_ROW and max(self._alone[-_IN_A_ROW:]) < SELDOM_ALONE
        if seldom and self._shorter < SHORTEST:
            self._shorter, self._alone = min(4 * self._shorter, SHORTEST), []
            again = [(one, self._request(one.iterations, one.phase)) for one in self._pending]
            self._pending = [min(both, key=lambda one: one.steps) for both in again]
        if not self._pending:
            self._round += 1
            if fmean(self._alone or [0.0]) > OFTEN_ALONE:
                self._shorter = max(self._shorter // 2, 1)
            self._alone = self._alone[1 - _IN_A_ROW :]
            self._done = self._settled() or self._round >= self.settings.max_rounds
            self._pending = [] if self._done else self._requests()

    @property
    def _run_seconds(self) -> float:
        """The seconds that a repeat shall last."""
        return self.settings.run_seconds / self._shorter

    def _repeats_of(self, iterations: int) -> int:
        """Repeats of a run of a size: more if they are shorter than asked, though not for as long. A graph of
        fixed steps is made longer only by running it again."""
        asked = self.settings.run_seconds
        if self.settings.slow(self._typical):
            return self._repeats
        lasts = self._seconds.get(iterations, self._run_seconds)
        if self.settings.steps is None:
            lasts = max(lasts, self._run_seconds)
        return max(self._repeats, round(self._repeats * math.sqrt(asked / lasts)))

    def _requests(self) -> list[Request]:
        order = [*self.sizes, *(self.seldom if self._round % _SELDOM == 0 or not self.sizes else ())]
        turn = self._round % len(order)
        requests = []
        for n in order[turn:] + order[:turn]:
            requests.append(self._request(n))
            short = self._request(n, "start")
            if n == self._short and _LEAST_SHORTER * short.steps <= requests[-1].steps:
                requests.append(short)
        # Few tasks make a long run here, and a program has more of them.
        if self._short and self._round in LONGER_ROUNDS and self.settings.slow(self._typical):
            requests.append(self._request(self._short, "longer"))
        return requests

    def _request(self, iterations: int, length: Phase = "measure") -> Request:
        phase: Phase = self.PHASE if iterations else "floor"
        s, steps = self.settings, self._steps(iterations)
        if length == "start":
            phase, steps = "start", max(steps // _SHORTER // s.period * s.period, s.least_short)
        elif length == "longer":
            phase, steps = "longer", s.clamped_steps(LONGER * steps, self._per_step)
        return Request(phase, self._round, iterations, steps, self._repeats_of(iterations), s.warmup)

    def interval_width(self) -> float:
        return self._width

    def expected_seconds_left(self) -> float:
        s = self.settings
        if self._done:
            return 0.0
        if self._preparing:
            return (3.0 + s.min_rounds * self.ROUND_RUNS) * self._typical * (self._repeats + s.warmup)

        def lasts(n: int) -> float:
            return self._seconds.get(n, self._typical) * (self._repeats_of(n) + s.warmup)

        known = [*map(lasts, self.sizes), *(lasts(n) / _SELDOM for n in self.seldom)]
        # An interval shrinks with the square root of the rounds.
        wanted = self._round * (self._width / s.precision) ** 2 if self.sizes else s.min_rounds
        rounds = min(max(wanted, s.min_rounds), s.max_rounds) if math.isfinite(wanted) else s.min_rounds
        left = max(rounds - self._round - 1.0, 0.0) * sum(known)
        return left + sum(lasts(request.iterations) for request in self._pending)

    # -- samples ------------------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        return [one for one in told(self._runs) if one.iterations]

    def _floor_samples(self) -> list[Sample]:
        return counted(self._runs.get((False, 0), []))

    def _undisturbed(self, iterations: int) -> int:
        """The runs of a size that nobody disturbed."""
        return sum(not run.disturbed for run in self._runs.get((False, iterations), []))

    def _estimate(self, samples: Sequence[Sample], resamples: int, best: float | None = None) -> Metg:
        s = self.settings
        return estimate(
            samples,
            threshold=s.threshold,
            resamples=resamples,
            seed=s.seed,
            floor_samples=self._floor_samples(),
            longer=self._longer,
            best_rate=best,
        )

    def _too_few(self, out_of_budget: bool) -> list[Notice]:
        """Says why a result is not precise, where nothing more is measured."""
        budget, rounds = self.TOO_FEW
        if out_of_budget:
            return [notice(budget, precision=self.settings.precision)]
        return [notice(rounds, rounds=self._round, precision=self.settings.precision)] if self._done else []
