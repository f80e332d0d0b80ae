"""The chart of one series: its sessions with their intervals, its levels, and its changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import vl_convert

from taskgrain.answers.compare.text import called
from taskgrain.estimate.quantities import AT_A_SIZE, Quantity
from taskgrain.history.text import day
from taskgrain.history.trends import Trend
from taskgrain.report import look
from taskgrain.report.look import AT_LEAST, AT_MOST, Theme

_HEIGHT = 170
_DATE = 100
"""Pixels that a date takes."""
_CROSS = "M-.8 -.8L.8 .8M-.8 .8L.8 -.8"
Row = dict[str, Any]


def svg(one: Trend, by: Quantity, width: int, theme: Theme = look.PAGE) -> str:
    """The chart, so many pixels wide; in the colours of the page's style sheet unless told otherwise."""
    spec = look.finish(_chart(one, by, width, theme), theme)
    spec["autosize"] = {"type": "fit", "contains": "padding"}
    spec["padding"] = {"top": 2, "bottom": 2, "left": 0, "right": 2}
    found: str = vl_convert.vegalite_to_svg(spec, vl_version=look.VEGALITE)
    # The element around it says what it shows.
    return found.replace("<svg ", '<svg aria-hidden="true" ', 1)


def _chart(one: Trend, by: Quantity, width: int, theme: Theme) -> alt.LayerChart | alt.FacetChart:
    rows = list(_rows(one))
    low, high = look.domain(
        value for row in rows for value in look.near(row["at"], row["low"], row["high"], 2.0)
    )
    scale = look.log(low, high)
    axis = (
        alt.Axis(title=None, format="~s", values=look.ticks(low, high))
        if by in AT_A_SIZE
        else look.time_axis(low, high, None)
    )
    axis.title = f"{called(by)}, tasks/s" if by in AT_A_SIZE else called(by)
    count = len(one.series.entries)
    x = alt.X(
        "place:Q",
        scale=alt.Scale(domain=[-0.6, count - 0.4], nice=False),
        axis=_dates(one, max(2, width // _DATE)),
    )
    y = alt.Y("at:Q", scale=scale, axis=axis)
    points = alt.Chart(alt.InlineData(rows)).encode(x=x)
    marks = [
        points.mark_rule(color=theme.accent, opacity=0.6).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    ]
    for kind, (mark, filled) in _MARKS.items():
        fill = theme.accent if filled else "var(--paper)"
        marks.append(
            points.transform_filter(f"datum.kind === '{kind}'")
            .mark_point(opacity=1, size=14, strokeWidth=1.2, shape=mark, stroke=theme.accent, fill=fill)
            .encode(y=y)
        )
    failed = alt.Chart(alt.InlineData([{"place": i} for i, p in enumerate(one.series.entries) if p.failed]))
    marks.append(
        failed.mark_point(shape=_CROSS, size=30, strokeWidth=1.5, color="var(--bad)", opacity=1).encode(
            x=x, y=alt.value(alt.expr("height - 8"))
        )
    )
    levels = [
        {"place": first - 0.4, "until": last + 0.4, "at": mean} for first, last, mean in one.levels if mean
    ]
    marks.append(
        alt.Chart(alt.InlineData(levels))
        .mark_rule(color=theme.ink, strokeWidth=1.5)
        .encode(x=x, x2="until:Q", y=y)
    )
    changes = alt.Chart(alt.InlineData(list(_changes(one)))).encode(x=x)
    marks.append(changes.mark_rule(color=theme.muted, strokeDash=[4, 3]))
    marks.append(
        changes.mark_text(align="right", baseline="top", dx=-3, color=theme.ink).encode(
            text="text:N", y=alt.value(0)
        )
    )
    return alt.layer(*marks, width=width, height=_HEIGHT)


_MARKS = {
    "number": ("circle", True),
    "outlying": ("circle", False),
    "least": (AT_LEAST, True),
    "most": (AT_MOST, True),
}
"""Shape of each kind of session, and whether it is filled."""


def _rows(one: Trend) -> Iterator[Row]:
    """A row for each session that says something."""
    for place, number in enumerate(one.numbers):
        if number is None:
            continue
        row: Row = {"place": place, "low": number.low, "high": number.high}
        if number.value is not None:
            kind = "outlying" if place in one.outlying else "number"
            yield row | {"at": number.value, "kind": kind}
        elif number.low or number.high:
            kind = "least" if number.low else "most"
            yield row | {"at": number.low or number.high, "kind": kind, "low": None, "high": None}


def _changes(one: Trend) -> Iterator[Row]:
    starts = {id(entry): place for place, entry in enumerate(one.series.entries)}
    for change in one.changes:
        text = f"{change.ratio.value:.3g} ×" if change.ratio.value else ""
        yield {"place": starts[id(change.after)] - 0.5, "text": text}


def _dates(one: Trend, most: int) -> alt.Axis:
    """Dates below some sessions: the first, the last, and others as far as there is room."""
    count = len(one.series.entries)
    every = max(1, -(-(count - 1) // (most - 1)))
    places = list(range(0, count, every))
    words = [day(entry.log.time) for entry in one.series.entries]
    # Dates are digits and hyphens: nothing of the results gets into an expression.
    text = "".join(f"datum.value === {place} ? '{words[place]}' : " for place in places) + "''"
    return alt.Axis(title=None, values=places, labelExpr=text, grid=False, ticks=True)
