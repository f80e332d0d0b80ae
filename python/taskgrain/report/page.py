"""Puts the report together: one HTML file that carries its scripts, styles and data, and loads nothing.

Escaping: jinja2 escapes every text; JSON blocks are escaped by `_json`; charts get text only as data. And the
page's Content-Security-Policy allows nothing but the page's own blocks, by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2
import vl_convert
from markupsafe import Markup

import taskgrain
from taskgrain import notices, quantity
from taskgrain.report import plots, summary
from taskgrain.report.data import Cell, Results, text

ENDINGS = {
    "precise": ("precise", "the interval is as narrow as was asked"),
    "budget": ("out of time", "time ran out first; the interval says how well the number is known"),
    "never_reached": ("never reached", "even the largest task tried is below the threshold"),
    "always_reached": ("always reached", "even the smallest task tried is above the threshold"),
    "several_crossings": ("several crossings", "the curve crosses the threshold more than once: no one METG"),
    "failed": ("failed", "the cell failed; see the failures"),
    "unfinished": ("unfinished", "the measurement stopped before the cell came to an end"),
}
"""What an ending is called in the table, and what it means."""


@dataclass(frozen=True)
class TableRow:
    """A cell as the table shows it: texts, and the numbers to sort by."""

    cell: Cell
    metg: str
    interval: str
    floor: str
    ending: str
    sort_metg: float | None
    sort_width: float | None
    """Width of the interval relative to the METG."""


@dataclass(frozen=True)
class LegendEntry:
    """A system with the colour and the shape (an SVG path in -1…1) of its marks."""

    system: str
    colour: str
    path: str


def render(results: Results) -> str:
    """The whole page."""
    script, style = _resource("page.js"), _resource("page.css")
    libraries = _libraries()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"breakable": _breakable, "words": _words}
    template = environment.from_string(_resource("template.html.jinja"))
    systems = plots.ranked(results)
    colours = [plots.style(i, plots.PAGE) for i in range(len(systems))]
    return template.render(
        results=results,
        best=summary.best(results),
        troubles=summary.troubles(results),
        machine_line=_machine_line(results),
        machine=list(_flat(results.machine)),
        rows=[_row(cell) for cell in _ordered(results, systems)],
        endings=[ENDINGS[one] for one in ENDINGS if any(cell.ending == one for cell in results.cells)],
        warnings=_warnings(results),
        thresholds=" or ".join(
            quantity.percent(one) for one in sorted({cell.threshold for cell in results.cells})
        ),
        legend=[LegendEntry(one, *look) for one, look in zip(systems, colours, strict=True)],
        count=_count,
        version=taskgrain.__version__,
        charts=_json(_charts(results)),
        points=_json(plots.points(results)),
        metg_lines=_json(results.metg_lines),
        script=Markup(script),
        libraries=Markup(libraries),
        style=Markup(style),
        policy=_policy((script, libraries), style),
    )


def _charts(results: Results) -> dict[str, plots.Spec]:
    charts = {
        f"metg-{i}": plots.metg_panel(results, workload, plots.PAGE)
        for i, workload in enumerate(results.workloads)
    }
    if any(cell.curve for cell in results.cells):
        charts["efficiency"] = plots.efficiency(results, plots.PAGE)
        charts["rate"] = plots.rate(results, plots.PAGE)
    return charts


@cache
def _libraries() -> str:
    """Vega, Vega-Lite and vega-embed as one script that sets `window.vegaEmbed`; takes about 2 s to build."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", plots.VEGALITE)
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


def _row(cell: Cell) -> TableRow:
    _, span = quantity.around(cell.metg, cell.low, cell.high)
    known = cell.metg is not None and cell.low is not None and cell.high is not None
    return TableRow(
        cell=cell,
        metg=plots.short_result(cell) if cell.metg or cell.at_most or cell.at_least else quantity.NOTHING,
        interval=span if known else quantity.NOTHING,
        floor=quantity.around(cell.floor, cell.floor_low, cell.floor_high)[0],
        ending=ENDINGS.get(cell.ending, (cell.ending.replace("_", " "), ""))[0],
        sort_metg=cell.metg or cell.at_most or cell.at_least,
        sort_width=(cell.high - cell.low) / cell.metg if cell.metg and cell.low and cell.high else None,
    )


def _ordered(results: Results, systems: tuple[str, ...]) -> list[Cell]:
    """By workload as in the study, the best system first."""
    workloads = {workload: i for i, workload in enumerate(results.workloads)}
    ranks = {system: i for i, system in enumerate(systems)}

    def key(cell: Cell) -> tuple[int, float, int]:
        return workloads[cell.workload], cell.metg or cell.at_most or math.inf, ranks[cell.system]

    return sorted(results.cells, key=key)


def _warnings(results: Results) -> list[tuple[str, tuple[str, ...]]]:
    """Every kind of warning once, with the cells it is about (none: the folder itself)."""
    found = notices.grouped((cell.name, warning) for cell in results.cells for warning in cell.warnings)
    return [*((warning, ()) for warning in results.warnings), *((one.text, one.cells) for one in found)]


def _machine_line(results: Results) -> str:
    """The machine in a few words: its processor, and the cores that were measured on."""
    cpu = results.machine.get("cpu")
    model = text(cpu.get("model")) if isinstance(cpu, dict) else text(cpu)
    used = sorted({cell.cores for cell in results.cells if cell.cores})
    cores = _count(used[0], "core") if len(used) == 1 else f"{used[0]} to {used[-1]} cores" if used else ""
    return ", ".join(part for part in (model, cores and f"{cores} used") if part)


def _flat(value: object, path: str = "") -> list[tuple[str, str]]:
    """Nested tables as rows of a path and a text."""
    if isinstance(value, Mapping):
        start = f"{path}: " if path else ""
        return [row for key, one in value.items() for row in _flat(one, start + text(key))]
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return [(path, ", ".join(map(text, value)))] if value else []
    shown = text(value)
    return [(path, shown)] if shown else []


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
