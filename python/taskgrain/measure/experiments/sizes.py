"""Which sizes of task to measure."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Sizes of the measure phase as multiples of the crossing, which lies between two of them so that both inform
# it. For a constant overhead and the threshold 0.5 they stand at efficiencies of 0.2 to 0.9.
DENSE = tuple(2.0**k for k in (-1.25, -0.75, -0.25, 0.25, 0.75))
_LEAST_SIZES = 5


@dataclass(frozen=True)
class Point:
    """What the bracket knows of one size: medians over the repeats."""

    iterations: int
    efficiency: float
    granularity: float  # of the quickest repeat, which no interrupt has lengthened
    tasks_per_step: float
    cores: int


def grid(crossing: float, threshold: float, largest: int) -> tuple[int, ...]:
    """Sizes of a measure phase for a crossing at so many iterations: ascending, distinct, at most `largest`.

    Dense around the crossing; coarse to the efficiencies 0.2 and 0.9 that a constant overhead would give, so
    that the curve can be drawn and a second crossing seen. Small integers collide: at least five are kept
    where there are five.
    """
    overhead = crossing * (1.0 - threshold) / threshold  # in iterations
    top = max(9.0 * overhead, 4.0 * crossing)
    coarse = (min(overhead, crossing) / 4.0, math.sqrt(top * crossing * DENSE[-1]), top)
    sizes = {min(max(1, round(n)), largest) for n in (*coarse, *(crossing * f for f in DENSE))}
    spare = [n for n in range(1, min(largest, 2 * _LEAST_SIZES) + 1) if n not in sizes]
    return tuple(sorted(sizes | set(spare[: max(0, _LEAST_SIZES - len(sizes))])))


def crossing_of(iterations: float, efficiency: float, threshold: float) -> float:
    """Where the threshold is reached, in iterations, if the overhead of this size is that of all sizes."""
    return iterations * max(1.0 / efficiency - 1.0, 0.0) * threshold / (1.0 - threshold)


def crossing_between(low: Point, high: Point, threshold: float) -> float:
    """Where the threshold is reached between two sizes, 1/efficiency being linear in 1/iterations."""
    share = (1.0 / threshold - 1.0 / high.efficiency) / (1.0 / low.efficiency - 1.0 / high.efficiency)
    return 1.0 / ((1.0 - share) / high.iterations + share / low.iterations)
