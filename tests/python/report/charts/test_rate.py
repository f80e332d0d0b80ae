"""The chart of rate: work per second against the size of a task, below the peak."""

from drawn_chart import draw
from report_cells import measured, point, results

from taskgrain.report.charts import rate
from taskgrain.report.figures import of_chart

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6), point(1000, 9e-6, 0.9))
FULL = results(
    measured("a", 1.5e-6, curve=CURVE, peak_rate=4e9),
    measured("b", 1.5e-6, curve=CURVE, peak_rate=1e9),
    measured("c", 1.5e-6, curve=CURVE, peak_rate=2e9),
)


def test_the_rate_is_the_efficiency_of_the_peak() -> None:
    (figure,) = of_chart(rate, results(measured("a", 1.5e-6, curve=CURVE, peak_rate=4e9)))
    drawn = draw(figure)
    (line,) = drawn.marks["line"]
    (peak,) = [one["y"] for one in drawn.layer("text") if one["text"] == "peak"]
    heights = [one["y"] for one in line]
    assert heights == sorted(heights, reverse=True)
    assert all(peak < one for one in heights)
    assert [one["x"] for one in line] == sorted(one["x"] for one in line)


def test_systems_of_different_peaks_have_one_line_at_their_median() -> None:
    (figure,) = of_chart(rate, FULL)
    assert figure.data["levels"] == [{"value": 2e9, "text": "peak"}]
    (plot,) = rate.plots(FULL)
    assert plot.levels == figure.data["levels"]


def test_the_axis_has_the_unit_of_the_work() -> None:
    (figure,) = of_chart(rate, FULL)
    assert "FLOP/s per core" in draw(figure).texts
    mixed = results(
        measured("a", 1.5e-6, curve=CURVE, work_unit="flop"),
        measured("b", 1.5e-6, curve=CURVE, work_unit="bytes"),
    )
    (figure,) = of_chart(rate, mixed)
    assert "units of work per second per core" in draw(figure).texts


def test_a_cell_without_a_peak_is_left_out() -> None:
    found = results(measured("a", 1.5e-6, curve=CURVE), measured("b", 1.5e-6, curve=CURVE, peak_rate=None))
    (plot,) = rate.plots(found)
    assert plot.needs_peak  # the page's script leaves the others out
    (figure,) = of_chart(rate, found)
    marks = [one for layer in draw(figure).marks["symbol"] for one in layer]
    assert len(marks) == 3


def test_the_axis_of_the_page_ends_above_the_fastest_of_its_workload() -> None:
    (plot,) = rate.plots(FULL)
    assert 4e9 * 0.9 * 1.1 < plot.most < 4e9 * 1.2
    slow = results(measured("b", 1.5e-6, curve=CURVE, peak_rate=1e6))
    (plot,) = rate.plots(slow)
    assert plot.most < 1.2e6
