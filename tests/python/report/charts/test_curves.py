"""What the charts of cells' curves share: when they are drawn, and what they are drawn from."""

from __future__ import annotations

import pytest
from markupsafe import Markup
from report_cells import cell, measured, point, results

from taskgrain.report import rows
from taskgrain.report.cells import Results
from taskgrain.report.charts import curves, efficiency, rate
from taskgrain.report.charts.chart import Plot

CURVE = (point(10, 1e-6, 0.2, samples=(1e-6,)), point(100, 2e-6, 0.6))
FULL = results(
    measured("a", 1e-6, "fft", curve=CURVE, threshold=0.8),
    cell("b", "fft", ending="failed"),
    measured("b", 2e-6, "dom", curve=CURVE[:1]),
    cell("a", "tree", ending="unfinished"),
)


def on_page(found: Results) -> list[Plot]:
    words = ("name", "Title", efficiency.chart, rows.thresholds, Markup("caption"))
    return [*curves.on_page(found, *words)]


def test_one_plot_for_all_workloads_with_a_level_for_each_cell() -> None:
    (plot,) = on_page(FULL)
    assert (plot.id, plot.key, plot.heading, plot.caption) == ("name", "name", "Title", "caption")
    assert plot.label == "Plot of title, a line for each system"
    assert plot.of is None  # the workload that the reader has chosen
    assert [plot.levels[number]["value"] for number in range(4)] == [0.8, 0.5, 0.5, 0.5]


def test_without_a_curve_there_is_no_plot_and_the_section_says_so() -> None:
    nothing = results(cell(ending="unfinished"))
    assert on_page(nothing) == []
    assert "No cell has a curve yet." in curves.SECTION.intro(nothing)
    assert curves.SECTION.intro(FULL) == ""


@pytest.mark.parametrize("chart", [efficiency, rate], ids=lambda one: one.__name__)
def test_both_charts_stand_in_this_section(chart: object) -> None:
    assert chart.SECTION is curves.SECTION  # type: ignore[attr-defined]


def test_a_figure_for_each_workload_with_a_curve() -> None:
    figures = [*curves.on_paper(FULL, "name", efficiency.chart, rows.thresholds)]
    assert [one.name for one in figures] == ["name fft", "name dom"]
    fft, dom = figures
    assert [(row["cell"], row["iterations"]) for row in fft.data["points"]] == [(0, 10), (0, 100)]
    assert [(row["cell"], row["system"]) for row in dom.data["points"]] == [(2, "b")]
    assert [row["value"] for row in fft.data["levels"]] == [0.5, 0.8]  # those of all its cells
    assert fft.data["samples"] == []
