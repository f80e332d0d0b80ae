"""Tests of what charts with a line for each system share: looks, and when and from what they are drawn."""

from functools import partial

import altair as alt
import pytest
import vl_convert
from drawn_chart import draw, every_mark
from report_cells import cell, measured, point, results

from taskgrain.report import look, rows
from taskgrain.report.charts import efficiency, lines, rate, swept
from taskgrain.report.charts.lines import of_curves
from taskgrain.report.figures import of_chart
from taskgrain.report.look import PAGE, PAPER

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6))
SYSTEMS = ("fast", "middle", "slow")
FULL = results(
    *(
        measured(system, metg * radix, f"nearest/radix={radix}", fields={"radix": radix}, curve=CURVE)
        for system, metg in zip(SYSTEMS, (1e-6, 2e-6, 4e-6), strict=True)
        for radix in (1, 5)
    )
)


@pytest.mark.parametrize("chart", [efficiency, rate, swept], ids=lambda one: one.__name__)
def test_a_system_looks_the_same_in_all_charts(chart: object) -> None:
    figure = next(iter(of_chart(chart, FULL)))  # type: ignore[attr-defined]
    marks = [one for layer in draw(figure).marks["symbol"] for one in layer]
    assert len(marks) == 6
    wished = {(one.colour, one.shape) for one in (look.style(place, PAPER) for place in range(3))}
    assert {(one["fill"], one["shape"]) for one in marks} == wished


def test_the_page_has_a_legend_of_its_own() -> None:
    colour, shape, _ = lines.looks(FULL, PAGE, None)  # rows bring their look
    assert colour.to_dict()["scale"] is shape.to_dict()["scale"] is None
    assert [*next(iter(of_chart(efficiency, FULL))).key] == ["fast", "middle", "slow"]  # ranked


def test_a_chart_of_the_page_is_as_wide_as_its_element() -> None:
    spec = next(iter(efficiency.plots(FULL))).spec()
    assert spec["width"] == "container"
    assert spec["autosize"]["type"] == "fit-x"


@pytest.mark.parametrize("work", [1e-8, 1e-6])
def test_the_name_of_the_readers_tasks_lies_beside_their_line(work: float) -> None:
    """At one end of the axis and at the other."""
    low, high = 1e-8, 1e-4
    x = alt.X("granularity:Q", scale=look.log(low, high))
    y = alt.Y("efficiency:Q", scale=alt.Scale(domain=[0, 1]))
    points = [{"granularity": work / (n / 99), "efficiency": n / 99} for n in range(8, 100)]
    chart = alt.layer(*lines._task((x, y, (low, high), (0.0, 1.0)), "true", PAGE), width=500, height=190)
    spec = look.finish(chart, PAGE)
    spec["datasets"] = {"task": points}
    scene = vl_convert.vegalite_to_scenegraph(spec, vl_version=look.VEGALITE)["scenegraph"]
    drawn = {mark["marktype"]: mark["items"] for mark in every_mark(scene) if mark.get("role") == "mark"}
    (name,) = drawn["text"]
    width = 0.5 * name["fontSize"] * len(name["text"])
    left = name["x"] + name["dx"] - (width if name["align"] == "right" else 0)
    y_of_name = name["y"] + name.get("dy", 0)
    assert not [
        one for one in drawn["line"]
        if left <= one["x"] <= left + width and abs(one["y"] - y_of_name) < 0.5 * name["fontSize"]
    ]  # fmt: skip


WITH_SAMPLES = (point(10, 1e-6, 0.2, samples=(1e-6,)), point(100, 2e-6, 0.6))
WITH_GAPS = results(
    measured("a", 1e-6, "fft", curve=WITH_SAMPLES, threshold=0.8),
    cell("b", "fft", ending="failed"),
    measured("b", 2e-6, "dom", curve=WITH_SAMPLES[:1]),
    cell("a", "tree", ending="unfinished"),
)


def test_a_panel_for_each_workload_that_has_a_curve() -> None:
    plots = [*of_curves(WITH_GAPS, "name", "title", partial(efficiency.chart, WITH_GAPS), rows.thresholds)]
    assert [(one.id, one.key, one.heading) for one in plots] == [
        ("name-0", "name", "fft"),
        ("name-1", "name", "dom"),
    ]
    assert plots[0].label == "Plot of title on fft, a line for each system"
    assert [(one.cells, one.shows) for one in plots] == [((0, 1), "points"), ((2,), "points")]
    assert [[level["value"] for level in one.levels] for one in plots] == [[0.8], [0.5]]


def test_a_figure_for_each_workload_with_a_curve() -> None:
    figures = of_chart(efficiency, WITH_GAPS)
    assert [one.name for one in figures] == ["efficiency fft", "efficiency dom"]
    fft, dom = figures
    assert [(row["cell"], row["iterations"]) for row in fft.data["points"]] == [(0, 10), (0, 100)]
    assert [(row["cell"], row["system"]) for row in dom.data["points"]] == [(2, "b")]
    assert [row["value"] for row in fft.data["levels"]] == [0.8]
    assert fft.data["samples"] == []
