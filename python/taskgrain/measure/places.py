"""Ends cells whose place among the systems of their workload is sure, before METG is as precise as asked.

Who compares systems asks which is faster. Where a METG is surely apart from those next to it, more rounds of
it answer nothing, and take time from the cells that are still open. Looks are few, and confident enough that
all of a cell's hold at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from taskgrain.estimate.ratio import ratio
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import CellState
from taskgrain.results.ranking import MARGIN
from taskgrain.study.settings import Settings

LOOKS = (10, 14, 20, 28)
"""Rounds after which a cell is looked at; with more, it is nearly as precise as asked anyway."""
_CONFIDENCE = 0.99
_RESAMPLES = 500


class Places:
    """Ends the cells of a workload of which a look is sure: `judge` of a `Plan`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self, states: Sequence[CellState], over: bool = False) -> None:
        """Looks at the cells of a workload, at all of them when the study is `over`."""
        alive = [state for state in states if state.failure is None and not state.cut]
        searches = [one for state in alive if isinstance(one := state.experiment, MetgSearch)]
        wanted = self._settings.rank_precision > self._settings.precision
        if not wanted or len(searches) < 2 or any(one.preparing for one in searches):
            return
        told = [state.experiment for state in alive if state.done and state.result]
        ready = [one for one in searches if one not in told and self._may_end(one, over)]
        for search in [one for one in ready if all(self._apart(one, it) for it in searches if it is not one)]:
            search.end_placed()

    def _may_end(self, search: MetgSearch, over: bool) -> bool:
        narrow = search.interval_width() <= self._settings.rank_precision and not search.precise
        return search.ripe and narrow and (over or search.done or search.rounds in LOOKS)

    def _apart(self, one: MetgSearch, other: MetgSearch) -> bool:
        """Tells whether two METGs surely differ: by their intervals, or by their ratio in common rounds."""
        (low, high), (least, most) = one.metg.ends, other.metg.ends
        if low > MARGIN * most or least > MARGIN * high:
            return True
        found = ratio(
            one.samples(),
            other.samples(),
            threshold=self._settings.threshold,
            confidence=_CONFIDENCE,
            resamples=_RESAMPLES,
        )
        return found.ends[0] > MARGIN or found.ends[1] < 1.0 / MARGIN
