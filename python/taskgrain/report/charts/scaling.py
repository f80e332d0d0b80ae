"""Time to solution against cores or nodes, a line for each size of the problem, with the limit of METG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.answers.scaling import STEPS, Scaling, Time, left_out, meeting_tables, scalings, shown
from taskgrain.report import look
from taskgrain.report.charts.chart import Plot, Section, table
from taskgrain.report.charts.intervals import arrows, like
from taskgrain.report.charts.lines import Chart, looks, size, sized, tooltip
from taskgrain.report.look import Theme
from taskgrain.report.rows import Row, short
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

_EVERY = 3
"""The sizes from one that is named beside its line to the next."""
_APART = 1.2
"""The factor by which the ends of lines that are named lie apart at least."""
_KINDS = {
    "task": "the same work on each core (weak scaling)",
    "step": "the same work in all (strong scaling)",
}


def _intro(results: Results) -> Markup:
    found = scalings(results)
    text = Markup(
        "<p>How long {} time steps take on more {}, with {}. Each line is one size of problem, which the "
        "number of iterations at its end tells. The dashed line is the limit of METG: below it, the cores do "
        "less than {} of what the kernel alone would do on them. Parallel efficiency is another thing: it is "
        "relative to the fewest of them, whatever these lose.</p>"
    ).format(
        STEPS,
        " or ".join(sorted({one.field for one in found})),
        _KINDS[found[0].keeps] if found else "",
        " or ".join(sorted({quantity.percent(one.threshold) for one in found})),
    )
    for sentence in left_out(results):
        text += Markup("<p>{}.</p>").format(sentence)
    if not (tables := [table(one) for one in meeting_tables(results)]):
        return text
    return text + Markup(
        "<p>The circle is where ideal scaling from the fewest cores or nodes meets the limit, the square "
        "where the measured time does; of the sizes under <em>not met</em> it does not.</p>\n{1}\n"
        "<details><summary>Where each size meets the limit</summary>\n{0}</details>"
    ).format(*tables)


SECTION = Section("scaling", "Time to solution on more cores or nodes", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each system and workload."""
    for place, one in enumerate(scalings(results)):
        yield Plot(
            id=f"scaling-{place}",
            heading=f"{one.system}: {one.workload}",
            label=f"Plot of the time of {one.system} on {one.workload} against {one.field}; "
            "`taskgrain report --show` prints its numbers",
            key=f"scaling-{place}",
            file=f"{one.kind} {one.system} {one.workload}",
            draw=partial(chart, results, one=one),
            cells=one.cells,
            shows="own",
            own=_by_cell(one),
            by_system=False,
        )


def _by_cell(one: Scaling) -> dict[int, list[Row]]:
    """The rows of the plot, by the number of the cell that each comes from."""
    found: dict[int, list[Row]] = {number: [] for number in one.cells}
    lowest = math.inf
    for place, problem in enumerate(reversed(one.problems)):
        named = place % _EVERY == 0 and problem.times[-1].seconds * _APART < lowest
        lowest = problem.times[-1].seconds if named else lowest
        for time in problem.times:
            reached = shown(one.efficiency(problem, time))
            row = _row("time", one, time, one.named(problem)) | {
                "label": str(problem.iterations) if named and time is problem.times[-1] else "",
                "parallel": reached,
            }
            found[time.cell].append(row)
    for time in one.limit:
        found[time.cell].append(_row("limit", one, time, f"METG({quantity.percent(one.threshold)})"))
    for problem in one.problems if one.keeps == "step" else ():
        for kind, met in zip(("ideal", "actual"), one.meetings(problem), strict=True):
            if met is not None:
                row = {"kind": kind, "system": one.system, "problem": one.named(problem)}
                found[one.cells[0]].append(row | {"at": short(met.number), "seconds": short(met.seconds)})
    return found


def _row(kind: str, one: Scaling, time: Time, problem: str) -> Row:
    return {
        "kind": kind,
        "cell": time.cell,
        "system": one.system,
        "problem": problem,
        "at": time.number,
        "seconds": short(time.seconds),
        "low": short(time.low),
        "high": short(time.high),
        "lasts": quantity.interval(Interval(time.seconds, time.low, time.high)),
        "reached": quantity.NOTHING if time.efficiency is None else quantity.percent(time.efficiency),
    }


def chart(results: Results, theme: Theme, width: int | None = None, *, one: Scaling) -> Chart:
    """Time against cores or nodes, of the data set `rows`, by its `kind`."""
    times = [time for problem in one.problems for time in problem.times] + list(one.limit)
    low, high = look.domain(end for time in times for end in look.near(time.seconds, time.low, time.high))
    numbers = sorted({time.number for time in times})
    scale = alt.Scale(type="log", domain=[numbers[0], numbers[-1]], nice=False, padding=14)
    axis = alt.Axis(title=one.field, values=numbers, grid=False, labelFlush=False, format="~g")
    x = alt.X("at:Q", scale=scale, axis=axis)
    y = alt.Y(
        "seconds:Q", scale=look.log(low, high), axis=look.time_axis(low, high, f"time of {STEPS} steps")
    )
    colour, *_ = looks(results, theme, width)
    base = alt.Chart(alt.NamedData(name="rows"))
    of = {
        kind: base.transform_filter(f"datum.kind === '{kind}'")
        for kind in ("time", "limit", "ideal", "actual")
    }
    names = tooltip(
        problem="size", at=one.field, lasts="time", reached="efficiency", parallel="parallel efficiency"
    )
    thin, mark = (1.0, 26) if width is None else (0.7, 14)
    bars = of["time"].mark_rule(strokeWidth=thin).encode(x=x, y=like(y, "low:Q"), y2="high:Q", color=colour)
    layers = [
        bars,
        *arrows(bars, y, "low", "high", (low, high), mark),
        of["time"]
        .mark_line(strokeWidth=thin)
        .encode(x=x, y=y, color=colour, detail="problem:N", order="at:Q"),
        of["time"]
        .mark_point(filled=True, size=size(width) / 2)
        .encode(x=x, y=y, color=colour, tooltip=names),
        of["time"]
        .mark_text(align="left", dx=4, fontSize=8 if width is None else 5, color=theme.muted)
        .encode(x=x, y=y, text="label:N"),
        of["limit"]
        .mark_line(strokeDash=[5, 4], strokeWidth=1.5 * thin, color=theme.ink)
        .encode(x=x, y=y, order="at:Q"),
        of["limit"].mark_point(shape="diamond", size=mark, color=theme.ink).encode(x=x, y=y, tooltip=names),
        *(
            of[kind]
            .mark_point(shape=shape, size=3 * mark, color=theme.ink, strokeWidth=1.5 * thin)
            .encode(x=x, y=y)
            for kind, shape in (("ideal", "circle"), ("actual", "square"))
        ),
    ]
    return sized(layers, width)
