"""METG: the adaptive search for the smallest task that is efficient enough.

After the bracket, six sizes around the crossing in every round, and two further out, with the empty kernel,
in every third. A crossing that turns out to lie elsewhere gets sizes of its own.
"""

from __future__ import annotations

import math

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.samples import FEW_ROUNDS
from taskgrain.measure.experiments.rounds import Rounds
from taskgrain.measure.experiments.sizes import INNER, crossing_of, inner, outer

_MOST_SIZES = 16  # with those added when the crossing moved
_SETTLED_ROUNDS = 3  # before this many rounds the crossing is not known well enough to move sizes


class MetgSearch(Rounds):
    """The search of one cell for its METG."""

    PHASE = "measure"
    ROUND_RUNS = 7.0  # six sizes, and a third of three others
    ROUND_WORK = 9.0

    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        return inner(crossing, self._bracket.largest_allowed()) if found else ()

    def _seldom(self, crossing: float) -> tuple[int, ...]:
        return outer(crossing, self.settings.threshold, self._bracket.largest_allowed())

    def _added_sizes(self, verdict: Metg) -> list[int]:
        """Sizes around a crossing that has turned out to lie where the sizes are sparse, or beyond them."""
        s = self.settings
        joined = min(self._round, FEW_ROUNDS) * self._repeats  # sizes added before must count before more are
        if (
            self._round < _SETTLED_ROUNDS
            or min(p.repeats for p in verdict.curve if p.iterations in self.sizes) < joined
        ):
            return []
        first, last = verdict.curve[0], verdict.curve[-1]
        most = self._bracket.largest_allowed()
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
        wanted = {min(max(1, round(aim * f)), most) for f in INNER}
        added = sorted(
            n
            for n in wanted
            if n not in self.sizes and all(abs(math.log2(n / m)) > 0.2 or n < 8 for m in self.sizes)
        )
        return added[: _MOST_SIZES - len(self.sizes)]
