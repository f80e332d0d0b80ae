"""Puts the report together: one HTML file that carries its scripts, styles and data, and loads nothing.

Escaping: jinja2 escapes every text; JSON blocks are escaped by `embed`; charts get text only as data. And the
page's Content-Security-Policy allows nothing but the page's own blocks, by their hash.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup

import taskgrain
from taskgrain.answers import task_times
from taskgrain.answers.compare import text
from taskgrain.answers.compare.cells import Compared, Comparison, Verdict
from taskgrain.answers.data import Cell, Results
from taskgrain.answers.verdict import orders, state_of_the_machine
from taskgrain.report import embed, look, matrix, rows, trust
from taskgrain.report.charts.chart import Plot, Section
from taskgrain.report.charts.table import CHARTS
from taskgrain.results import columns, hosts, outcome, ranking, whole_file
from taskgrain.results.columns import Shown
from taskgrain.results.export import csv_text
from taskgrain.results.tables import Tables
from taskgrain.study.workload import REFERENCE
from taskgrain.words import plain, quantity
from taskgrain.words.breaks import NAME, parts
from taskgrain.words.endings import Ending

SCRIPTS = ("report.js", "table.js", "systems.js", "task.js", "charts.js", "cell.js", "page.js")
STYLES = ("page.css", "print.css")
POINT = (
    "iterations", "granularity", "granularity_low", "granularity_high", "lasts", "efficiency",
    "efficiency_low", "efficiency_high", "certain", "reached", "speed", "repeats",
)  # fmt: skip
"""The fields of a point that the page carries; the script derives the rest."""
MOST_RAW = 1_200_000
"""Bytes of compressed raw data that the page carries; a larger study's are only in its folder."""
_ORDER: tuple[Verdict, ...] = ("slower", "faster", "undecided", "same", "not comparable")
"""The most important changes come first on the page."""
_LONG = 12
"""Characters of a part of a name that goes on in a new line."""
_DRAWN = 5
"""Systems that charts show at first; the others are grey."""


LOOKS = tuple(look.style(place, look.PAGE) for place in range(len(look.PAGE.palette)))
"""The looks of systems, as many as there are colours: no more systems are drawn at once."""


Changes = Mapping[str, Comparison]
"""Results against others, by the words that name these."""


def render(results: Results, changes: Changes, at: float | None = None) -> str:
    """The page, with what changed since others; `at` is the first task time, in seconds."""
    script, style = ("".join(map(embed.resource, names)) for names in (SCRIPTS, STYLES))
    libraries = embed.libraries()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(embed.resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": _breakable, "unbroken": _unbroken}
    found = matrix.of(results)
    checks = trust.checks(results)
    sections = _sections(results)
    times = task_times.times(results, [at] if at else [])
    raw = embed.packed(results.contents.raw)
    return environment.get_template("page.html.jinja").render(
        results=results,
        best=next(filter(None, map(ranking.best, ranking.by_workload(results.cells).values())), None),
        orders=list(orders(results.cells)),
        said_at_times=task_times.said(results),
        matrix=found,
        shades=matrix.legend(),
        checks=checks,
        state=state_of_the_machine(results.cells),
        changes=changes,
        words=text,
        ordered=ordered,
        numbers={(cell.system, cell.workload): i for i, cell in enumerate(results.cells)},
        machine_line=("simulated on " if results.origin.simulated else "") + machine_in_a_line(results),
        machine=listed(results.machine),
        columns=[
            replace(one, title=one.title.replace("95 % interval", results.origin.interval.capitalize()))
            for one in columns.shown(Shown.AT_FIRST | Shown.ON_REQUEST)
        ],
        at_first=Shown.AT_FIRST,
        cells=_ordered(results),
        sections=sections,
        short_result=outcome.short,
        long_result=outcome.long,
        least=task_times.least,
        interval=quantity.interval,
        percent=quantity.percent,
        ratio_interval=quantity.ratio_interval,
        memory=columns.memory,
        to_best=columns.to_best,
        size=quantity.size,
        endings=[one for one in Ending if any(cell.ending is one for cell in results.cells)],
        times=times,
        looks=LOOKS,
        count=quantity.counted,
        version=taskgrain.__version__,
        charts=embed.json_block(_charts(plot for _, _, plots in sections for plot in plots)),
        data=embed.json_block(_data(results, found, times, at)),
        answers=embed.packed_json([task_times.changes(cell, times) for cell in results.cells]),
        files=embed.packed_json(files(results)),
        raw=raw if len(raw) <= MOST_RAW else "",
        raw_bytes=quantity.size(len(results.contents.raw)),
        script=Markup(script),
        libraries=Markup(libraries),
        style=Markup(style),
        policy=embed.policy((script, libraries), style),
    )


def write(
    results: Results, target: Path | None = None, changes: Changes | None = None, at: float | None = None
) -> Path:
    """Writes the report of the results to `target` (default: report.html in their folder).

    It also shows what changed since others, and asks at first about tasks of `at` seconds. Returns where it
    lies. Raises `UsageError` if `target` cannot be written, and `OutputError` if there is no room for it.
    """
    target = results.folder / "report.html" if target is None else target
    # The name of a folder may have bytes that are no UTF-8.
    whole_file.write(target, render(results, changes or {}, at).encode("utf-8", "replace"))
    return target


def ordered(found: Comparison) -> list[Compared]:
    """The cells of a comparison as the page shows them."""
    return sorted(found.cells, key=lambda cell: _ORDER.index(cell.verdict))


def _charts(plots: Iterable[Plot]) -> dict[str, object]:
    """The specification of every plot, and what the page's script puts into its data sets."""
    plots = list(plots)
    with look.unchecked():
        specs = {key: spec() for key, spec in {one.key: one.spec for one in plots}.items()}
    charts = {one.id: one.options() for one in plots}
    return {"charts": charts, "specs": specs, "point": [*POINT, "samples", "disturbed"]}


def _sections(results: Results) -> list[tuple[Section, Markup, list[Plot]]]:
    """Each section of charts with its introduction and its plots; one without plots is left out."""
    made = [(one.SECTION, one.SECTION.intro(results), [*one.plots(results)]) for one in CHARTS]
    mark = results.origin.adjective
    return [
        (one, intro, [replace(plot, heading=mark + plot.heading, label=mark + plot.label) for plot in plots])
        for one, intro, plots in made
        if plots
    ]


def _data(
    results: Results, found: matrix.Matrix, times: Sequence[float], at: float | None
) -> dict[str, object]:
    """The data that the page's script knows."""
    most = rows.most_samples(results)
    asked = task_times.asked(results)
    no_metg = not any(cell.metg.about for cell in results.cells)
    return {
        "cells": [
            _cell(cell, index, row, most)
            for (index, cell), row in zip(enumerate(results.cells), rows.metg(results), strict=True)
        ],
        "looks": [{"colour": one.colour, "shape": one.shape} for one in LOOKS],
        "drawn": matrix.drawn(results, found, _DRAWN),
        "times": [{"seconds": one, "text": quantity.seconds(one, 2)} for one in times],
        "start": at or (asked[0] if asked and no_metg else None),
    }


def _cell(cell: Cell, index: int, row: rows.Row, most: int) -> dict[str, object]:
    points = [
        [
            *(point[field] for field in POINT),
            rows.thinned(behind.samples, behind, most),
            rows.thinned(behind.disturbed, behind, most),
        ]
        for point, behind in zip(rows.points(cell, index), cell.points, strict=True)
    ]
    return {
        "name": cell.name,
        "system": cell.system,
        "workload": cell.workload,
        "words": " ".join(
            (cell.system, cell.workload, columns.ending(cell), str(cell.fields["kernel"]))
        ).lower(),
        "threshold": cell.threshold,
        "peak": rows.short(cell.peak_rate),
        "row": row,
        "points": points,
    }


def files(results: Results) -> dict[str, str]:
    """The files that a reader can save from the page, beside the raw data: names and contents."""
    return {
        "cells.csv": csv_text(Tables(results.lines), "cells"),
        "study.toml": results.study_text,
        "machine.json": json.dumps(results.machine, indent=1),
    }


def _breakable(name: str) -> Markup:
    """A name that may go on in a new line behind each slash; a part that is long also between its words."""
    each = (parts(part, NAME[2:]) if len(part) > _LONG else [part] for part in parts(name, NAME[1:2]))
    return Markup("<wbr>").join(word for words in each for word in words)


def _unbroken(command: str) -> Markup:
    """A command that breaks only at blanks (a browser also breaks behind the hyphens of `--option`)."""
    word = Markup('<span class="nowrap">{}</span>')
    return Markup(" ").join(word.format(one) for one in command.split(" "))


def _ordered(results: Results) -> list[tuple[int, Cell]]:
    """Cells with their numbers, by workload as in the study, the best system first."""
    workloads = {workload: i for i, workload in enumerate(results.workloads)}
    ranks = {system: i for i, system in enumerate(results.ranked)}

    def key(numbered: tuple[int, Cell]) -> tuple[int, float, int]:
        _, cell = numbered
        return workloads[cell.workload], cell.metg.value or cell.metg.high or math.inf, ranks[cell.system]

    return sorted(enumerate(results.cells), key=key)


def machine_in_a_line(results: Results) -> str:
    """The machine in a few words: its processor, and the cores that were measured on."""
    cpu = results.machine.get("cpu")
    model = plain.text(cpu.get("model")) if isinstance(cpu, dict) else plain.text(cpu)
    used = sorted({cell.cores for cell in results.cells if cell.cores and cell.reference == REFERENCE})
    span = f"{used[0]} to {used[-1]} cores" if used else ""
    cores = quantity.counted(used[0], "core") if len(used) == 1 else span
    where = hosts.where(hosts.of_lines(results.lines))
    return ", ".join(part for part in (model, cores and f"{cores} used", where) if part)


def listed(value: object, path: str = "") -> list[tuple[str, str]]:
    """Nested tables as rows of a path and a text."""
    if isinstance(value, Mapping):
        start = f"{path}: " if path else ""
        return [
            row
            for key, one in value.items()
            for row in listed(one, start + plain.text(key).replace("_", " "))
        ]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [(path, "; ".join(", ".join(f"{k} {v}" for k, v in listed(one)) for one in value))]
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
    return f"{value:.6g}" if isinstance(value, float) else plain.text(value)
