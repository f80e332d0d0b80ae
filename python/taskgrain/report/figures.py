"""The charts as files for papers: SVG, PNG and PDF, one or two columns wide."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import vl_convert

from taskgrain.answers.data import Results
from taskgrain.report import look
from taskgrain.report.charts import key
from taskgrain.report.charts.chart import Figure
from taskgrain.report.charts.table import CHARTS
from taskgrain.report.look import PAPER, VEGALITE, Spec
from taskgrain.results import whole_file
from taskgrain.results.store import make_folder

FORMATS = ("svg", "png", "pdf")
PIXELS = 600
"""The pixels of a PNG, per inch."""
_HEADER = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


def save(results: Results, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every chart of the report into `folder`, which is made if need be; returns the files.

    `formats` are some of `FORMATS`. Raises `UsageError` or `OutputError` where a file cannot be written.
    """
    mark = results.origin.adjective
    figures = (one for chart in CHARTS for one in chart.on_paper(results))
    return write(((mark + one.name, _fitted(one, mark.strip())) for one in figures), folder, formats)


def write(drawn: Iterable[tuple[str, Spec]], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes figures, each a name and a specification; raises `UsageError` or `OutputError`."""
    written: list[Path] = []
    make_folder(folder)
    for name, spec in drawn:
        for kind in formats:
            path = _free_file(folder, name, kind, written)
            whole_file.write(path, _content(spec, kind))
            written.append(path)
    return written


def _fitted(figure: Figure, title: str = "") -> Spec:
    """The specification of a figure that is as wide as it should be; with a title above it.

    How much names and results take beside the plots is known once it is drawn.
    """
    width = figure.width / figure.plots * 0.6
    for _ in range(3):
        with look.unchecked():
            spec = look.finish(key.drawn(figure, round(width)), PAPER)
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
    return spec


def _content(spec: Spec, kind: str) -> bytes:
    """A figure as a file of a format."""
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGALITE))
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=PIXELS / 72, ppi=72))
    svg = str(vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE))
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
