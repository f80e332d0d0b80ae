"""What comes next of a study: which cells, in which order, and for how long.

A round of a workload takes the next runs of all its systems in turn, size by size, so that drift hits systems
and sizes alike; the system that begins changes from round to round. No cell takes more than its share of the
budget: with milliseconds a task, one would else take the time of all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from taskgrain.measure.plan import Plan
from taskgrain.measure.progress import Standing
from taskgrain.measure.record import CellState, Record
from taskgrain.study.workload import Workload


class Schedule:
    """Chooses what to measure next, by the record and by the time that is left."""

    def __init__(self, plan: Plan, record: Record, start: float) -> None:
        """The record holds what earlier calls have measured; `start` is when this call began."""
        self._plan, self._record = plan, record
        self._spent, self._start = record.elapsed, start
        self._turns: Counter[Workload] = Counter()
        """Rounds of each workload: they say which system begins."""

    def elapsed(self) -> float:
        """Seconds of measuring, over all calls."""
        return self._spent + self._plan.clock() - self._start

    def out_of_budget(self) -> bool:
        return 0.0 < self._plan.settings.budget <= self.elapsed()

    def share(self) -> float:
        """Seconds that each cell may take: equal parts of what all else leaves of the budget."""
        budget = self._plan.settings.budget
        left = [state.spent for state in self._record.cells.values() if not state.done]
        return (budget - self.elapsed() + sum(left)) / max(1, len(left)) if budget else math.inf

    def next_group(self) -> list[CellState]:
        """Cells of one workload that are to be measured together; none once all is done."""
        share = self.share()
        left = [state for state in self._record.cells.values() if not state.done and state.spent < share]
        settling = [state for state in left if state.settling]
        preparing = [state for state in settling if state.experiment.preparing]
        # Brackets take different numbers of runs: all of them first, so that systems share their rounds.
        if first := preparing or settling:
            workload = min(first, key=lambda one: one.experiment.rounds).cell.workload
            return [state for state in first if state.cell.workload == workload]
        if not left:
            return []
        precision = self._plan.settings.precision

        def urgency(state: CellState) -> tuple[float, int]:
            return -min(state.experiment.interval_width() / precision, 10.0), state.experiment.rounds

        widest = min(left, key=urgency)
        return [state for state in left if state.cell.workload == widest.cell.workload]

    def in_turn(self, group: Sequence[CellState]) -> list[CellState]:
        """The group in the order of its next round."""
        workload = group[0].cell.workload
        self._turns[workload] += 1
        first = self._turns[workload] % len(group)
        return [*group[first:], *group[:first]]

    def standing(self, current: CellState) -> Standing:
        """How far the study is, for who waits."""
        states = self._record.cells.values()
        run_seconds = sum(one.run_seconds for one in states)
        pace = sum(one.spent for one in states) / run_seconds if run_seconds else 1.0
        left = sum(one.expected_seconds_left(pace) for one in states)
        budget, elapsed = self._plan.settings.budget, self.elapsed()
        if budget:
            left = min(left, budget - elapsed)
        done = sum(one.done for one in states)
        return Standing(done, len(states), elapsed, left, current.cell.name)
