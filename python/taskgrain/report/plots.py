"""The charts, as Vega-Lite specifications that the page draws and `save` writes to a file.

Untrusted text (names of systems and workloads) enters only as data, never as part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import altair as alt
import vl_convert

from taskgrain import quantity
from taskgrain.errors import InputError
from taskgrain.report import data
from taskgrain.report.data import Cell, Results

Spec = dict[str, Any]
Row = dict[str, object]

VEGALITE = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
"""The version that the specifications are written in."""

SHAPES = (
    "M.8 0A.8.8 0 1 1 -.8 0A.8.8 0 1 1 .8 0Z",  # circle
    "M-.75 -.75H.75V.75H-.75Z",  # square
    "M0 -.95L.95 .75H-.95Z",  # triangle up
    "M0 -1.05L1.05 0L0 1.05L-1.05 0Z",  # diamond
    "M-.3 -.95H.3V-.3H.95V.3H.3V.95H-.3V.3H-.95V-.3H-.3Z",  # cross
    "M0 .95L.95 -.75H-.95Z",  # triangle down
)
"""Paths in -1…1, so that the page's legend can draw them too. Colour and shape together name a system."""

_AT_MOST, _AT_LEAST = "M-1 0L.8 -1V1Z", "M1 0L-.8 -1V1Z"
_LABEL_LIMIT = 130
_PERCENT = "format(100 * datum.value, '.0f') + ' %'"


@dataclass(frozen=True)
class Theme:
    """Colours and the font. The palette is Okabe and Ito's (jfly.uni-koeln.de/color), without its yellow."""

    ink: str
    muted: str
    grid: str
    accent: str
    palette: tuple[str, ...]
    font: str


PAPER = Theme(
    ink="#1a1a1a",
    muted="#6b6b6b",
    grid="#e2e2e2",
    accent="#0072b2",
    palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a"),
    font="sans-serif",
)

PAGE = Theme(
    # Style sheet variables: a change to dark mode or to paper recolours the drawn charts, without a script.
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    accent="var(--accent)",
    palette=tuple(f"var(--series-{i})" for i in range(len(PAPER.palette))),
    font="system-ui, sans-serif",
)


def style(index: int, theme: Theme) -> tuple[str, str]:
    """Colour and shape of the system number `index`: no two of the first 42 are the same."""
    turn, colour = divmod(index, len(theme.palette))
    return theme.palette[colour], SHAPES[(colour + turn) % len(SHAPES)]


def ranked(results: Results) -> tuple[str, ...]:
    """The systems by METG (geometric mean over a system's cells), those without one at the end."""
    logs: dict[str, list[float]] = {system: [] for system in results.systems}
    for cell in results.cells:
        value = cell.metg or cell.at_most or cell.at_least
        if value is not None:
            logs[cell.system].append(math.log(value))
    return tuple(sorted(logs, key=lambda system: fmean(logs[system]) if logs[system] else math.inf))


def short_result(cell: Cell) -> str:
    """What a cell came to in a word or two: `0.41 µs`, `≤ 12.0 ns`, `> 5.00 ms`, `no one value`, `failed`."""
    if cell.metg is not None:
        return quantity.around(cell.metg, cell.low, cell.high)[0]
    if cell.at_most is not None:
        return f"≤ {quantity.seconds(cell.at_most)}"
    if cell.at_least is not None:
        return f"> {quantity.seconds(cell.at_least)}"
    known = {
        "several_crossings": "no one value",
        "never_reached": "never",
        "always_reached": "always",
        "failed": "failed",
        "unfinished": "unfinished",
    }
    return known.get(cell.ending, "none")


def metg_panel(results: Results, workload: str, theme: Theme, width: int | None = None) -> Spec:
    """METG of every system on one workload: a forest plot, all workloads on the same scale.

    `width` in pixels; None takes the width of the page's element.
    """
    return _finish(_metg_chart(results, workload, theme, width), theme) | {"padding": {"top": 4, "bottom": 4}}


def points(results: Results) -> list[Row]:
    """The sample points of all curves: the data set `points` of the charts `efficiency` and `rate`."""
    return [
        {
            "system": cell.system,
            "workload": cell.workload,
            "iterations": _short(point.iterations),
            "granularity": _short(point.granularity),
            "granularity_low": _short(point.granularity_low),
            "granularity_high": _short(point.granularity_high),
            "lasts": quantity.interval(point.granularity, point.granularity_low, point.granularity_high),
            "efficiency": _short(point.efficiency),
            "low": _short(point.efficiency_low),
            "high": _short(point.efficiency_high),
            "peak": _short(cell.peak_rate),
            "rate": quantity.rate(cell.peak_rate and point.efficiency * cell.peak_rate, cell.work_unit),
            "repeats": point.repeats,
        }
        for cell in results.cells
        for point in cell.curve
    ]


def efficiency(results: Results, theme: Theme) -> Spec:
    """Efficiency against granularity, of the data set `points`; parameters: `workload`, `shown` (systems)."""
    curves = [point for cell in results.cells for point in cell.curve]
    low, high = _domain(end for point in curves for end in (point.granularity_low, point.granularity_high))
    x = alt.X("granularity:Q", scale=_log(low, high), axis=_time_axis(low, high, "task granularity"))
    most = max((point.efficiency_high for point in curves), default=1.0)
    scale = alt.Scale(domain=[0, max(1.05, math.ceil(most * 20) / 20)])
    axis = alt.Axis(title="efficiency", tickCount=5, grid=True, labelExpr=_PERCENT)
    y = alt.Y("value:Q", scale=scale, axis=axis)
    lines: list[Row] = [
        {"workload": workload, "value": threshold, "text": quantity.percent(threshold)}
        for workload in results.workloads
        for threshold in sorted({cell.threshold for cell in results.cells if cell.workload == workload})
    ]
    layers = [*_level(lines, theme), *_curves(x, y, "1", results, theme)]
    return _finish(_selectable(layers, results, 340), theme)


def rate(results: Results, theme: Theme) -> Spec:
    """Rate of work against the size of the problem; data and parameters as for `efficiency`."""
    measured = [(cell, cell.peak_rate) for cell in results.cells if cell.peak_rate is not None]
    low, high = _domain(point.iterations for cell, _ in measured for point in cell.curve)
    title = "problem size: iterations per task"
    axis = alt.Axis(title=title, values=_ticks(low, high), format="~s", grid=True, labelOverlap=True)
    x = alt.X("iterations:Q", scale=_log(low, high), axis=axis)
    units = {cell.work_unit for cell, _ in measured}
    unit = quantity.rate_unit(units.pop()) if len(units) == 1 else "units of work per second"
    axis = alt.Axis(title=unit, format="~s", tickCount=5, grid=True)
    # Every workload has a scale of its own: their kernels may differ, and with them the unit.
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, alt.expr("most[workload]")], nice=True), axis=axis)
    lines: list[Row] = []
    most: dict[str, float] = {}
    for workload in results.workloads:
        here = [(cell, peak) for cell, peak in measured if cell.workload == workload]
        if here:
            peaks = [peak for _, peak in here]
            lines.append({"workload": workload, "value": median(peaks), "text": "peak"})
            rates = [point.efficiency_high * peak for cell, peak in here for point in cell.curve]
            most[workload] = max(*peaks, *rates) * 1.02
    layers = [*_level(lines, theme), *_curves(x, y, "datum.peak", results, theme)]
    return _finish(_selectable(layers, results, 280).add_params(alt.param(name="most", value=most)), theme)


def save(folder: Path, path: Path) -> Path:
    """Writes the METG plot of a results folder to `path`: `.svg`, `.pdf`, or `.png` (two pixels a point).

    Raises `InputError` for another suffix and `UsageError` for a folder that holds no results.
    """
    if path.suffix not in (".svg", ".pdf", ".png"):
        raise InputError("file name", str(path), "a name that ends in .svg, .pdf or .png")
    results = data.read(folder)
    panels = [_metg_chart(results, workload, PAPER, 240) for workload in results.workloads]
    for panel, workload in zip(panels, results.workloads, strict=True):
        panel.title = alt.TitleParams(workload, anchor="start", fontSize=12, fontWeight=600)
    title = alt.TitleParams(
        results.title,
        subtitle="METG with its 95 % interval (dot and bar), and the floor: the cost of an empty task (tick)",
        anchor="start",
        fontSize=15,
        offset=12,
    )
    chart = alt.concat(*panels, columns=min(3, max(1, len(panels))), title=title, padding=12, spacing=28)
    spec = _finish(chart, PAPER)
    spec["config"]["background"] = "#ffffff"
    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE), "utf-8")
    elif path.suffix == ".pdf":
        path.write_bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGALITE))
    else:
        path.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=2.0))
    return path


def _metg_chart(
    results: Results, workload: str, theme: Theme, width: int | None
) -> alt.LayerChart | alt.FacetChart:
    here = {cell.system: cell for cell in results.cells if cell.workload == workload}
    order = [system for system in ranked(results) if system in here]
    rows = [_metg_row(here[system]) for system in order]
    low, high = _domain(
        value
        for cell in results.cells
        for value in (cell.metg, cell.low, cell.high, cell.floor, cell.at_most, cell.at_least)
    )
    scale = _log(low, high)
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labelLimit=_LABEL_LIMIT, labelPadding=6)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("system:N", scale=alt.Scale(domain=order), axis=axis),
        tooltip=_tooltip(system="system", METG="METG", floor="floor", ending="ending", rounds="rounds"),
    )
    x = alt.X("x:Q", scale=scale, axis=_time_axis(low, high, None))
    right, far = (alt.expr("width + 8"), alt.expr("width + 82")) if width is None else (width + 8, width + 82)
    return alt.layer(
        base.mark_tick(thickness=2, size=11, color=theme.muted).encode(x=alt.X("floor_at:Q", scale=scale)),
        base.mark_rule(strokeWidth=3, color=theme.accent, opacity=0.5).encode(
            x=alt.X("low:Q", scale=scale), x2="high:Q"
        ),
        base.mark_point(filled=True, size=42, opacity=1, color=theme.accent).encode(
            x=x, shape=alt.Shape("mark:N", scale=None)
        ),
        base.mark_text(align="left", color=theme.ink, fontSize=11).encode(x=alt.value(right), text="text:N"),
        # Unseen, as wide as the longest result: so that all panels are equally wide.
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(opacity=0)
        .encode(x=alt.value(right), x2=alt.value(far), y=alt.value(0)),
        width="container" if width is None else width,
        height=19 * max(1, len(rows)),
    )


def _metg_row(cell: Cell) -> Row:
    at = cell.metg or cell.at_most or cell.at_least
    mark = _AT_MOST if cell.at_most is not None else _AT_LEAST if cell.at_least is not None else SHAPES[0]
    return {
        "system": cell.system,
        "x": _short(at),
        "low": _short(cell.low) if cell.metg is not None else None,
        "high": _short(cell.high) if cell.metg is not None else None,
        "floor_at": _short(cell.floor),
        "mark": mark,
        "text": short_result(cell),
        "METG": short_result(cell)
        if cell.metg is None
        else quantity.interval(cell.metg, cell.low, cell.high),
        "floor": quantity.interval(cell.floor, cell.floor_low, cell.floor_high),
        "ending": cell.ending.replace("_", " "),
        "rounds": quantity.NOTHING if cell.rounds is None else cell.rounds,
    }


def _curves(x: alt.X, y: alt.Y, factor: str, results: Results, theme: Theme) -> list[alt.Chart]:
    """A line for each system, efficiency times `factor`, with its sample points and their intervals."""
    systems = ranked(results)
    styles = [style(i, theme) for i in range(len(systems))]
    colours = alt.Scale(domain=systems, range=[one for one, _ in styles])
    shapes = alt.Scale(domain=systems, range=[one for _, one in styles])
    share = "format(100 * datum.{}, '.1f')".format
    base = (
        alt.Chart(alt.NamedData(name="points"))
        .transform_filter("datum.workload === workload && indexof(shown, datum.system) >= 0")
        .transform_filter(f"isValid({factor})")
        .transform_calculate(
            value=f"datum.efficiency * {factor}",
            value_low=f"datum.low * {factor}",
            value_high=f"datum.high * {factor}",
            reached=f"{share('efficiency')} + ' % (' + {share('low')} + ' – ' + {share('high')} + ')'",
        )
        .encode(color=alt.Color("system:N", scale=colours, legend=None))
    )
    tooltip = _tooltip(
        system="system",
        iterations="iterations",
        lasts="granularity",
        reached="efficiency",
        rate="rate",
        repeats="repeats",
    )
    marks = [
        base.mark_rule(opacity=0.6).encode(x=x, y=_with_field(y, "value_low:Q"), y2="value_high:Q"),
        base.mark_line(strokeWidth=1.6).encode(x=x, y=y, order="iterations:Q"),
        base.mark_point(filled=True, size=46, opacity=1).encode(
            x=x, y=y, shape=alt.Shape("system:N", scale=shapes, legend=None), tooltip=tooltip
        ),
    ]
    if x.shorthand == "granularity:Q":
        across = base.mark_rule(opacity=0.6)
        marks.insert(0, across.encode(x=_with_field(x, "granularity_low:Q"), x2="granularity_high:Q", y=y))
    return marks


def _with_field(channel: Any, shorthand: str) -> Any:
    copy = channel.copy()
    copy.shorthand = shorthand
    return copy


def _level(lines: list[Row], theme: Theme) -> list[alt.Chart]:
    """A dashed line across the plot at `value`, named at its left end."""
    base = alt.Chart(alt.InlineData(values=lines)).transform_filter("datum.workload === workload")
    return [
        base.mark_rule(strokeDash=[5, 4], color=theme.muted).encode(y="value:Q"),
        base.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=theme.muted).encode(
            x=alt.value(0), y="value:Q", text="text:N"
        ),
    ]


def _selectable(
    layers: Sequence[alt.Chart], results: Results, height: int
) -> alt.LayerChart | alt.FacetChart:
    workload = alt.param(name="workload", value=results.workloads[0] if results.workloads else "")
    shown = alt.param(name="shown", value=list(results.systems))
    return alt.layer(*layers, width="container", height=height).add_params(workload, shown)


def _tooltip(**titles: str) -> list[alt.Tooltip]:
    """Fields and what they are called."""
    return [alt.Tooltip(field=field, type="nominal", title=title) for field, title in titles.items()]


def _domain(values: Iterable[float | None]) -> tuple[float, float]:
    """The ends of a logarithmic axis around `values`."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (1e-7, 1e-3)
    return low / 1.25, high * 1.25


def _log(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and what lies between them where there would be few."""
    decades = math.log10(high / low)
    steps = (
        (1.0,)
        if decades > 2.5
        else (1.0, 2.0, 5.0)
        if decades > 1
        else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    )
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high]


def _time_axis(low: float, high: float, title: str | None) -> alt.Axis:
    label = "format(datum.value, '~g') + ' s'"
    # Ticks are powers of ten, up to rounding: 0.9 stands well clear of them.
    for limit, factor, unit in ((0.9, "1e3", "ms"), (9e-4, "1e6", "µs"), (9e-7, "1e9", "ns")):
        label = f"datum.value < {limit} ? format(datum.value * {factor}, '~g') + ' {unit}' : {label}"
    return alt.Axis(
        title=title,
        values=_ticks(low, high),
        labelExpr=label,
        grid=True,
        labelOverlap=True,
        labelSeparation=6,
    )


def _short(value: float | None) -> float | None:
    """Five digits: what a pixel can show, at half the size of the page's data."""
    return None if value is None else float(f"{value:.5g}")


def _finish(chart: alt.LayerChart | alt.FacetChart | alt.ConcatChart, theme: Theme) -> Spec:
    spec: Spec = chart.to_dict()
    spec["config"] = {
        "font": theme.font,
        "background": None,
        "view": {"stroke": None},
        "axis": {
            "labelColor": theme.muted,
            "titleColor": theme.muted,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 12,
            "gridColor": theme.grid,
            "domainColor": theme.grid,
            "tickColor": theme.grid,
        },
        # A label within 14 pixels of an end is turned inwards, or the page's edge would cut it.
        "axisX": {"labelFlush": 14},
        "axisY": {"labelColor": theme.ink},
        "title": {"color": theme.ink, "subtitleColor": theme.muted},
        "text": {"fontSize": 11},
    }
    if spec.get("width") == "container":
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
