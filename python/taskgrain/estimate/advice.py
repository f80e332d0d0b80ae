"""The efficiency at one task time, read off a measured curve: pure functions.

A point of the curve is a size of task: what its work takes alone, and the efficiency with its interval.
Between two points 1 / efficiency is linear in 1 / work, as in `line`. What the curve really does there is not
known, so that a quarter of the way from one to the other is added to either side, as in `crossing`. Beyond
the points nothing is foretold. That efficiency does not fall as tasks grow gives a bound on one side, and no
value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from taskgrain.estimate.monotone import Floats, around, monotone, place_of
from taskgrain.words.interval import Interval

How = Literal["measured", "between", "above", "below", "unknown"]
"""Measured at this time; between two that were; above the largest, or below the smallest, of them."""
Verdict = Literal["yes", "no", "unknown"]
_NEAR = 1.15
"""Within this factor of a task time, a point was measured at that time."""
_UNKNOWN = 0.25
"""Between two points, all is unsure by this share of their distance."""


@dataclass(frozen=True, slots=True)
class EfficiencyPoint:
    """One size of task that was measured; only what has both bounds of an interval is one."""

    work: float
    """The time of the work of a task alone, in seconds."""
    efficiency: Interval

    @property
    def known(self) -> tuple[float, float, float]:
        """The efficiency and its bounds."""
        found = self.efficiency
        assert found.value is not None and found.low is not None and found.high is not None
        return found.value, found.low, found.high


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The efficiency at a task time, and how it is known."""

    how: How
    found: Interval = Interval()
    at: tuple[float, ...] = ()
    """The work of the points that it rests on, in seconds."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of efficiency: the verdict on a task time, and how long a task must be for it."""

    level: float
    verdict: Verdict
    needed: Interval
    """Work of the shortest task that reaches it, in seconds."""
    margin: Interval
    """The task time divided by that: above 1 it is longer than needed."""


def efficiency_at(points: Sequence[EfficiencyPoint], work: float) -> Efficiency:
    """The efficiency of tasks whose work takes so many seconds alone."""
    found = _efficiency_at(points, work)
    return replace(found, found=found.found.up_to(1.0))


def _efficiency_at(points: Sequence[EfficiencyPoint], work: float) -> Efficiency:
    curve = sorted(points, key=lambda one: one.work)
    if not curve:
        return Efficiency("unknown")
    nearest = min(curve, key=lambda one: abs(math.log(one.work / work)))
    near = max(nearest.work / work, work / nearest.work) <= _NEAR
    if not curve[0].work <= work <= curve[-1].work:
        if near:
            return Efficiency("measured", _moved(nearest, work), (nearest.work,))
        if work > curve[-1].work:
            return Efficiency("above", Interval(low=max(one.known[1] for one in curve)), (curve[-1].work,))
        return Efficiency("below", Interval(high=min(one.known[2] for one in curve)), (curve[0].work,))
    small, large = next(
        ((a, b) for a, b in pairwise(curve) if a.work <= work <= b.work), (curve[0], curve[0])
    )
    found = _between(small, large, work)
    if near:
        return Efficiency("measured", found, (nearest.work,))
    return Efficiency("between", found, (small.work, large.work))


def _moved(point: EfficiencyPoint, work: float) -> Interval:
    """The efficiency a little beside a point, if the overhead is the same; it may be twice as far off."""
    there, low, high = point.known
    value = 1.0 / (1.0 + max(1.0 / there - 1.0, 0.0) * point.work / work)
    shift = value / there
    return Interval(value, value * low / there * min(1.0, shift), value * high / there * max(1.0, shift))


def _between(small: EfficiencyPoint, large: EfficiencyPoint, work: float) -> Interval:
    """The efficiency between two points; the nearer to one of them, the surer."""
    if small.work == large.work:
        return small.efficiency
    share = (1.0 / work - 1.0 / large.work) / (1.0 / small.work - 1.0 / large.work)
    way = math.log(work / small.work) / math.log(large.work / small.work)

    def at(one: float, other: float) -> float:
        return -math.log(share / one + (1.0 - share) / other)

    value, least, most = map(at, small.known, large.known)
    unsure = _UNKNOWN * abs(math.log(large.known[0] / small.known[0])) * 2.0 * min(way, 1.0 - way)
    low, high = value - math.hypot(value - least, unsure), value + math.hypot(most - value, unsure)
    return Interval(value, low, high).exp()


def needed(points: Sequence[EfficiencyPoint], level: float) -> Interval:
    """The work of the shortest task that reaches a level of efficiency, as far as the points enclose it.

    Where all points reach it, there is only an upper bound, and where none does, only a lower one.
    """
    curve = sorted(points, key=lambda one: one.work)
    if not curve:
        return Interval()
    works = np.array([one.work for one in curve])
    # Where it always reaches the level, 0; where it never does, infinity.
    middle, late, early = (
        math.exp(place_of(math.log(level), np.log(works), monotone(np.log(row))))
        for row in np.array([one.known for one in curve]).T
    )
    first, last = float(works[0]), float(works[-1])
    if not 0.0 < middle < math.inf:
        low = None if early == 0.0 else min(early / _unsure(works, early), last)
        high = None if late == math.inf else max(late * _unsure(works, late), first)
        return Interval(None, low, high)
    unsure = math.log(_unsure(works, middle))
    low = middle * math.exp(-math.hypot(math.log(middle / early), unsure)) if early > 0.0 else None
    high = middle * math.exp(math.hypot(math.log(late / middle), unsure)) if late < math.inf else None
    return Interval(middle, low, high)


def _unsure(works: Floats, at: float) -> float:
    """The factor by which a crossing may lie elsewhere, by how far apart the sizes around it are."""
    if not 0.0 < at < math.inf:
        return 1.0
    left, right = around(works, at)
    return float((works[right] / works[left]) ** _UNKNOWN)


def _agreeing(least: Interval, work: float, verdict: Verdict) -> Interval:
    """The work that is needed, so that it does not contradict the verdict on the task time."""
    value, (low, high) = least.value, least.ends
    if verdict == "yes":
        high = min(high, work)
    elif verdict == "no":
        low = max(low, work)
    else:  # the sizes around it may decide what the noisy runs at this time do not: then nothing is decided
        low, high = low if low < work else 0.0, high if high > work else math.inf
    inside = value is not None and low <= value <= high
    return Interval(value if inside else None, low or None, high if high < math.inf else None)


def verdict_of(found: Interval, level: float) -> Verdict:
    """The verdict on whether an efficiency that is known so well reaches a level."""
    if found.low is not None and found.low >= level:
        return "yes"
    return "no" if found.high is not None and found.high < level else "unknown"


def level_of(
    points: Sequence[EfficiencyPoint], work: float, level: float, known: Interval | None = None
) -> Level:
    """A level and tasks of so much work; `known` is the work that it needs, if a search told."""
    verdict = verdict_of(efficiency_at(points, work).found, level)
    least = _agreeing(known or needed(points, level), work, verdict)
    return Level(level, verdict, least, least.inverse(work))
