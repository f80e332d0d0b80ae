"""The chart of METG: a mark for each cell, its interval, its floor and its words."""

import pytest
from drawn_chart import DrawnChart, draw
from report_cells import cell, measured, point, results

from taskgrain.answers.data import Results
from taskgrain.report.charts import metg
from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN
from taskgrain.report.figures import of_chart
from taskgrain.report.look import AT_LEAST, AT_MOST, NOTHING, SHAPES

WIDTH = 200
FULL = results(
    measured("fast", 1e-6, floor=4e-7, floor_low=3e-7, floor_high=5e-7),
    measured("slow", 4e-6, floor=2e-6, floor_low=2e-6, floor_high=2e-6),
    cell("open", ending="always_reached", high=5e-7),
    cell("never", ending="never_reached", low=9e-6),
    cell("failed", ending="failed", error="timeout"),
)


@pytest.fixture(scope="module")
def drawn() -> DrawnChart:
    (figure,) = of_chart(metg, FULL)
    return draw(figure, WIDTH)


def test_every_number_or_bound_has_its_mark(drawn: DrawnChart) -> None:
    marks = sorted(drawn.layer("symbol"), key=lambda one: one["x"])
    assert [one["shape"] for one in marks] == [AT_MOST, SHAPES[0], SHAPES[0], AT_LEAST]
    assert len({one["y"] for one in marks}) == 4


def test_what_has_neither_number_nor_bound_has_a_cross_at_the_far_end(drawn: DrawnChart) -> None:
    (cross,) = drawn.layer("symbol", 3)
    texts = {one["text"]: one["y"] for one in drawn.layer("text")}
    assert (cross["shape"], cross["x"], cross["y"]) == (NOTHING, WIDTH, texts["timeout"])


def test_rows_are_from_the_best_to_the_worst_with_their_words(drawn: DrawnChart) -> None:
    texts = sorted(drawn.layer("text"), key=lambda one: one["y"])
    assert [one["text"] for one in texts] == ["≤ 500 ns", "1.00 µs", "4.0 µs", "> 9.00 µs", "timeout"]
    assert {"open", "fast", "slow", "never", "failed"} <= set(drawn.texts)


def test_an_interval_is_around_its_mark_and_goes_on_to_the_edge_from_a_bound(drawn: DrawnChart) -> None:
    intervals = {one["y"]: one for one in drawn.layer("rule")}
    assert set(intervals) == {one["y"] for one in drawn.layer("symbol")}
    for one in drawn.layer("symbol"):
        ends = sorted((intervals[one["y"]]["x"], intervals[one["y"]]["x2"]))
        if one["shape"] == SHAPES[0]:
            assert 0 < ends[0] < one["x"] < ends[1] < WIDTH
        else:
            assert ends == pytest.approx([0, one["x"]] if one["shape"] == AT_MOST else [one["x"], WIDTH])
    arrows = drawn.marks["symbol"][1:3]
    assert [[one["x"] for one in layer] for layer in arrows] == [[0], [WIDTH]]


def test_the_floor_is_a_tick_below_the_metg(drawn: DrawnChart) -> None:
    floors = sorted(one["x"] for one in drawn.layer("rect"))
    marks = sorted(one["x"] for one in drawn.layer("symbol") if one["shape"] == SHAPES[0])
    assert len(floors) == 2
    assert all(floor < mark for floor, mark in zip(floors, marks, strict=True))


def of_two_workloads() -> Results:
    return results(
        *(measured("a", 1e-6, "fft"), measured("b", 4e-6, "fft")),
        *(measured("b", 1e-6, "dom"), measured("c", 9e-3, "dom")),
    )


def test_all_workloads_stand_in_one_figure_and_each_alone() -> None:
    (together,), alone = metg.together(of_two_workloads()), of_chart(metg, of_two_workloads())
    assert (together.name, together.width, together.plots) == ("metg", BOTH_COLUMNS, 2)
    assert [(one.name, one.width) for one in alone] == [("metg fft", ONE_COLUMN), ("metg dom", ONE_COLUMN)]
    assert {"fft", "dom"} <= set(draw(together).texts)


def test_panels_share_their_scale_and_their_rows() -> None:
    (together,), alone = metg.together(of_two_workloads()), of_chart(metg, of_two_workloads())
    first, second = draw(together).marks["symbol"][
        ::4
    ]  # behind each, its arrows to the left, to the right, and crosses
    (same,) = [one for one in second if one["x"] == pytest.approx(min(mark["x"] for mark in first))]
    assert same["y"] == max(one["y"] for one in first)  # system b, second of both panels
    separate = [min(mark["x"] for mark in draw(one).layer("symbol")) for one in alone]
    assert separate[0] == pytest.approx(separate[1])


def test_a_plot_for_each_workload_on_the_page() -> None:
    plots = [*metg.plots(of_two_workloads())]
    assert [(one.heading, one.cells) for one in plots] == [("fft", (0, 1)), ("dom", (2, 3))]
    assert all(one.row_height > 0 and one.heading in one.label for one in plots)
    assert {one.key for one in plots} == {"metg"}  # one specification for all
    assert not [*metg.plots(results())] and not [*metg.together(results())]


def test_a_workload_of_task_times_has_no_panel_of_metg() -> None:
    asked = cell("a", "fft", ending="at", curve=(point(10, 1e-6, 0.5, asked=5e-7),))
    assert [*metg.plots(results(asked))] == []
    assert len([*metg.plots(results(asked, cell("b", "fft", ending="failed")))]) == 1


def test_the_introduction_names_the_thresholds() -> None:
    assert "at least 50 % of the machine" in metg.SECTION.intro(FULL)
    two = results(cell(threshold=0.8), cell(threshold=0.5))
    assert "at least 50 % or 80 % of the machine" in metg.SECTION.intro(two)
