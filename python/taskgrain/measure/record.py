"""The state of a study, built from the lines of `runs.jsonl` one after another.

Stored lines and new ones, which the journal writes, go the same way, so that a study that goes on after a
kill stands exactly where it stood: every decision depends on nothing but the lines before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from taskgrain.measure.crew import DriverName
from taskgrain.measure.experiments.experiment import Experiment, Request
from taskgrain.measure.timing import Timing
from taskgrain.measure.uneven import AtHost, at_hosts
from taskgrain.results import cell as stored
from taskgrain.results.lines import (
    CellLine,
    FailureLine,
    Line,
    MetgLine,
    OfCell,
    ReferenceKey,
    ReferenceLine,
    RejectedLine,
    RunLine,
    SessionLine,
)
from taskgrain.results.samples import SESSION, taken
from taskgrain.results.store import Store
from taskgrain.study.workload import REFERENCE, Cell
from taskgrain.words.interrupts import uninterrupted
from taskgrain.words.warnings import Notice, read_notice


class CellState:
    """One cell: its experiment, and how it ended."""

    def __init__(self, cell: Cell, experiment: Experiment, reference: str) -> None:
        self.cell = cell
        self.driver = DriverName(cell.system, cell.workload.cores, cell.workload.nodes)
        self.kernel: ReferenceKey = (reference, *cell.workload.reference().values(), *self.driver[:0:-1])
        self.stored = stored.Cell(cell.name)
        """The cell as every reader of the folder sees it."""
        self._retried: FailureLine | None = None
        """The failure after which it is to begin again."""
        self.problem = ""
        """The reason why its answers make no sense, if they do not: a failure that is not yet written."""
        self.cut: Notice | None = None
        """The reason why this call makes no more runs of it, if one did not fit the budget."""
        self.runs = 0
        self.spent = 0.0
        """The seconds of the study that its runs took, with waits and repeated runs."""
        self.run_seconds = 0.0
        """Seconds of the runs that count, without all that."""
        self.disturbed = 0
        """Runs that stayed disturbed after all repeats."""
        self.throttled = 0
        """The runs of them that a quota stopped on their way."""
        self.warnings: list[Notice] = []
        """The warnings that its answers carry, each once."""
        self.at_hosts: list[dict[str, AtHost]] = []
        """Its runs on several hosts."""
        self.experiment = experiment
        self.reference: NDArray[np.float64] = np.empty((0, 0))
        """The rates of its cores that were known at its last run: its result depends on no later ones."""
        self._seconds: dict[tuple[int, int], float] = {}
        self._step_work = 0.0
        """Work of a step of one iteration a task."""
        self._early: dict[object, tuple[RunLine, int]] = {}
        """Runs that the experiment did not ask for, at least not yet, by the key of a request, each with how
        often the reference was measured before it."""

    @property
    def _again(self) -> bool:
        """Tells whether it is to begin again and has not yet."""
        return self._retried is not None and self.stored.failure is self._retried

    @property
    def begun(self) -> bool:
        """Tells whether its `cell` line is written."""
        return self.stored.started is not None and not self._again

    @property
    def failure(self) -> FailureLine | None:
        """The failure that ended it, if one did."""
        return None if self._again else self.stored.failure

    @property
    def result(self) -> MetgLine | None:
        """Its last `metg` line, if it has neither run nor failed since."""
        return None if self._again else self.stored.result

    @property
    def done(self) -> bool:
        return bool(self.failure is not None or self.problem or self.cut) or self.experiment.done

    @property
    def ignored(self) -> int:
        """Stored runs that the experiment did not ask for, at least not yet."""
        return len(self._early)

    def expected_seconds(self, request: Request) -> float | None:
        """Bounds the time of the whole request by the runs made before."""
        bounds = [
            seconds * max(1.0, request.steps / steps) * max(1.0, request.iterations / max(1, iterations))
            for (iterations, steps), seconds in self._seconds.items()
        ]
        return min(bounds) * (request.repeats + request.warmup) if bounds else None

    def likely_seconds(self, request: Request) -> float | None:
        """Guesses the time of a request, from an earlier run: all additional work runs at the peak."""
        peak = self.reference.sum(axis=1).max(initial=0.0)
        longer = self._step_work / peak if peak else 0.0
        steps = [
            seconds / steps + max(0, request.iterations - iterations) * longer
            for (iterations, steps), seconds in self._seconds.items()
        ]
        return min(steps) * request.steps * (request.repeats + request.warmup) if steps else None

    def try_again(self) -> None:
        """Lets a cell that has failed begin again."""
        self._retried, self.problem = self.stored.failure, ""

    def take_run(self, line: RunLine, reference: NDArray[np.float64]) -> None:
        """Takes a `run` line that makes sense; `reference` are the rates known before it.

        A stored line that is not asked for is kept: where one before it was lost, its turn may come.
        """
        self._early[line.phase, line.round, line.iterations, line.steps] = line, len(reference)
        while reference.size:
            due = [one for one in self.experiment.next_round() if one.key in self._early]
            for request in due:
                line, known = self._early.pop(request.key)
                self._tell(request, line, reference[:known])
            if not due:
                break

    def _tell(self, request: Request, line: RunLine, reference: NDArray[np.float64]) -> None:
        seconds = [one for one in line.seconds if one is not None]
        assert line.work is not None and line.tasks and line.cores
        found = taken(line, request.round)
        self.runs += 1
        self.reference = reference[:, : line.cores]
        self.disturbed += found.disturbed
        self.throttled += bool(line.throttled)
        said = (read_notice(one) for one in line.warnings)
        self.warnings += [one for one in dict.fromkeys(said) if one and one not in self.warnings]
        self._seconds[request.iterations, request.steps] = max(seconds)
        if request.iterations:
            self._step_work = line.work / (request.iterations * request.steps)
        self.run_seconds += max(seconds) * (request.repeats + request.warmup)
        alone = 0.0 if found.disturbed else sum(one.seconds for one in found.samples)
        try:
            self.experiment.tell(request, found.samples, self.reference, alone / sum(seconds))
        except ValueError as error:
            self.problem = str(error)


class Record:
    """All cells of a study, by name, and the measurements of the reference."""

    def __init__(
        self,
        cells: Sequence[Cell],
        experiment: Callable[[Cell], Experiment],
        cores: int,
        references: Mapping[str, str],
    ) -> None:
        """`experiment` makes a cell's; `references` are those of systems that do not run on the cores."""
        self.cells = {
            cell.name: CellState(cell, experiment(cell), references.get(cell.system, REFERENCE))
            for cell in cells
        }
        self._cores = cores
        self._sessions = 0
        self._hosts: tuple[str, ...] = ()
        """The hosts of the last session."""
        self._clock = self._skipped = 0.0
        """The last line's `elapsed`, and by how much that is more than what counts here."""
        self.unknown = 0
        """Lines of cells that the study does not have."""
        self._rates: dict[ReferenceKey, NDArray[np.float64]] = {}
        self.work_units: dict[ReferenceKey, str] = {}

    def processors(self, kernel: ReferenceKey) -> int | None:
        """Counts the processors that a reference measures; None of others than the cores until measured."""
        rates = self._rates.get(kernel)
        own = self._cores_of_all(kernel)
        return own if kernel[0] == REFERENCE else None if rates is None else rates.shape[1]

    def reference(self, kernel: ReferenceKey) -> NDArray[np.float64]:
        """Work per second of the kernel alone [measurements x processors]; none yet is an empty table."""
        return self._rates.get(kernel, np.empty((0, self._cores_of_all(kernel))))

    def _cores_of_all(self, kernel: ReferenceKey) -> int:
        nodes, cores = kernel[-2:]
        return int(nodes) * (cores or self._cores)

    @property
    def elapsed(self) -> float:
        """Seconds that have been spent, over all calls, on the builds that there are now."""
        return self._clock - self._skipped

    def skip(self, line: Line) -> None:
        """Passes over a line of another build: the time that it took does not count either."""
        before = self._clock
        self._clock = max(before, line.elapsed or 0.0)
        self._skipped += self._clock - before

    def take(self, line: Line) -> None:
        """Takes one line. Raises ValueError for a malformed one."""
        elapsed = line.elapsed or 0.0
        if isinstance(line, SessionLine):
            self._sessions += 1
            self._hosts = tuple(one.host or "" for one in line.hosts)
            if line.elapsed is not None:  # from there on its lines count
                self._skipped += line.elapsed - self._clock
                self._clock = line.elapsed
        elif isinstance(line, ReferenceLine):
            self._take_reference(line)
        elif isinstance(line, OfCell):
            state = self.cells.get(line.cell)
            if state is None:
                self.unknown += 1
            else:
                self._take_of_cell(state, line)
                if isinstance(line, RunLine | RejectedLine):
                    state.spent += max(0.0, elapsed - self._clock)
        self._clock = max(self._clock, elapsed)

    def _take_reference(self, line: ReferenceLine) -> None:
        key = line.reference_key
        rates = [one for one in line.rates if one is not None]
        number = self.processors(key) or len(line.rates) or 1
        if "kernel" not in line.workload or line.work_unit is None or len(rates) != number:
            raise ValueError("not the rates of this study's processors")
        self._rates[key] = np.vstack((*([self._rates[key]] if key in self._rates else []), rates))
        self.work_units[key] = line.work_unit

    def _take_of_cell(self, state: CellState, line: OfCell) -> None:
        failed = state.failure is not None
        state.stored.take(line)
        if isinstance(line, CellLine) and failed:
            state.problem = ""
        elif isinstance(line, RunLine):
            if line.process:  # of this session
                line = replace(line, process=self._sessions * SESSION + line.process)
            if line.busy_hosts:
                shares = [one or 0.0 for one in line.busy_hosts]
                rates = self.reference(state.kernel)[-1:].tolist()
                state.at_hosts.append(at_hosts(self._hosts, shares, rates))
            state.take_run(line, self.reference(state.kernel))


class Journal:
    """Appends lines, the first after that of the session. `elapsed` says how many seconds the study has
    measured by now."""

    def __init__(self, store: Store, record: Record, elapsed: Callable[[], float], timing: Timing) -> None:
        self._timing = timing
        self._store, self._record, self._elapsed = store, record, elapsed
        self._session = store.session and replace(store.session, elapsed=round(record.elapsed, 6))
        self.begun = False
        """True once it has written something."""

    @uninterrupted
    def append(self, line: Line) -> None:
        """Writes a line with the times of now, and takes it into the record. An interrupt comes before both,
        or after: it may wait for the decision at the end of a round.

        Raises `OutputError` if it cannot be written, and `ValueError` for values that a reader would drop:
        that is a bug of the caller.
        """
        line = replace(line, elapsed=round(self._elapsed(), 6))
        with self._timing.part("disk"):
            seen = self._store.append(*filter(None, (self._session, line)))
        self._session, self.begun = None, True
        with self._timing.part("statistics"):
            for one in seen:
                self._record.take(one)
