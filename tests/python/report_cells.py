"""Cells of the report with any field as a test wishes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from taskgrain.report.cells import Cell, Point, Results

_PLAIN = Cell(
    name="a/fft/width=4", system="a", workload="fft/width=4", pattern="fft", width=4, radix=None, graphs=1,
    output_bytes=16, kernel="compute_bound",
    fields={"pattern": "fft", "width": 4}, dependences=2.0, tasks_per_step=None,
    command="", cores=2, reference="reference",
    threshold=0.5, ending="precise", metg=None, low=None, high=None, start=None, best=False, overhead=None,
    overhead_low=None, overhead_high=None, quiet=None, quiet_low=None, quiet_high=None, ratios=(),
    floor=None, floor_low=None,
    floor_high=None, iterations=None, rounds=8, runs=20, repeated=0, disturbed=0, prepare=None,
    prepare_tasks=0, memory=None,
    peak_rate=1e9, best_rate=1e9, work_unit="flop", curve=(), known=None, warnings=(), error="",
)  # fmt: skip


def cell(system: str = "a", workload: str = "fft/width=4", **fields: Any) -> Cell:
    """A cell without numbers, but for `fields`."""
    return replace(_PLAIN, name=f"{system}/{workload}", system=system, workload=workload, **fields)


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
    return Results(Path("results"), "title", "", {}, {}, cells, (), (), b"")
