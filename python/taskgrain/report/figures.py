"""The charts as files for papers: SVG, PNG and PDF, one or two columns wide."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import Path

import vl_convert

from taskgrain.answers.data import Results
from taskgrain.report import look
from taskgrain.report.charts import key
from taskgrain.report.charts.chart import Figure
from taskgrain.report.charts.table import CHARTS
from taskgrain.report.look import PAPER, VEGALITE, Spec
from taskgrain.results import whole_file
from taskgrain.words.errors import InputError, unwritable

FORMATS = ("svg", "png", "pdf")
PIXELS = 600
"""The pixels of a PNG, per inch."""
_HEADER = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


def save(results: Results, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every chart of the report into `folder`, which is made if need be; returns the files.

    Raises `InputError` for an unknown format, and as `page.write` does where a file cannot be written.
    """
    for one in formats:
        if one not in FORMATS:
            raise InputError("--format", one, FORMATS)
    written: dict[Path, None] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in (one for chart in CHARTS for one in chart.on_paper(results)):
            with look.unchecked():
                spec, svg = _fitted(figure, results.origin.adjective.strip())
            for kind in formats:
                path = free_file(folder, results.origin.adjective + figure.name, kind, written)
                whole_file.write(path, content(spec, kind, svg))
                written[path] = None
    except OSError as error:
        raise unwritable(folder, error) from None
    return list(written)


def _fitted(figure: Figure, title: str = "") -> tuple[Spec, str]:
    """The specification of a figure that is as wide as it should be, and its SVG; with a title above it.

    How much names and results take beside the plots is known once it is drawn.
    """
    width = figure.width / figure.plots * 0.6
    for _ in range(3):
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
    return spec, svg


def content(spec: Spec, kind: str, svg: str = "") -> bytes:
    """A figure as a file of a format, from its specification, or from its SVG if that is drawn already."""
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGALITE))
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGALITE, scale=PIXELS / 72, ppi=72))
    svg = svg or str(vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE))
    # A length without a unit would be in pixels, of which there are 96 in an inch.
    return re.sub(r'( width="[\d.]+)(" height="[\d.]+)"', r'\1pt\2pt"', svg, count=1).encode()


def free_file(folder: Path, name: str, kind: str, taken: Container[Path]) -> Path:
    """A file for a figure; names come from results and may be anything."""
    stem = re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".-")[:120] or "figure"
    path, number = folder / f"{stem}.{kind}", 1
    while path in taken:
        number += 1
        path = folder / f"{stem}-{number}.{kind}"
    return path
