"""What the charts of cells' curves share: their section of the page, and one plot for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from markupsafe import Markup

from taskgrain.report import rows
from taskgrain.report.cells import Cell, Results
from taskgrain.report.charts.chart import Figure, Plot, Section
from taskgrain.report.charts.lines import Chart, page_spec
from taskgrain.report.look import PAGE, PAPER

Levels = Callable[[Iterable[Cell]], list[rows.Row]]


def _intro(results: Results) -> Markup:
    return (
        Markup("") if any(cell.curve for cell in results.cells) else Markup("<p>No cell has a curve yet.</p>")
    )


SECTION = Section("curves", "Efficiency and rate", _intro, choice=True)


def on_page(
    results: Results, name: str, title: str, chart: Callable[..., Chart], levels: Levels, caption: Markup
) -> Iterator[Plot]:
    """One plot, of the workload that the reader has chosen; none where no cell has a curve."""
    if any(cell.curve for cell in results.cells):
        yield Plot(
            id=name,
            heading=title,
            label=f"Plot of {title[0].lower()}{title[1:]}, a line for each system",
            key=name,
            spec=lambda: page_spec(chart(results, PAGE)),
            levels={number: level for number, cell in enumerate(results.cells) for level in levels([cell])},
            caption=caption,
        )


def on_paper(results: Results, name: str, chart: Callable[..., Chart], levels: Levels) -> Iterator[Figure]:
    """One figure for each workload that has a curve."""
    for workload in results.workloads:
        numbers = rows.numbers(results, workload)
        cells = [results.cells[i] for i in numbers]
        if not (legend := [cell.system for cell in cells if cell.curve]):
            continue
        # Samples are for looking closely, on the page: thousands of them make a figure of megabytes.
        points = [row for i in numbers for row in rows.points(results.cells[i], i)]
        data = {"points": points, "samples": [], "levels": levels(cells)}
        yield Figure(f"{name} {workload}", partial(chart, results, PAPER, legend=legend), data)
