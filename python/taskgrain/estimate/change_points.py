"""The places where a series of sessions changes, and by how much: pure functions.

A series without a change is as likely in any other order. That is the test: the largest contrast among the
parts of the series is compared with those of the same values in random orders (as by E-divisive: Daly et al.,
ICPE 2020). It needs no model of the scatter, and false alarms are as rare as they were asked to be.

Two contrasts share the probability of a false alarm: a split, of all before against all after, finds a
change that stays, from the fewest sessions; a part between two others finds a change that was undone
(circular binary segmentation: Olshen et al., Biostatistics 5, 2004). What is found is searched again, part by
part.

The ratio of two levels is that of sessions of two builds (`sessions`): every level is one build, and all of
them together tell how sessions scatter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.sessions import Scatter, ratio_of_sessions, scatter
from taskgrain.words.interval import Interval

LEAST = 2
"""Sessions of a level: one by itself may be a session that went wrong."""
_CLIP = 3.0
"""Standard deviations from the median, beyond which a value tells no more: one that is far off could else
hide a change, or make one."""
_ORDERS = 20_000
"""Random orders that are enough, unless the probability is so small that they could not show it."""
_WISHED, _FEWEST = 20, 2
"""Random orders with a contrast as large, where it is as likely as it may be: wished, and at least."""
_ROWS = 1000
"""Orders in memory."""
_LONGER = 1.2
"""The factor from one tried length of parts to the next."""
_ROUNDING = 1e-9

Bounds = tuple[float, float]
"""The two numbers between which a value surely lies: both the same for a number, one infinite for a bound."""
Span = tuple[slice, slice]
"""The places where parts begin, and where they end."""


def change_points(values: Sequence[Bounds], alarm: float) -> tuple[int, ...]:
    """The places at which a new level begins, in order.

    `alarm` is the probability that a series without a change has any.
    """
    return tuple(_moved(values, sorted(_searched(values, 0, alarm))))


def enough(alarm: float) -> int:
    """The least number of sessions in which any change at all can be found."""
    count = 2 * LEAST
    while 2.0 / math.comb(count, count // 2) > alarm / 2.0:
        count += 1
    return count


def _searched(values: Sequence[Bounds], offset: int, alarm: float) -> list[int]:
    count = len(values)
    if count < enough(alarm):
        return []
    scores = _scores(values)
    *split, least = _best(scores, _splits(count))
    *part, largest = _best(scores, _parts(count))
    chances = _chances(scores, least, largest, alarm / 2.0)
    if min(chances) > alarm / 2.0:
        return []
    edges = split[1:] if chances[0] <= chances[1] else part
    found = [offset + one for one in edges]
    for low, high in pairwise([0, *edges, count]):
        # The parts share the probability, too.
        found += _searched(values[low:high], offset + low, alarm * (high - low) / count)
    return found


def _moved(values: Sequence[Bounds], places: Sequence[int]) -> list[int]:
    """Each place moved to where the levels beside it differ most: other changes were in the way before."""
    ends = [0, *places, len(values)]
    for number in range(1, len(ends) - 1):
        low, high = ends[number - 1], ends[number + 1]
        ends[number] = low + _best(_scores(values[low:high]), _splits(high - low))[1]
    return ends[1:-1]


def _scores(values: Sequence[Bounds]) -> Floats:
    """The values about their mean. A bound counts as the most extreme number that it allows."""
    low, high = np.array(values).T
    known = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    below = np.where(np.isfinite(low), low, np.minimum(high, known.min()))
    found = np.where(np.isfinite(high), below, np.maximum(low, known.max()))
    middle = np.median(found)
    if reach := _CLIP * TO_SIGMA * float(np.median(np.abs(found - middle))):
        found = np.clip(found, middle - reach, middle + reach)
    return np.asarray(found - found.mean(), dtype=np.float64)


def _sums(scores: Floats) -> Floats:
    """Cumulative ones of orders [orders x (n + 1)], from zero to zero."""
    return np.concatenate([np.zeros((len(scores), 1)), np.cumsum(scores, axis=1)], axis=1)


def _contrasts(sums: Floats, span: Span) -> Floats:
    """The contrasts of parts against the rest of their series [orders x parts]."""
    places = np.arange(sums.shape[1])
    begin, end = span
    length = places[end] - places[begin]
    return np.asarray(np.abs(sums[:, end] - sums[:, begin]) / np.sqrt(length * (places[-1] - length)))


def _splits(count: int) -> list[Span]:
    """All before against all after."""
    return [(slice(0, 1), slice(LEAST, count - LEAST + 1))]


def _parts(count: int) -> list[Span]:
    """Returns the parts between two others, by their lengths."""
    found, length = [], float(LEAST)
    while (whole := round(length)) <= count - 2 * LEAST:
        found.append((slice(LEAST, count - LEAST - whole + 1), slice(LEAST + whole, count - LEAST + 1)))
        length = max(length * _LONGER, whole + 1.0)
    return found


def _best(scores: Floats, spans: Sequence[Span]) -> tuple[int, int, float]:
    """The part with the largest contrast, from where to where, and its contrast."""
    sums, best = _sums(scores[None, :]), (0, 0, 0.0)
    for begin, end in spans:
        found = _contrasts(sums, (begin, end))[0]
        place = int(np.argmax(found))
        if found[place] > best[2] or not best[1]:
            best = min(begin.start + place, begin.stop - 1), end.start + place, float(found[place])
    return best


def _chances(scores: Floats, split: float, part: float, most: float) -> tuple[float, float]:
    """The chances of contrasts as large as the two in any order; above `most`, only that they are above."""
    dice = np.random.default_rng(0)
    orders = max(_ROWS, min(_ORDERS, math.ceil(_WISHED / most)), math.ceil(_FEWEST / most))
    kinds = (_splits(len(scores)), split), (_parts(len(scores)), part)
    larger = np.zeros(2, dtype=int)
    for _ in range(math.ceil(orders / _ROWS)):
        sums = _sums(dice.permuted(np.tile(scores, (_ROWS, 1)), axis=1))
        for kind, (spans, least) in enumerate(kinds):
            largest = np.zeros(_ROWS)
            for span in spans:
                np.maximum(largest, _contrasts(sums, span).max(axis=1), out=largest)
            larger[kind] += (largest >= least - _ROUNDING).sum()
        if min(larger) >= most * (orders + 1):
            return 1.0, 1.0
    chances = (1 + larger) / (1 + math.ceil(orders / _ROWS) * _ROWS)
    return float(chances[0]), float(chances[1])


_FAR = 5.0
"""Standard deviations from its level, estimated robustly, that make a session an outlying one."""
_ENOUGH_TO_LIE_FAR = 4
"""The fewest sessions of a level of which one can be outlying."""


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
        if len(level) >= _ENOUGH_TO_LIE_FAR:
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
