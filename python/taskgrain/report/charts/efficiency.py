"""Efficiency against task granularity: where a system's line crosses the threshold, there is its METG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.lines import Chart, curves, looks, of_curves
from taskgrain.report.look import Theme


def _intro(results: Results) -> Markup:
    # A simulation repeats to the digit: the model's error is not that of one size.
    with_ = "" if results.origin.simulated else ", with its 95 % intervals"
    return Markup(
        f"<p>Each mark is one task size{with_}. A system's METG is about where its line "
        "crosses the dashed threshold; it is read off all sizes near there. The dotted line is "
        "your tasks, if you ask for their time above. "
        '<span class="screen">A click on a mark shows its cell, with the samples behind its curve.</span></p>'
    )


SECTION = Section("efficiency", "Efficiency against task granularity", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each workload."""
    title = "efficiency against task granularity"
    return of_curves(results, "efficiency", title, partial(chart, results), rows.thresholds)


def chart(results: Results, theme: Theme, width: int | None = None) -> Chart:
    """Efficiency against granularity, of the data sets `points`, `samples` and `levels`."""
    points = [point for cell in results.cells for point in cell.points]
    low, high = look.domain(
        end for one in points for end in look.near(one.granularity, one.granularity_low, one.granularity_high)
    )
    x = alt.X("granularity:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "task granularity"))
    most = max(
        (
            min(one.efficiency * rows.REACH, max(one.efficiency_high or 0.0, rows.best_efficiency(one)))
            for one in points
        ),
        default=1.0,
    )
    top = min(2.0, max(1.05, math.ceil(most * 20) / 20))
    scale = alt.Scale(domain=[0, top], clamp=True)
    label = "format(100 * datum.value, '.0f') + ' %'"
    y = alt.Y("efficiency:Q", scale=scale, axis=alt.Axis(title="efficiency", tickCount=5, labelExpr=label))
    return curves((x, y, (low, high), (0, top)), looks(results, theme, width), theme, width)
