"""From a study to its results: what `metg` and `study` have in common."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from taskgrain import machine, progress
from taskgrain._core import InvalidSpec, Run, Unsupported
from taskgrain.errors import UsageError
from taskgrain.plan import REFERENCE, Plan
from taskgrain.record import CellState
from taskgrain.runner import Runner
from taskgrain.session import Session
from taskgrain.store import Line, Store
from taskgrain.study import Study
from taskgrain.system import Launch, System, package_folder
from taskgrain.workload import Cell

REFERENCE_VARIABLE = "TASKGRAIN_REFERENCE"
"""Names another program than the package's own as the reference, for tests."""


@dataclass(frozen=True)
class Measured:
    """The end of a call."""

    cells: tuple[Line, ...]
    """The `metg` line of every cell."""
    failures: tuple[Line, ...]

    @property
    def complete(self) -> bool:
        """Whether every cell that its system supports came to an end other than a failure."""
        return all(line["error"] == "unsupported" for line in self.failures)


def reference_launch(cores: Sequence[int]) -> Launch:
    """How to start the reference. Raises `UsageError` if it is not built."""
    program = Path(os.environ.get(REFERENCE_VARIABLE) or package_folder() / "bin" / REFERENCE)
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program}: is missing or no program; build the project (make setup)")
    return Launch((str(program),), {}, tuple(cores))


def checked_cells(study: Study, systems: Sequence[System]) -> list[Cell]:
    """The study's cells. Raises `UsageError` if there are none, or for a graph that the core refuses."""
    cells = study.cells(systems)
    if not cells:
        raise UsageError("the study has no cells; is everything excluded?")
    for workload in dict.fromkeys(cell.workload for cell in cells):
        graphs = workload.request(1, study.settings.steps or 16)[:1]
        try:
            Run(json.dumps({"op": "run", "graphs": graphs, "validate": "off", "isa": study.settings.isa}))
        except (InvalidSpec, Unsupported) as error:
            raise UsageError(study.complaint(workload, str(error))) from error
    return cells


def measure(
    study: Study,
    systems: Sequence[System],
    cores: Sequence[int],
    output: Path | None,
    *,
    retry: bool,
    quiet: bool,
) -> Measured:
    """Measures a study into `output`, or into a folder that is thrown away. Raises `UsageError`."""
    cells = checked_cells(study, systems)
    by_name = {system.name: system for system in systems}
    reference = reference_launch(cores)
    with contextlib.ExitStack() as stack:
        folder = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taskgrain-")))
        store = stack.enter_context(Store(folder, study.table(systems, len(cores)), machine.facts()))

        def make_driver(name: str) -> Session:
            launch = reference if name == REFERENCE else by_name[name].launch(cores)
            return Session(name, launch, store.logs / f"{name}.log")

        plan = Plan(
            cells=cells,
            systems=by_name,
            settings=replace(study.settings, cores=len(cores)),
            make_driver=make_driver,
            retry=retry,
            reporter=progress.reporter(quiet),
        )
        with interruptible():
            states = Runner(plan, store).run()
    return Measured(tuple(_metg(state) for state in states), tuple(s.failure for s in states if s.failure))


def _metg(state: CellState) -> Line:
    assert state.metg is not None
    return state.metg | {
        "system": state.cell.system,
        "workload": state.cell.workload.name,
        "cores": state.cores,
    }


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end a measurement like Ctrl-C: in good order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
