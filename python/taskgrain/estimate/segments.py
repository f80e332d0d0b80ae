"""The levels of a series of sessions, and by how much each change moved them: pure functions.

The ratio of two levels is that of sessions of two builds (`sessions`): every level is one build, and all of
them together tell how sessions scatter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from taskgrain.estimate.change_points import Bounds, change_points
from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.sessions import Scatter, ratio_of_sessions, scatter
from taskgrain.words.interval import Interval

_FAR = 5.0
"""Standard deviations from its level, estimated robustly, that make a session an outlying one."""
_LEAST = 4
"""Sessions of a level of which one can be outlying."""


@dataclass(frozen=True)
class Segment:
    """Sessions between two changes."""

    start: int
    stop: int
    """The first session behind it."""
    counted: tuple[int, ...]
    """The sessions whose mean it is; none where most of them have bounds only."""


@dataclass(frozen=True)
class ChangePoint:
    """A change between two levels."""

    at: int
    """The first session of the later level."""
    ratio: Ratio
    """The later level over the earlier one."""


@dataclass(frozen=True)
class Segmentation:
    """A series as a whole."""

    segments: tuple[Segment, ...]
    changes: tuple[ChangePoint, ...]
    outlying: frozenset[int]
    """Sessions far from their level; they do not count in it."""
    between: Scatter | None
    """The scatter of sessions of one level; None where too few tell it."""
    newest: tuple[Ratio, ...]
    """The last level over each one before it."""


def segmentation(logs: Sequence[Interval], alarm: float, confidence: float) -> Segmentation:
    """The segments of a series from the logarithms that its sessions have, in their order.

    One without a value says only between which bounds it lies. `alarm` is the probability that a series
    without a change has one, `confidence` that of each ratio. A change whose ratio does not clear 1 is none.
    """
    places = list(change_points([_span(one) for one in logs], alarm))
    while True:
        found = _divided(logs, places, confidence)
        weak = [one for one in found.changes if not one.ratio.decided]
        if not weak:
            return found
        places.remove(min(weak, key=lambda one: abs(math.log(one.ratio.value or 1.0))).at)


def _span(one: Interval) -> Bounds:
    if one.value is not None:
        return one.value, one.value
    return -math.inf if one.low is None else one.low, math.inf if one.high is None else one.high


def _divided(logs: Sequence[Interval], places: Sequence[int], confidence: float) -> Segmentation:
    ends = [0, *places, len(logs)] if logs else []
    parts = [range(low, high) for low, high in pairwise(ends)]
    numbers = {i: one for i, one in enumerate(logs) if one.value is not None}
    outlying = _outlying(numbers, parts)
    segments = tuple(_segment(numbers, part, outlying) for part in parts)
    levels = [[numbers[i] for i in one.counted] for one in segments]
    between = scatter(levels)

    def ratio(later: int, earlier: int) -> Ratio:
        if levels[earlier] and levels[later] and between is not None:
            return ratio_of_sessions(levels[later], levels[earlier], between, confidence)
        return _bounds(*([_span(logs[i]) for i in parts[one]] for one in (later, earlier)))

    last = len(parts) - 1
    changes = tuple(ChangePoint(parts[k + 1].start, ratio(k + 1, k)) for k in range(last))
    return Segmentation(segments, changes, outlying, between, tuple(ratio(last, k) for k in range(last)))


def _outlying(numbers: Mapping[int, Interval], parts: Sequence[range]) -> frozenset[int]:
    off: dict[int, float] = {}
    for part in parts:
        level = {i: numbers[i].number for i in part if i in numbers}
        if len(level) >= _LEAST:
            middle = median(level.values())
            off |= {i: abs(value - middle) for i, value in level.items()}
    far = _FAR * TO_SIGMA * median(off.values()) if off else 0.0
    return frozenset(i for i, distance in off.items() if distance > far > 0.0)


def _segment(numbers: Mapping[int, Interval], part: range, outlying: frozenset[int]) -> Segment:
    level = [i for i in part if i in numbers]
    if 2 * len(level) < len(part):
        return Segment(part.start, part.stop, ())
    counted = [i for i in level if i not in outlying]
    # A session without an interval would say that nothing is known of any.
    known = [i for i in counted if numbers[i].known]
    return Segment(part.start, part.stop, tuple(known or counted))


def _bounds(later: Sequence[Bounds], earlier: Sequence[Bounds]) -> Ratio:
    """The ratio of levels of which one has bounds only: from the nearest ends of their sessions."""
    low = min(low for low, _ in later) - max(high for _, high in earlier)
    high = max(high for _, high in later) - min(low for low, _ in earlier)
    least, most = (math.exp(end) if math.isfinite(end) else None for end in (low, high))
    return Ratio(None, least, most, min(len(later), len(earlier)))
