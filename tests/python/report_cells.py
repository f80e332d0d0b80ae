"""Cells of the report with any field as a test wishes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskgrain.report.cells import Cell, Point, Results
from taskgrain.results import cell as stored
from taskgrain.results.lines import CellLine, FailureLine, MetgLine, RatioLine, RunLine
from taskgrain.results.reader import Contents
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

_PLAIN = Cell(
    stored=stored.Cell(""), name="", system="", workload="", pattern="fft", width=4, radix=None, graphs=1,
    output_bytes=16, kernel="compute_bound", fields={"pattern": "fft", "width": 4}, dependences=2.0,
    tasks_per_step=None, command="", reference="reference", best=False, prepare=None, prepare_tasks=0,
    memory=None, peak_rate=1e9, work_unit="flop", curve=(), known=None, warnings=(), to_best=None,
)  # fmt: skip
_OF_THE_REPORT = {one.name for one in dataclasses.fields(Cell)}


def cell(
    system: str = "a",
    workload: str = "fft/width=4",
    *,
    cores: int | None = 2,
    ending: str = "precise",
    error: str = "",
    ratios: Mapping[str, Interval] | None = None,
    runs: int = 20,
    bound: bool | None = None,
    **fields: Any,
) -> Cell:
    """A cell without numbers, but for `fields`: those of `Cell`, and those of its `metg` line."""
    name = f"{system}/{workload}"
    shown = {one: value for one, value in fields.items() if one in _OF_THE_REPORT}
    ended = {"threshold": 0.5, "rounds": 8} | {one: fields[one] for one in fields if one not in shown}
    if ending == "failed":
        ended = {"threshold": ended["threshold"]}
    known = stored.Cell(
        name,
        started=CellLine(cell=name, cores=cores, bound=bound),
        result=MetgLine(cell=name, ending=Ending(ending), **ended),
        failure=FailureLine(cell=name, error=error) if error else None,
        ratios={
            to: RatioLine(cell=name, to=to, value=one.value, low=one.low, high=one.high)
            for to, one in (ratios or {}).items()
        },
        runs=[RunLine(cell=name)] * runs,
    )
    return dataclasses.replace(_PLAIN, stored=known, name=name, system=system, workload=workload, **shown)


def measured(system: str, metg: float, workload: str = "fft/width=4", **fields: Any) -> Cell:
    """A cell with a METG, known to a tenth."""
    return cell(system, workload, **{"metg": metg, "low": 0.9 * metg, "high": 1.1 * metg} | fields)


def point(iterations: float, granularity: float, efficiency: float, **fields: Any) -> Point:
    """A point whose intervals reach a tenth to each side."""
    return Point(
        iterations,
        *(granularity, 0.9 * granularity, 1.1 * granularity),
        *(efficiency, 0.9 * efficiency, 1.1 * efficiency),
        repeats=5,
        **fields,
    )


def results(*cells: Cell) -> Results:
    """A folder's results with these cells."""
    return Results(Path("results"), "title", "", {}, {}, cells, (), (), Contents(Path(), b""))
