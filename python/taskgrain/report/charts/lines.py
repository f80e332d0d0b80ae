"""The common part of charts with a line for each system: colours, shapes, sizes, and the curves of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import altair as alt

from taskgrain.answers.data import Cell, Results
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import ONE_COLUMN, Drawn, Plot
from taskgrain.report.charts.intervals import Ends, arrows, by_certainty, like, within
from taskgrain.report.look import Theme

Chart = alt.LayerChart | alt.FacetChart
Axes = tuple[alt.X, alt.Y, Ends, Ends]
Looks = tuple[alt.Color, alt.Shape, Any]
"""Colour, shape and dash."""
Levels = Callable[[Iterable[Cell]], list[rows.Row]]


def curves(axes: Axes, looks: Looks, theme: Theme, width: int | None, most: float = 1.0) -> Chart:
    """A line for each system with its points, their intervals, and the samples behind them.

    `most` is the value of the parameter that an end of the axes may name.
    """
    x, y, x_ends, y_ends = axes
    colour, shape, dash = looks
    name, across = y.shorthand.removesuffix(":Q"), x.shorthand.removesuffix(":Q")
    base = alt.Chart(alt.NamedData(name="points")).encode(color=colour, opacity=alt.value(1))
    shown = tooltip(
        system="system", iterations="iterations", lasts="granularity", reached="efficiency", speed="rate",
        repeats="repeats",
    )  # fmt: skip
    by_granularity = x.shorthand == "granularity:Q"
    levels = alt.Chart(alt.NamedData(name="levels"))
    # At the end where the curves are not: they rise above the threshold, and towards the peak.
    end = (alt.expr("width") if width is None else width) if by_granularity else 0
    beside: Any = {"align": "right", "dx": -2} if by_granularity else {"align": "left", "dx": 2}
    # Scales clamp; a sample outside would be drawn where it is not.
    inside = f"{within(across, x_ends)} && {within(name, y_ends)}"
    samples = (
        alt.Chart(alt.NamedData(name="samples"))
        .transform_filter(inside)
        .mark_point(filled=True, size=7 if width is None else 3)
    )
    faint = base.encode(opacity=by_certainty(0.6, 0.25), strokeWidth=by_certainty(1, 0.6))
    head = 14 if width is None else 5
    page = [*rest(x, y, "iterations:Q"), *(_task(axes, inside, theme) if by_granularity else ())]
    ends = {"x": like(x, "granularity_low:Q"), "x2": "granularity_high:Q"}
    across = [
        faint.mark_rule().encode(y=y, **ends),
        *arrows(faint.encode(y=y), x, "granularity_low", "granularity_high", x_ends, head),
    ]
    layers = [
        *(page if width is None else ()),
        levels.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(y=like(y, "value:Q")),
        levels.mark_text(**beside, baseline="bottom", dy=-3, color=theme.muted).encode(
            x=alt.value(end), y=like(y, "value:Q"), text="text:N"
        ),
        samples.encode(
            x=x,
            y=y,
            color=alt.when("datum.disturbed").then(alt.value(theme.muted)).otherwise(colour),
            opacity=alt.value(0.3),
        ),
        *(across if by_granularity else ()),
        faint.mark_rule().encode(x=x, y=like(y, f"{name}_low:Q"), y2=f"{name}_high:Q"),
        *arrows(faint.encode(x=x), y, f"{name}_low", f"{name}_high", y_ends, head),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(
            x=x, y=y, order="iterations:Q", strokeDash=dash
        ),
        base.mark_point(filled=True, size=size(width)).encode(
            x=x, y=y, shape=shape, tooltip=shown, opacity=by_certainty(1, 0.4)
        ),
    ]
    return sized(layers, width, most)


def of_curves(
    results: Results, name: str, title: str, draw: Callable[..., Drawn], levels: Levels
) -> Iterator[Plot]:
    """A panel for each workload that has a curve."""
    for place, workload in enumerate(results.workloads):
        numbers = rows.numbers(results, workload)
        if any(results.cells[i].points for i in numbers):
            yield Plot(
                id=f"{name}-{place}",
                heading=workload,
                label=f"Plot of {title} on {workload}, a line for each system",
                key=name,
                file=f"{name} {workload}",
                draw=draw,
                cells=tuple(numbers),
                shows="points",
                levels=levels(results.cells[i] for i in numbers if results.cells[i].points),
            )


def rest(x: alt.X, y: alt.Y, order: str) -> list[alt.Chart]:
    """The systems that the reader has not chosen, on the page: thin grey lines behind the others.

    An unseen line of eight pixels makes each easy to point at.
    """
    base = alt.Chart(alt.NamedData(name="rest")).encode(x=x, y=y, order=order, detail="system:N")
    return [
        base.mark_line(strokeWidth=0.9, color="var(--rest)"),
        base.mark_line(strokeWidth=8, color="var(--rest)", opacity=0).encode(
            tooltip=tooltip(system="system")
        ),
    ]


def _task(axes: Axes, inside: str, theme: Theme) -> list[alt.Chart]:
    """A line where tasks of the time that the reader has typed lie: their work is the same at every point.

    Their name stands near the lower end, where few curves are, below their own or above it.
    """
    x, y, (low, high), _ = axes
    base = alt.Chart(alt.NamedData(name="task")).transform_filter(inside).encode(x=x, y=y)
    right = f"datum.granularity * datum.granularity > {low} * {high}"
    return [
        base.mark_line(strokeDash=[2, 3], strokeWidth=1.4, color=theme.ink).encode(order="granularity:Q"),
        base.transform_filter("datum.efficiency > 0.12")
        .transform_window(place="row_number()", sort=[alt.SortField("efficiency")])
        .transform_filter("datum.place === 1")
        .mark_text(
            align=alt.expr(f"{right} ? 'right' : 'left'"),
            dx=alt.expr(f"{right} ? -8 : 8"),
            dy=alt.expr(f"{right} ? 8 : -6"),
            color=theme.ink,
        )
        .encode(text=alt.value("your tasks")),
    ]


def looks(results: Results, theme: Theme, width: int | None) -> Looks:
    """Colour, shape and dash of every system, the same in all charts.

    On the page, rows bring colour and shape: a few systems are drawn at once, and the reader chooses which.
    """
    if width is None:
        return alt.Color("colour:N", scale=None), alt.Shape("shape:N", scale=None), alt.value([1, 0])
    systems = results.ranked
    styles = [look.style(place, theme) for place in range(len(systems))]

    def by_system(channel: Any, values: Sequence[Any]) -> Any:
        return channel("system:N", scale=alt.Scale(domain=systems, range=values), legend=None)

    return (
        by_system(alt.Color, [one.colour for one in styles]),
        by_system(alt.Shape, [one.shape for one in styles]),
        by_system(alt.StrokeDash, [one.dash for one in styles]),
    )


def size(width: int | None) -> int:
    return 34 if width is None else 18


def height(width: int) -> int:
    """The height of a figure's plot: one for both columns has more lines."""
    return 140 if width < ONE_COLUMN else 220


def sized(layers: Sequence[alt.Chart], width: int | None, most: float = 1.0) -> Chart:
    size = (
        {"width": "container", "height": 190} if width is None else {"width": width, "height": height(width)}
    )
    return alt.layer(*layers, **size).add_params(alt.param(name="most", value=most))


def tooltip(**titles: str) -> list[alt.Tooltip]:
    """The fields with their names."""
    return [alt.Tooltip(field=field, type="nominal", title=title) for field, title in titles.items()]
