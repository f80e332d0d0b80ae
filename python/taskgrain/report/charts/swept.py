"""METG against a field that a study sweeps: workloads that differ in nothing else, a line for each system."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Cell, Results
from taskgrain.answers.sweeps import Sweep, sweeps
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.intervals import arrows, by_certainty, like, nothing
from taskgrain.report.charts.lines import Chart, looks, rest, size, sized, tooltip
from taskgrain.report.look import Theme

_STEMS = {"radix": "dependences"}
"""The names of files of figures; others are called after the field."""
_DECADE = 8.0
"""Values that span at least this factor lie on a logarithmic axis."""


def _intro(results: Results) -> Markup:
    return Markup(
        "<p>Workloads that differ in one field alone, or in their nodes or cores with the same tasks on each "
        "core. A gap in a line is a cell without a METG: a pale mark with a bar is a bound, a cross has "
        "none. The table says why.</p>"
    )


SECTION = Section("swept", "METG against what was varied", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each sweep in whose cells METG was searched for."""
    found = rows.metg(results)
    of_metg = [one for one in sweeps(results) if not all(results.cells[place].at for place in one.values)]
    for number, sweep in enumerate(of_metg):
        yield Plot(
            id=f"swept-{number}",
            heading=f"{sweep.name}, by {sweep.title}",
            label=f"Plot of METG against {sweep.title} on {sweep.name}; the table of cells has its numbers",
            key=f"swept-{number}",
            file=f"{_STEMS.get(sweep.field, sweep.field)} {sweep.name}",
            draw=partial(chart, results, sweep=sweep),
            cells=tuple(sweep.values),
            shows="own",
            own={cell: [found[cell] | {"at": value}] for cell, value in sweep.values.items()},
        )


def chart(results: Results, theme: Theme, width: int | None = None, *, sweep: Sweep) -> Chart:
    """METG against the field, of the data set `rows` with the field's value as `at`."""
    cells: list[Cell] = [results.cells[number] for number in sweep.values]
    low, high = look.domain(end for cell in cells for end in look.near(cell.metg.about, *cell.metg.ends))
    x = alt.X("at:Q", **axis(sweep))
    y = alt.Y("metg:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "METG"))
    colour, shape, dash = looks(results, theme, width)
    base = alt.Chart(alt.NamedData(name="rows")).encode(color=colour, opacity=alt.value(1))
    names = tooltip(
        system="system", METG="METG", at=sweep.title, dependences="dependences (mean)", ending="ending"
    )
    bars = base.encode(x=x, opacity=by_certainty(0.6, 0.25), strokeWidth=by_certainty(1, 0.6))
    layers = [
        *(rest(x, y, "at:Q") if width is None else ()),
        bars.mark_rule().encode(y=like(y, "low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(
            x=x, y=y, order="at:Q", strokeDash=dash
        ),
        base.mark_point(filled=True, size=size(width)).encode(
            x=x, y=like(y, "x:Q"), shape=shape, tooltip=names, opacity=by_certainty(1, 0.4)
        ),
        nothing(base, "x", size(width)).encode(x=x, y=alt.value(0), tooltip=names),
        *arrows(bars, y, "low", "high", (low, high), 14 if width is None else 5),
    ]
    return sized(layers, width)


def axis(sweep: Sweep) -> dict[str, Any]:
    """Scale and axis of the field's values, which are its ticks."""
    values = sorted(set(sweep.values.values()))
    logarithmic = values[0] > 0 and values[-1] / values[0] >= _DECADE
    scale = alt.Scale(
        type="log" if logarithmic else "linear", domain=[values[0], values[-1]], nice=False, padding=12
    )
    label = "format(datum.value, datum.value >= 1e4 ? '.2s' : '~g')"
    # Its labels need not be turned inwards: the padding has room for them.
    ticks = alt.Axis(
        title=sweep.title, values=values, labelExpr=label, grid=False, labelOverlap=True, labelFlush=False
    )
    return {"scale": scale, "axis": ticks}
