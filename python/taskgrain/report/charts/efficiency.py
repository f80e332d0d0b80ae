"""Efficiency against task granularity: where a system's line crosses the threshold, there is its METG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import altair as alt
from markupsafe import Markup

from taskgrain.report import look, rows
from taskgrain.report.cells import Results
from taskgrain.report.charts import curves
from taskgrain.report.charts.chart import Figure, Plot
from taskgrain.report.charts.lines import Chart, looks
from taskgrain.report.charts.lines import curves as lines
from taskgrain.report.look import Theme

SECTION = curves.SECTION


def on_page(results: Results) -> Iterator[Plot]:
    """One plot, of the workload that the reader has chosen."""
    samples, _ = rows.sample_counts(results)
    behind = ""
    if samples:
        even = " (an even selection)" if samples > rows.MOST_SAMPLES else ""
        behind = (
            f", and, faint, the samples behind it, grey where others disturbed the run{even}; "
            f"{samples} of all cells"
        )
    caption = Markup(
        "Each mark is one task size, with its 95 % intervals{}. A system's METG is about where its line "
        "crosses the dashed threshold; it is read off all sizes near there."
    ).format(behind)
    yield from curves.on_page(
        results, "efficiency", "Efficiency against task granularity", chart, rows.thresholds, caption
    )


def on_paper(results: Results) -> Iterator[Figure]:
    """One figure for each workload."""
    return curves.on_paper(results, "efficiency", chart, rows.thresholds)


def chart(results: Results, theme: Theme, width: int | None = None, legend: Sequence[str] = ()) -> Chart:
    """Efficiency against granularity, of the data sets `points`, `samples` and `levels`."""
    curves = [point for cell in results.cells for point in cell.curve]
    low, high = look.domain(
        end for one in curves for end in look.near(one.granularity, one.granularity_low, one.granularity_high)
    )
    x = alt.X("granularity:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "task granularity"))
    most = max(
        (
            min(one.efficiency * rows.REACH, max(one.efficiency_high or 0.0, rows.best_efficiency(one)))
            for one in curves
        ),
        default=1.0,
    )
    top = min(2.0, max(1.05, math.ceil(most * 20) / 20))
    scale = alt.Scale(domain=[0, top], clamp=True)
    label = "format(100 * datum.value, '.0f') + ' %'"
    y = alt.Y("efficiency:Q", scale=scale, axis=alt.Axis(title="efficiency", tickCount=5, labelExpr=label))
    return lines((x, y, (low, high), (0, top)), looks(results, theme, legend, width), theme, width)
