"""Chooses what comes next of a study: which cells, in which order, and for how long.

A round of a workload takes the next runs of all its systems in turn, size by size, so that drift hits systems
and sizes alike; the system that begins changes from round to round. No cell takes more than its share of the
budget: with milliseconds a task, one would else take the time of all.

The budget is hard. A run that would end beyond it is not begun, and what is under way at its end is stopped
after a short grace: a run, the start of a driver, a measurement of the reference.

A cell whose place among the systems of its workload is sure ends before METG is as precise as asked. Who
compares systems asks which is faster: where a METG is surely apart from those next to it, more rounds of it
answer nothing, and take time from the cells that are still open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from taskgrain.estimate.ratio import ratio
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.plan import Plan, simulated_seconds
from taskgrain.measure.progress import Progress
from taskgrain.measure.record import CellState, Record
from taskgrain.results.ranking import MARGIN
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Workload

_GRACE, _GRACE_SHARE, _MOST_SHARE = 1.0, 0.02, 0.1
"""Seconds, or a share of the budget if that is more; never more than the other share."""
_LEAST_TASK_SECONDS = 10e-9
"""The least seconds of a core for a task on any system: runs that need even more time never fit."""


class Budget:
    """Counts the seconds of measuring, over all calls."""

    def __init__(self, seconds: float, spent: float, start: float, clock: Callable[[], float]) -> None:
        """`seconds` 0 stands for no limit; earlier calls have `spent` some; this one began at `start`."""
        self.seconds = seconds or math.inf
        self._spent, self._start, self._clock = spent, start, clock

    def elapsed(self) -> float:
        """Seconds of measuring, over all calls."""
        return self._spent + self._clock() - self._start

    def stop(self, elapsed: float) -> None:
        """Lets no more time pass: so many seconds were measured."""
        self._spent, self._clock = elapsed, lambda: self._start

    def left(self) -> float:
        """Seconds; infinite without a limit."""
        return self.seconds - self.elapsed()

    @property
    def over(self) -> bool:
        return self.left() <= 0.0

    def time_left(self) -> float:
        """The seconds that runs under way have: a little more than is left, as most end soon."""
        return self.left() + self._grace

    @property
    def _grace(self) -> float:
        return min(max(_GRACE, _GRACE_SHARE * self.seconds), _MOST_SHARE * self.seconds)

    def most_seconds(self, alone: bool) -> float:
        """The seconds that one run may take: while other cells wait, half of what is left."""
        return math.inf if alone else max(self._grace, 0.5 * self.left())


def least_seconds(tasks: int, cores: int) -> float:
    """Returns the seconds that so many tasks take at least on any system."""
    return tasks * _LEAST_TASK_SECONDS / cores


class Schedule:
    """Chooses what to measure next, by the record and by the time that is left."""

    def __init__(self, plan: Plan, record: Record, budget: Budget) -> None:
        self._plan, self._record, self._budget = plan, record, budget
        self._turns: Counter[Workload] = Counter()
        """Rounds of each workload: they say which system begins."""
        self._shown = 0.0
        """The share of the time that was last said to be over."""

    def share(self) -> float:
        """Seconds that each cell may take: equal parts of what all else leaves of the budget."""
        left = [state.spent for state in self._record.cells.values() if not state.done]
        return (self._budget.left() + sum(left)) / max(1, len(left))

    def next_group(self) -> list[CellState]:
        """Cells of one workload that are to be measured together; none once all is done."""
        share = self.share()
        left = [state for state in self._record.cells.values() if not state.done and state.spent < share]
        settling = [state for state in left if state.experiment.settling]
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
        """The group in the order of its next round: bounds last, as nobody waits for them."""
        workload = group[0].cell.workload
        self._turns[workload] += 1
        first = self._turns[workload] % len(group)
        turned = [*group[first:], *group[:first]]
        return sorted(turned, key=lambda state: self._plan.systems[state.cell.system].bound)

    def progress(self, current: str) -> Progress:
        """Tells how far the study is, before `current`.

        A budget is used up, unless all that is left has to be run only once: who is precise when is not
        known before. Without a budget nothing is foretold while cells look for what to measure.
        """
        states = self._record.cells.values()
        open_ones = [one for one in states if not one.done]
        once = all(self._plan.systems[one.cell.system].simulates_nodes for one in open_ones)
        run_seconds = sum(one.run_seconds for one in states)
        pace = sum(one.spent for one in states) / run_seconds if run_seconds else 1.0
        guess = sum(self._seconds_left(one, pace) for one in open_ones)
        limit = self._budget.left()
        left: float | None = limit
        if once or math.isinf(limit):
            early = not once and any(one.experiment.preparing for one in open_ones)
            left = None if early else min(guess, limit)
        found = Progress(
            done=len(states) - len(open_ones),
            cells=len(states),
            seconds=self._budget.elapsed(),
            seconds_left=left,
            current=current,
            at_most=left == limit,
            least=self._shown,
        )
        self._shown = found.share
        return replace(found, least=found.share)

    def _seconds_left(self, state: CellState, pace: float) -> float:
        """A guess of the seconds; for simulated nodes from their tasks, as each run takes them only once."""
        if not self._plan.systems[state.cell.system].simulates_nodes:
            own = state.spent / state.run_seconds if state.run_seconds else pace
            return own * state.experiment.expected_seconds_left()
        made, settings = type(state.experiment), state.experiment.settings
        if not state.experiment.preparing and state.experiment.rounds:
            return 0.0
        return max(simulated_seconds(state.cell.workload, made, settings) - state.spent, 0.0)


LOOKS = (10, 14, 20, 28)
"""Rounds after which a cell is looked at; with more, it is nearly as precise as asked anyway."""
_CONFIDENCE, _RESAMPLES = 0.99, 500
"""The confidence is enough for all looks at a cell to hold at once."""


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
