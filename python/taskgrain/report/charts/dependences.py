"""METG against the radix: workloads that differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.report import look, rows
from taskgrain.report.cells import Cell, Results
from taskgrain.report.charts.chart import Figure, Plot, Section
from taskgrain.report.charts.intervals import arrows, by_certainty, like
from taskgrain.report.charts.lines import Chart, looks, opacity, page_spec, size, sized, tooltip
from taskgrain.report.look import PAGE, PAPER, Theme


def _intro(results: Results) -> Markup:
    return Markup(
        "<p>Workloads that differ in their radix alone. "
        "A gap in a line is a cell without a METG; the table says why.</p>"
    )


SECTION = Section("dependences", "METG against dependences per task", _intro, layout="panels two")


def on_page(results: Results) -> Iterator[Plot]:
    """A panel for each group of workloads."""
    for number, (group, cells) in enumerate(rows.radix_groups(results).items()):
        yield Plot(
            id=f"dependences-{number}",
            heading=group,
            label=f"Plot of METG against the radix on {group}; the table of all cells has its numbers",
            key=f"dependences-{number}",
            spec=partial(_spec, results, cells),
            of=tuple(dict.fromkeys(cell.workload for cell in cells)),
        )


def on_paper(results: Results) -> Iterator[Figure]:
    """A figure for each group of workloads."""
    found = rows.metg(results)
    for group, cells in rows.radix_groups(results).items():
        draw = partial(chart, results, PAPER, legend=[cell.system for cell in cells], cells=cells)
        data = {"rows": [found[i] for i, cell in enumerate(results.cells) if cell in cells]}
        yield Figure(f"dependences {group}", draw, data)


def _spec(results: Results, cells: Sequence[Cell]) -> look.Spec:
    return page_spec(chart(results, PAGE, cells=cells))


def chart(
    results: Results,
    theme: Theme,
    width: int | None = None,
    legend: Sequence[str] = (),
    *,
    cells: Sequence[Cell],
) -> Chart:
    """METG against the radix, of the data set `rows`: the cells of one group of `rows.radix_groups`."""
    low, high = look.domain(end for cell in cells for end in look.near(cell.metg, cell.low, cell.high))
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
    colour, shape = looks(results, theme, legend, width)
    base = alt.Chart(alt.NamedData(name="rows")).encode(color=colour, opacity=opacity(1.0))
    names = tooltip(
        system="system", METG="METG", radix="radix", dependences="dependences (mean)", ending="ending"
    )
    bars = base.encode(x=x, opacity=opacity(0.6, 0.25), strokeWidth=by_certainty(1, 0.6))
    bars = bars.transform_filter("isValid(datum.metg)")
    layers = [
        bars.mark_rule().encode(y=like(y, "low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(x=x, y=y, order="radix:Q"),
        base.mark_point(filled=True, size=size(width)).encode(
            x=x, y=y, shape=shape, tooltip=names, opacity=opacity(1.0, 0.4)
        ),
        *arrows(bars, y, "low", "high", (low, high), 14 if width is None else 5),
    ]
    return sized(layers, width)
