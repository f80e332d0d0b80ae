"""A history as one HTML file: no script, nothing loaded, and the look of the report."""

from __future__ import annotations

from importlib.resources import files

import jinja2
from markupsafe import Markup

import taskgrain
from taskgrain.answers.compare.text import called
from taskgrain.history.chart import svg
from taskgrain.history.text import day, measured, summary, title, why
from taskgrain.history.trends import History, Trend
from taskgrain.words import quantity
from taskgrain.words.origin import Origin

_WIDTH = 760
"""Pixels of a chart, which scrolls where there is less room."""
_BUILD = 8
"""Digits of a build's hash."""


def render(history: History, name: str) -> str:
    """The page; `name` is its title. Every text in it is escaped, and the charts hold none of the results."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = files("taskgrain.history").joinpath("page.html.jinja").read_text("utf-8")
    style = files("taskgrain.report").joinpath("web/page.css").read_text("utf-8")
    return environment.from_string(page).render(
        title=name,
        style=Markup(style),
        summary=summary(history),
        quantity=called(history.question.by),
        interval=Origin.of(one.series.origin for one in history.trends).interval,
        trends=[_section(one, history) for one in history.trends],
        version=taskgrain.__version__,
    )


def _section(one: Trend, history: History) -> dict[str, object]:
    by = history.question.by
    said = why(one, history)
    return {
        "system": one.series.system,
        "title": title(one.series),
        "why": said[:1].upper() + said[1:],
        "regression": one.regression,
        "label": f"Chart of {called(by)} over the sessions; the table below has its numbers",
        "chart": Markup(svg(one, by, _WIDTH)),
        "rows": list(reversed(_rows(one, history))),
    }


def _rows(one: Trend, history: History) -> list[dict[str, str]]:
    by, size = history.question.by, one.series.size()
    begins = {id(change.after) for change in one.changes}
    return [
        {
            "label": entry.log.label,
            "date": day(entry.log.time),
            "number": measured(number, by),
            "measured": measured(entry.number(by, size), by),
            "clock": quantity.percent(entry.clock and entry.clock / one.series.clock),
            "version": entry.measurement.version or "",
            "build": (entry.measurement.build or "")[:_BUILD],
            "remark": ", ".join(
                word
                for word, holds in (
                    ("a new level begins", id(entry) in begins),
                    ("far from its level", place in one.outlying),
                    (f"failed: {entry.measurement.cell.error}", entry.failed),
                )
                if holds
            ),
        }
        for place, (entry, number) in enumerate(zip(one.series.entries, one.numbers, strict=True))
    ]
