"""Measures the cells of a study against its store.

A driver is parked while others are measured. The schedule says which cells are next; the
reference is measured in between, all along.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from taskgrain.answers.advice_words import NOT_KNOWN, efficiency
from taskgrain.drive.answers import DriverError, OutOfTime
from taskgrain.estimate.advice import efficiency_at
from taskgrain.estimate.ratio import ratio
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.machine.topology import notices
from taskgrain.measure.drivers import Drivers, References
from taskgrain.measure.ends import Ends
from taskgrain.measure.experiments.experiment import Experiment
from taskgrain.measure.experiments.table import experiment_named
from taskgrain.measure.plan import Plan, cell_settings
from taskgrain.measure.record import CellState, Journal, Record
from taskgrain.measure.runs import Runs
from taskgrain.measure.schedule import Budget, Schedule
from taskgrain.results import ranking
from taskgrain.results.builds import Placed
from taskgrain.results.cell import marked
from taskgrain.results.lines import RatioLine
from taskgrain.results.store import Store
from taskgrain.study.workload import Cell, Workload
from taskgrain.words import quantity
from taskgrain.words.errors import OutputError
from taskgrain.words.origin import Origin

_SHOW_SECONDS = 0.2
_TOLD = {1, FEW_ROUNDS}
"""Rounds after which something new is known: the efficiency, and how sure it is."""
_RESAMPLES = 500
"""The number of resamples for a ratio to the best cell of a workload, or to a bound."""


class Runner:
    """One call's work on a study. `run` returns the cells' states, in order."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        made = plan.experiment or experiment_named(plan.settings.experiment)

        def experiment(cell: Cell) -> Experiment:
            asked = cell_settings(plan.settings, cell.workload, plan.systems[cell.system].simulates_nodes)
            return made(replace(asked, points=cell.workload.tasks(1)))

        references = {name: one.reference_name for name, one in plan.systems.items()}
        self.record = Record(plan.cells, experiment, plan.settings.cores, references)
        start = plan.clock() if plan.begun is None else plan.begun
        for warning in store.warnings:
            plan.reporter.note(warning)
        for said in notices(plan.cores):
            plan.reporter.note(said.text)
        self._replay(store.history)
        self._budget = Budget(plan.settings.budget, self.record.elapsed, start, plan.clock)
        self._schedule = Schedule(plan, self.record, self._budget)
        self._told: set[tuple[Workload, int]] = set()
        """Workloads and rounds of which it has said what they came to."""
        self._shown = -math.inf
        self._drivers = Drivers(plan, self._budget.time_left)
        journal = Journal(store, self.record, self._budget.elapsed, plan.timing)
        self._references = References(plan, self.record, self._drivers, journal)
        self._ends = Ends(plan, self.record, self._drivers, journal)
        self._journal = journal
        self._runs = Runs(plan, self.record, self._drivers, journal, self._ends, self._budget)

    def _replay(self, lines: Sequence[Placed]) -> None:
        strange = 0
        for one in lines:
            try:
                if one.earlier or getattr(one.line, "cell", None) in self._plan.others:
                    self.record.skip(one.line)
                else:
                    self.record.take(one.line)
            except ValueError:
                strange += 1
        ignored = sum(state.ignored for state in self.record.cells.values()) + self.record.unknown + strange
        if ignored:
            self._plan.reporter.note(f"{ignored} stored lines do not fit what is known and are not used")

    def run(self) -> list[CellState]:
        """Measures until every cell is done or the budget is spent.

        Raises `UsageError` if a request is wrong, `TaskgrainError` if the reference does not work or the
        store cannot be written. Whatever ends it, an interrupt too, no driver is left running, and the store
        holds all that was measured.
        """
        states = list(self.record.cells.values())
        try:
            for state in states:
                if self._plan.retry and state.failure is not None:
                    state.try_again()
            workloads = dict.fromkeys(state.cell.workload for state in states)
            for workload in workloads:
                self._judge(workload)
            try:
                while (group := self._schedule.next_group()) and not self._budget.over:
                    self._measure_round(group)
            except OutOfTime as error:
                if said := str(error):  # of another host
                    self._plan.reporter.note(said)
            if self.begun:
                ending = replace(self._schedule.progress("results"), seconds_left=None)
                self._plan.reporter.show(ending)
            for workload in workloads:
                self._judge(workload, over=True)
            for state in states:
                self._ends.conclude(state)
            compare(states, self._plan.settings.threshold, self._journal)
            with self._plan.timing.part("processes"):
                self._drivers.close()
        finally:
            self._drivers.kill()
            self._plan.reporter.close()
        return states

    def time_left(self) -> float:
        """Seconds from now until everything under way has to stop."""
        return self._budget.time_left()

    @property
    def begun(self) -> bool:
        """Tells whether this call has written anything."""
        return self._journal.begun

    def interrupt(self) -> None:
        """Writes the results so far of the cells that have not ended. The time since the last line does not
        count: the run that the interrupt cut is measured again."""
        self._budget.stop(self.record.elapsed)
        for state in self.record.cells.values():
            try:
                self._ends.interrupt(state)
            except OutputError as error:  # the table shows it all the same
                self._plan.reporter.note(str(error))

    def _measure_round(self, group: Sequence[CellState]) -> None:
        order = self._schedule.in_turn(group)
        # Before anything is started or measured for them:
        group = [state for state in group if self._runs.fits(state, state.experiment.next_round()[0])]
        order = [state for state in order if state in group]
        left = {id(state): len(state.experiment.next_round()) for state in order}
        if not any(state.experiment.preparing for state in order):
            self._drivers.turn([state.driver for state in order], order[0].cell.workload if order else None)
        self._refer(group, again=True)
        for turn in range(max(left.values(), default=0)):
            share = self._schedule.share()
            for state in order:
                self._refer(group, again=False)
                may = turn < left[id(state)] and not state.done and state.spent < share
                if may and not self._budget.over:
                    request = state.experiment.next_round()[0]
                    if self._runs.fits(state, request):
                        self._show(state)
                        self._runs.measure(state, request)
        self._judge(group[0].cell.workload if group else None)
        for said in self._sentences([one for one in group if one.failure is None]):
            self._plan.reporter.note(said)
        for state in group:
            if state.done:
                self._ends.conclude(state)

    def _sentences(self, group: Sequence[CellState]) -> Iterator[str]:
        """Says once, as `advise` does, what cells of one workload came to by the round that all of them have
        ended: the first useful line, for who waits. Tasks may have become longer or shorter than was asked
        for."""
        rounds = min((0 if one.experiment.preparing else one.experiment.rounds for one in group), default=0)
        if rounds not in _TOLD:
            return
        if (key := (group[0].cell.workload, rounds)) in self._told:
            return
        self._told.add(key)
        times: dict[float, list[str]] = {}
        for state in sorted(group, key=lambda one: self._plan.systems[one.cell.system].bound):
            system = self._plan.systems[state.cell.system]
            name = marked(system.name, system.bound, Origin(system.simulated))
            for point in state.experiment.efficiencies_so_far():
                asked = point.asked or point.work
                said = efficiency(efficiency_at({point.work: point.efficiency}, asked))
                if said != NOT_KNOWN:
                    times.setdefault(asked, []).append(f"{said}{',' * (',' in said)} with {name}")
        for asked, each in times.items():
            tasks = f"tasks of {quantity.seconds(asked, 2)}"
            after = quantity.counted(rounds, "round")
            yield f"after {after}, {tasks} reach {', '.join(each)}; more rounds make this surer"

    def _show(self, state: CellState) -> None:
        """Shows how far the study is, now and then: guessing it looks at all cells."""
        now = self._plan.clock()
        if now - self._shown >= _SHOW_SECONDS:
            self._shown = now
            self._plan.reporter.show(self._schedule.progress(state.cell.name))

    def _judge(self, workload: Workload | None, over: bool = False) -> None:
        """Lets the plan's judge end cells of a workload, if it has one."""
        if self._plan.judge and workload is not None:
            states = [one for one in self.record.cells.values() if one.cell.workload == workload]
            self._plan.judge(states, over)

    def _refer(self, group: Sequence[CellState], again: bool) -> None:
        """Measures the references of cells of one workload, in any case or unless they have just been."""
        for key in dict.fromkeys(state.kernel for state in group if not state.done):
            if not again and not self._references.due(key):
                continue
            try:
                self._references.measure(key, group[0].cell.workload.reference())
            except DriverError as error:
                for state in group:
                    if state.kernel == key and not state.done:
                        self._ends.driver_failed(state, error)


def compare(states: Sequence[CellState], threshold: float, journal: Journal) -> None:
    """Writes the ratios that are not written yet, from the rounds that two cells have in common."""
    workloads = defaultdict(list)
    for state in states:
        if state.stored.metg.value and state.experiment.samples():
            workloads[state.cell.workload].append(state)
    for group in workloads.values():
        for under in _denominators(group):
            samples = under.experiment.samples()
            for over in group:
                if over is under or under.cell.name in over.stored.ratios:
                    continue
                found = ratio(over.experiment.samples(), samples, threshold=threshold, resamples=_RESAMPLES)
                if found.value is not None:
                    journal.append(RatioLine(cell=over.cell.name, to=under.cell.name, **asdict(found)))


def _denominators(group: Sequence[CellState]) -> Iterator[CellState]:
    cells = [one.stored for one in group]
    best, bounds = ranking.best(cells), ranking.bounds(cells)
    yield from (one for one in group if one.stored is best)
    yield from (one for one in group if one.stored is not best and any(one.stored is it for it in bounds))
