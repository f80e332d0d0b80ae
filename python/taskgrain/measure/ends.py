"""The beginning and the end of a cell: its `cell` line, its failure, and its result."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from taskgrain.drive.answers import DriverError
from taskgrain.estimate.efficiency import CurvePoint as Measured
from taskgrain.estimate.metg import Metg
from taskgrain.machine.topology import notices
from taskgrain.measure import uneven
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import CellState, Journal, Record
from taskgrain.results.lines import CellLine, CrashLine, CurvePoint, FailureLine, MetgLine
from taskgrain.study.shape import best_efficiency, bound_of
from taskgrain.study.workload import REFERENCE
from taskgrain.words.endings import Ending
from taskgrain.words.errors import OutputError, UsageError
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import Notice, notice


class Ends:
    """Begins, fails and concludes cells."""

    def __init__(self, plan: Plan, record: Record, drivers: Drivers, journal: Journal) -> None:
        self._plan, self._record, self._drivers, self._journal = plan, record, drivers, journal

    def begin(self, state: CellState) -> None:
        """Writes the `cell` line: the workload, the cores, and the driver's description of itself."""
        settings, ready = self._plan.settings, self._drivers.ready.get(state.driver)
        system = self._plan.systems[state.cell.system]
        command = None
        if self._plan.commands:
            command = f"taskgrain metg {system.options} {state.cell.workload.options()}"
        line = CellLine(
            cell=state.cell.name,
            system=state.cell.system,
            workload=state.cell.workload.fields(),
            steps=state.experiment.settings.steps or 0,
            threshold=settings.threshold,
            cores=self.processors(state),
            bound=system.bound,
            simulated=bool(system.simulated) or None,
            simulation_error=system.simulation_error or None,
            command=command,
            reference=str(state.kernel[0]),
            driver=dict(ready.raw) if ready else {},
        )
        self._journal.append(line)

    def processors(self, state: CellState) -> int:
        """Counts the processors of the reference that the system occupies: cores, or GPUs."""
        ready = self._drivers.ready.get(state.driver)
        cores = ready.cores if ready else state.cell.workload.cores_of_all(self._plan.settings.cores)
        return min(cores, self._record.processors(state.kernel) or cores)

    def cannot_reach(self, state: CellState) -> bool:
        """Tells whether the graph allows no efficiency above the threshold on the cores of the system. If so,
        its cell ends: no system keeps cores busy for which there are no tasks."""
        experiment, workload = state.experiment, state.cell.workload
        if not experiment.NEEDS_THRESHOLD or state.kernel[0] != REFERENCE or state.cut:
            return False
        asked = experiment.settings
        cores, steps = self.processors(state), asked.steps or asked.min_steps
        most = best_efficiency(workload, steps, cores, longer=not asked.steps)
        if most > self._plan.settings.threshold:
            return False
        bound = bound_of(workload, steps, cores)
        told = {"most": most, "cores": cores, "chain": bound.critical_path, "tasks": bound.tasks}
        state.cut = notice("parallelism_short", **told)
        return True

    def driver_failed(self, state: CellState, error: DriverError) -> None:
        """Ends a cell whose driver failed. Raises `UsageError` if it was the request that is wrong."""
        if error.kind == "invalid":
            raise UsageError(f"{state.cell.name}: {error.message}")
        self.fail(state, error.kind, error.message, error.log_tail)

    def fail(self, state: CellState, kind: str, message: str, log: str = "") -> None:
        """Writes that a cell failed, and tells the person."""
        if not state.begun:
            self.begin(state)
        self._journal.append(FailureLine(cell=state.cell.name, error=kind, message=message, log=log))
        self._plan.reporter.note(f"{state.cell.name}: {kind}: {message}")
        self.conclude(state)

    def conclude(self, state: CellState) -> None:
        """Writes the result of the cell, unless that is already there."""
        if state.problem and state.failure is None:
            self.fail(state, "protocol", state.problem)
            return
        known = state.result
        ended = state.stored.ending.final
        if known and ended and (not state.cut or state.cut.fields() in known.warnings):
            return
        if not state.begun:
            self.begin(state)
        try:
            line = self._result(state)
        except ValueError as error:
            state.problem = str(error)
            self.fail(state, "protocol", state.problem)
            return
        self._journal.append(line)

    def interrupt(self, state: CellState) -> None:
        """Writes the result so far of a cell that has runs and has not ended."""
        if state.stored.ending is not Ending.UNFINISHED or state.stored.result or not state.runs:
            return
        if state.done:
            return self.conclude(state)
        try:
            line = self._result(state)
        except ValueError:  # of the little that is known nothing can be said
            return
        # The budget had not ended.
        said = [one for one in line.warnings if not one["code"].startswith("budget_")]
        line = replace(line, ending=Ending.UNFINISHED, warnings=tuple(said))
        try:
            self._journal.append(line)
        except OutputError:
            state.stored.take(line)
            raise

    def _result(self, state: CellState) -> MetgLine:
        """Returns the result of the cell. ValueError if its answers make no sense."""
        failed = state.failure is not None
        unreachable = state.cut is not None and state.cut.code == "parallelism_short"
        line = MetgLine(
            cell=state.cell.name,
            ending=Ending.FAILED if failed else Ending.NEVER_REACHED if unreachable else Ending.BUDGET,
            threshold=self._plan.settings.threshold,
            rounds=state.experiment.rounds,
        )
        said = [*notices(self._plan.cores[: state.driver.cores or None]), *_notices(state)]
        if state.runs and not failed:
            line = _line(state.cell.name, state.experiment.result(state.reference, not state.experiment.done))
        elif not failed and not state.cut:
            said.insert(0, notice("budget_before_first_run"))
        return replace(
            line,
            warnings=(*line.warnings, *(one.fields() for one in said)),
            repeated_runs=state.stored.rejected,
            disturbed_runs=state.disturbed,
            runs=state.runs,
        )


def _line(cell: str, found: Metg) -> MetgLine:
    curve = tuple(CurvePoint(**_fields(point)) for point in found.curve)
    said = tuple(one.fields() for one in found.warnings)
    return MetgLine(cell=cell, **_fields(found) | {"curve": curve, "warnings": said})


def _fields(one: Metg | Measured) -> dict[str, Any]:
    """The fields, with three for each interval; the bounds of METG itself are called `low` and `high`."""
    found: dict[str, Any] = {}
    for field in fields(one):
        value = getattr(one, field.name)
        if isinstance(value, Interval):
            prefix = "" if field.name == "metg" else f"{field.name}_"
            found |= {field.name: value.value, f"{prefix}low": value.low, f"{prefix}high": value.high}
        else:
            found[field.name] = value
    return found


def _notices(state: CellState) -> list[Notice]:
    """Collects the warnings of a cell's result besides the experiment's own."""
    found = [*state.warnings, *state.experiment.settings.notices]
    if crashes := sum(isinstance(one, CrashLine) for one in state.stored.problems):
        found.append(notice("driver_crashed", crashes=crashes))
    if state.disturbed > 0.1 * state.runs:
        repeated = state.stored.rejected
        found.append(notice("runs_disturbed", disturbed=state.disturbed, runs=state.runs, repeated=repeated))
    found += uneven.notices(state.at_hosts)
    if state.throttled:
        found.append(notice("runs_throttled", throttled=state.throttled, runs=state.runs))
    return [*found, *([state.cut] if state.cut else [])]
