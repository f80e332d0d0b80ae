"""The levels of a series of sessions, and by how much each change moved them: pure functions.

The ratio of two levels is that of sessions of two builds (`sessions`): every level is one build, and all of
them together tell how sessions scatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from taskgrain.estimate.change_points import Bounds, change_points
from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.quantities import LogEstimate
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.sessions import Scatter, ratio_of_sessions, scatter

_FAR = 5.0
"""Standard deviations from its level, estimated robustly, that make a session an outlying one."""
_LEAST = 4
"""Sessions of a level of which one can be outlying."""


@dataclass(frozen=True)
class Observation:
    """A session's number as a logarithm, or bounds of it."""

    low: float
    high: float
    error: float = math.inf
    """Standard deviation by the session's own rounds; infinite if not known."""

    @classmethod
    def of(cls, number: LogEstimate) -> Observation:
        return cls(number.value, number.value, number.error)

    @property
    def estimate(self) -> LogEstimate:
        """The same, if it is a number."""
        return LogEstimate(self.low, self.error)

    @property
    def span(self) -> Bounds:
        return self.low, self.high

    @property
    def exact(self) -> bool:
        """True for a number."""
        return self.low == self.high


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
    """How sessions of one level scatter; None where too few tell it."""


def segmentation(observations: Sequence[Observation], alarm: float, confidence: float) -> Segmentation:
    """The segments of a series, in the order of its sessions.

    `alarm` is the probability that a series without a change has one, `confidence` that of each ratio. A
    change whose ratio does not clear 1 is none.
    """
    places = list(change_points([one.span for one in observations], alarm))
    while True:
        found = _divided(observations, places, confidence)
        weak = [one for one in found.changes if not one.ratio.decided]
        if not weak:
            return found
        places.remove(min(weak, key=_size).at)


def _size(change: ChangePoint) -> float:
    return abs(math.log(change.ratio.value)) if change.ratio.value else 0.0


def _divided(observations: Sequence[Observation], places: Sequence[int], confidence: float) -> Segmentation:
    ends = [0, *places, len(observations)] if observations else []
    parts = [range(low, high) for low, high in pairwise(ends)]
    outlying = _outlying(observations, parts)
    segments = tuple(_segment(observations, part, outlying) for part in parts)
    logs = [[observations[i].estimate for i in one.counted] for one in segments]
    between = scatter(logs)
    changes = []
    for (before, after), (earlier, later) in zip(pairwise(segments), pairwise(logs), strict=True):
        if earlier and later and between is not None:
            ratio = ratio_of_sessions(later, earlier, between, confidence)
        else:
            ratio = _bounds(observations[after.start : after.stop], observations[before.start : before.stop])
        changes.append(ChangePoint(after.start, ratio))
    return Segmentation(segments, tuple(changes), outlying, between)


def _numbers(observations: Sequence[Observation], part: range) -> list[int]:
    return [i for i in part if observations[i].exact]


def _outlying(observations: Sequence[Observation], parts: Sequence[range]) -> frozenset[int]:
    off: dict[int, float] = {}
    for part in parts:
        numbers = _numbers(observations, part)
        if len(numbers) >= _LEAST:
            middle = median(observations[i].low for i in numbers)
            off |= {i: abs(observations[i].low - middle) for i in numbers}
    far = _FAR * TO_SIGMA * median(off.values()) if off else 0.0
    return frozenset(i for i, distance in off.items() if distance > far > 0.0)


def _segment(observations: Sequence[Observation], part: range, outlying: frozenset[int]) -> Segment:
    numbers = _numbers(observations, part)
    if 2 * len(numbers) < len(part):
        return Segment(part.start, part.stop, ())
    counted = [i for i in numbers if i not in outlying]
    # A session without an interval would say that nothing is known of any.
    known = [i for i in counted if math.isfinite(observations[i].error)]
    return Segment(part.start, part.stop, tuple(known or counted))


def _bounds(later: Sequence[Observation], earlier: Sequence[Observation]) -> Ratio:
    """The ratio of levels of which one has bounds only: from the nearest ends of their sessions."""
    low = min(one.low for one in later) - max(one.high for one in earlier)
    high = max(one.high for one in later) - min(one.low for one in earlier)
    least, most = (math.exp(end) if math.isfinite(end) else None for end in (low, high))
    return Ratio(None, least, most, min(len(later), len(earlier)))
