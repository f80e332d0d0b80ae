"""The beginning and the end of a cell: its `cell` line, its failure, and what it came to."""

from __future__ import annotations

import contextlib
from typing import Any

from taskgrain.drive.answers import DriverError
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.journal import Journal
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import CellState, Record
from taskgrain.results.lines import CrashLine, OfCell
from taskgrain.results.parse import from_json
from taskgrain.words.endings import Ending
from taskgrain.words.errors import OutputError, UsageError
from taskgrain.words.warnings import Notice, notice


class Ends:
    """Begins, fails and concludes cells."""

    def __init__(self, plan: Plan, record: Record, drivers: Drivers, journal: Journal) -> None:
        self._plan, self._record, self._drivers, self._journal = plan, record, drivers, journal

    def begin(self, state: CellState) -> None:
        """Writes the `cell` line: what is measured, on what, and what the driver says of itself."""
        settings, ready = self._plan.settings, self._drivers.ready.get(state.driver)
        system = self._plan.systems[state.cell.system]
        command = None
        if self._plan.commands:
            command = f"taskgrain metg {system.options} {state.cell.workload.options()}"
        fields = dict(state.cell.fields()) | {"steps": settings.steps, "threshold": settings.threshold}
        if system.bound:
            fields["bound"] = True
        fields |= {"cores": self.processors(state), "command": command, "reference": state.kernel[0]}
        self._journal.append("cell", **fields, driver=dict(ready.raw) if ready else {})

    def processors(self, state: CellState) -> int:
        """Those of the reference that the system occupies: cores, or GPUs."""
        ready = self._drivers.ready.get(state.driver)
        cores = ready.cores if ready else state.driver.cores or self._plan.settings.cores
        return min(cores, self._record.processors(state.kernel) or cores)

    def driver_failed(self, state: CellState, error: DriverError) -> None:
        """Ends a cell whose driver failed. Raises `UsageError` if it was the request that is wrong."""
        if error.kind == "invalid":
            raise UsageError(f"{state.cell.name}: {error.message}")
        self.fail(state, error.kind, error.message, error.log_tail)

    def fail(self, state: CellState, kind: str, message: str, log: str = "") -> None:
        """Writes that a cell failed, and tells the person."""
        if not state.begun:
            self.begin(state)
        self._journal.append("failure", cell=state.cell.name, error=kind, message=message, log=log)
        self._plan.reporter.note(f"{state.cell.name}: {kind}: {message}")
        self.conclude(state)

    def conclude(self, state: CellState) -> None:
        """Writes what the cell came to, unless that is already there."""
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
            fields = self._result(state)
        except ValueError as error:
            state.problem = str(error)
            self.fail(state, "protocol", state.problem)
            return
        self._journal.append("metg", cell=state.cell.name, **fields)

    def interrupt(self, state: CellState) -> None:
        """Writes what is known of a cell that was measured and has not ended."""
        if state.stored.ending is not Ending.UNFINISHED or state.stored.result or not state.runs:
            return
        if state.done:
            return self.conclude(state)
        with contextlib.suppress(ValueError):  # of the little that is known nothing can be said
            fields = self._result(state)
            # The budget had not ended.
            said = [one for one in fields["warnings"] if not str(one.get("code")).startswith("budget_")]
            fields |= {"cell": state.cell.name, "ending": Ending.UNFINISHED, "warnings": said}
            try:
                self._journal.append("metg", **fields)
            except OutputError:
                line = from_json({"kind": "metg", **fields})
                assert isinstance(line, OfCell)
                state.stored.take(line)
                raise

    def _nothing(self, state: CellState) -> dict[str, Any]:
        """The fields of a `metg` line where nothing was measured."""
        ending = Ending.BUDGET if state.failure is None else Ending.FAILED
        fields = {"ending": ending, "threshold": self._plan.settings.threshold, "metg": None}
        return fields | {"low": None, "high": None, "rounds": 0, "curve": [], "warnings": []}

    def _result(self, state: CellState) -> dict[str, Any]:
        """The fields of its `metg` line. ValueError if its answers make no sense."""
        fields = self._nothing(state) | {"rounds": state.experiment.rounds}
        said = []
        if state.failure is None and state.runs:
            fields = state.experiment.result(state.reference, not state.experiment.done).fields()
        elif state.failure is None and not state.cut:
            said = [notice("budget_before_first_run")]
        said += [*_notices(state), *([state.cut] if state.cut else [])]
        fields["warnings"] = [*fields["warnings"], *(one.fields() for one in said)]
        return fields | {
            "repeated_runs": state.stored.rejected,
            "disturbed_runs": state.disturbed,
            "runs": state.runs,
        }


def _notices(state: CellState) -> list[Notice]:
    """What a reader of the cell's result should know besides what the experiment says."""
    found = list(state.warnings)
    if crashes := sum(isinstance(one, CrashLine) for one in state.stored.problems):
        found.append(notice("driver_crashed", crashes=crashes))
    if state.disturbed > 0.1 * state.runs:
        found.append(
            notice(
                "runs_disturbed", disturbed=state.disturbed, runs=state.runs, repeated=state.stored.rejected
            )
        )
    return found
