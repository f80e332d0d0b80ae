"""The charts as files for papers: SVG, PNG and PDF, one or two columns wide."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from taskgrain.answers.data import Results
from taskgrain.report import look, rows
from taskgrain.report.charts import metg
from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN, Chart, Drawn, Figure, Plot
from taskgrain.report.charts.table import CHARTS
from taskgrain.report.look import PAPER, VEGALITE, Spec, Style
from taskgrain.report.rows import Row
from taskgrain.results import whole_file
from taskgrain.results.store import make_folder

FORMATS = ("svg", "png", "pdf")
PIXELS = 600
"""The pixels of a PNG, per inch."""
_FEW = 12
"""Systems that a figure of one column has room for."""
_AXIS = 50
"""The space of the axis beside a plot, about, in points."""
_ROW, _LINE, _LETTER, _APART = 10, 18, 4.2, 4
"""The height of a name, the line before it, about the width of a letter, and what is between, in points."""
_HEADER = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


def save(results: Results, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every chart of the report into `folder`, which is made if need be; returns the files.

    `formats` are some of `FORMATS`. Raises `UsageError` or `OutputError` where a file cannot be written.
    """
    mark = results.origin.adjective
    figures = [*metg.together(results), *(one for chart in CHARTS for one in of_chart(chart, results))]
    return write(((mark + one.name, *fitted(one, mark.strip())) for one in figures), folder, formats)


def of_chart(chart: Chart, results: Results) -> list[Figure]:
    plots = [*chart.plots(results)]
    of_cells = rows.metg(results) if any(one.shows == "rows" for one in plots) else []
    return [_figure(one, results, of_cells) for one in plots]


def _figure(plot: Plot, results: Results, of_cells: Sequence[Row]) -> Figure:
    """A plot with its data. The names of all its systems stand below it, also of those without a line."""
    lines: dict[str, bool] = {}
    data: dict[str, list[Row]] = {"rows": [row for some in plot.own.values() for row in some]}
    for number in plot.cells:
        cell = results.cells[number]
        curve = bool(cell.points) and not (plot.needs_peak and cell.peak_rate is None)
        lines[cell.system] = lines.get(cell.system, False) or plot.shows != "points" or curve
    if plot.shows == "rows":
        data = {"rows": [of_cells[number] for number in plot.cells]}
    elif plot.shows == "points":
        points = [row for number in plot.cells for row in rows.points(results.cells[number], number)]
        # Samples are for looking closely, on the page: thousands of them make a figure of megabytes.
        data = {"points": points, "samples": [], "levels": [*plot.levels]}
    named = {
        system: look.style(place, PAPER) if lines[system] else look.nothing(PAPER)
        for place, system in enumerate(results.ranked)
        if plot.by_system and system in lines
    }
    return Figure(plot.file, partial(plot.draw, PAPER), data, _across(named), key=named)


def write(drawn: Iterable[tuple[str, Spec, str]], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes figures, each a name and what `fitted` returns; raises `UsageError` or `OutputError`."""
    written: list[Path] = []
    make_folder(folder)
    for name, spec, svg in drawn:
        for kind in formats:
            path = _free_file(folder, name, kind, written)
            whole_file.write(path, _content(spec, svg, kind))
            written.append(path)
    return written


def fitted(figure: Figure, title: str = "") -> tuple[Spec, str]:
    """A figure that is as wide as it should be, with a title above it: its specification, and that as SVG.

    How much names and results take beside the plots is known once it is drawn.
    """
    width = figure.width / figure.plots * 0.6
    for _ in range(3):
        with look.unchecked():
            spec = look.finish(drawn(figure, round(width)), PAPER)
        spec["config"]["background"] = "#ffffff"
        spec["padding"] = 1
        if title:
            spec["title"] = {"text": title, "fontSize": PAPER.size}
        spec["datasets"] = spec.get("datasets", {}) | figure.data
        svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE)
        header = _HEADER.match(svg)
        assert header is not None
        excess = float(header[1]) - figure.width
        if -figure.plots <= excess <= 0.5:
            break
        width = max(30.0, width - excess / figure.plots - 0.3)
    return spec, svg


def _across(key: Mapping[str, Style]) -> float:
    """The width of a figure with these names, in points."""
    return BOTH_COLUMNS if len(key) > _FEW or _each(key) > ONE_COLUMN - _AXIS else ONE_COLUMN


def drawn(figure: Figure, width: int) -> Drawn:
    """The figure with plots of so many points across, and its names below them in as many columns as fit."""
    chart = figure.draw(width)
    if not figure.key:
        return chart
    across = width * figure.plots
    rows = -(-len(figure.key) // max(1, int(across / _each(figure.key))))
    apart = across / -(-len(figure.key) // rows)
    names = [
        {"system": system, "from": x, "middle": x + _LINE / 2, "to": x + _LINE, "y": place % rows}
        | vars(style)
        for place, (system, style) in enumerate(figure.key.items())
        for x in [place // rows * apart]
    ]
    scale = alt.Scale(domain=[0, across], nice=False)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[rows - 0.5, -0.5], nice=False), axis=None)
    base = alt.Chart(alt.InlineData(values=names)).encode(y=y, color=alt.Color("colour:N", scale=None))
    start, middle, end = (alt.X(f"{one}:Q", scale=scale, axis=None) for one in ("from", "middle", "to"))
    below = alt.layer(
        base.mark_rule().encode(x=start, x2="to:Q", strokeDash=alt.StrokeDash("dash:N", scale=None)),
        base.mark_point(filled=True, size=18, opacity=1).encode(
            x=middle, shape=alt.Shape("shape:N", scale=None)
        ),
        base.mark_text(align="left", dx=_APART).encode(x=end, text="system:N", color=alt.value(PAPER.ink)),
        width=across,
        height=_ROW * rows,
        name="key",
    )
    independent: Any = dict.fromkeys(("color", "shape", "strokeDash"), "independent")
    both: alt.VConcatChart = alt.vconcat(chart, below, spacing=6).resolve_scale(**independent)
    return both


def _each(key: Mapping[str, Style]) -> float:
    """The width of a column of names, with the distance to the next."""
    return _LINE + _LETTER * max(map(len, key), default=0) + 3 * _APART


def _content(spec: Spec, svg: str, kind: str) -> bytes:
    """A figure as a file of a format."""
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGALITE))
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=PIXELS / 72, ppi=72))
    # A length without a unit would be in pixels, of which there are 96 in an inch.
    return re.sub(r'( width="[\d.]+)(" height="[\d.]+)"', r'\1pt\2pt"', svg, count=1).encode()


def _free_file(folder: Path, name: str, kind: str, taken: Container[Path]) -> Path:
    """A file for a figure; names come from results and may be anything."""
    stem = re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".-")[:120] or "figure"
    path, number = folder / f"{stem}.{kind}", 1
    while path in taken:
        number += 1
        path = folder / f"{stem}-{number}.{kind}"
    return path
