"""Tests of what the charts of cells' curves share: when they are drawn, and from what."""

from functools import partial

from report_cells import cell, measured, point, results

from taskgrain.report import rows
from taskgrain.report.charts import efficiency
from taskgrain.report.charts.lines import of_curves
from taskgrain.report.figures import of_chart

CURVE = (point(10, 1e-6, 0.2, samples=(1e-6,)), point(100, 2e-6, 0.6))
FULL = results(
    measured("a", 1e-6, "fft", curve=CURVE, threshold=0.8),
    cell("b", "fft", ending="failed"),
    measured("b", 2e-6, "dom", curve=CURVE[:1]),
    cell("a", "tree", ending="unfinished"),
)


def test_a_panel_for_each_workload_that_has_a_curve() -> None:
    plots = [*of_curves(FULL, "name", "title", partial(efficiency.chart, FULL), rows.thresholds)]
    assert [(one.id, one.key, one.heading) for one in plots] == [
        ("name-0", "name", "fft"),
        ("name-1", "name", "dom"),
    ]
    assert plots[0].label == "Plot of title on fft, a line for each system"
    assert [(one.cells, one.shows) for one in plots] == [((0, 1), "points"), ((2,), "points")]
    assert [[level["value"] for level in one.levels] for one in plots] == [[0.8], [0.5]]


def test_a_figure_for_each_workload_with_a_curve() -> None:
    figures = of_chart(efficiency, FULL)
    assert [one.name for one in figures] == ["efficiency fft", "efficiency dom"]
    fft, dom = figures
    assert [(row["cell"], row["iterations"]) for row in fft.data["points"]] == [(0, 10), (0, 100)]
    assert [(row["cell"], row["system"]) for row in dom.data["points"]] == [(2, "b")]
    assert [row["value"] for row in fft.data["levels"]] == [0.8]
    assert fft.data["samples"] == []
