"""Rate of work against problem size, as in Figure 6 of the Task Bench paper (SC'20)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.lines import Chart, curves, looks, of_curves
from taskgrain.report.look import Theme
from taskgrain.words import quantity

_INTRO = Markup(
    "<p>The same points as work per second. The dashed line is the peak: the kernel alone on the same cores "
    "in the same session, or at the rate that a simulation is given.</p>"
)
SECTION = Section("rate", "Rate against problem size", lambda _: _INTRO)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each workload where a peak is known."""
    draw = partial(chart, results)
    for plot in of_curves(results, "rate", "rate against problem size", draw, rows.peaks):
        if plot.levels:
            points = [row for i in plot.cells for row in rows.points(results.cells[i], i)]
            most = rows.most("rate", plot.levels, points)
            yield replace(plot, needs_peak=True, most=most, draw=partial(draw, most=most))


def chart(results: Results, theme: Theme, width: int | None = None, *, most: float = 1.0) -> Chart:
    """Rate of work against the size of the problem, up to `most`; data as for `efficiency`."""
    measured = [cell for cell in results.cells if cell.peak_rate is not None]
    low, high = look.domain(point.iterations for cell in measured for point in cell.points)
    title = "problem size: iterations per task"
    axis = alt.Axis(title=title, values=look.ticks(low, high), format="~s", labelOverlap=True)
    x = alt.X("iterations:Q", scale=look.log(low, high), axis=axis)
    units = {cell.work_unit for cell in measured if cell.work_unit}
    unit = quantity.rate_unit(units.pop()) if len(units) == 1 else "units of work per second"
    # Kernels differ in their rates by orders: each workload says how high its own go.
    scale = alt.Scale(domain=[0, alt.expr("most")], clamp=True)
    axis = alt.Axis(title=f"{unit} per core", labelExpr="format(datum.value, '~s')", tickCount=5)
    y = alt.Y("rate:Q", scale=scale, axis=axis)
    axes = (x, y, (low, high), (0, "most"))
    return curves(axes, looks(results, theme, width), theme, width, most)
