"""What is known of a study: the lines of `runs.jsonl`, taken one after another.

Stored lines and new ones go the same way, so that a study that goes on after a kill stands exactly where it
stood: every decision depends on nothing but the lines before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskgrain.metg import Sample
from taskgrain.search import Request, Search, SearchSettings
from taskgrain.store import Line
from taskgrain.workload import Cell, Kernel

ReferenceKey = tuple[object, ...]
BUSY_SHARE = 0.03
"""A run during which others took more than this share of its cores is repeated (EXAMPLES, trap 14)."""


def reference_key(fields: Mapping[str, Any]) -> ReferenceKey:
    """What tells references apart, from a `reference` line."""
    default = Kernel()
    return (
        fields["kernel"],
        fields.get("scratch_bytes", default.scratch_bytes),
        fields.get("samples", default.samples),
    )


class CellState:
    """One cell: its search, and how it ended."""

    def __init__(self, cell: Cell, settings: SearchSettings) -> None:
        self.cell = cell
        self.kernel: ReferenceKey = tuple(cell.workload.kernel.reference().values())
        self.begun = False
        """Whether its `cell` line is written."""
        self.failure: Line | None = None
        self.metg: Line | None = None
        """Its last `metg` line, if nothing was measured since."""
        self.problem = ""
        """Why its answers make no sense, if they do not: a failure that is not yet written."""
        self.cores = 0
        """That the system occupies; 0 before its first run."""
        self.runs = 0
        self.rejected = 0
        """Runs that were repeated as others disturbed them."""
        self.disturbed = 0
        """Runs that stayed disturbed after all repeats."""
        self.ignored = 0
        """Stored runs that the search did not ask for."""
        self.steps = 0
        self.warnings: dict[str, None] = {}
        self._settings = settings
        self.search = Search(settings)
        self._seconds: dict[tuple[int, int], float] = {}

    @property
    def done(self) -> bool:
        return self.failure is not None or bool(self.problem) or self.search.done

    @property
    def settling(self) -> bool:
        """Whether it still lacks the rounds that every cell gets."""
        return self.search.phase == "bracket" or self.search.rounds < self._settings.min_rounds

    def expected_seconds(self, request: Request) -> float | None:
        """How long the whole request will take, if one like it was made before."""
        one = self._seconds.get((request.iterations, request.steps))
        return None if one is None else one * (request.repeats + request.warmup)

    def begin(self) -> None:
        """Takes a `cell` line: the cell starts, or starts again after a failure."""
        if self.failure is not None:
            self.failure, self.problem, self.metg = None, "", None
        self.begun = True

    def take_run(self, line: Line, reference: NDArray[np.float64]) -> None:
        """Takes a `run` line; `reference` are the rates known before it."""
        key = (line["phase"], line["round"], line["iterations"], line["steps"])
        request = next((one for one in self.search.next_round() if one.key == key), None)
        if request is None:
            self.ignored += 1
            return
        self.runs += 1
        self.metg = None
        self.steps = request.steps
        busy = line.get("busy", 0.0)
        disturbed = line.get("disturbed", busy > BUSY_SHARE)  # lines of before there were probes
        slowdown = line.get("slowdown", 1.0 / max(0.1, 1.0 - busy)) if disturbed else 1.0
        self.disturbed += disturbed
        self._seconds[request.iterations, request.steps] = max(line["seconds"])
        cores = self.cores = line["cores"]
        samples = [
            Sample(request.iterations, request.round, seconds, line["work"], line["tasks"], cores)
            for seconds in line["seconds"]
        ]
        try:
            self.search.tell(request, samples, reference[:, :cores], slowdown)
        except ValueError as error:
            self.problem = str(error)


class Record:
    """All cells of a study, by name, and the measurements of the reference."""

    def __init__(self, cells: Sequence[Cell], settings: SearchSettings) -> None:
        self.cells = {cell.name: CellState(cell, settings) for cell in cells}
        self.elapsed = 0.0
        """Seconds that earlier calls have spent."""
        self.unknown = 0
        """Lines of cells that the study does not have."""
        self._rates: dict[ReferenceKey, list[list[float]]] = defaultdict(list)
        self.work_units: dict[ReferenceKey, str] = {}

    def reference(self, kernel: ReferenceKey) -> NDArray[np.float64]:
        """Work per second of the kernel alone [measurements x cores]; none yet is an empty table."""
        rates = self._rates.get(kernel)
        return np.array(rates) if rates else np.empty((0, 0))

    def take(self, line: Line) -> None:
        """Takes one line. Raises KeyError, TypeError or ValueError for one that lacks what it must have."""
        self.elapsed = max(self.elapsed, float(line.get("elapsed", 0.0)))
        kind = line.get("kind")
        if kind == "reference":
            key = reference_key(line)
            self._rates[key].append([float(rate) for rate in line["rates"]])
            self.work_units[key] = line["work_unit"]
            return
        if kind not in ("cell", "run", "rejected", "failure", "metg"):
            return
        state = self.cells.get(line["cell"])
        if state is None:
            self.unknown += 1
        elif kind == "cell":
            state.begin()
        elif kind == "run":
            state.take_run(line, self.reference(state.kernel))
        elif kind == "rejected":
            state.rejected += 1
        elif kind == "failure":
            state.failure = line
        else:
            state.metg = line
