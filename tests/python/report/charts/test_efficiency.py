"""The chart of efficiency: points of a curve against the dashed threshold."""

import pytest
from drawn_chart import DrawnChart, draw
from report_cells import cell, measured, point, results

from taskgrain.report.charts import efficiency
from taskgrain.report.figures import of_chart
from taskgrain.report.look import NOTHING

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6), point(1000, 9e-6, 0.9))
FULL = results(
    measured("a", 1.5e-6, curve=CURVE, threshold=0.5),
    measured("b", 2.5e-6, curve=CURVE[1:], threshold=0.7),
    cell("c", ending="failed"),
)


@pytest.fixture(scope="module")
def drawn() -> DrawnChart:
    (figure,) = of_chart(efficiency, FULL)
    return draw(figure)


def test_longer_tasks_lie_to_the_right_and_better_ones_above(drawn: DrawnChart) -> None:
    longest, shorter = sorted((line for line in drawn.marks["line"]), key=len, reverse=True)
    assert (len(longest), len(shorter)) == (3, 2)
    for line in (longest, shorter):
        assert [one["x"] for one in line] == sorted(one["x"] for one in line)
        assert [one["y"] for one in line] == sorted((one["y"] for one in line), reverse=True)


def test_a_point_lies_above_the_threshold_if_it_reaches_it(drawn: DrawnChart) -> None:
    levels = {one["text"]: one["y"] for one in drawn.layer("text")}
    assert set(levels) == {"50 %", "70 %"}
    first, second, third = max(drawn.marks["line"], key=len)
    assert third["y"] < levels["70 %"] < second["y"] < levels["50 %"] < first["y"]


def test_every_point_has_its_intervals(drawn: DrawnChart) -> None:
    marks = [one for layer in drawn.marks["symbol"] for one in layer]
    assert len(marks) == 5
    rules = [one for layer in drawn.marks["rule"] for one in layer]
    for mark in marks:
        across = [one for one in rules if one["y"] == pytest.approx(mark["y"]) and "x2" in one]
        along = [one for one in rules if one["x"] == pytest.approx(mark["x"]) and "y2" in one]
        assert any(min(one["x"], one["x2"]) < mark["x"] < max(one["x"], one["x2"]) for one in across)
        assert any(min(one["y"], one["y2"]) < mark["y"] < max(one["y"], one["y2"]) for one in along)


def test_a_system_without_a_curve_is_named_with_a_cross(drawn: DrawnChart) -> None:
    marks = dict(zip((one["text"] for one in drawn.key["text"]), drawn.key["symbol"], strict=True))
    assert [name for name, mark in marks.items() if mark["shape"] == NOTHING] == ["c"]
    assert marks.keys() == {"a", "b", "c"}


def test_intervals_of_sizes_are_named_where_something_was_measured() -> None:
    simulated = results(measured("a", 1.5e-6, curve=CURVE, simulated=True))
    said = [efficiency.SECTION.intro(one) for one in (FULL, simulated)]
    assert ["interval" in one for one in said] == [True, False]


def test_a_panel_has_the_line_of_each_threshold() -> None:
    (plot,) = efficiency.plots(FULL)
    assert [level["value"] for level in plot.levels] == [0.5, 0.7]
    assert plot.cells == (0, 1, 2) and not plot.needs_peak
