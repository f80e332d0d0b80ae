"""The graph of a program: what it allows at which time, whether its tasks are long enough, and how long it
takes with each system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import altair as alt
from markupsafe import Markup

from taskgrain.answers.advise import Answer
from taskgrain.answers.data import Results
from taskgrain.answers.program import Cost, Program
from taskgrain.answers.program_words import LEGEND, costs, time
from taskgrain.answers.task_times import of_the_study
from taskgrain.report import look, rows
from taskgrain.report.charts.chart import NO_CELL, Plot, Section, table
from taskgrain.report.charts.intervals import arrows, like
from taskgrain.report.charts.lines import Chart, looks, size, sized, tooltip
from taskgrain.report.look import Theme
from taskgrain.report.rows import Row, short
from taskgrain.words import quantity
from taskgrain.words.table import Table

_PARTS = 240
"""Points of a line: more cannot be seen."""
_WORK = "their work"
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class _Asked:
    """A program with tasks of one length, and the cells that tell of it, by their numbers."""

    program: Program
    cores: int
    answers: dict[int, Answer]

    @cached_property
    def costs(self) -> dict[int, Cost]:
        return {
            number: self.program.cost(one.efficiency, one.occupied) for number, one in self.answers.items()
        }

    @property
    def name(self) -> str:
        return f"{self.program.name}, tasks of {quantity.seconds(self.program.mean, 2)} in the mean"


def _asked(results: Results) -> Iterator[_Asked]:
    for one in of_the_study(results):
        if one.question.program:
            numbers = {results.cells[at].system: at for at in rows.numbers(results, one.workload)}
            answers = {numbers[each.system]: each for each in one.answers}
            yield _Asked(one.question.program, one.question.cores, answers)


def _intro(results: Results) -> Markup:
    text = Markup(
        "<p>The first plot shows how many tasks can run at once, if each begins as soon as those before it "
        "have ended: where it is below the dashed line, cores are idle with every system. The second shows "
        "how many of the tasks are shorter than a time, and how much of the work is in these. The line of a "
        "system is what a task costs with it beside its work. The third shows how long the graph takes; the "
        "dashed line is the least, whatever the system.</p>"
    )
    for one in _asked(results):
        ranked = sorted(one.answers.values(), key=lambda each: -each.speed)
        if not ranked:
            text += Markup("<p>No system has a time yet.</p>")
            continue
        columns = {"system": [each.name for each in ranked]} | costs(one.program, ranked)
        text += table(Table(one.name, [*columns], [*zip(*columns.values(), strict=True)]))
    return text + Markup('<p class="note">{}</p>').format(LEGEND)


SECTION = Section("program", "The graph of the program", _intro)


def plots(results: Results) -> Iterator[Plot]:
    """Three panels for each length of the tasks that was asked about."""
    asked = [*_asked(results)]
    for place, one in enumerate(asked):
        for kind, (title, draw, data) in _plots(one).items():
            yield Plot(
                id=f"program-{kind}-{place}",
                heading=f"{title.capitalize()}: {one.name}" if len(asked) > 1 else title.capitalize(),
                label=f"Plot of {title} of {one.name}; the table above it has the numbers of systems",
                key=f"program-{kind}-{place}",
                file=f"program {kind} at {1e6 * one.program.mean:.3g}us",
                draw=partial(draw, results, one=one),
                cells=tuple(one.answers),
                shows="own",
                own=data,
                by_system=kind != "cores",
            )


def _plots(one: _Asked) -> dict[str, tuple[str, Callable[..., Chart], dict[int, list[Row]]]]:
    """The title of each plot, what draws it, and its rows by the number of the cell."""
    of_shape: dict[str, tuple[str, Callable[..., Chart], dict[int, list[Row]]]] = {
        "cores": ("tasks at once", at_once, {NO_CELL: _at_once(one)}),
        "tasks": ("how long its tasks are", lengths, {NO_CELL: _lengths(one)} | _overheads(one)),
    }
    return of_shape | ({"time": ("time with each system", times, _times(one))} if one.answers else {})


def _at_once(one: _Asked) -> list[Row]:
    found = one.program.graph.at_once(_PARTS)
    path, (scale, _) = one.program.bound.critical_path, _unit(one.program.bound.critical_path)
    edges = [short(path * k / len(found) / scale) for k in range(len(found) + 1)]
    return [{"at": at, "tasks": short(tasks)} for at, tasks in zip(edges, [*found, found[-1]], strict=True)]


def _unit(seconds: float) -> tuple[float, str]:
    return next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])


def at_once(results: Results, theme: Theme, width: int | None = None, *, one: _Asked) -> Chart:
    """The tasks that can run at once against the time, of the data set `rows`."""
    scale, unit = _unit(one.program.bound.critical_path)
    x = alt.X(
        "at:Q",
        scale=alt.Scale(domain=[0, one.program.bound.critical_path / scale], nice=False),
        axis=alt.Axis(title=f"time, {unit}", grid=False, tickCount=5),
    )
    y = alt.Y("tasks:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="tasks at once", tickCount=5))
    base = alt.Chart(alt.NamedData(name="rows"))
    cores = alt.Chart(alt.InlineData(values=[{"cores": one.cores}]))
    return sized(
        [
            base.mark_area(interpolate="step-after", color=theme.accent, opacity=0.35).encode(x=x, y=y),
            cores.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(y="cores:Q"),
            cores.mark_text(align="right", baseline="bottom", dx=-2, dy=-3, color=theme.ink).encode(
                x=alt.value(alt.expr("width") if width is None else width),
                y="cores:Q",
                text=alt.value(quantity.counted(one.cores, "core")),
            ),
        ],
        width,
    )


def _lengths(one: _Asked) -> list[Row]:
    """The share of the tasks that are shorter than a time, and the share of their work."""
    ranked, total = one.program.ranked, one.program.total
    work, found = 0.0, list[Row]()
    last = len(ranked) - 1
    shown = {round(k * last / _PARTS) for k in range(_PARTS + 1)}
    for place, length in enumerate(ranked):
        work += length
        if place in shown and length > 0:
            shares = (("tasks", (place + 1) / len(ranked)), (_WORK, work / total))
            found += [{"of": of, "at": short(length), "share": short(share)} for of, share in shares]
    return found


def _overheads(one: _Asked) -> dict[int, list[Row]]:
    return {
        number: [
            {
                "cell": number,
                "system": one.answers[number].system,
                "overhead": short(cost.overhead),
                "share": short(cost.shorter),
                "costs": quantity.seconds(cost.overhead, 2),
                "shorter": quantity.part(cost.shorter),
            }
        ]
        * bool(cost.overhead)
        for number, cost in one.costs.items()
    }


def lengths(results: Results, theme: Theme, width: int | None = None, *, one: _Asked) -> Chart:
    """The share of tasks that are shorter, of the data set `rows`, and a line for each system."""
    known = [one for one in one.program.ranked if one > 0]
    ends = [known[0], known[-1], *(each.overhead or None for each in one.costs.values())]
    low, high = look.domain(ends)
    works = zip(known, accumulate(known), strict=True)
    half = next(length for length, work in works if 2 * work >= one.program.total)
    high = max(high, half * (half / low) ** (1 / 3))  # so that the name of the line has a quarter of the plot
    x = alt.X("at:Q", scale=look.log(low, high), axis=look.time_axis(low, high, "time of a task"))
    label = "format(100 * datum.value, '.0f') + ' %'"
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(title="share that is shorter", tickCount=5, labelExpr=label),
    )
    base = alt.Chart(alt.NamedData(name="rows"))
    colour, shape, _ = looks(results, theme, width)
    of = {name: base.transform_filter(f"datum.of === '{name}'") for name in ("tasks", _WORK)}
    systems = base.transform_filter("isValid(datum.overhead)").encode(x=like(x, "overhead:Q"), color=colour)
    names = tooltip(system="system", costs="a task costs", shorter="shorter tasks")
    thin = 1.6 if width is None else 1
    sides: Any = {"tasks": {"align": "right", "dx": -4}, _WORK: {"align": "left", "dx": 6}}
    return sized(
        [
            *(
                of[name]
                .mark_line(interpolate="step-after", strokeWidth=thin, strokeDash=dash, color=theme.ink)
                .encode(x=x, y=y, order="at:Q")
                for name, dash in (("tasks", [1, 0]), (_WORK, [2, 3]))
            ),
            systems.mark_rule(strokeWidth=thin).encode(tooltip=names),
            systems.mark_point(filled=True, size=size(width), opacity=1).encode(
                y=y, shape=shape, tooltip=names
            ),
            *(
                of[name]
                .transform_filter("datum.share >= 0.5")
                .transform_window(place="row_number()", sort=[alt.SortField("at")])
                .transform_filter("datum.place === 1")
                .mark_text(**beside, fontSize=theme.size, color=theme.ink)
                .encode(x=x, y=y, text="of:N")
                for name, beside in sides.items()
            ),
        ],
        width,
    )


def _times(one: _Asked) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for number, cost in one.costs.items():
        row: Row = {"cell": number, "system": one.answers[number].system, "takes": time(cost.time)}
        row |= {"x": short(cost.time.about), "low": short(cost.time.low), "high": short(cost.time.high)}
        found[number] = [row | {"lost": quantity.about_percent(cost.lost)}] * (cost.time.about is not None)
    return found


def times(results: Results, theme: Theme, width: int | None = None, *, one: _Asked) -> Chart:
    """The time with each system, of the data set `rows`, with the least time."""
    least = one.program.least(one.cores)
    taken = [each.time for each in one.costs.values()]
    ends = look.domain([least, *(end for each in taken for end in look.near(each.about, *each.ends))])
    x = alt.X("x:Q", scale=look.log(*ends), axis=look.time_axis(*ends, "time of the graph"))
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labelLimit=130, labelPadding=6)
    y = alt.Y("system:N", sort=alt.EncodingSortField(field="x", op="min"), axis=axis)
    colour, shape, _ = looks(results, theme, width)
    base = alt.Chart(alt.NamedData(name="rows")).encode(y=y, color=colour)
    bars = base.mark_rule(strokeWidth=3 if width is None else 2, opacity=0.5)
    limit = alt.Chart(alt.InlineData(values=[{"x": least}]))
    names = tooltip(system="system", takes="time", lost="lost")
    return sized(
        [
            limit.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(x=x),
            bars.encode(x=like(x, "low:Q"), x2="high:Q"),
            *arrows(base, x, "low", "high", ends, 14 if width is None else 5),
            base.mark_point(filled=True, size=size(width), opacity=1).encode(x=x, shape=shape, tooltip=names),
        ],
        width,
    )
