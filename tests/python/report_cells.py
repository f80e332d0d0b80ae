"""Cells of the report with any field as a test wishes."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taskgrain.answers.data import Cell, Point, Results
from taskgrain.results.lines import CellLine, FailureLine, MetgLine, RatioLine, RunLine
from taskgrain.results.reader import Contents, Study
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import Notice

_OF_THE_REPORT = {one.name for one in dataclasses.fields(Cell)}
_DRAWN = {"work_unit": "flop", "tasks_per_step": None}
"""The columns that the report makes of runs."""
_WORKLOAD = {"pattern": "fft", "width": 4, "graphs": 1, "output_bytes": 16, "kernel": "compute_bound"}


def cell(
    system: str = "a",
    workload: str = "fft/width=4",
    *,
    cores: int | None = 2,
    ending: str = "precise",
    error: str = "",
    ratios: Mapping[str, Interval] | None = None,
    warnings: Sequence[Notice] = (),
    runs: int = 20,
    bound: bool | None = False,
    simulated: bool = False,
    run: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    reference: str | None = None,
    curve: Sequence[Point] = (),
    **rest: Any,
) -> Cell:
    """A cell without numbers, but for `rest`: fields of `Cell`, of its `metg` line, and what the report makes
    of its runs. `run` has the fields of all of its runs, `fields` those of its workload."""
    name = f"{system}/{workload}"
    drawn = _DRAWN | {one: rest[one] for one in _DRAWN if one in rest} | {"points": tuple(curve)}
    shown = {one: value for one, value in rest.items() if one in _OF_THE_REPORT}
    ended = {
        "threshold": 0.5,
        "rounds": 8,
        "peak_rate": 1e9,
        "warnings": tuple(one.fields() for one in warnings),
        "curve": tuple(curve),
    }
    ended |= {one: value for one, value in rest.items() if one not in shown and one not in _DRAWN}
    if ending == "failed":
        ended = {"threshold": ended["threshold"]}
    workload_fields = _WORKLOAD | (fields or {})
    found = Cell(
        name=name,
        started=CellLine(
            cell=name,
            cores=cores,
            bound=bound,
            simulated=simulated,
            workload=workload_fields,
            reference=reference,
        ),
        result=MetgLine(cell=name, ending=Ending(ending), **ended),
        failure=FailureLine(cell=name, error=error) if error else None,
        ratios={
            to: RatioLine(cell=name, to=to, value=one.value, low=one.low, high=one.high)
            for to, one in (ratios or {}).items()
        },
        runs=[RunLine(cell=name, **(run or {"tasks": 1, "dependencies": 2}))] * runs,
        **shown,
    )
    vars(found).update(drawn)
    return found


def measured(system: str, metg: float, workload: str = "fft/width=4", **fields: Any) -> Cell:
    """A cell with a METG, known to a tenth."""
    return cell(system, workload, **{"metg": metg, "low": 0.9 * metg, "high": 1.1 * metg} | fields)


def point(iterations: float, granularity: float, efficiency: float, **fields: Any) -> Point:
    """A point whose intervals reach a tenth to each side."""
    return Point(
        iterations=iterations,
        granularity=granularity,
        granularity_low=0.9 * granularity,
        granularity_high=1.1 * granularity,
        efficiency=efficiency,
        efficiency_low=0.9 * efficiency,
        efficiency_high=1.1 * efficiency,
        repeats=5,
        **fields,
    )


def results(*cells: Cell, **settings: Any) -> Results:
    """A folder's results with these cells."""
    return Results(
        Path("results"), Contents(Path("runs.jsonl"), b""), Study(table=settings), {}, (), "title", cells
    )
