"""METG: the adaptive search for the smallest task that is efficient enough.

After the bracket, six sizes around the crossing in every round, and two further out, with the empty kernel,
in every third. A crossing that turns out to lie elsewhere gets sizes of its own.
"""

from __future__ import annotations

import math

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.bracket import crossing_of, inner, outer
from taskgrain.measure.experiments.crossing import CrossingSearch
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.words.endings import Ending
from taskgrain.words.warnings import Notice

_MOST_SIZES = 16  # with those added when the crossing moved
_BENT, _NEAR = 0.5, 1.1
"""Sizes lie off a line by so much of the precision that was asked for; sizes of so small a ratio are near."""
_FAR = 8.0  # times the aim: the farthest that it may be from the sizes that are there
_SETTLED_ROUNDS = 3  # before this many rounds the crossing is not known well enough to move sizes


class MetgSearch(CrossingSearch):
    ROUND_RUNS = 7.1  # six sizes, a short run, and a third of three others
    ROUND_WORK = 9.0
    NEEDS_THRESHOLD = True

    def __init__(self, settings: CellSettings) -> None:
        super().__init__(settings)
        self._placed = False

    def end_placed(self) -> None:
        """Ends the search: METG is not as precise as asked, but surely apart from the others'."""
        self._placed = self._done = True
        self._pending = []

    def _ending_of_others(self, found: Metg, out_of_budget: bool) -> tuple[Ending, list[Notice]]:
        return (Ending.RANKED, []) if self._placed else super()._ending_of_others(found, out_of_budget)

    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        return inner(crossing, self._bracket.largest_allowed()) if found else ()

    def _outer_sizes(self, crossing: float) -> tuple[int, ...]:
        return outer(crossing, self.settings.threshold, self._bracket.largest_allowed())

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes around a crossing that has turned out to lie where the sizes are sparse, or beyond them."""
        s = self.settings
        joined = min(self._round, FEW_ROUNDS)  # sizes added before must count before more are
        if self._round < _SETTLED_ROUNDS or min(map(self._counting, self.sizes)) < joined:
            return []
        most = self._bracket.largest_allowed()
        if verdict.ending in (Ending.ALWAYS_REACHED, Ending.NEVER_REACHED):
            end = verdict.curve[0 if verdict.ending is Ending.ALWAYS_REACHED else -1]
            aim = crossing_of(end.iterations, end.efficiency.number, s.threshold)
            aim = min(max(aim, end.iterations / _FAR), end.iterations * _FAR)
        elif verdict.iterations is not None:
            aim = verdict.iterations
            low = max((n for n in self.sizes if n <= aim), default=self.sizes[0])
            high = min((n for n in self.sizes if n > aim), default=self.sizes[-1])
            if high <= low * 2.0**0.75 or high - low <= 1:
                return self._between(low, high) if verdict.systematic > _BENT * s.precision else []
        else:
            return []
        if verdict.iterations is None:  # it lies beyond all sizes: those far from it tell nothing any more
            nearest = sorted(self.sizes, key=lambda n: abs(math.log2(n / aim)))
            self.sizes = tuple(sorted({*nearest[:2], *(n for n in nearest if 1 / _FAR < n / aim < _FAR)}))
        added = sorted(
            n
            for n in inner(aim, most)
            if n not in self.sizes and all(abs(math.log2(n / m)) > 0.2 or n < 8 for m in self.sizes)
        )
        return added[: _MOST_SIZES - len(self.sizes)]

    def _between(self, low: int, high: int) -> list[int]:
        """A size between two that are not near to each other already, while there may be more."""
        middle = round(math.sqrt(low * high))
        apart = low < middle < high and high > low * _NEAR and len(self.sizes) < _MOST_SIZES
        return [middle] if apart else []
