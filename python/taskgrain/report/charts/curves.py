"""The common part of the charts of cells' curves: a panel for each workload, and a figure for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from taskgrain.answers.data import Cell, Results
from taskgrain.report import rows
from taskgrain.report.charts.chart import Figure, Plot
from taskgrain.report.charts.lines import Chart, figure, page_spec
from taskgrain.report.look import PAPER

Levels = Callable[[Iterable[Cell]], list[rows.Row]]


def on_page(
    results: Results, name: str, title: str, chart: Callable[..., Chart], levels: Levels
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
                spec=partial(page_spec, chart, results),
                cells=tuple(numbers),
                shows="points",
                levels=levels(results.cells[i] for i in numbers if results.cells[i].points),
            )


def on_paper(results: Results, name: str, chart: Callable[..., Chart], levels: Levels) -> Iterator[Figure]:
    """One figure for each workload that has a curve; `name` is the field of its points, too."""
    for workload in results.workloads:
        numbers = rows.numbers(results, workload)
        cells = [results.cells[i] for i in numbers]
        points = [row for i in numbers for row in rows.points(results.cells[i], i)]
        if not points:
            continue
        drawn = {row["system"] for row in points if row[name] is not None}
        systems = {cell.system: cell.system in drawn for cell in cells}
        # Samples are for looking closely, on the page: thousands of them make a figure of megabytes.
        data = {"points": points, "samples": [], "levels": levels(cells)}
        yield figure(results, f"{name} {workload}", partial(chart, results, PAPER), data, systems)
