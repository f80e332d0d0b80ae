"""Draws the graph of a program: time goes down, a task is as large as it is long, and has the colour of its
kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from taskgrain.graphs.kinds import Kind, kind_of
from taskgrain.graphs.steps import Steps
from taskgrain.report.look import PAPER

_COLUMN, _ROW, _LEAST, _MOST = 34, 44, 3.0, 13.0  # pixels
_TOP, _LINE, _LETTER, _NARROWEST = 44, 18, 7, 160
_STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}
path{fill:none;stroke:#9aa4ad;stroke-width:1}
circle{stroke:#333;stroke-width:1}
"""


def svg(steps: Steps, title: str, kinds: Sequence[Kind], words: Callable[[int], str]) -> str:
    """The drawing of a graph. Kinds with most work have colours, which stand below; `words` says of each task
    what the reader sees who points at it."""
    graph = steps.graph
    named = kinds[: len(PAPER.palette)]
    colours = dict(zip((one.name for one in named), PAPER.palette, strict=False))
    longest = max(graph.durations) or 1.0
    lines, circles = [], []
    placed = [*steps.placed()]
    for row, step in enumerate(placed):
        y = _TOP + _ROW * row + _MOST
        for place, ((task, runs), inputs) in enumerate(
            zip(step.points, step.inputs, strict=True), step.first
        ):
            x = _x(place)
            middle = y - _ROW / 2
            lines += [
                f'<path d="M{_x(one)} {y - _ROW:g}C{_x(one)} {middle:g} {x} {middle:g} {x} {y:g}"/>'
                for one in inputs
            ]
            if runs:
                radius = max(_LEAST, _MOST * (graph.durations[task] / longest) ** 0.5)
                colour = colours.get(kind_of((graph.labels or graph.names)[task]), "#b9bdc2")
                circles.append(
                    f'<circle cx="{x}" cy="{y:g}" r="{radius:.1f}" fill="{colour}">'
                    f"<title>{escape(words(task))}</title></circle>"
                )
    below = _TOP + _ROW * len(placed) + _LINE
    key = []
    for place, one in enumerate(named):
        y = below + _LINE * place
        key += [
            f'<circle cx="{_MOST:g}" cy="{y - 4}" r="5" fill="{colours[one.name]}"/>',
            f'<text x="{2 * _MOST:g}" y="{y}">{escape(one.name)}</text>',
        ]
    names = max(len(title), *(len(one.name) + 4 for one in named))
    wide = max(
        _NARROWEST, _COLUMN * (max(one.first + len(one.points) for one in placed) + 1), _LETTER * names
    )
    high = below + _LINE * len(named)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"',
            f' viewBox="0 0 {wide} {high}">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>",
            f'<rect width="{wide}" height="{high}" fill="#fff"/>',
            f'<text x="{_MOST:g}" y="20">{escape(title)}</text>',
            *lines,
            *circles,
            *key,
            "</svg>",
            "",
        ]
    )


def _x(place: int) -> int:
    return _COLUMN * (place + 1)
