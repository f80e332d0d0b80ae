"""The charts as files for papers: SVG, PNG and PDF, one or two columns wide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import altair as alt
import vl_convert

from taskgrain.report import look, plots, rows
from taskgrain.report.cells import Results
from taskgrain.report.look import PAPER, VEGALITE, Spec
from taskgrain.report.rows import Row
from taskgrain.words.errors import InputError, UsageError

FORMATS = ("svg", "png", "pdf")
ONE_COLUMN, BOTH_COLUMNS = 241.0, 504.0
"""Points (1/72 inch), of the two-column formats of ACM and IEEE: 3.35 and 7 inches."""
PIXELS = 600
"""Of a PNG, per inch."""
_HEADER = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class _Figure:
    name: str
    draw: Callable[[int], plots.Chart | alt.ConcatChart]
    """Makes the chart with plots of so many points across."""
    data: dict[str, list[Row]]
    width: float
    """Of the whole figure, in points."""
    plots: int = 1
    """That stand side by side."""


def save(results: Results, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every chart of the report into `folder`, which is made if need be; returns the files.

    Raises `InputError` for an unknown format and `UsageError` where a file cannot be written.
    """
    for one in formats:
        if one not in FORMATS:
            raise InputError("--format", one, ", ".join(FORMATS))
    written: dict[Path, None] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in _figures(results):
            spec, svg = _fitted(figure)
            for kind in formats:
                path = _free(folder, figure.name, kind, written)
                path.write_bytes(_content(spec, svg, kind))
                written[path] = None
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
    return list(written)


def _figures(results: Results) -> Iterator[_Figure]:
    metg = rows.metg(results)
    here = {
        workload: [i for i, cell in enumerate(results.cells) if cell.workload == workload]
        for workload in results.workloads
    }
    if len(here) > 1:
        data = {f"rows-{n}": [metg[i] for i in cells] for n, cells in enumerate(here.values())}
        side = min(3, len(here))
        yield _Figure("metg", partial(_panels, results, side), data, BOTH_COLUMNS, side)
    for workload, indices in here.items():
        data = {"rows": [metg[i] for i in indices]}
        yield _Figure(f"metg {workload}", partial(plots.metg_panel, results, PAPER), data, ONE_COLUMN)
        cells = [results.cells[i] for i in indices]
        legend = [cell.system for cell in cells if cell.curve]
        if not legend:
            continue
        # Samples are for looking closely, on the page: thousands of them make a figure of megabytes.
        points = [row for i in indices for row in rows.points(results.cells[i], i)]
        data = {"points": points, "samples": []}
        for name, chart, levels in (
            ("efficiency", plots.efficiency, rows.thresholds(cells)),
            ("rate", plots.rate, rows.peaks(cells)),
        ):
            draw = partial(chart, results, PAPER, legend=legend)
            yield _Figure(f"{name} {workload}", draw, data | {"levels": levels}, ONE_COLUMN)
    for group, members in rows.radix_groups(results).items():
        names = [cell.system for cell in members]
        draw = partial(plots.dependences, results, PAPER, legend=names, cells=members)
        data = {"rows": [metg[i] for i, cell in enumerate(results.cells) if cell in members]}
        yield _Figure(f"dependences {group}", draw, data, ONE_COLUMN)


def _panels(results: Results, side: int, width: int) -> alt.ConcatChart:
    """METG of all workloads, `side` panels side by side: the leftmost name the systems of a whole row."""
    panels = []
    systems = rows.ranked(results)
    for number, workload in enumerate(results.workloads):
        named = number % side == 0
        panel = plots.metg_panel(results, PAPER, width, f"rows-{number}", systems, named)
        panel.title = alt.TitleParams(workload, anchor="start", frame="bounds", fontSize=9, fontWeight=600)
        panels.append(panel)
    return alt.concat(*panels, columns=side, spacing=10)


def _fitted(figure: _Figure) -> tuple[Spec, str]:
    """The specification of a figure that is as wide as it should be, and its SVG.

    How much names and results take beside the plots is known once it is drawn.
    """
    width = figure.width / figure.plots * 0.6
    for _ in range(3):
        spec = look.finish(figure.draw(round(width)), PAPER)
        spec["config"]["background"] = "#ffffff"
        spec["padding"] = 1
        spec["datasets"] = spec.get("datasets", {}) | figure.data
        svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE)
        header = _HEADER.match(svg)
        assert header is not None
        excess = float(header[1]) - figure.width
        if -figure.plots <= excess <= 0.5:
            break
        width = max(30.0, width - excess / figure.plots - 0.3)
    return spec, svg


def _content(spec: Spec, svg: str, kind: str) -> bytes:
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGALITE))
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=PIXELS / 72, ppi=72))
    # A length without a unit would be in pixels, of which there are 96 in an inch.
    return re.sub(r'( width="[\d.]+)(" height="[\d.]+)"', r'\1pt\2pt"', svg, count=1).encode()


def _free(folder: Path, name: str, kind: str, taken: dict[Path, None]) -> Path:
    """A file for a figure; names come from results and may be anything."""
    stem = re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".-")[:120] or "figure"
    path, number = folder / f"{stem}.{kind}", 1
    while path in taken:
        number += 1
        path = folder / f"{stem}-{number}.{kind}"
    return path
