"""The efficiency at one task time, read off a measured curve: pure functions.

Between two points of the curve 1 / efficiency is linear in 1 / work, as in `crossing`. What the curve really
does there is not known, so that a quarter of the way from one to the other is added to either side, as there.
Beyond the points nothing is foretold. That efficiency does not fall as tasks grow gives a bound on one side,
and no value. A size of which one run is known has a value and no bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from taskgrain.estimate.crossing import UNKNOWN
from taskgrain.estimate.monotone import Floats, around, monotone, place_of
from taskgrain.words.interval import Interval

How = Literal["measured", "between", "above", "below", "unknown"]
"""The point is measured at this time; between two that were; above the largest, or below the smallest."""
Verdict = Literal["yes", "no", "unknown", "never"]
"""Tells whether a level is reached; `never` if the graph allows it for no length of its tasks."""
Efficiencies = Mapping[float, Interval]
"""The efficiency of each size of task that was measured, with the bounds that are known, by the time of the
work of such a task alone, in seconds."""
_LEAST_WIDTH = 1e-3
"""The least width of the logarithm of an interval that counts: some are of few numbers that are alike."""
_NEAR, _NEAR_ALONE = 1.15, 1.5
"""The factor to a task time within which a point was measured at that time; the second for a lone one."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The efficiency at a task time, and how it is known."""

    how: How
    found: Interval = Interval()
    at: tuple[float, ...] = ()
    """The work of the points that it rests on, in seconds."""
    most: float = 1.0
    """The most that the shape of the graph allows."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of efficiency: the verdict on a task time, and how long a task must be for it."""

    level: float
    verdict: Verdict
    needed: Interval
    """Work of the shortest task that reaches it, in seconds."""
    margin: Interval
    """The task time divided by that: above 1 it is longer than needed."""


def efficiency_at(curve: Efficiencies, work: float, most: float = 1.0) -> Efficiency:
    """The efficiency of tasks whose work takes so many seconds alone; the graph allows `most`."""
    if not curve:
        return Efficiency("unknown", most=most)
    far = _NEAR if len(curve) > 1 else _NEAR_ALONE
    near = [one for one in curve if max(one / work, work / one) <= far]
    if near:  # it was measured itself: other sizes, which may have one run each, make it no surer
        at = min(near, key=lambda one: (not curve[one].known, abs(math.log(one / work))))
        return Efficiency("measured", _moved(curve[at], work / at, most).up_to(most), (at,), most)
    curve = _surest(curve)
    smaller, larger = [one for one in curve if one < work], [one for one in curve if one > work]
    lows = [one.low for one in curve.values() if one.low is not None]
    highs = [one.high for one in curve.values() if one.high is not None]
    if smaller and larger:
        beside = max(smaller), min(larger)
        return Efficiency("between", _between(curve, *beside, work).up_to(most), beside, most)
    if smaller:
        return Efficiency("above", Interval(low=max(lows, default=None)).up_to(most), (max(curve),), most)
    return Efficiency("below", Interval(high=min(highs, default=None)).up_to(most), (min(curve),), most)


def _surest(curve: Efficiencies) -> Efficiencies:
    """The points with both bounds if there are several, else all."""
    known = {work: one for work, one in curve.items() if one.known}
    return known if len(known) > 1 else curve


def _moved(there: Interval, longer: float, most: float) -> Interval:
    """The efficiency of tasks a little longer or shorter, if the overhead is the same, which is what `most`
    does not tell; it may be twice as far off."""
    value = min(there.number, most)
    shift = 1.0 / (1.0 / most + (1.0 / value - 1.0 / most) / longer) / value
    low = there.low and shift * there.low * min(1.0, shift)
    high = there.high and shift * there.high * max(1.0, shift)
    return Interval(shift * there.number, low, high)


def _between(curve: Efficiencies, small: float, large: float, work: float) -> Interval:
    """The efficiency between two points; the nearer to one of them, the surer."""
    share = (1.0 / work - 1.0 / large) / (1.0 / small - 1.0 / large)
    way = math.log(work / small) / math.log(large / small)
    one, other = curve[small], curve[large]

    def through(a: float | None, b: float | None) -> float | None:
        return -math.log(share / a + (1.0 - share) / b) if a and b else None

    value = -math.log(share / one.number + (1.0 - share) / other.number)
    least, most = through(one.low, other.low), through(one.high, other.high)
    unsure = UNKNOWN * abs(math.log(other.number / one.number)) * 2.0 * min(way, 1.0 - way)
    low = None if least is None else value - math.hypot(value - least, unsure)
    high = None if most is None else value + math.hypot(most - value, unsure)
    return Interval(value, low, high).exp()


def needed(curve: Efficiencies, level: float) -> Interval:
    """The work of the shortest task that reaches a level of efficiency, as far as the points enclose it.

    Where all points reach it, there is only an upper bound, and where none does, only a lower one. While one
    of them has no interval, there is no bound. A point whose whole interval lies below that of a smaller task
    sets no lower bound: something slowed its runs, as longer tasks are no less efficient.
    """
    if not curve:
        return Interval()
    curve = _surest(curve)
    works = np.array(sorted(curve))
    points = [curve[one] for one in works]
    widths = [max(math.log(one.factor), _LEAST_WIDTH) for one in points if one.known]
    weights = np.power(widths, -2.0) if len(widths) == len(points) else 1.0

    def crossing(row: Sequence[float]) -> float:
        """0 where it always reaches the level, infinity where it never does."""
        return math.exp(place_of(math.log(level), np.log(works), monotone(np.log(np.array(row)), weights)))

    middle = crossing([one.number for one in points])
    lows, highs = ([end for one in points if (end := getattr(one, side))] for side in ("low", "high"))
    if len(lows) + len(highs) < 2 * len(points):
        return Interval(middle) if 0.0 < middle < math.inf else Interval()
    surely = np.maximum.accumulate(lows)
    highs = [high if high >= low else 1.0 for high, low in zip(highs, surely, strict=True)]
    late, early = crossing(lows), crossing(highs)
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
    return float((works[right] / works[left]) ** UNKNOWN)


def _agreeing(least: Interval, work: float, verdict: Verdict) -> Interval:
    """The work that is needed, so that it does not contradict the verdict on the task time."""
    value, (low, high) = least.value, least.ends
    if verdict == "yes":
        low, high = low if low <= work else 0.0, min(high, work)
    elif verdict == "no":
        low, high = max(low, work), high if high > work else math.inf
    else:  # the sizes around it may decide what the noisy runs at this time do not: then nothing is decided
        low, high = low if low < work else 0.0, high if high > work else math.inf
    inside = value is not None and low <= value <= high
    return Interval(value if inside else None, low or None, high if high < math.inf else None)


def verdict_of(found: Interval, level: float, most: float = 1.0) -> Verdict:
    """The verdict on whether an efficiency that is known so well reaches a level; the graph allows `most`."""
    if level >= most:
        return "never"
    if found.low is not None and found.low >= level:
        return "yes"
    return "no" if found.high is not None and found.high < level else "unknown"


def level_of(
    curve: Efficiencies, work: float, level: float, known: Interval | None = None, most: float = 1.0
) -> Level:
    """A level and tasks of so much work; `known` is the work that it needs, if a search told."""
    found = efficiency_at(curve, work, most).found
    verdict = verdict_of(found, level, most)
    if verdict == "never":
        return Level(level, verdict, Interval(), Interval())
    least = _agreeing(known or needed(curve, level), work, verdict)
    if least.value and found.value and (least.value <= work) != (found.value >= level):
        # The sizes around it say the contrary of the runs at this time, and neither surely.
        least = replace(least, value=None)
    return Level(level, verdict, least, least.inverse(work))


def in_order(levels: Sequence[Level]) -> tuple[Level, ...]:
    """The levels, ascending, without numbers by which a higher one needs less work than a lower one."""
    least, found = 0.0, []
    for one in levels:
        if one.needed.value is not None and one.needed.value < least:
            one = replace(one, needed=replace(one.needed, value=None), margin=replace(one.margin, value=None))
        least = max(least, one.needed.value or 0.0)
        found.append(one)
    return tuple(found)
