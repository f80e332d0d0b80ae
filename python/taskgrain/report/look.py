"""The look of charts, on the page and on paper: colours, shapes, axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import altair as alt
from altair.utils import schemapi

Spec = dict[str, Any]

VEGALITE = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
"""The version that the specifications are written in."""

SHAPES = (
    "M.8 0A.8.8 0 1 1 -.8 0A.8.8 0 1 1 .8 0Z",  # circle
    "M-.75 -.75H.75V.75H-.75Z",  # square
    "M0 -.95L.95 .75H-.95Z",  # triangle up
    "M0 -1.05L1.05 0L0 1.05L-1.05 0Z",  # diamond
    "M-.3 -.95H.3V-.3H.95V.3H.3V.95H-.3V.3H-.95V-.3H-.3Z",  # cross
    "M0 .95L.95 -.75H-.95Z",  # triangle down
    "M0 -1L.95 0H.4V.9H-.4V0H-.95Z",  # arrow
    "M-.8 -.9H.8L.2 0L.8 .9H-.8L-.2 0Z",  # hourglass
    "M0 -1.05L.26 -.36L1 -.32L.43 .14L.62 .85L0 .45L-.62 .85L-.43 .14L-1 -.32L-.26 -.36Z",  # star
    "M-.35 -1H.35V1H-.35Z",  # bar
    "M-.9 -.8L0 -.2L.9 -.8V.8L0 .2L-.9 .8Z",  # bow tie
    "M-1 -.35H1V.35H-1Z",  # bar that lies
)
"""Paths in -1…1, so that the page's legend can draw them too."""
DASHES: tuple[list[float], ...] = (
    [1, 0],
    [6, 2],
    [1.5, 1.5],
    [6, 1.5, 1.5, 1.5],
    [10, 1.5, 1.5, 1.5, 1.5, 1.5],
)
"""The dashes of lines, in points."""

AT_MOST, AT_LEAST = "M-1 0L.8 -1V1Z", "M1 0L-.8 -1V1Z"
NOTHING = "M-.9 -.7L-.7 -.9L0 -.2L.7 -.9L.9 -.7L.2 0L.9 .7L.7 .9L0 .2L-.7 .9L-.9 .7L-.2 0Z"
"""The mark of what has neither a number nor a bound: a thin cross, at the bad end of the axis."""


DOTTED = "M-.12 -1.2H.12V-.7H-.12ZM-.12 -.25H.12V.25H-.12ZM-.12 .7H.12V1.2H-.12Z"


@dataclass(frozen=True)
class Theme:
    """Colours, the font and its size. The palette is Okabe and Ito's (jfly.uni-koeln.de/color), without its
    yellow, which cannot be seen on white."""

    ink: str
    muted: str
    grid: str
    accent: str
    palette: tuple[str, ...]
    font: str
    size: int
    """The size of labels, in pixels."""


PAPER = Theme(
    ink="#1a1a1a",
    muted="#5c5c5c",
    grid="#e2e2e2",
    accent="#0072b2",
    palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a"),
    # Of one width, so that an SVG fits wherever one of them is there.
    font="Arial, Helvetica, Liberation Sans, sans-serif",
    size=8,
)

PAGE = Theme(
    # Style sheet variables: a change to dark mode or to paper recolours the drawn charts, without a script.
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    accent="var(--accent)",
    palette=tuple(f"var(--series-{i})" for i in range(len(PAPER.palette))),
    font="system-ui, sans-serif",
    size=11,
)


@dataclass(frozen=True)
class Style:
    """The look that tells a system from others."""

    colour: str
    shape: str
    """An SVG path in -1…1."""
    dash: list[float]
    """The dashes of its line."""


def style(index: int, theme: Theme) -> Style:
    """Returns the look of the system number `index`: no two of the first 84 have one colour and shape, and no
    two of the first 420 have the same dash, too. The first seven differ in their colour."""
    turn, colour = divmod(index, len(theme.palette))
    return Style(theme.palette[colour], SHAPES[(colour + turn) % len(SHAPES)], DASHES[turn % len(DASHES)])


def nothing(theme: Theme) -> Style:
    """Returns the look of a system without a line."""
    return Style(theme.muted, NOTHING, [0, 100])


REACH = 5.0
"""The factor between a number and a bound that may still stretch an axis."""
_MEANT = (1e-30, 1e30)
"""Numbers outside stretch no axis."""


def near(value: float | None, low: float | None, high: float | None, reach: float = REACH) -> list[float]:
    """Returns what an axis has to show of a number and its interval: bounds that are far away only begin to.

    A bound that is missing is as far away as can be.
    """
    if value is None:
        return []
    return [max(low or 0.0, value / reach), value, min(math.inf if high is None else high, value * reach)]


def meant(values: Iterable[float | None]) -> list[float]:
    """Returns the `values` that a logarithmic axis can show."""
    return [value for value in values if value is not None and _MEANT[0] <= value <= _MEANT[1]]


def domain(values: Iterable[float | None]) -> tuple[float, float]:
    """The ends of a logarithmic axis around `values`; values that it cannot show do not count."""
    known = meant(values)
    low, high = (min(known), max(known)) if known else (1e-7, 1e-3)
    beside = max(1.25, (high / low) ** 0.03)
    return low / beside, high * beside


def log(low: Any, high: Any) -> alt.Scale:
    """A logarithmic scale between two numbers, or expressions."""
    return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and what lies between them where there would be few."""
    decades = math.log10(high / low)
    steps = (
        (1.0,)
        if decades > 2
        else (1.0, 2.0, 5.0)
        if decades > 1
        else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    )
    apart = max(1, round(decades / 10))
    powers = [
        one for one in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) if one % apart == 0
    ]
    return [tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high]


def time_axis(low: float, high: float, title: str | None, values: Any = None) -> alt.Axis:
    """The axis of a logarithmic scale in seconds, with ticks for its ends, or at `values`."""
    label = "format(datum.value, '~g') + ' s'"
    # Ticks are powers of ten, up to rounding: 0.9 stands well clear of them.
    for limit, factor, unit in ((0.9, "1e3", "ms"), (9e-4, "1e6", "µs"), (9e-7, "1e9", "ns")):
        label = f"datum.value < {limit} ? format(datum.value * {factor}, '~g') + ' {unit}' : {label}"
    return alt.Axis(
        title=title,
        values=ticks(low, high) if values is None else values,
        labelExpr=label,
        grid=True,
        labelOverlap=True,
        labelSeparation=6,
    )


def unchecked() -> AbstractContextManager[None]:
    """A context in which Altair takes charts as they are: to check each part takes longer than all the rest,
    and tests do it."""
    return schemapi.debug_mode(False)


def finish(chart: alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart, theme: Theme) -> Spec:
    """The specification of a chart, in the colours of `theme`."""
    spec: Spec = chart.to_dict(validate=schemapi.DEBUG_MODE)
    spec["config"] = {
        # The page tells screen readers what a chart shows, and its tables hold the numbers: a thousand marks
        # that are read out one by one would only be in the way.
        "aria": False,
        "font": theme.font,
        "background": None,
        "view": {"stroke": None},
        "axis": {
            "labelColor": theme.muted,
            "titleColor": theme.muted,
            "titleFontWeight": "normal",
            "labelFontSize": theme.size,
            "titleFontSize": theme.size + 1,
            "gridColor": theme.grid,
            "domainColor": theme.grid,
            "tickColor": theme.grid,
        },
        # A label within 14 pixels of an end is turned inwards, or the page's edge would cut it.
        "axisX": {"labelFlush": 14},
        "axisY": {"labelColor": theme.ink},
        "title": {"color": theme.ink, "subtitleColor": theme.muted},
        "legend": {"labelColor": theme.ink, "labelFontSize": theme.size, "title": None},
        "text": {"fontSize": theme.size},
    }
    if spec.get("width") == "container":
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
