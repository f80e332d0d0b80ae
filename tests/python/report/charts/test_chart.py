"""Tests of the parts of a chart, and of what the page's script gets of it."""

import re
from importlib.resources import files

import pytest
from report_cells import results

from taskgrain.report.charts.chart import Plot
from taskgrain.report.charts.table import CHARTS

PLOT = Plot(
    id="x", heading="h", label="l", key="k", file="f", draw=dict, cells=(1, 4), shows="rows", row_height=9
)


@pytest.mark.parametrize("name", PLOT.options())
def test_the_script_reads_every_option(name: str) -> None:
    script = files("taskgrain.report").joinpath("web", "charts.js").read_text("utf-8")
    assert re.search(rf"\.{name}\b|\{{[^{{}}]*\b{name}\b[^{{}}]*}}\s*[,)=]", script)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.__name__.rpartition(".")[2])
def test_every_chart_has_what_is_asked_for_also_without_cells(chart: object) -> None:
    section = chart.SECTION  # type: ignore[attr-defined]
    assert re.fullmatch(r"[a-z-]+", section.id) and section.title
    assert "<script" not in section.intro(results())
    assert not [*chart.plots(results())]  # type: ignore[attr-defined]
