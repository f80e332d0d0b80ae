"""METG against lines of code and against constructs, with the frontiers, as figures for papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from taskgrain.productivity.frontier import EFFORTS, Effort, Measured, frontier
from taskgrain.report import look
from taskgrain.report.charts.chart import BOTH_COLUMNS, Figure
from taskgrain.report.figures import FORMATS, fitted, write
from taskgrain.report.look import PAPER, Style
from taskgrain.words.origin import Origin

_TITLES: Mapping[Effort, str] = {"lines": "lines of code", "constructs": "constructs"}
_HEIGHT = 150
"""The height of a panel, in points."""


def save(
    workloads: Mapping[str, Sequence[Measured]], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Writes a figure for each workload with a METG into `folder`, made if need be; returns the files."""
    drawn = (
        (f"{_mark(rows)}productivity {workload}", *fitted(figure(rows)))
        for workload, rows in workloads.items()
        if any(row.cell.metg.value for row in rows)
    )
    return write(drawn, folder, formats)


def _mark(rows: Sequence[Measured]) -> str:
    """The word for its origin, before METG and the names of files."""
    return Origin.of(row.cell.origin for row in rows).adjective


def figure(rows: Sequence[Measured]) -> Figure:
    """The figure of a workload: a panel for each kind of effort, and the systems below them."""
    known = [row for row in rows if row.cell.metg.value is not None]
    styles = {row.system: look.style(place, PAPER) for place, row in enumerate(known)}

    def draw(width: int) -> alt.ConcatChart:
        return alt.concat(*(_panel(known, styles, kind, width) for kind in EFFORTS), columns=2, spacing=14)

    return Figure("productivity", draw, {}, BOTH_COLUMNS, len(EFFORTS), styles)


def _panel(
    rows: Sequence[Measured], styles: Mapping[str, Style], kind: Effort, width: int
) -> alt.LayerChart | alt.FacetChart:
    def by_system(channel: Any, values: Sequence[str]) -> Any:
        return channel("system:N", scale=alt.Scale(domain=[*styles], range=values), legend=None)

    colours, shapes = [one.colour for one in styles.values()], [one.shape for one in styles.values()]
    ends = look.domain(
        end for row in rows for end in look.near(row.cell.metg.value, row.cell.metg.low, row.cell.metg.high)
    )
    scale = look.log(*ends)
    x = alt.X("metg:Q", scale=scale, axis=look.time_axis(*ends, f"{_mark(rows)}METG"))
    y = alt.Y(
        "effort:Q", axis=alt.Axis(title=_TITLES[kind], tickCount=6), scale=alt.Scale(zero=True, nice=True)
    )
    points, steps = _points(rows, kind, ends)
    base = alt.Chart(alt.InlineData(values=points)).encode(y=y, color=by_system(alt.Color, colours))
    return alt.layer(
        alt.Chart(alt.InlineData(values=steps))
        .mark_line(interpolate="step-after", color=PAPER.muted, strokeDash=[3, 2], strokeWidth=0.8)
        .encode(x=x, y=y),
        base.mark_rule().encode(
            x=alt.X("low:Q", scale=scale), x2="high:Q", opacity=alt.Opacity("sure:Q", scale=None, legend=None)
        ),
        base.mark_point(size=26, strokeWidth=1).encode(
            x=x,
            shape=by_system(alt.Shape, shapes),
            fill=by_system(alt.Fill, colours),
            fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None),
        ),
        width=width,
        height=_HEIGHT,
    )


def _points(
    rows: Sequence[Measured], kind: Effort, ends: tuple[float, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The systems; and the corners of the frontier, which goes on to the end of the axis."""
    unbeaten = frontier(rows, kind)
    points: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    filled = {True: 1.0, False: 0.35, None: 0.0}  # a paler one may be beaten, a hollow one is
    for row in rows:
        effort = row.effort(kind)
        if effort is None:
            continue
        low, high = row.cell.metg.low or ends[0], row.cell.metg.high or ends[1]
        point = {
            "system": row.system,
            "metg": row.cell.metg.value,
            "effort": effort,
            "low": low,
            "high": high,
        }
        sure = 0.2 if None in (row.cell.metg.low, row.cell.metg.high) else 0.6
        points.append(point | {"filled": filled[unbeaten.get(row.system)], "sure": sure})
        if unbeaten.get(row.system) and (not steps or effort < steps[-1]["effort"]):
            steps.append({"metg": row.cell.metg.value, "effort": effort})
    return points, [*steps, *({"metg": ends[1], "effort": one["effort"]} for one in steps[-1:])]
