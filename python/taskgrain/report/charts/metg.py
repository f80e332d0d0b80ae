"""METG of systems on one workload: a forest plot, a panel for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import BOTH_COLUMNS, Figure, Plot, Section
from taskgrain.report.charts.intervals import Ends, arrows, by_certainty, like, nothing
from taskgrain.report.charts.lines import Chart, tooltip
from taskgrain.report.look import PAPER, Theme
from taskgrain.words import quantity

_ROW = 19  # pixels
_AXIS = {"low": 1e-7, "high": 1e-3, "ticks": []}
_MARKS = (
    ("METG with its {}", "M.8 0A.8.8 0 1 1 -.8 0A.8.8 0 1 1 .8 0Z", "ink"),
    ("goes on: no bound, or one outside", "M-1.3 -.1H.2V-.5L1.3 0L.2 .5V.1H-1.3Z", "ink"),
    ("at most", "M-.8 0L.8 -.9V.9Z", "ink"),
    ("more than", "M.8 0L-.8 -.9V.9Z", "ink"),
    ("floor: what an empty task takes", "M-.25 -1.1H.25V1.1H-.25Z", "muted"),
    ("neither number nor bound", look.NOTHING, "muted"),
    ("your tasks at the threshold, if you ask", look.DOTTED, "ink"),
)


def _intro(results: Results) -> Markup:
    thresholds = sorted({cell.threshold for cell in results.cells})
    marks = [
        Markup(
            '<span class="nowrap"><svg class="key" viewBox="-1.4 -1.3 2.8 2.6" aria-hidden="true">'
            '<path d="{}" fill="var(--{})"/></svg> {}</span>'
        ).format(path, colour, text.format(results.origin.interval))
        for text, path, colour in _MARKS
    ]
    return Markup(
        "<p>The minimum effective task granularity: how long a task must last for at least {} of the machine "
        "to do useful work. Shorter is better. Each system that is drawn has its colour and mark. "
        "The scale is logarithmic, and the same in all panels. "
        '<span class="screen">A click on a mark shows its cell.</span></p>\n<p class="note">{}</p>'
    ).format(" or ".join(map(quantity.percent, thresholds)), Markup(" &ensp;\n").join(marks))


SECTION = Section("metg", "METG", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each workload whose METG was searched for."""
    for place, workload in enumerate(results.workloads):
        numbers = rows.numbers(results, workload)
        if _searched(results, workload):
            yield Plot(
                id=f"metg-{place}",
                heading=workload,
                label=f"Plot of METG by system on {workload}; the table of all cells has its numbers",
                key="metg",
                file=f"metg {workload}",
                draw=partial(panel, results),
                cells=tuple(numbers),
                shows="rows",
                row_height=_ROW,
                by_system=False,
            )


def together(results: Results) -> Iterator[Figure]:
    """A figure of all workloads, where there are several."""
    found = rows.metg(results)
    if len(results.workloads) > 1 and any(_searched(results, one) for one in results.workloads):
        data = {
            f"rows-{number}": [found[i] for i in rows.numbers(results, workload)]
            for number, workload in enumerate(results.workloads)
        }
        side = min(3, len(data))
        yield Figure("metg", partial(_panels, results, side), data, BOTH_COLUMNS, side)


def _searched(results: Results, workload: str) -> bool:
    """Tells whether METG was searched for, and not the efficiency at task times."""
    return not all(results.cells[number].at for number in rows.numbers(results, workload))


def _panels(results: Results, side: int, width: int) -> alt.ConcatChart:
    """METG of all workloads, `side` panels side by side: the leftmost name the systems of a whole row."""
    panels = []
    systems = results.ranked
    for number, workload in enumerate(results.workloads):
        named = number % side == 0
        one = panel(results, PAPER, width, f"rows-{number}", systems, named)
        one.title = alt.TitleParams(workload, anchor="start", frame="bounds", fontSize=9, fontWeight=600)
        panels.append(one)
    return alt.concat(*panels, columns=side, spacing=10)


def panel(
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
    paper = width is not None
    low, high = look.domain(value for cell in results.cells for value in rows.reach(cell))
    ends: Ends = (low, high) if paper else ("low", "high")
    # On the page, the script sets these: the axis is around the systems that the reader has chosen.
    params = [] if paper else [alt.param(name=name, value=one) for name, one in _AXIS.items()]
    scale = look.log(low, high) if paper else look.log(alt.expr("low"), alt.expr("high"))
    ticks = None if paper else alt.expr("ticks")
    limit, room = (170, 82) if width is None else (130, 48)
    axis = alt.Axis(
        title=None, grid=True, ticks=False, domain=False, labelLimit=limit, labelPadding=6, labels=named
    )
    y = alt.Y("system:N", sort=alt.EncodingSortField(field="rank", op="min"), axis=axis)
    if systems:
        y = alt.Y("system:N", scale=alt.Scale(domain=list(systems)), axis=axis)
    base = alt.Chart(alt.NamedData(name=source)).encode(
        y=y, tooltip=tooltip(system="system", METG="METG", floor="floor", ending="ending", rounds="rounds")
    )
    x = alt.X("x:Q", scale=scale, axis=look.time_axis(low, high, "METG (tick: floor)", ticks))
    across, head = alt.X("low:Q", scale=scale), 9 if paper else 22
    bars = base.encode(strokeWidth=by_certainty(2, 0.8) if paper else by_certainty(3, 1))

    def colour(channel: Callable[..., Any]) -> Any:
        return alt.value(theme.accent) if paper else channel("colour:N", scale=None)

    edge = alt.expr("width") if width is None else width
    right, far = (
        (alt.expr("width + 8"), alt.expr(f"width + {room}")) if width is None else (width + 6, width + room)
    )
    return alt.layer(
        *([] if paper else _task(like(x, "at:Q"), theme)),
        base.mark_tick(thickness=2, size=7 if paper else 11, color=theme.muted).encode(
            x=alt.X("floor_at:Q", scale=scale)
        ),
        bars.mark_rule(opacity=0.5).encode(x=across, x2="high:Q", color=colour(alt.Color)),
        base.mark_point(filled=True, size=22 if paper else 46, opacity=1).encode(
            x=x,
            shape=alt.Shape("mark:N", scale=None),
            fill=colour(alt.Fill),
            stroke=colour(alt.Stroke),
            fillOpacity=by_certainty(1, 0.35),
        ),
        *arrows(bars.encode(fill=colour(alt.Fill)), across, "low", "high", ends, head),
        nothing(base, "x", 22 if paper else 46, color=theme.muted).encode(x=alt.value(edge)),
        base.mark_text(align="left", color=theme.ink).encode(x=alt.value(right), text="text:N"),
        # Unseen, as wide as the longest result: so that all panels are equally wide.
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(opacity=0)
        .encode(x=alt.value(right), x2=alt.value(far), y=alt.value(0)),
        width="container" if width is None else width,
        # On the page the height is the script's: an automatic width forbids a height by the row.
        height=alt.Step(12 if len(results.systems) <= 12 else 9) if paper else _ROW,
    ).add_params(*params)


def _task(x: alt.X, theme: Theme) -> list[alt.Chart]:
    """A line at the time of the reader's tasks: long enough for systems whose METG lies left of it."""
    base = alt.Chart(alt.NamedData(name="task")).encode(x=x)
    side = alt.expr("datum.at * datum.at > low * high ? 'right' : 'left'")
    said = "(datum.at < low ? '← ' : '') + 'your tasks' + (datum.at > high ? ' →' : '')"
    return [
        base.mark_rule(strokeDash=[2, 3], strokeWidth=1.4, color=theme.ink),
        base.transform_calculate(said=said)
        .mark_text(align=side, baseline="bottom", dy=-3, color=theme.ink)
        .encode(y=alt.value(0), text="said:N"),
    ]
