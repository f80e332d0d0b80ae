"""The charts, as Vega-Lite specifications without data: that goes into their named data sets.

So untrusted text (names of systems and workloads) never becomes part of an expression; it enters as data, and
as the domain of the scales of colour and shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from taskgrain.report import look, rows
from taskgrain.report.cells import Cell, Results
from taskgrain.report.look import PAGE, Spec, Theme
from taskgrain.words import quantity

Chart = alt.LayerChart | alt.FacetChart
_DIMMED = "chosen === '' || datum.system === chosen ? {} : {}"


def metg_panel(
    results: Results,
    theme: Theme,
    width: int | None = None,
    source: str = "rows",
    systems: Sequence[str] = (),
    named: bool = True,
) -> Chart:
    """METG of systems on one workload, of the data set `source`: a forest plot, all panels on the same scale.

    `width` in pixels; None takes the width of the page's element. `systems` are the rows, also of those that
    have no result here; without them there is a row for each result. `named`: whether the rows have names.
    """
    low, high = look.domain(
        value
        for cell in results.cells
        for value in (cell.metg, cell.low, cell.high, cell.floor, cell.at_most, cell.at_least)
    )
    scale = look.log(low, high)
    limit, room = (130, 82) if width is None else (90, 48)
    axis = alt.Axis(
        title=None, grid=True, ticks=False, domain=False, labelLimit=limit, labelPadding=6, labels=named
    )
    y = alt.Y("system:N", sort=alt.EncodingSortField(field="rank", op="min"), axis=axis)
    if systems:
        y = alt.Y("system:N", scale=alt.Scale(domain=list(systems)), axis=axis)
    base = alt.Chart(alt.NamedData(name=source)).encode(
        y=y,
        tooltip=_tooltip(system="system", METG="METG", floor="floor", ending="ending", rounds="rounds"),
    )
    paper = width is not None
    x = alt.X("x:Q", scale=scale, axis=look.time_axis(low, high, "METG (tick: floor)" if paper else None))
    right, far = (
        (alt.expr("width + 8"), alt.expr(f"width + {room}")) if width is None else (width + 6, width + room)
    )
    return alt.layer(
        base.mark_tick(thickness=2, size=7 if paper else 11, color=theme.muted).encode(
            x=alt.X("floor_at:Q", scale=scale)
        ),
        base.mark_rule(strokeWidth=2 if paper else 3, color=theme.accent, opacity=0.5).encode(
            x=alt.X("low:Q", scale=scale), x2="high:Q"
        ),
        base.mark_point(filled=True, size=22 if paper else 46, opacity=1, color=theme.accent).encode(
            x=x, shape=alt.Shape("mark:N", scale=None)
        ),
        base.mark_text(align="left", color=theme.ink).encode(x=alt.value(right), text="text:N"),
        # Unseen, as wide as the longest result: so that all panels are equally wide.
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(opacity=0)
        .encode(x=alt.value(right), x2=alt.value(far), y=alt.value(0)),
        width="container" if width is None else width,
        # On the page the height is the script's: an automatic width forbids a height by the row.
        height=alt.Step(12 if len(results.systems) <= 12 else 9) if paper else 19,
    )


def efficiency(results: Results, theme: Theme, width: int | None = None, legend: Sequence[str] = ()) -> Chart:
    """Efficiency against granularity, of the data sets `points`, `samples` and `levels`."""
    curves = [point for cell in results.cells for point in cell.curve]
    low, high = look.domain(end for one in curves for end in (one.granularity_low, one.granularity_high))
    x = alt.X("granularity:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "task granularity"))
    most = max((max(one.efficiency_high, rows.best_efficiency(one)) for one in curves), default=1.0)
    scale = alt.Scale(domain=[0, min(2.0, max(1.05, math.ceil(most * 20) / 20))])
    label = "format(100 * datum.value, '.0f') + ' %'"
    y = alt.Y("efficiency:Q", scale=scale, axis=alt.Axis(title="efficiency", tickCount=5, labelExpr=label))
    return _curves(x, y, _looks(results, theme, legend, width), theme, width)


def rate(results: Results, theme: Theme, width: int | None = None, legend: Sequence[str] = ()) -> Chart:
    """Rate of work against the size of the problem; data as for `efficiency`."""
    measured = [cell for cell in results.cells if cell.peak_rate is not None]
    low, high = look.domain(point.iterations for cell in measured for point in cell.curve)
    title = "problem size: iterations per task"
    axis = alt.Axis(title=title, values=look.ticks(low, high), format="~s", labelOverlap=True)
    x = alt.X("iterations:Q", scale=look.log(low, high), axis=axis)
    units = {cell.work_unit for cell in measured}
    unit = quantity.rate_unit(units.pop()) if len(units) == 1 else "units of work per second"
    # Kernels differ in their rates by orders: the page's script says how high the workload shown goes.
    scale = alt.Scale(domain=[0, alt.expr("most")]) if width is None else alt.Scale(zero=True)
    axis = alt.Axis(title=f"{unit} per core", labelExpr="format(datum.value, '~s')", tickCount=5)
    y = alt.Y("rate:Q", scale=scale, axis=axis)
    return _curves(x, y, _looks(results, theme, legend, width), theme, width)


def dependences(
    results: Results,
    theme: Theme,
    width: int | None = None,
    legend: Sequence[str] = (),
    *,
    cells: Sequence[Cell],
) -> Chart:
    """METG against the radix, of the data set `rows`: the cells of one group of `rows.radix_groups`."""
    low, high = look.domain(value for cell in cells for value in (cell.metg, cell.low, cell.high))
    values = sorted({cell.radix for cell in cells if cell.radix is not None})
    x = alt.X(
        "radix:Q",
        scale=alt.Scale(domain=[values[0], values[-1]], nice=False, padding=12),
        # Its labels need not be turned inwards: the padding has room for them.
        axis=alt.Axis(
            title="dependences per task (radix)",
            values=values,
            grid=False,
            labelOverlap=True,
            labelFlush=False,
        ),
    )
    y = alt.Y("metg:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "METG"))
    colour, shape = _looks(results, theme, legend, width)
    base = alt.Chart(alt.NamedData(name="rows")).encode(color=colour, opacity=_opacity(1.0))
    names = _tooltip(
        system="system", METG="METG", radix="radix", dependences="dependences (mean)", ending="ending"
    )
    layers = [
        base.mark_rule().encode(x=x, y=_of(y, "low:Q"), y2="high:Q", opacity=_opacity(0.6)),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(x=x, y=y, order="radix:Q"),
        base.mark_point(filled=True, size=_size(width)).encode(x=x, y=y, shape=shape, tooltip=names),
    ]
    return _sized(layers, width)


def page_spec(chart: Chart) -> Spec:
    """A chart as the page draws it."""
    return look.finish(chart, PAGE) | {"padding": {"top": 4, "bottom": 4}}


def _curves(x: alt.X, y: alt.Y, looks: tuple[alt.Color, alt.Shape], theme: Theme, width: int | None) -> Chart:
    """A line for each system with its points, their intervals, and the samples behind them."""
    colour, shape = looks
    name = y.shorthand.removesuffix(":Q")
    base = alt.Chart(alt.NamedData(name="points")).encode(color=colour, opacity=_opacity(1.0))
    tooltip = _tooltip(
        system="system", iterations="iterations", lasts="granularity", reached="efficiency", speed="rate",
        repeats="repeats",
    )  # fmt: skip
    by_granularity = x.shorthand == "granularity:Q"
    levels = alt.Chart(alt.NamedData(name="levels"))
    # At the end where the curves are not: they rise above the threshold, and towards the peak.
    end = alt.expr("width") if by_granularity else 0
    beside: Any = {"align": "right", "dx": -2} if by_granularity else {"align": "left", "dx": 2}
    samples = alt.Chart(alt.NamedData(name="samples")).mark_point(
        filled=True, clip=True, size=7 if width is None else 3
    )
    layers = [
        levels.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(y=_of(y, "value:Q")),
        levels.mark_text(**beside, baseline="bottom", dy=-3, color=theme.muted).encode(
            x=alt.value(end), y=_of(y, "value:Q"), text="text:N"
        ),
        samples.encode(
            x=x,
            y=y,
            color=alt.when("datum.disturbed").then(alt.value(theme.muted)).otherwise(colour),
            opacity=_opacity(0.3),
        ),
        base.mark_rule().encode(x=x, y=_of(y, f"{name}_low:Q"), y2=f"{name}_high:Q", opacity=_opacity(0.6)),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(x=x, y=y, order="iterations:Q"),
        base.mark_point(filled=True, size=_size(width)).encode(x=x, y=y, shape=shape, tooltip=tooltip),
    ]
    if by_granularity:
        ends = {"x": _of(x, "granularity_low:Q"), "x2": "granularity_high:Q"}
        layers.insert(3, base.mark_rule().encode(y=y, opacity=_opacity(0.6), **ends))
    return _sized(layers, width)


def _looks(
    results: Results, theme: Theme, legend: Sequence[str], width: int | None
) -> tuple[alt.Color, alt.Shape]:
    """Colour and shape of every system, the same in all charts; `legend` are those named below the plot."""
    systems = rows.ranked(results)
    styles = [look.style(i, theme) for i in range(len(systems))]
    colours = alt.Scale(domain=systems, range=[colour for colour, _ in styles])
    shapes = alt.Scale(domain=systems, range=[shape for _, shape in styles])
    named = None  # the page has a legend of its own
    if width is not None and legend:
        values = [system for system in systems if system in legend]
        named = alt.Legend(
            orient="bottom", values=values, columns=max(1, width // 62), symbolSize=30, symbolOpacity=1
        )
    return (
        alt.Color("system:N", scale=colours, legend=named),
        alt.Shape("system:N", scale=shapes, legend=named),
    )


def _opacity(usual: float) -> Any:
    """As usual for the chosen system, or if none is chosen; all others fade."""
    return alt.value(alt.expr(_DIMMED.format(usual, usual / 8)))


def _size(width: int | None) -> int:
    return 46 if width is None else 18


def _sized(layers: Sequence[alt.Chart], width: int | None) -> Chart:
    size = {"width": "container", "height": 320} if width is None else {"width": width, "height": 140}
    given = [alt.param(name="chosen", value=""), alt.param(name="most", value=1)]
    return alt.layer(*layers, **size).add_params(*given)


def _of(channel: Any, shorthand: str) -> Any:
    copy = channel.copy()
    copy.shorthand = shorthand
    return copy


def _tooltip(**titles: str) -> list[alt.Tooltip]:
    """Fields and what they are called."""
    return [alt.Tooltip(field=field, type="nominal", title=title) for field, title in titles.items()]
