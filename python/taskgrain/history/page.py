"""A history as one HTML file with a chart for each series: no script, nothing loaded, the report's look."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

import taskgrain
from taskgrain.answers.compare.text import called
from taskgrain.estimate.quantities import AT_A_SIZE, Quantity
from taskgrain.history.text import day, measured, summary, title, why
from taskgrain.history.trends import History, Trend
from taskgrain.report import look
from taskgrain.report.look import AT_LEAST, AT_MOST, Theme
from taskgrain.words import quantity
from taskgrain.words.origin import Origin

_WIDTH = 760
"""Pixels of a chart, which scrolls where there is less room."""
_HEIGHT = 170
_DATE = 100
"""Pixels that a date takes."""
_CROSS = "M-.8 -.8L.8 .8M-.8 .8L.8 -.8"
Row = dict[str, Any]
_BUILD = 8
"""Digits of a build's hash."""


def render(history: History, name: str) -> str:
    """The page; `name` is its title. Every text in it is escaped, and the charts hold none of the results."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = files("taskgrain.history").joinpath("page.html.jinja").read_text("utf-8")
    style = files("taskgrain.report").joinpath("web/page.css").read_text("utf-8")
    return environment.from_string(page).render(
        title=name,
        style=Markup(style),
        summary=summary(history),
        quantity=called(history.question.by),
        interval=Origin.of(one.series.origin for one in history.trends).interval,
        trends=[_section(one, history) for one in history.trends],
        version=taskgrain.__version__,
    )


def _section(one: Trend, history: History) -> dict[str, object]:
    by = history.question.by
    said = why(one, history)
    return {
        "system": one.series.system,
        "title": title(one.series),
        "why": said[:1].upper() + said[1:],
        "regression": one.regression,
        "label": f"Chart of {called(by)} over the sessions; the table below has its numbers",
        "chart": Markup(svg(one, by, _WIDTH)),
        "rows": list(reversed(_rows(one, history))),
    }


def _rows(one: Trend, history: History) -> list[dict[str, str]]:
    by, size = history.question.by, one.series.size()
    begins = {id(change.after) for change in one.changes}
    return [
        {
            "label": entry.log.label,
            "date": day(entry.log.time),
            "number": measured(number, by),
            "measured": measured(entry.number(by, size), by),
            "clock": quantity.percent(entry.clock and entry.clock / one.series.clock),
            "version": entry.measurement.version or "",
            "build": (entry.measurement.build or "")[:_BUILD],
            "remark": ", ".join(
                word
                for word, holds in (
                    ("a new level begins", id(entry) in begins),
                    ("far from its level", place in one.outlying),
                    (f"failed: {entry.measurement.cell.error}", entry.failed),
                )
                if holds
            ),
        }
        for place, (entry, number) in enumerate(zip(one.series.entries, one.numbers, strict=True))
    ]


def svg(one: Trend, by: Quantity, width: int, theme: Theme = look.PAGE) -> str:
    """The chart, so many pixels wide; in the colours of the page's style sheet unless told otherwise."""
    spec = look.finish(_chart(one, by, width, theme), theme)
    spec["autosize"] = {"type": "fit", "contains": "padding"}
    spec["padding"] = {"top": 2, "bottom": 2, "left": 0, "right": 2}
    found: str = vl_convert.vegalite_to_svg(spec, vl_version=look.VEGALITE)
    # The element around it says what it shows.
    return found.replace("<svg ", '<svg aria-hidden="true" ', 1)


def _chart(one: Trend, by: Quantity, width: int, theme: Theme) -> alt.LayerChart | alt.FacetChart:
    rows = list(_drawn(one))
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


def _drawn(one: Trend) -> Iterator[Row]:
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
