"""Measures the cells of a study against its store.

All drivers stay alive and are parked while others are measured. A round of a workload takes the next runs of
all its systems in turn, size by size, so that drift hits systems and sizes alike; the system that begins
changes from round to round. The reference is measured in between, all along. No cell takes more than its
share of the budget: with milliseconds a task, one would else take the time of all.
"""

from __future__ import annotations

import math
import os
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from taskgrain.drive.answers import DriverError, Peak, Probe, RunResult
from taskgrain.machine.busy import Busy
from taskgrain.machine.topology import frequency
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.experiments.search import Request, SearchSettings
from taskgrain.measure.plan import Driver, Plan
from taskgrain.measure.progress import Standing
from taskgrain.measure.quiet import PATIENCE, PROBE_SECONDS, Watch
from taskgrain.measure.record import BUSY_SHARE, CellState, Record, ReferenceKey
from taskgrain.results.lines import Line, from_json
from taskgrain.results.store import Store
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError

_MOST_ATTEMPTS = 3
_LONG = 1.0
"""Seconds of a run that is not repeated for being disturbed: most states of the cores are shorter."""
_RECENT = 16
"""Requests by which it is judged whether waiting for quiet cores helps."""
_IMPOSSIBLE = 20.0
"""Times what the kernel alone reaches on all cores: a rate that no cache and no clock explains."""
_REFERENCE_SECONDS = 0.01
_REFERENCE_EVERY = 0.25
"""Seconds of measuring after which the reference is measured again within a round."""


class Runner:
    """One call's work on a study. `run` returns the cells' states, in order."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan, self._store = plan, store
        self._drivers = Drivers(plan)
        self._reference_at: dict[object, float] = {}
        self._turns: Counter[Workload] = Counter()
        """Rounds of each workload: they say which system begins."""
        self._watch = Watch(self._probe, plan.clock, plan.sleep)
        self._stayed_disturbed: deque[bool] = deque(maxlen=_RECENT)
        """Of the last requests, whether every attempt was disturbed."""
        self._start = plan.clock()
        references = {name: one.reference_name for name, one in plan.systems.items()}
        self.record = Record(plan.cells, SearchSettings.of(plan.settings), plan.settings.cores, references)
        for warning in store.warnings:
            plan.reporter.note(warning)
        self._replay(store.contents.lines)
        self._spent = self.record.elapsed

    def _replay(self, lines: Sequence[Line]) -> None:
        strange = 0
        for line in lines:
            try:
                self.record.take(line)
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
                self._check(state)
            while (group := self._next_group()) and not self._out_of_budget():
                self._measure_round(group)
            for state in states:
                self._conclude(state)
            self._drivers.close()
        finally:
            self._drivers.kill()
            self._plan.reporter.close()
        return states

    # -- what comes next ----------------------------------------------------------------------------------

    def _check(self, state: CellState) -> None:
        """Fails what cannot work before anything starts, and lets a failed cell try again if wished."""
        if state.failure is not None and self._plan.retry:
            state.begin()
            state.begun = False
        system = self._plan.systems[state.cell.system]
        if not state.done and not system.runs(state.cell.workload.pattern):
            allowed = ", ".join(system.patterns)
            self._fail(
                state,
                "unsupported",
                f"{system.name} runs only {allowed} (limits.patterns of its system.toml)",
            )

    def _share(self) -> float:
        """Seconds that each cell may take: equal parts of what all else leaves of the budget."""
        budget = self._plan.settings.budget
        left = [state.spent for state in self.record.cells.values() if not state.done]
        return (budget - self._elapsed() + sum(left)) / max(1, len(left)) if budget else math.inf

    def _next_group(self) -> list[CellState]:
        """Cells of one workload that are to be measured together."""
        share = self._share()
        left = [state for state in self.record.cells.values() if not state.done and state.spent < share]
        settling = [state for state in left if state.settling]
        bracketing = [state for state in settling if state.search.phase == "bracket"]
        # Brackets take different numbers of runs: all of them first, so that systems share their rounds.
        if first := bracketing or settling:
            workload = min(first, key=lambda one: one.search.rounds).cell.workload
            return [state for state in first if state.cell.workload == workload]
        if not left:
            return []
        precision = self._plan.settings.precision
        widest = min(
            left, key=lambda one: (-min(one.search.interval_width() / precision, 10.0), one.search.rounds)
        )
        return [state for state in left if state.cell.workload == widest.cell.workload]

    def _elapsed(self) -> float:
        return self._spent + self._plan.clock() - self._start

    def _out_of_budget(self) -> bool:
        budget = self._plan.settings.budget
        return 0.0 < budget <= self._elapsed()

    def _measure_round(self, group: Sequence[CellState]) -> None:
        workload = group[0].cell.workload
        self._turns[workload] += 1
        first = self._turns[workload] % len(group)
        order = [*group[first:], *group[:first]]
        requests = {id(state): state.search.next_round() for state in order}
        for turn in range(max(len(one) for one in requests.values())):
            self._refer(group, again=turn == 0)
            share = self._share()
            for state in order:
                mine = requests[id(state)]
                may = not state.done and state.spent < share and not self._out_of_budget()
                if turn < len(mine) and may:
                    self._show(state)
                    self._measure(state, mine[turn])
        for state in group:
            if state.done:
                self._conclude(state)

    # -- measuring ----------------------------------------------------------------------------------------

    def _append(self, kind: str, **fields: Any) -> None:
        line = from_json({"kind": kind, **fields, "elapsed": round(self._elapsed(), 6)})
        self.record.take(self._store.append(line))

    def _refer(self, group: Sequence[CellState], again: bool) -> None:
        """Measures the references of cells of one workload, in any case or unless they have just been."""
        for key in dict.fromkeys(state.kernel for state in group if not state.done):
            if again or self._plan.clock() - self._reference_at.get(key, -1e9) >= _REFERENCE_EVERY:
                try:
                    self._measure_reference(key, group[0].cell.workload.reference())
                except DriverError as error:
                    for state in group:
                        if state.kernel == key and not state.done:
                            self._driver_failed(state, error)

    def _measure_reference(self, key: ReferenceKey, kernel: dict[str, Any]) -> None:
        program = str(key[0])
        peak, busy = self._drivers.ask_reference(lambda driver: self._peak(driver, key, kernel), program)
        others = {name: value for name, value in kernel.items() if name != "name"}
        fields = {"program": program, "kernel": kernel["name"]} | others
        fields |= {"rates": list(peak.rates), "work_unit": peak.work_unit}
        fields |= {"busy": round(busy.share, 4), "steal": round(busy.steal, 4), "load": os.getloadavg()[0]}
        if hertz := frequency().get("cur_hertz"):
            fields["hertz"] = hertz
        self._append("reference", **fields)
        self._reference_at[key] = self._plan.clock()

    def _peak(self, driver: Driver, key: ReferenceKey, kernel: dict[str, Any]) -> tuple[Peak, Busy]:
        """One measurement of the kernel alone, and what disturbed it."""
        known = self.record.processors(key)
        for _ in range(_MOST_ATTEMPTS):
            peak = driver.peak(kernel, _REFERENCE_SECONDS, self._plan.settings.isa)
            if known not in (None, len(peak.rates)):
                raise DriverError("protocol", f"gives {len(peak.rates)} rates for {known} processors")
            if driver.busy.share <= BUSY_SHARE:
                break
        return peak, driver.busy

    def _probe(self) -> Probe:
        return self._drivers.ask_reference(lambda driver: driver.probe(PROBE_SECONDS))

    def _measure(self, state: CellState, request: Request) -> None:
        """One request on quiet cores; if disturbed it is repeated, and the least disturbed attempt counts."""
        simulated = self._plan.systems[state.cell.system].simulated
        best: dict[str, Any] = {}
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            before = None if simulated else self._watch.wait(0.0 if self._hopeless() else PATIENCE)
            try:
                line = self._answer(state, request)
            except DriverError as error:
                # One that does not start would not start for the system's other cells either.
                same = [one for one in self.record.cells.values() if one.cell.system == state.cell.system]
                for failed in same if error.at_start else [state]:
                    if not failed.done:
                        self._driver_failed(failed, error)
                return
            line |= self._judged(line, before)
            if not best or line["slowdown"] < best["slowdown"]:
                best = line
            best["attempts"] = attempt
            last = attempt == _MOST_ATTEMPTS or sum(line["seconds"]) > _LONG
            if not line["disturbed"] or last or self._hopeless():
                break
            self._append("rejected", **line)
        self._stayed_disturbed.append(best["disturbed"])
        self._append("run", **best)
        if state.problem:
            self._fail(state, "protocol", state.problem)

    def _judged(self, line: Mapping[str, Any], before: Probe | None) -> dict[str, Any]:
        """How disturbed a run was, by the probes before it and now, and by what others took of its cores."""
        if before is None:
            return {"slowdown": 1.0, "disturbed": False}
        slowdown, disturbed = self._watch.judge(before, self._watch.look())
        if line["busy"] > BUSY_SHARE:
            # All of it may have been on one core, which the others then wait for.
            slowdown = max(slowdown, 1.0 / max(0.1, 1.0 - line["busy"] * line["cores"]))
            disturbed = True
        return {"slowdown": round(slowdown, 4), "disturbed": disturbed}

    def _answer(self, state: CellState, request: Request) -> dict[str, Any]:
        """One answer. A driver that crashes is started again, a few times: others may have killed it."""
        while True:
            try:
                driver = self._drivers.get(state.cell.system)
                if not state.begun:
                    self._begin(state)
                try:
                    return self._line(state, request, driver)
                finally:
                    driver.park()
            except DriverError as error:
                if not self._drivers.may_restart(state.cell.name, error):
                    raise
                self._append("crash", cell=state.cell.name, message=error.message, log=error.log_tail)

    def _hopeless(self) -> bool:
        """Whether most of the last requests stayed disturbed: waiting and repeating only eats the budget."""
        return len(self._stayed_disturbed) == _RECENT and sum(self._stayed_disturbed) > _RECENT / 2

    def _line(self, state: CellState, request: Request, driver: Driver) -> dict[str, Any]:
        settings, name = self._plan.settings, state.cell.system
        result = driver.run(
            state.cell.workload.request(request.iterations, request.steps),
            repeats=request.repeats,
            warmup=request.warmup,
            validate=settings.validate,
            isa=settings.isa,
            expected_seconds=state.expected_seconds(request),
        )
        try:
            self._check_result(state, request, result)
        except DriverError as error:
            error.log_tail = driver.log_tail()
            raise
        busy = Busy() if self._plan.systems[name].simulated else driver.busy
        return {
            "cell": state.cell.name,
            "phase": request.phase,
            "round": request.round,
            "iterations": request.iterations,
            "steps": request.steps,
            "seconds": list(result.seconds),
            "prepare_seconds": list(result.prepare_seconds),
            "tasks": result.tasks,
            "dependencies": result.dependencies,
            "work": result.work,
            "work_unit": result.work_unit,
            "cores": self._processors(state),
            "peak_rss_bytes": result.peak_rss_bytes,
            "binding": [list(worker) for worker in result.binding],
            "busy": round(busy.share, 4),
            "steal": round(busy.steal, 4),
            "switches": busy.switches,
            **({"warnings": list(result.warnings)} if result.warnings else {}),
        }

    def _processors(self, state: CellState) -> int:
        """Those of the reference that the system occupies: cores, or GPUs."""
        ready = self._drivers.ready.get(state.cell.system)
        cores = ready.cores if ready else self._plan.settings.cores
        return min(cores, self.record.processors(state.kernel) or cores)

    def _check_result(self, state: CellState, request: Request, result: RunResult) -> None:
        """Checks what the session cannot: it knows neither graphs nor reference."""
        tasks = state.cell.workload.exact_tasks(request.steps)
        if tasks not in (None, result.tasks):
            raise DriverError("validation", f"counts {result.tasks} tasks; the graphs hold {tasks}")
        unit = self.record.work_units.get(state.kernel)
        if request.iterations and (result.work_unit != unit or result.work <= 0):
            raise DriverError(
                "protocol", f"reports work of {result.work:g} {result.work_unit}, not some {unit}"
            )
        rate, peak = result.work / min(result.seconds), self.record.reference(state.kernel).sum(axis=1).max()
        if rate > _IMPOSSIBLE * peak:
            found = f"{rate:.3g} {unit}/s; the kernel alone reaches {peak:.3g} on all cores"
            raise DriverError("protocol", f"reports {found}")

    # -- the beginning and the end of a cell --------------------------------------------------------------

    def _begin(self, state: CellState) -> None:
        settings, ready = self._plan.settings, self._drivers.ready.get(state.cell.system)
        system = self._plan.systems[state.cell.system]
        command = f"taskgrain metg {system.options} {state.cell.workload.options()}"
        fields = dict(state.cell.fields()) | {"steps": settings.steps, "threshold": settings.threshold}
        fields |= {"cores": self._processors(state), "command": command, "reference": state.kernel[0]}
        self._append("cell", **fields, driver=dict(ready.raw) if ready else {})

    def _driver_failed(self, state: CellState, error: DriverError) -> None:
        if error.kind == "invalid":
            raise UsageError(f"{state.cell.name}: {error.message}")
        self._fail(state, error.kind, error.message, error.log_tail)

    def _fail(self, state: CellState, kind: str, message: str, log: str = "") -> None:
        if not state.begun:
            self._begin(state)
        self._append("failure", cell=state.cell.name, error=kind, message=message, log=log)
        self._plan.reporter.note(f"{state.cell.name}: {kind}: {message}")
        self._conclude(state)

    def _conclude(self, state: CellState) -> None:
        """Writes what the cell came to, unless that is already there."""
        if state.problem and state.failure is None:
            self._fail(state, "protocol", state.problem)
            return
        if state.metg is not None:
            return
        if not state.begun:
            self._begin(state)
        fields: dict[str, Any] = {
            "ending": "budget",
            "threshold": self._plan.settings.threshold,
            "metg": None,
        }
        fields |= {"low": None, "high": None, "rounds": state.search.rounds, "curve": [], "warnings": []}
        if state.failure is not None:
            fields["ending"] = "failed"
        elif state.runs == 0:
            fields["warnings"] = ["The budget ended before the first run. Give the study more time."]
        else:
            try:
                fields = state.search.result(state.reference, out_of_budget=not state.search.done).fields()
            except ValueError as error:
                state.problem = str(error)
                self._fail(state, "protocol", state.problem)
                return
        fields["warnings"] = [*fields["warnings"], *self._warnings(state)]
        counts = {"repeated_runs": state.rejected, "disturbed_runs": state.disturbed}
        self._append("metg", cell=state.cell.name, **fields, **counts)

    def _warnings(self, state: CellState) -> list[str]:
        found = list(state.warnings)
        if state.crashes:
            times = "once" if state.crashes == 1 else f"{state.crashes} times"
            found.append(f"Its driver crashed {times} and was started again. See the log.")
        if state.disturbed > 0.1 * state.runs:
            found.append(
                f"{state.disturbed} of {state.runs} runs stayed disturbed by others on the cores, after "
                f"{state.rejected} repeats; they count only where too few others do. "
                "Measure on a quiet machine."
            )
        return found

    def _show(self, state: CellState) -> None:
        states = self.record.cells.values()
        run_seconds = sum(one.run_seconds for one in states)
        pace = sum(one.spent for one in states) / run_seconds if run_seconds else 1.0
        left = sum(one.expected_seconds_left(pace) for one in states)
        budget, elapsed = self._plan.settings.budget, self._elapsed()
        if budget:
            left = min(left, budget - elapsed)
        done = sum(one.done for one in states)
        self._plan.reporter.show(Standing(done, len(states), elapsed, left, state.cell.name))
