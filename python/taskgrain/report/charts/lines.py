"""What charts with a line for each system share: colours and shapes, sizes, and the curves of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from taskgrain.report import look, rows
from taskgrain.report.cells import Results
from taskgrain.report.look import PAGE, Spec, Theme

Chart = alt.LayerChart | alt.FacetChart
_DIMMED = "chosen === '' || datum.system === chosen ? {} : {}"


def page_spec(chart: Chart) -> Spec:
    """A chart as the page draws it."""
    return look.finish(chart, PAGE) | {"padding": {"top": 4, "bottom": 4}}


def curves(x: alt.X, y: alt.Y, looks: tuple[alt.Color, alt.Shape], theme: Theme, width: int | None) -> Chart:
    """A line for each system with its points, their intervals, and the samples behind them."""
    colour, shape = looks
    name = y.shorthand.removesuffix(":Q")
    base = alt.Chart(alt.NamedData(name="points")).encode(color=colour, opacity=opacity(1.0))
    shown = tooltip(
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
        levels.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(y=like(y, "value:Q")),
        levels.mark_text(**beside, baseline="bottom", dy=-3, color=theme.muted).encode(
            x=alt.value(end), y=like(y, "value:Q"), text="text:N"
        ),
        samples.encode(
            x=x,
            y=y,
            color=alt.when("datum.disturbed").then(alt.value(theme.muted)).otherwise(colour),
            opacity=opacity(0.3),
        ),
        base.mark_rule().encode(x=x, y=like(y, f"{name}_low:Q"), y2=f"{name}_high:Q", opacity=opacity(0.6)),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(x=x, y=y, order="iterations:Q"),
        base.mark_point(filled=True, size=size(width)).encode(x=x, y=y, shape=shape, tooltip=shown),
    ]
    if by_granularity:
        ends = {"x": like(x, "granularity_low:Q"), "x2": "granularity_high:Q"}
        layers.insert(3, base.mark_rule().encode(y=y, opacity=opacity(0.6), **ends))
    return sized(layers, width)


def looks(
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


def opacity(usual: float) -> Any:
    """As usual for the chosen system, or if none is chosen; all others fade."""
    return alt.value(alt.expr(_DIMMED.format(usual, usual / 8)))


def size(width: int | None) -> int:
    return 46 if width is None else 18


def sized(layers: Sequence[alt.Chart], width: int | None) -> Chart:
    size = {"width": "container", "height": 320} if width is None else {"width": width, "height": 140}
    given = [alt.param(name="chosen", value=""), alt.param(name="most", value=1)]
    return alt.layer(*layers, **size).add_params(*given)


def like(channel: Any, shorthand: str) -> Any:
    copy = channel.copy()
    copy.shorthand = shorthand
    return copy


def tooltip(**titles: str) -> list[alt.Tooltip]:
    """Fields and what they are called."""
    return [alt.Tooltip(field=field, type="nominal", title=title) for field, title in titles.items()]
