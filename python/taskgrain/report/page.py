"""Puts the report together: one HTML file that carries its scripts, styles and data, and loads nothing.

Escaping: jinja2 escapes every text; JSON blocks are escaped by `_json`; charts get text only as data. And the
page's Content-Security-Policy allows nothing but the page's own blocks, by their hash.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import jinja2
import vl_convert
from markupsafe import Markup

import taskgrain
from taskgrain.drive.system import REFERENCE
from taskgrain.report import look, rows, summary
from taskgrain.report.cells import Cell, Failure, Results
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.table import CHARTS
from taskgrain.report.columns import COLUMNS, ENDINGS, ending
from taskgrain.report.data import text
from taskgrain.words import quantity
from taskgrain.words.warnings import grouped

SCRIPTS = ("charts.js", "table.js", "page.js")
FIELDS = (
    "ending", "error", "metg", "low", "high", "floor", "floor_low", "floor_high", "threshold", "rounds",
    "runs", "repeated", "disturbed", "memory", "cores", "reference", "peak_rate", "work_unit", "pattern",
    "width", "radix", "graphs", "output_bytes", "kernel", "dependences", "command",
)  # fmt: skip
"""Of a cell, in cells.csv: SI units."""
POINT = (
    "iterations", "granularity", "granularity_low", "granularity_high", "lasts", "efficiency",
    "efficiency_low", "efficiency_high", "certain", "reached", "speed", "repeats",
)  # fmt: skip
"""Of a point, as the page carries it; the script derives the rest."""
MOST_RAW = 1_200_000
"""Bytes of compressed raw data that the page carries; a larger study's are only in its folder."""


@dataclass(frozen=True)
class LegendEntry:
    """A system with the colour and the shape (an SVG path in -1…1) of its marks."""

    system: str
    colour: str
    path: str


def render(results: Results) -> str:
    """The whole page."""
    script, style = "".join(map(_resource, SCRIPTS)), _resource("page.css")
    libraries = _libraries()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"breakable": _breakable, "words": _words}
    template = environment.from_string(_resource("template.html.jinja"))
    systems = rows.ranked(results)
    looks = [look.style(i, look.PAGE) for i in range(len(systems))]
    ordered = _ordered(results, systems)
    samples, most = rows.sample_counts(results)
    sections = _sections(results)
    raw = base64.b64encode(gzip.compress(results.raw, 9, mtime=0)).decode()
    return template.render(
        results=results,
        best=summary.best(results),
        trust=summary.trust(results),
        troubles=summary.troubles(results),
        machine_line=_machine_line(results),
        machine=list(_flat(results.machine)),
        columns=COLUMNS,
        cells=ordered,
        sections=sections,
        failures_of=_failures_of(results),
        short_result=rows.short_result,
        long_result=rows.long_result,
        interval=quantity.interval,
        size=quantity.size,
        endings=[ENDINGS[one] for one in ENDINGS if any(cell.ending == one for cell in results.cells)],
        warnings=_warnings(results),
        curved=list(dict.fromkeys(cell.workload for cell in results.cells if cell.curve)),
        samples=samples,
        legend=[LegendEntry(one, *look) for one, look in zip(systems, looks, strict=True)],
        count=quantity.counted,
        version=taskgrain.__version__,
        charts=_json(_charts(plot for _, _, plots in sections for plot in plots)),
        data=_json(
            [
                _data(cell, index, row, most)
                for (index, cell), row in zip(enumerate(results.cells), rows.metg(results), strict=True)
            ]
        ),
        files=_json(_files(results)),
        raw=Markup(raw if len(raw) <= MOST_RAW else ""),
        raw_bytes=quantity.size(len(results.raw)),
        script=Markup(script),
        libraries=Markup(libraries),
        style=Markup(style),
        policy=_policy((script, libraries), style),
    )


def _charts(plots: Iterable[Plot]) -> dict[str, object]:
    """Of every plot its specification, and what the page's script puts into its data sets."""
    plots = list(plots)
    specs = {key: spec() for key, spec in {one.key: one.spec for one in plots}.items()}
    charts = {one.id: one.options() for one in plots}
    return {"charts": charts, "specs": specs, "point": [*POINT, "samples", "disturbed"]}


def _sections(results: Results) -> list[tuple[Section, Markup, list[Plot]]]:
    """Each section of charts with its introduction and its plots; one without either is left out."""
    found: dict[Section, list[Plot]] = {}
    for chart in CHARTS:
        found.setdefault(chart.SECTION, []).extend(chart.on_page(results))
    made = [(section, section.intro(results), plots) for section, plots in found.items()]
    return [one for one in made if one[2] or one[0].choice]


def _data(cell: Cell, index: int, row: rows.Row, most: int) -> dict[str, object]:
    """All that the page's script knows of a cell."""
    points = [
        [
            *(point[field] for field in POINT),
            rows.thinned(behind.samples, behind, most),
            rows.thinned(behind.disturbed, behind, most),
        ]
        for point, behind in zip(rows.points(cell, index), cell.curve, strict=True)
    ]
    return {
        "name": cell.name,
        "system": cell.system,
        "workload": cell.workload,
        "words": " ".join((cell.system, cell.workload, ending(cell), cell.kernel)).lower(),
        "peak": rows.short(cell.peak_rate),
        "row": row,
        "points": points,
    }


def _files(results: Results) -> dict[str, str]:
    """What can be downloaded beside the raw data: file names and contents."""
    header = ("cell", "system", "workload", *FIELDS)
    lines = [
        header,
        *(
            (cell.name, cell.system, cell.workload, *(getattr(cell, one) for one in FIELDS))
            for cell in results.cells
        ),
    ]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([_spreadsheet(one) for one in line] for line in lines)
    return {
        "cells.csv": table.getvalue(),
        "study.toml": results.study,
        "machine.json": json.dumps(results.machine, indent=1),
    }


def _spreadsheet(value: object) -> object:
    """A text that a spreadsheet would take for a formula is made one that it does not."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def _failures_of(results: Results) -> dict[str, list[tuple[int, Failure]]]:
    """The failures of each cell, with their numbers on the page."""
    found: dict[str, list[tuple[int, Failure]]] = {}
    for number, failure in enumerate(results.failures):
        found.setdefault(failure.cell, []).append((number, failure))
    return found


@cache
def _libraries() -> str:
    """Vega, Vega-Lite and vega-embed as one script that sets `window.vegaEmbed`; takes about 2 s to build."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", look.VEGALITE)
    # A module's names are its own; as a plain script they would be global.
    return f"(() => {{{bundle}}})();".replace("</script", "<\\/script")


def _resource(name: str) -> str:
    return files("taskgrain.report").joinpath(name).read_text("utf-8")


def _policy(scripts: tuple[str, ...], style: str) -> str:
    """Only these blocks may run; nothing may be fetched, framed or sent."""
    allowed = " ".join(_hash(one) for one in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(block: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"


def _json(value: object) -> Markup:
    """JSON that can stand in a script block: nothing in it can end the block or open a comment."""
    plain = json.dumps(_finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _finite(value: object) -> object:
    """JSON knows no infinity; a results file may hold one (as `1e999`)."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def _breakable(name: str) -> Markup:
    """A name that may go on in a new line behind each slash."""
    return Markup("/<wbr>").join(name.split("/"))


def _words(command: str) -> Markup:
    """A command that breaks only at blanks (a browser also breaks behind the hyphens of `--option`)."""
    word = Markup('<span class="nowrap">{}</span>')
    return Markup(" ").join(word.format(one) for one in command.split(" "))


def _ordered(results: Results, systems: tuple[str, ...]) -> list[tuple[int, Cell]]:
    """Cells with their numbers, by workload as in the study, the best system first."""
    workloads = {workload: i for i, workload in enumerate(results.workloads)}
    ranks = {system: i for i, system in enumerate(systems)}

    def key(numbered: tuple[int, Cell]) -> tuple[int, float, int]:
        _, cell = numbered
        return workloads[cell.workload], cell.metg or cell.at_most or math.inf, ranks[cell.system]

    return sorted(enumerate(results.cells), key=key)


def _warnings(results: Results) -> list[tuple[str, tuple[str, ...]]]:
    """Every kind of warning once, with the cells it is about (none: the folder itself)."""
    found = grouped((cell.name, warning) for cell in results.cells for warning in cell.warnings)
    return [*((warning, ()) for warning in results.warnings), *((one.text, one.cells) for one in found)]


def _machine_line(results: Results) -> str:
    """The machine in a few words: its processor, and the cores that were measured on."""
    cpu = results.machine.get("cpu")
    model = text(cpu.get("model")) if isinstance(cpu, dict) else text(cpu)
    used = sorted({cell.cores for cell in results.cells if cell.cores and cell.reference == REFERENCE})
    span = f"{used[0]} to {used[-1]} cores" if used else ""
    cores = quantity.counted(used[0], "core") if len(used) == 1 else span
    return ", ".join(part for part in (model, cores and f"{cores} used") if part)


def _flat(value: object, path: str = "") -> list[tuple[str, str]]:
    """Nested tables as rows of a path and a text."""
    if isinstance(value, Mapping):
        start = f"{path}: " if path else ""
        return [row for key, one in value.items() for row in _flat(one, start + text(key).replace("_", " "))]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [(path, "; ".join(", ".join(f"{k} {v}" for k, v in _flat(one)) for one in value))]
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return [(path, ", ".join(map(_plain, value)))] if value else []
    if path == "time" and isinstance(value, float) and 0 < value < 1e11:
        return [(path, f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC")]
    if path.endswith("bytes") and isinstance(value, int):
        return [(path.removesuffix("bytes").rstrip(), quantity.size(value))]
    shown = _plain(value)
    return [(path, shown)] if shown else []


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else text(value)
