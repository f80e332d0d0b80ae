"""The search for the crossing of the efficiency with the threshold. METG and the sweeps are such searches.

The bracket finds the crossing about. The rounds then end where the interval of METG is as narrow as asked, or
where ten more rounds would not make it narrower by a tenth. Neighbouring rounds that are alike count as
fewer. The experiment chooses the sizes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.reference import best_rate
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.bracket import Bracket
from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.rounds import SELDOM_ALONE, SHORTEST, Rounds
from taskgrain.results.samples import FEWEST_ALONE
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import Notice, notice

_FLOOR_ROUNDS = 5  # for a cell with slow tasks, of which only the floor is measured
_LONG_START, _MOST_LONGER = 0.2, 10.0
"""Share of a run that start and end take from which on runs become longer, and how many times at most."""
_MOST_WORK = 0.99
"""The work takes at most this share of a task's time: where the bracket's short runs were faster than the
reference, a task without work would last no time."""
_PATIENT = 20
"""Rounds after which a search may end on disturbed runs."""
_AHEAD, _GAIN = 10, 0.1
"""The search ends where so many more rounds would make the interval narrower by less than this share."""


class CrossingSearch(Rounds):
    """Looks for the crossing, then measures the sizes that `_first_sizes` chooses."""

    WHOLE: ClassVar[bool] = False
    """True if the bracket goes on beyond the crossing."""
    TOO_FEW = ("budget_before_precise", "rounds_before_precise")

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        self._bracket = Bracket(settings, whole=self.WHOLE)
        self._verdict: Metg | None = None  # as of the end of the last complete round
        self.ripe = False
        """True if every size has enough rounds, and enough of them undisturbed, for the search to end."""

    @abstractmethod
    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        """The sizes to measure, ascending, around a crossing at so many iterations; `found` if it is one."""

    def _outer_sizes(self, crossing: float) -> tuple[int, ...]:
        """The sizes to measure seldom, besides the empty kernel."""
        return ()

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes that join at the end of a round."""
        return []

    def _prepare(self, request: Request, samples: list[Sample], alone: float) -> Request | None:
        s, bracket = self.settings, self._bracket
        if alone < SELDOM_ALONE and self._shorter < SHORTEST:
            self._shorter = bracket.shorter = 2 * self._shorter
            if not alone and (again := bracket.again(request)):
                return again
        if following := bracket.take(request, samples):
            return following
        crossing = bracket.crossing()
        found = bracket.enclosing() is not None or bracket.least.efficiency >= s.threshold
        self.sizes = self._first_sizes(crossing, found)
        outer = self._outer_sizes(crossing) if self.sizes else ()
        self.seldom = (*(n for n in outer if n not in self.sizes), 0)
        if s.steps is None:  # else start and end count, as they do in Task Bench
            self._short = next((n for n in self.sizes if n >= crossing), None)
        self._per_step = bracket.top.tasks_per_step
        self._typical = max(s.run_seconds, self._steps(round(crossing)) * self._step_seconds(crossing))
        return None

    def _step_seconds(self, iterations: float) -> float:
        """Guesses how long a step of such tasks lasts, by the bracket."""
        known = self._bracket.points
        sizes = sorted(known)
        granularity = float(np.interp(iterations, sizes, [known[n].granularity for n in sizes]))
        end = known[sizes[0] if iterations < sizes[0] else sizes[-1]]
        if not sizes[0] <= iterations <= sizes[-1]:  # only the work of a task changes with its size
            granularity *= 1.0 + min(end.efficiency, _MOST_WORK) * (iterations / end.iterations - 1.0)
        return granularity * end.tasks_per_step / end.cores

    def _steps(self, iterations: int) -> int:
        """The steps that make a run last as long as asked, whatever the size."""
        s, top = self.settings, self._bracket.top
        start = (self._verdict.start.value if self._verdict else None) or 0.0
        known = self._seconds.get(iterations, 0.0)
        if known and start > _LONG_START * min(known, self._run_seconds) and s.steps is None:
            # The bracket took start and end for a part of the tasks, so that runs are too short.
            step = max(known - start, (1.0 - _LONG_START) * 0.1 * known) / self._planned[iterations]
            longer = min(start / _LONG_START, _MOST_LONGER * s.run_seconds)
            return s.clamped_steps(max(self._run_seconds, longer) / step, top.tasks_per_step)
        return s.clamped_steps(self._run_seconds / self._step_seconds(iterations), top.tasks_per_step)

    @property
    def precise(self) -> bool:
        """Tells whether METG is as precise as asked, as of the last complete round."""
        return self._precise

    @property
    def metg(self) -> Interval:
        """METG as of the last complete round; a lower bound where no size reached the threshold."""
        if self._verdict:
            return self._verdict.metg
        return Interval() if self._preparing or self.sizes else Interval(low=self._bracket.top.granularity)

    # -- the stopping rule --------------------------------------------------------------------------------

    def _settled(self) -> bool:
        s = self.settings
        if not self.sizes:  # never reached: only the floor was left to measure
            return self._round >= _FLOOR_ROUNDS
        verdict = self._verdict = self._estimate(self.samples(), s.search_resamples)
        self._width = verdict.metg.half_width
        # Others may go away: the search waits some rounds for runs that they did not disturb.
        rounds = min(map(self._counting, self._deciding(verdict)))
        added = self._added_sizes(verdict) if rounds >= FEWEST_ALONE else []
        self.sizes = tuple(sorted({*self.sizes, *added}))
        self.seldom = tuple(n for n in self.seldom if n not in self.sizes)
        if added and self._short:
            crossing = verdict.iterations or float(added[len(added) // 2])
            if abs(math.log2(self._short / crossing)) > 1.0:
                self._short = min((n for n in self.sizes if n >= crossing), default=self.sizes[-1])
        # Sizes may join late, and one whose runs were mostly start and end is on no curve: its runs have just
        # become longer.
        enough = rounds >= min(s.min_rounds, FEW_ROUNDS) and {*self.sizes} <= {
            p.iterations for p in verdict.curve
        }
        independent = self._round / verdict.inflation >= min(s.min_rounds, FEW_ROUNDS)
        ripe = not added and self._round >= s.min_rounds and enough and independent
        self.ripe = ripe
        self._precise = ripe and self._width <= s.precision
        return ripe and self._decided(verdict)

    def _decided(self, verdict: Metg) -> bool:
        """Tells whether more rounds are not worth their time, once every size has enough of them."""
        return self._precise or self._without_crossing(verdict) or self._gains_little(verdict)

    def _without_crossing(self, verdict: Metg) -> bool:
        """Tells whether the curve surely has no METG."""
        return verdict.metg.value is None and verdict.ending is not Ending.BUDGET

    def _gains_little(self, verdict: Metg) -> bool:
        """Tells whether more rounds hardly make the interval narrower: it shrinks with their square root."""
        width = self._width
        lasting = min(math.hypot(verdict.systematic, verdict.lasting), width)
        if not math.isfinite(width) or self._round < _AHEAD:
            return False
        noise = math.sqrt(width**2 - lasting**2) * math.sqrt(self._round / (self._round + _AHEAD))
        return math.hypot(noise, lasting) > (1.0 - _GAIN) * width

    def _deciding(self, verdict: Metg) -> list[int]:
        """The two measured sizes nearest to the crossing, or without one all."""
        sizes, at = [p.iterations for p in verdict.curve], verdict.iterations
        return sorted(sizes, key=lambda n: abs(math.log(n / at)))[:2] if at else sizes

    def _counting(self, iterations: int) -> int:
        """The runs of a size: at first those that nobody disturbed, and later all."""
        every = self._runs[False, iterations]
        return len(every) if self._round >= _PATIENT else self._undisturbed(iterations)

    def _mostly_disturbed(self, iterations: int) -> bool:
        """Tells whether most runs of a size that count are ones that others disturbed."""
        alone = self._undisturbed(iterations)
        return alone < FEWEST_ALONE and 2 * alone < len(self._runs[False, iterations])

    # -- results ------------------------------------------------------------------------------------------

    def result(self, reference: ArrayLike, out_of_budget: bool = False) -> Metg:
        """Tells what the cell came to, by everything told so far, a half-finished round included.

        A number is `precise` if the interval is as narrow as asked over at least `min_rounds` rounds, and
        rests on runs that others left alone, else `budget`. Where the bracket ended before the crossing was
        found, the ending is `budget` and there is no number. `reference` are the rates [measurements x cores]
        that say what quiet cores would do. Raises ValueError before the first answer.
        """
        s, best = self.settings, best_rate(reference)
        if self._round == 0 or not self.sizes:
            return self._bracket_result(best)
        found = self._estimate(self.samples(), s.resamples, best)
        if not self._conclusive(found):
            return self._without_number(found)
        if found.metg.value is None:
            return found
        # With more resamples, it is a little off.
        narrow = self._precise and found.metg.half_width <= 1.2 * s.precision
        ending, said = (Ending.PRECISE, []) if narrow else self._ending_of_others(found, out_of_budget)
        if any(map(self._mostly_disturbed, self._deciding(found))):
            ending, said = found.ending, [*said, notice("crossing_disturbed")]
        return replace(found, ending=ending, warnings=(*found.warnings, *said))

    def _ending_of_others(self, found: Metg, out_of_budget: bool) -> tuple[Ending, list[Notice]]:
        """The ending of a search whose METG is not as precise as asked, and the notices about it."""
        return found.ending, self._too_few(out_of_budget)

    def _bracket_result(self, best: float) -> Metg:
        """The result of the bracket alone: nothing reached the threshold, or no round is complete."""
        samples = self._bracket.samples()
        if not samples:
            raise ValueError("nothing was told yet")
        found = self._estimate(samples, self.settings.resamples, best)
        if not self._preparing and not self.sizes:
            return found
        if self._bracket.enclosing() and found.metg.value is not None:
            return replace(found, warnings=(*found.warnings, notice("budget_before_rounds")))
        return self._without_number(found)

    def _conclusive(self, found: Metg) -> bool:
        """Tells whether an ending holds for all sizes there could be, not only for those measured."""
        if found.ending is Ending.ALWAYS_REACHED:
            return found.curve[0].iterations == 1
        largest = self._bracket.largest_allowed()
        return found.ending is not Ending.NEVER_REACHED or found.curve[-1].iterations * 1.25 >= largest

    def _without_number(self, found: Metg) -> Metg:
        near = min(
            found.curve, key=lambda one: abs(math.log(one.efficiency.number / self.settings.threshold))
        )
        told = {"granularity": near.granularity.number, "efficiency": near.efficiency.number}
        if self._preparing:
            said = notice("budget_before_crossing", **told)
        else:
            said = notice("no_crossing_measured", rounds=max(1, self._round), **told)
        # What lies beyond the measured sizes is not known, so these bound nothing.
        found = replace(found, metg=Interval(), iterations=None)
        return replace(found, ending=Ending.BUDGET, warnings=(*found.warnings, said))
