"""Rate of work against problem size, as in Figure 6 of the Task Bench paper (SC'20)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.report import look, rows
from taskgrain.report.cells import Results
from taskgrain.report.charts import curves
from taskgrain.report.charts.chart import Figure, Plot
from taskgrain.report.charts.lines import Chart, looks
from taskgrain.report.charts.lines import curves as lines
from taskgrain.report.look import Theme
from taskgrain.words import quantity

SECTION = curves.SECTION


def on_page(results: Results) -> Iterator[Plot]:
    """One plot, of the workload that the reader has chosen."""
    caption = Markup("The dashed line is the peak: the kernel alone on the same cores in the same session.")
    for plot in curves.on_page(results, "rate", "Rate against problem size", chart, rows.peaks, caption):
        yield replace(plot, needs="peak", middle=True, most="rate")


def on_paper(results: Results) -> Iterator[Figure]:
    """One figure for each workload."""
    for figure in curves.on_paper(results, "rate", chart, rows.peaks):
        most = rows.most("rate", figure.data["levels"], figure.data["points"])
        yield replace(figure, draw=partial(figure.draw, most=most))


def chart(
    results: Results,
    theme: Theme,
    width: int | None = None,
    legend: Sequence[str] = (),
    *,
    most: float = 1.0,
) -> Chart:
    """Rate of work against the size of the problem, up to `most`; data as for `efficiency`."""
    measured = [cell for cell in results.cells if cell.peak_rate is not None]
    low, high = look.domain(point.iterations for cell in measured for point in cell.curve)
    title = "problem size: iterations per task"
    axis = alt.Axis(title=title, values=look.ticks(low, high), format="~s", labelOverlap=True)
    x = alt.X("iterations:Q", scale=look.log(low, high), axis=axis)
    units = {cell.work_unit for cell in measured}
    unit = quantity.rate_unit(units.pop()) if len(units) == 1 else "units of work per second"
    # Kernels differ in their rates by orders: the page's script says how high the workload shown goes.
    scale = alt.Scale(domain=[0, alt.expr("most")], clamp=True)
    axis = alt.Axis(title=f"{unit} per core", labelExpr="format(datum.value, '~s')", tickCount=5)
    y = alt.Y("rate:Q", scale=scale, axis=axis)
    axes = (x, y, (low, high), (0, "most"))
    return lines(axes, looks(results, theme, legend, width), theme, width, most)
