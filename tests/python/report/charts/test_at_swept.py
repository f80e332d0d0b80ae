"""The chart of efficiency at given task times against a field that was varied."""

import pytest
from drawn_chart import draw
from report_cells import cell, point, results

from taskgrain.answers.data import Cell
from taskgrain.report.charts import at_swept, swept
from taskgrain.report.figures import of_chart
from taskgrain.report.look import NOTHING


def of(imbalance: float, *efficiencies: float) -> Cell:
    """A cell with tasks of 20 µs, and of 50 µs where there are two efficiencies."""
    curve = tuple(
        point(100, 20e-6, one, asked=seconds)
        for one, seconds in zip(efficiencies, (20e-6, 50e-6), strict=False)
    )
    fields = {"pattern": "fft", "width": 4, "imbalance": imbalance}
    return cell("a", f"fft/width=4/imbalance={imbalance:g}", fields=fields, curve=curve, ending="at")


def test_a_line_falls_with_the_field() -> None:
    found = results(of(0.0, 0.9), of(1.0, 0.7), of(2.0, 0.4))
    (figure,) = of_chart(at_swept, found)
    assert figure.name == "imbalance fft/width=4 at 20us"
    drawn = draw(figure)
    line = drawn.layer("line")
    assert [one["x"] for one in line] == sorted(one["x"] for one in line)
    assert [one["y"] for one in line] == sorted(one["y"] for one in line), "downwards"
    assert len(drawn.layer("symbol")) == len(drawn.layer("rule")) == 3
    assert not [*swept.plots(found)], "there is no METG to draw"


def test_a_cell_without_an_answer_is_a_cross_at_the_bottom() -> None:
    fields = {"pattern": "fft", "width": 4, "imbalance": 1.0}
    failed = cell("a", "fft/width=4/imbalance=1", fields=fields, ending="failed", error="crash")
    found = results(of(0.0, 0.9), failed, of(2.0, 0.4))
    drawn = draw(next(iter(of_chart(at_swept, found))))
    (cross,) = next(layer for layer in drawn.marks["symbol"] if layer and layer[0]["shape"] == NOTHING)
    lowest = max(one["y"] for one in drawn.layer("symbol"))
    assert cross["y"] > lowest and cross["x"] in {one["x"] for one in drawn.layer("line")}
    (plot,) = at_swept.plots(found)
    assert [row["reached"] for row in plot.own[1]] == ["crash"]


def test_each_task_time_has_a_panel_with_rows_by_cell() -> None:
    plots = [*at_swept.plots(results(of(0.0, 0.9, 0.95), of(1.0, 0.7, 0.8)))]
    assert [plot.heading for plot in plots] == [
        "fft/width=4, tasks of 20 µs, by imbalance",
        "fft/width=4, tasks of 50 µs, by imbalance",
    ]
    for plot, values in zip(plots, ((0.9, 0.7), (0.95, 0.8)), strict=True):
        shown = [row["efficiency"] for number in (0, 1) for row in plot.own[number]]
        assert shown == [pytest.approx(one) for one in values]
