"""Efficiency at given task times against a field that a study sweeps, a line for each system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.answers.sweeps import Sweep, sweeps
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.intervals import like, nothing
from taskgrain.report.charts.lines import Chart, height, looks, size, sized, tooltip
from taskgrain.report.charts.swept import axis
from taskgrain.report.look import Theme
from taskgrain.report.rows import Row, short
from taskgrain.results import outcome
from taskgrain.words import quantity


@dataclass(frozen=True)
class _Asked:
    """A sweep at one task time, in seconds."""

    sweep: Sweep
    seconds: float
    rows: dict[int, list[Row]]
    """The rows by the number of the cell."""

    @property
    def title(self) -> str:
        return f"{self.sweep.name}, tasks of {quantity.seconds(self.seconds, 2)}"


def _intro(results: Results) -> Markup:
    return Markup(
        "<p>How efficient tasks of a given time are, on workloads that differ in one field alone. A cross is "
        "a cell without an answer; the table says why.</p>"
    )


SECTION = Section("at-swept", "Efficiency against what was varied", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """A panel for each sweep and task time."""
    for place, one in enumerate(_asked(results)):
        yield Plot(
            id=f"at-swept-{place}",
            heading=f"{one.title}, by {one.sweep.title}",
            label=f"Plot of efficiency against {one.sweep.title} on {one.title}; "
            "the table of cells has its numbers",
            key=f"at-swept-{place}",
            file=f"{one.sweep.field} {one.sweep.name} at {1e6 * one.seconds:g}us",  # as --at takes it
            draw=partial(chart, results, sweep=one.sweep),
            cells=tuple(one.rows),
            shows="own",
            own=one.rows,
        )


def _asked(results: Results) -> Iterator[_Asked]:
    for sweep in sweeps(results):
        points = [point for number in sweep.values for point in results.cells[number].at]
        for seconds in sorted({point.asked for point in points if point.asked}):
            rows: dict[int, list[Row]] = {}
            for number, at in sweep.values.items():
                cell = results.cells[number]
                if cell.metg.about is not None:  # asked for METG instead
                    continue
                reached = quantity.NOTHING if cell.at else outcome.short(cell)
                row: Row = {"cell": number, "system": cell.system, "at": at, "reached": reached}
                for point in cell.at:
                    if point.asked == seconds:
                        row |= {
                            "efficiency": short(point.efficiency),
                            "low": short(point.efficiency_low),
                            "high": short(point.efficiency_high),
                            "reached": quantity.about_percent(point.share),
                        }
                rows[number] = [row]
            yield _Asked(sweep, seconds, rows)


def chart(results: Results, theme: Theme, width: int | None = None, *, sweep: Sweep) -> Chart:
    """Efficiency against the field, of the data set `rows` with the field's value as `at`."""
    reached = [point.efficiency for number in sweep.values for point in results.cells[number].at]
    top = min(2.0, max(1.05, *reached, 0.0))
    label = "format(100 * datum.value, '.0f') + ' %'"
    x = alt.X("at:Q", **axis(sweep))
    y = alt.Y(
        "efficiency:Q",
        scale=alt.Scale(domain=[0, top], clamp=True),
        axis=alt.Axis(title="efficiency", tickCount=5, labelExpr=label),
    )
    colour, shape, dash = looks(results, theme, width)
    base = alt.Chart(alt.NamedData(name="rows")).encode(color=colour, opacity=alt.value(1))
    names = tooltip(system="system", at=sweep.title, reached="efficiency")
    layers = [
        base.mark_rule().encode(x=x, y=like(y, "low:Q"), y2="high:Q", opacity=alt.value(0.6)),
        base.mark_line(strokeWidth=1.6 if width is None else 1).encode(
            x=x, y=y, order="at:Q", strokeDash=dash
        ),
        base.mark_point(filled=True, size=size(width)).encode(x=x, y=y, shape=shape, tooltip=names),
        nothing(base, "efficiency", size(width)).encode(
            x=x, y=alt.value(alt.expr("height") if width is None else height(width)), tooltip=names
        ),
    ]
    return sized(layers, width)
