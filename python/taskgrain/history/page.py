"""A history as one HTML file: no script, nothing loaded, and the look of the report."""

from __future__ import annotations

from importlib.resources import files

import jinja2
from markupsafe import Markup

import taskgrain
from taskgrain.history.chart import svg
from taskgrain.history.watch import History, Watched
from taskgrain.history.wording import called, day, measured, summary, title, why

_BROAD, _NARROW = 760, 340
"""Pixels of the two charts; the style sheet shows the one that fits."""
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
        watched=[_section(one, history) for one in history.watched],
        version=taskgrain.__version__,
    )


def _section(one: Watched, history: History) -> dict[str, object]:
    by = history.question.by
    said = why(one, history)
    return {
        "system": one.series.system,
        "title": title(one.series),
        "why": said[:1].upper() + said[1:],
        "regression": one.regression,
        "label": f"Chart of {called(by)} over the sessions; the table below has its numbers",
        "broad": Markup(svg(one, by, _BROAD)),
        "narrow": Markup(svg(one, by, _NARROW)),
        "rows": list(reversed(_rows(one, history))),
    }


def _rows(one: Watched, history: History) -> list[dict[str, str]]:
    begins = {id(step.after) for step in one.steps}
    return [
        {
            "label": point.log.label,
            "date": day(point.log.time),
            "number": measured(number, history.question.by),
            "version": point.measurement.version or "",
            "build": (point.measurement.build or "")[:_BUILD],
            "remark": ", ".join(
                word
                for word, holds in (
                    ("a new level begins", id(point) in begins),
                    ("far from its level", place in one.outlying),
                    (f"failed: {point.measurement.cell.error}", point.failed),
                )
                if holds
            ),
        }
        for place, (point, number) in enumerate(zip(one.series.points, one.numbers, strict=True))
    ]
