"""The common part of the charts of cells' curves: a panel for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from taskgrain.answers.data import Cell, Results
from taskgrain.report import rows
from taskgrain.report.charts.chart import Drawn, Plot

Levels = Callable[[Iterable[Cell]], list[rows.Row]]


def plots(
    results: Results, name: str, title: str, draw: Callable[..., Drawn], levels: Levels
) -> Iterator[Plot]:
    """A panel for each workload that has a curve."""
    for place, workload in enumerate(results.workloads):
        numbers = rows.numbers(results, workload)
        if any(results.cells[i].points for i in numbers):
            yield Plot(
                id=f"{name}-{place}",
                heading=workload,
                label=f"Plot of {title} on {workload}, a line for each system",
                key=name,
                file=f"{name} {workload}",
                draw=draw,
                cells=tuple(numbers),
                shows="points",
                levels=levels(results.cells[i] for i in numbers if results.cells[i].points),
            )
