"""Which sizes of task to measure."""

from __future__ import annotations

from dataclasses import dataclass

INNER = (0.35, 0.6, 0.84, 1.19, 1.7, 3.0)
"""Sizes of every round as multiples of the crossing, which lies between two of them so that both inform it.
For a constant overhead and the threshold 0.5 they stand at efficiencies of 0.26 to 0.75."""
_LEAST_SIZES = 5


@dataclass(frozen=True)
class Point:
    """What the bracket knows of one size: medians over the repeats."""

    iterations: int
    efficiency: float
    granularity: float  # of the quickest repeat, which no interrupt has lengthened
    tasks_per_step: float
    cores: int


def inner(crossing: float, largest: int) -> tuple[int, ...]:
    """The sizes of every round, for a crossing at so many iterations: ascending, distinct, at most `largest`.

    Small integers collide: five are kept where there are five.
    """
    sizes = {min(max(1, round(crossing * f)), largest) for f in INNER}
    spare = [n for n in range(1, min(largest, 2 * _LEAST_SIZES) + 1) if n not in sizes]
    return tuple(sorted(sizes | set(spare[: max(0, _LEAST_SIZES - len(sizes))])))


def outer(crossing: float, threshold: float, largest: int) -> tuple[int, ...]:
    """Sizes measured now and then, at the efficiencies 0.2 and 0.9 that a constant overhead would give.

    The curve can then be drawn, and a second crossing is seen.
    """
    overhead = crossing * (1.0 - threshold) / threshold  # in iterations
    top = max(9.0 * overhead, 4.0 * crossing)
    coarse = (min(overhead, crossing) / 4.0, top)
    return tuple(sorted({min(max(1, round(n)), largest) for n in coarse}))


def crossing_of(iterations: float, efficiency: float, threshold: float) -> float:
    """Where the threshold is reached, in iterations, if the overhead of this size is that of all sizes."""
    return iterations * max(1.0 / efficiency - 1.0, 0.0) * threshold / (1.0 - threshold)


def crossing_between(low: Point, high: Point, threshold: float) -> float:
    """Where the threshold is reached between two sizes, 1/efficiency being linear in 1/iterations."""
    share = (1.0 / threshold - 1.0 / high.efficiency) / (1.0 / low.efficiency - 1.0 / high.efficiency)
    return 1.0 / ((1.0 - share) / high.iterations + share / low.iterations)
