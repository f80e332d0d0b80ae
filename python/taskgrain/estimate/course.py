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

from taskgrain.estimate.changes import NORMAL, Span, change_points
from taskgrain.estimate.drawn import Alone
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.sessions import Scatter, ratio_of_sessions, scatter

_FAR = 5.0
"""Standard deviations from its level, estimated robustly, that make a session an outlying one."""
_LEAST = 4
"""Sessions of a level of which one can be outlying."""


@dataclass(frozen=True)
class Seen:
    """What one session says: a logarithm, or bounds of it."""

    low: float
    high: float
    error: float = math.inf
    """Standard deviation by the session's own rounds; infinite if not known."""

    @classmethod
    def of(cls, number: Alone) -> Seen:
        return cls(number.value, number.value, number.error)

    @property
    def span(self) -> Span:
        return self.low, self.high

    @property
    def exact(self) -> bool:
        """Whether it is a number."""
        return self.low == self.high


@dataclass(frozen=True)
class Level:
    """Sessions between two changes."""

    start: int
    stop: int
    """The first session behind it."""
    counted: tuple[int, ...]
    """The sessions whose mean it is; none where most of them have bounds only."""


@dataclass(frozen=True)
class Change:
    """Between two levels."""

    at: int
    """The first session of the later level."""
    ratio: Ratio
    """The later level over the earlier one."""


@dataclass(frozen=True)
class Course:
    """A series as a whole."""

    levels: tuple[Level, ...]
    changes: tuple[Change, ...]
    outlying: frozenset[int]
    """Sessions far from their level; they do not count in it."""
    between: Scatter | None
    """How sessions of one level scatter; None where too few tell it."""


def course(seen: Sequence[Seen], alarm: float, confidence: float) -> Course:
    """The course of a series, in the order of its sessions.

    `alarm` is the probability that a series without a change has one, `confidence` that of each ratio. A
    change whose ratio does not clear 1 is none.
    """
    places = list(change_points([one.span for one in seen], alarm))
    while True:
        found = _course(seen, places, confidence)
        weak = [one for one in found.changes if not one.ratio.decided]
        if not weak:
            return found
        places.remove(min(weak, key=_size).at)


def _size(change: Change) -> float:
    return abs(math.log(change.ratio.value)) if change.ratio.value else 0.0


def _course(seen: Sequence[Seen], places: Sequence[int], confidence: float) -> Course:
    ends = [0, *places, len(seen)] if seen else []
    parts = [range(low, high) for low, high in pairwise(ends)]
    outlying = _outlying(seen, parts)
    levels = tuple(_level(seen, part, outlying) for part in parts)
    logs = [[Alone(seen[i].low, seen[i].error) for i in level.counted] for level in levels]
    between = scatter(logs)
    changes = []
    for (before, after), (under, over) in zip(pairwise(levels), pairwise(logs), strict=True):
        if under and over and between is not None:
            ratio = ratio_of_sessions(over, under, between, confidence)
        else:
            ratio = _bounds(seen[after.start : after.stop], seen[before.start : before.stop])
        changes.append(Change(after.start, ratio))
    return Course(levels, tuple(changes), outlying, between)


def _numbers(seen: Sequence[Seen], part: range) -> list[int]:
    return [i for i in part if seen[i].exact]


def _outlying(seen: Sequence[Seen], parts: Sequence[range]) -> frozenset[int]:
    off: dict[int, float] = {}
    for part in parts:
        numbers = _numbers(seen, part)
        if len(numbers) >= _LEAST:
            middle = median(seen[i].low for i in numbers)
            off |= {i: abs(seen[i].low - middle) for i in numbers}
    far = _FAR * NORMAL * median(off.values()) if off else 0.0
    return frozenset(i for i, distance in off.items() if distance > far > 0.0)


def _level(seen: Sequence[Seen], part: range, outlying: frozenset[int]) -> Level:
    numbers = _numbers(seen, part)
    if 2 * len(numbers) < len(part):
        return Level(part.start, part.stop, ())
    counted = [i for i in numbers if i not in outlying]
    # A session without an interval would say that nothing is known of any.
    known = [i for i in counted if math.isfinite(seen[i].error)]
    return Level(part.start, part.stop, tuple(known or counted))


def _bounds(over: Sequence[Seen], under: Sequence[Seen]) -> Ratio:
    """The ratio of levels of which one has bounds only: from the nearest ends of their sessions."""
    low = min(one.low for one in over) - max(one.high for one in under)
    high = max(one.high for one in over) - min(one.low for one in under)
    least, most = (math.exp(end) if math.isfinite(end) else None for end in (low, high))
    return Ratio(None, least, most, min(len(over), len(under)))
