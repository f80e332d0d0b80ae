"""Draws intervals: up to the edge of the axes and no further.

Scales clamp, so that no end lies outside. An end that is missing or that the axes cut off ends in an arrow.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from taskgrain.report.look import NOTHING

Ends = tuple[float | str, float | str]
"""The two ends of an axis; a text names a parameter of the specification."""

_LEFT, _RIGHT = "M0 0L1.7 -1V1Z", "M0 0L-1.7 -1V1Z"
_DOWN, _UP = "M0 0L-1 -1.7H1Z", "M0 0L-1 1.7H1Z"


def like(channel: Any, shorthand: str) -> Any:
    """The same channel for another field."""
    copy = channel.copy()
    copy.shorthand = shorthand
    return copy


def arrows(base: alt.Chart, channel: alt.X | alt.Y, low: str, high: str, ends: Ends, size: int) -> list[Any]:
    """The heads of intervals from the field `low` to `high` that reach an edge: their tips touch it."""
    name, heads = ("x", (_LEFT, _RIGHT)) if isinstance(channel, alt.X) else ("y", (_DOWN, _UP))
    tests = (f"datum.{low} <= {ends[0]}", f"datum.{high} >= {ends[1]}")
    return [
        base.transform_filter(f"isValid(datum.{field}) && {test}")
        .mark_point(filled=True, size=size, shape=head)
        .encode(**{name: like(channel, f"{field}:Q")})
        for field, test, head in zip((low, high), tests, heads, strict=True)
    ]


def nothing(base: alt.Chart, field: str, size: int, **look: Any) -> alt.Chart:
    """A cross for each row that has no such field, for the bad end of its axis."""
    without: alt.Chart = base.transform_filter(f"!isValid(datum.{field})").mark_point(
        filled=True, size=size, shape=NOTHING, opacity=1, **look
    )
    return without


def within(field: str, ends: Ends) -> str:
    """The test whether a field's value lies inside the axes."""
    return f"datum.{field} >= {ends[0]} && datum.{field} <= {ends[1]}"


def by_certainty(certain: float, otherwise: float) -> Any:
    """A visual value for intervals of which both bounds are known, and one for all others."""
    return alt.when("datum.certain").then(alt.value(certain)).otherwise(alt.value(otherwise))
