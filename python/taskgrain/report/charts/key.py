"""The names of a figure's lines below it, each with the line and the mark of its system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN, Drawn, Figure
from taskgrain.report.look import PAPER, Style

_FEW = 12
"""Systems that a figure of one column has room for."""
_AXIS = 50
"""The space of the axis beside a plot, about, in points."""
_ROW, _LINE, _LETTER, _APART = 10, 18, 4.2, 4
"""The height of a name, the line before it, about the width of a letter, and what is between, in points."""


def across(key: Mapping[str, Style]) -> float:
    """The width of a figure with these names, in points."""
    return BOTH_COLUMNS if len(key) > _FEW or _each(key) > ONE_COLUMN - _AXIS else ONE_COLUMN


def drawn(figure: Figure, width: int) -> Drawn:
    """The figure with plots of so many points across, and its names below them in as many columns as fit."""
    chart = figure.draw(width)
    if not figure.key:
        return chart
    rows = -(-len(figure.key) // max(1, int(width / _each(figure.key))))
    apart = width / -(-len(figure.key) // rows)
    names = [
        {"system": system, "from": x, "middle": x + _LINE / 2, "to": x + _LINE, "y": place % rows}
        | vars(style)
        for place, (system, style) in enumerate(figure.key.items())
        for x in [place // rows * apart]
    ]
    scale = alt.Scale(domain=[0, width], nice=False)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[rows - 0.5, -0.5], nice=False), axis=None)
    base = alt.Chart(alt.InlineData(values=names)).encode(y=y, color=alt.Color("colour:N", scale=None))
    start, middle, end = (alt.X(f"{one}:Q", scale=scale, axis=None) for one in ("from", "middle", "to"))
    below = alt.layer(
        base.mark_rule().encode(x=start, x2="to:Q", strokeDash=alt.StrokeDash("dash:N", scale=None)),
        base.mark_point(filled=True, size=18, opacity=1).encode(
            x=middle, shape=alt.Shape("shape:N", scale=None)
        ),
        base.mark_text(align="left", dx=_APART).encode(x=end, text="system:N", color=alt.value(PAPER.ink)),
        width=width,
        height=_ROW * rows,
        name="key",
    )
    independent: Any = dict.fromkeys(("color", "shape", "strokeDash"), "independent")
    both: alt.VConcatChart = alt.vconcat(chart, below, spacing=6).resolve_scale(**independent)
    return both


def _each(key: Mapping[str, Style]) -> float:
    """The width of a column of names, with the distance to the next."""
    return _LINE + _LETTER * max(map(len, key), default=0) + 3 * _APART
