"""Drawings of task graphs, in which time goes down: of a pattern, and of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from taskgrain.graphs.kinds import Kind, kind_of
from taskgrain.graphs.steps import Steps
from taskgrain.report.look import PAPER

_COLUMN, _ROW, _RADIUS = 40, 56, 11  # pixels
_LEFT, _TOP = 56, 44
_PLACE, _DOWN, _LEAST, _MOST = 34, 44, 3.0, 13.0  # pixels
_LINE, _LETTER, _NARROWEST = 18, 7, 160
_STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}
.edge{stroke:#4c78a8;stroke-width:1.2;marker-end:url(#head)}
.task{fill:#fff;stroke:#333;stroke-width:1.3}
.label{font-size:10px;text-anchor:middle;dominant-baseline:central}
.way{fill:none;stroke:#9aa4ad;stroke-width:1}
.run{stroke:#333;stroke-width:1}
"""


def _document(size: tuple[int, int], title: str, left: float, parts: Sequence[str]) -> str:
    """The SVG of `size` pixels, with its title above the parts."""
    wide, high = size
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"',
            f' viewBox="0 0 {wide} {high}">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>",
            f'<rect width="{wide}" height="{high}" fill="#fff"/>',
            f'<text x="{left:g}" y="20">{escape(title)}</text>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _x(point: int) -> int:
    return _LEFT + point * _COLUMN + _COLUMN // 2


def _y(step: int) -> int:
    return _TOP + step * _ROW + _RADIUS


def _edge(step: int, dep: int, point: int) -> str:
    """An arrow from (step - 1, dep) to (step, point), ending at the circles' rims."""
    x0, y0, x1, y1 = _x(dep), _y(step - 1), _x(point), _y(step)
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy = (x1 - x0) * _RADIUS / length, (y1 - y0) * _RADIUS / length
    tip = 1.45  # room for the arrow's head
    start = f'x1="{x0 + dx:.1f}" y1="{y0 + dy:.1f}"'
    return f'<line class="edge" {start} x2="{x1 - tip * dx:.1f}" y2="{y1 - tip * dy:.1f}"/>'


def of_pattern(steps: Sequence[dict[str, Any]], width: int, title: str) -> str:
    """The drawing of the steps that `taskgrain graph --format json` prints."""
    right, bottom = _LEFT + width * _COLUMN + 16, _TOP + len(steps) * _ROW
    parts = [
        '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6"',
        ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#4c78a8"/></marker></defs>',
    ]
    for row in steps:
        step, first = row["step"], row["first_point"]
        for offset, deps in enumerate(row["dependences"]):
            parts += [_edge(step, dep, first + offset) for dep in deps]
    for row in steps:
        step = row["step"]
        parts.append(f'<text class="label" x="{_LEFT // 2}" y="{_y(step)}">t = {step}</text>')
        for point in range(row["first_point"], row["first_point"] + row["width"]):
            parts.append(f'<circle class="task" cx="{_x(point)}" cy="{_y(step)}" r="{_RADIUS}"/>')
            parts.append(f'<text class="label" x="{_x(point)}" y="{_y(step)}">{point}</text>')
    return _document((right, bottom), title, _LEFT, parts)


def of_program(steps: Steps, title: str, kinds: Sequence[Kind], words: Callable[[int], str]) -> str:
    """The drawing of a graph. Kinds with most work have colours, which stand below; `words` says of each task
    what the reader sees who points at it."""
    graph = steps.graph
    named = kinds[: len(PAPER.palette)]
    colours = dict(zip((one.name for one in named), PAPER.palette, strict=False))
    longest = max(graph.durations) or 1.0
    lines, circles = [], []
    placed = [*steps.placed()]
    for row, step in enumerate(placed):
        y = _TOP + _DOWN * row + _MOST
        for place, ((task, runs), inputs) in enumerate(
            zip(step.points, step.inputs, strict=True), step.first
        ):
            x = _program_x(place)
            above, middle = y - _DOWN, y - _DOWN / 2
            lines += [
                f'<path class="way" d="M{before} {above:g}C{before} {middle:g} {x} {middle:g} {x} {y:g}"/>'
                for before in map(_program_x, inputs)
            ]
            if runs:
                radius = max(_LEAST, _MOST * (graph.durations[task] / longest) ** 0.5)
                colour = colours.get(kind_of((graph.labels or graph.names)[task]), "#b9bdc2")
                circles.append(
                    f'<circle class="run" cx="{x}" cy="{y:g}" r="{radius:.1f}" fill="{colour}">'
                    f"<title>{escape(words(task))}</title></circle>"
                )
    below = _TOP + _DOWN * len(placed) + _LINE
    key = []
    for place, one in enumerate(named):
        y = below + _LINE * place
        key += [
            f'<circle cx="{_MOST:g}" cy="{y - 4}" r="5" fill="{colours[one.name]}"/>',
            f'<text x="{2 * _MOST:g}" y="{y}">{escape(one.name)}</text>',
        ]
    names = max(len(title), *(len(one.name) + 4 for one in named))
    wide = max(
        _NARROWEST,
        _PLACE * (max(one.first + len(one.points) for one in placed) + 1),
        _LETTER * names,
    )
    high = below + _LINE * len(named)
    return _document((wide, high), title, _MOST, [*lines, *circles, *key])


def _program_x(place: int) -> int:
    return _PLACE * (place + 1)
