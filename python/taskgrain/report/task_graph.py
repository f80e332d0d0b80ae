"""Draws a task graph in the manner of the Task Bench paper (SC'20), Figure 1: time goes down."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_COLUMN, _ROW, _RADIUS = 40, 56, 11  # pixels
_LEFT, _TOP = 56, 44

_STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}
.edge{stroke:#4c78a8;stroke-width:1.2;marker-end:url(#head)}
.task{fill:#fff;stroke:#333;stroke-width:1.3}
.label{font-size:10px;text-anchor:middle;dominant-baseline:central}
"""


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


def svg(steps: Sequence[dict[str, Any]], width: int, title: str) -> str:
    """The drawing of the steps that `taskgrain graph --format json` prints."""
    right, bottom = _LEFT + width * _COLUMN + 16, _TOP + len(steps) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{bottom}"',
        f' viewBox="0 0 {right} {bottom}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6"',
        ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#4c78a8"/></marker></defs>',
        f'<rect width="{right}" height="{bottom}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20">{escape(title)}</text>',
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
    return "\n".join([*parts, "</svg>", ""])
