"""Chooses the sizes of task to measure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

_BELOW, _ABOVE = 3, 3
"""Sizes of every round below the crossing and above it."""
_LEAST_SIZES = 5


@dataclass(frozen=True)
class KnownSize:
    """One size as the bracket measured it: medians over the repeats."""

    iterations: int
    efficiency: float
    granularity: float  # of the quickest repeat, which no interrupt has lengthened
    tasks_per_step: float
    cores: int


def grid_size(place: int) -> int:
    """The sizes 1, 2, 3, 4, 6, 8, 11, 16, 23, 32 and so on, a factor of the square root of two apart.

    All searches take their sizes from one grid. A curve has small steps, where the processor predicts a loop
    of so many iterations or not; searches at different sizes would read different METGs off it.
    """
    return round(2.0 ** ((place + 1) / 2.0)) if place else 1


def place_below(iterations: float) -> int:
    """The place on the grid of the largest size that is not above so many iterations, at least 0."""
    return next(place for place in count() if grid_size(place + 1) > iterations)


def inner(crossing: float, largest: int) -> tuple[int, ...]:
    """The sizes of every round, for a crossing at so many iterations: ascending, distinct, at most `largest`.

    Three of the grid on either side, or more above where there are none below. For a constant overhead and
    the threshold 0.5 they lie at efficiencies from about 0.3 to about 0.7.
    """
    first = max(0, place_below(crossing) - _BELOW + 1)
    sizes = {min(grid_size(k), largest) for k in range(first, first + _BELOW + _ABOVE)}
    spare = [n for n in range(1, min(largest, 2 * _LEAST_SIZES) + 1) if n not in sizes]
    return tuple(sorted(sizes | set(spare[: max(0, _LEAST_SIZES - len(sizes))])))


def outer(crossing: float, threshold: float, largest: int) -> tuple[int, ...]:
    """Sizes measured now and then, about at the efficiencies 0.2 and 0.9 that a constant overhead would give.

    The curve can then be drawn, and a second crossing is seen.
    """
    overhead = crossing * (1.0 - threshold) / threshold  # in iterations
    top = max(9.0 * overhead, 4.0 * crossing)
    coarse = (min(overhead, crossing) / 4.0, top)
    return tuple(sorted({min(grid_size(place_below(n * 2.0**0.25)), largest) for n in coarse}))


def crossing_of(iterations: float, efficiency: float, threshold: float) -> float:
    """The iterations that reach the threshold if the overhead of this size is that of all sizes."""
    return iterations * max(1.0 / efficiency - 1.0, 0.0) * threshold / (1.0 - threshold)


def crossing_between(low: KnownSize, high: KnownSize, threshold: float) -> float:
    """The iterations between two sizes that reach the threshold: 1/efficiency is linear in 1/iterations."""
    share = (1.0 / threshold - 1.0 / high.efficiency) / (1.0 / low.efficiency - 1.0 / high.efficiency)
    return 1.0 / ((1.0 - share) / high.iterations + share / low.iterations)
