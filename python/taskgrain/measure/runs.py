"""One request of a cell: run it, check the answer, and write it.

A run is repeated if others disturbed all of its repeats, and the least disturbed attempt counts. A run
that does not fit into the budget is not begun, or stopped: that ends its cell.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from taskgrain.drive.answers import DriverError, OutOfTime, RunResult
from taskgrain.drive.session import Session
from taskgrain.machine.busy import Busy
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.ends import Ends
from taskgrain.measure.experiments.experiment import Request
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import CellState, Journal, Record
from taskgrain.measure.schedule import Budget, least_seconds
from taskgrain.results.field import fields
from taskgrain.results.lines import CrashLine, RejectedLine, RunLine
from taskgrain.results.samples import undisturbed
from taskgrain.study.workload import REFERENCE
from taskgrain.words import quantity
from taskgrain.words.warnings import notice

_MOST_ATTEMPTS = 3
_LONG, _LONG_SHARE = 1.0, 0.05
"""Seconds of a run that is not repeated for being disturbed. Before the first round of a cell has ended, they
are this share of what each cell has of the budget, if that is less: all of them shall have a round."""
_RECENT = 16
"""Requests by which it is judged whether repeating helps."""
_DOUBTFUL = 20.0
"""No cache and no clock makes a system so many times quicker than the kernel alone; a busy machine, which has
starved the reference, can."""
_MOST_OF_CORE, _MOST_OF_DEVICE = 2.56e12, 1e16
"""Work per second that nobody does, however busy the machine: 256 FLOP or bytes in each of 1e10 cycles, where
cores of today do 32 FLOP and move 192 bytes in less than 6e9; and a hundred times what a GPU does."""


class Runs:
    def __init__(
        self, plan: Plan, record: Record, drivers: Drivers, journal: Journal, ends: Ends, budget: Budget
    ) -> None:
        self._plan, self._record, self._drivers, self._journal = plan, record, drivers, journal
        self._ends, self._budget = ends, budget
        self._stayed_disturbed: deque[bool] = deque(maxlen=_RECENT)
        """True for each of the last requests of which every attempt was disturbed."""

    def fits(self, state: CellState, request: Request) -> bool:
        """Tells whether a run would likely end before the budget does. If not, its cell ends."""
        system = self._plan.systems[state.cell.system]
        needed, tasks, left = state.likely_seconds(request), _tasks(state, request), self._budget.time_left()
        if system.simulated:  # its seconds do not pass here
            needed = needed and needed * state.spent / state.run_seconds
        elif needed is None and not system.reference:  # which may stand for processors quicker than cores
            repeats, left = request.repeats + request.warmup, self._budget.left()
            cores = state.cell.workload.cores_of_all(self._plan.settings.cores)
            needed = least_seconds(tasks * repeats, cores)
        if needed is not None and needed > left:
            budget = self._budget.seconds
            state.cut = notice("run_beyond_budget", tasks=tasks, needed=float(f"{needed:.2g}"), budget=budget)
        return state.cut is None

    def measure(self, state: CellState, request: Request) -> None:
        """Measures one request. A driver that fails ends its cell; one that does not start, all of its cells.

        Raises `UsageError` if the driver calls the request invalid, `OutOfTime` at the end of the budget.
        """
        best: RunLine | None = None
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            try:
                line = self._answer(state, request)
            except DriverError as error:
                # One that does not start would not start for its other cells either.
                same = [one for one in self._record.cells.values() if one.driver == state.driver]
                for failed in same if error.at_start else [state]:
                    if not failed.done:
                        self._ends.driver_failed(failed, error)
                return
            if line is None:
                break
            if best is None or (line.disturbed, line.busy) < (best.disturbed, best.busy):
                line = best = replace(line, attempts=attempt)
            else:
                best = replace(best, attempts=attempt)
            long = sum(filter(None, line.seconds)) > self._long(state)
            # Where most of the last requests stayed disturbed, repeating only eats the budget.
            recent = self._stayed_disturbed
            hopeless = len(recent) == _RECENT and sum(recent) > _RECENT / 2
            last = attempt == _MOST_ATTEMPTS or long or self._budget.over or hopeless
            if not line.disturbed or last:
                break
            self._journal.append(RejectedLine(**vars(line)))
        if best is None:
            return
        self._stayed_disturbed.append(bool(best.disturbed))
        self._journal.append(best)
        if state.problem:
            self._ends.fail(state, "protocol", state.problem)

    def _long(self, state: CellState) -> float:
        """Seconds of a run of a cell that is not repeated."""
        if state.experiment.rounds and not state.experiment.preparing:
            return _LONG
        cells = sum(not one.done for one in self._record.cells.values())
        return min(_LONG, _LONG_SHARE * self._budget.left() / max(1, cells))

    def _answer(self, state: CellState, request: Request) -> RunLine | None:
        """Returns one answer; None if it was stopped, which ends the cell.

        A driver that crashes is started again, a few times: others may have killed it.
        """
        while True:
            try:
                driver = self._drivers.get(state.driver)
                if not state.begun:
                    self._ends.begin(state)
                if not state.runs and self._ends.cannot_reach(state):
                    return None
                with self._plan.timing.part("requests"):
                    return self._line(state, request, driver)
            except DriverError as error:
                if not self._drivers.may_restart(state.cell.name, error):
                    raise
                line = CrashLine(cell=state.cell.name, message=error.message, log=error.log_tail)
                self._journal.append(line)

    def _line(self, state: CellState, request: Request, driver: Session) -> RunLine | None:
        settings, name = self._plan.settings, state.cell.system
        alone = all(one.done for one in self._record.cells.values() if one is not state)
        begin = self._budget.elapsed()
        try:
            result = driver.run(
                state.cell.workload.request(request.iterations, request.steps),
                repeats=request.repeats,
                warmup=request.warmup,
                validate=settings.validate,
                isa=settings.isa,
                expected_seconds=state.expected_seconds(request),
                most_seconds=self._budget.most_seconds(alone),
            )
        except OutOfTime:
            seconds = round(self._budget.elapsed() - begin, 2)
            told = {"tasks": _tasks(state, request), "seconds": seconds, "budget": self._budget.seconds}
            state.cut = notice("run_stopped", **told)
            if self._budget.over:
                raise
            return None
        tasks = sum(result.seconds)
        if not self._plan.systems[name].simulated:
            self._plan.timing.move(tasks, "tasks")
            self._plan.timing.move(tasks / len(result.seconds) * request.warmup, "warm-up")
        try:
            self._check_result(state, request, result)
        except DriverError as error:
            error.log_tail = driver.log_tail()
            raise
        busy = Busy() if self._plan.systems[name].simulated else driver.busy
        shown: dict[str, Any] = {
            name: value for name, value in vars(result).items() if name in fields(RunLine)
        }
        shown["warnings"] = tuple(one.fields() for one in result.warnings)
        line = RunLine(
            cell=state.cell.name,
            phase=request.phase,
            round=request.round,
            iterations=request.iterations,
            steps=request.steps,
            process=self._drivers.number(state.driver),
            cores=self._ends.processors(state),
            busy=round(busy.share, 4),
            busy_hosts=tuple(round(one, 4) for one in busy.hosts),
            steal=round(busy.steal, 4),
            throttled=round(busy.throttled, 6) or None,
            switches=busy.switches,
            joules=busy.joules,
            **shown,
        )
        return replace(line, disturbed=not undisturbed(line))

    def _check_result(self, state: CellState, request: Request, result: RunResult) -> None:
        """Checks the parts of an answer that the session cannot: it knows neither graphs nor reference."""
        tasks = state.cell.workload.exact_tasks(request.steps)
        if tasks not in (None, result.tasks):
            raise DriverError("validation", f"counts {result.tasks} tasks; the graphs hold {tasks}")
        unit = self._record.work_units.get(state.kernel)
        if request.iterations and (result.work_unit != unit or result.work <= 0):
            raise DriverError(
                "protocol", f"reports work of {quantity.work(result.work, result.work_unit)}, not some {unit}"
            )
        reference = self._record.reference(state.kernel)
        rate, peak = result.work / min(result.seconds), reference.sum(axis=1).max()
        of_one = _MOST_OF_CORE if state.kernel[0] == REFERENCE else _MOST_OF_DEVICE
        most = max(of_one * reference.shape[1], _DOUBTFUL * peak)
        if rate > most:
            shown = [quantity.rate(one, unit or "") for one in (rate, peak, most)]
            known = f"the kernel alone reaches {shown[1]} on all cores, which cannot exceed {shown[2]}"
            raise DriverError("protocol", f"reports {shown[0]}; {known}")


def _tasks(state: CellState, request: Request) -> int:
    """Counts the tasks of one repeat."""
    workload = state.cell.workload
    return workload.exact_tasks(request.steps) or workload.tasks(request.steps)
