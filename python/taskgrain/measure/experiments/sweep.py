"""The sweep: the whole curve of efficiency, as the Task Bench paper measures it, in powers of two."""

from __future__ import annotations

import math

from taskgrain.measure.experiments.crossing import CrossingSearch

SIZES = 22
"""The most sizes."""


class Sweep(CrossingSearch):
    """Measures sizes from one iteration up to an efficiency near one."""

    PHASE = "sweep"
    # Sizes up to an efficiency of 95 %, at ten to twenty times the granularity at the crossing.
    ROUND_RUNS = 15.6
    ROUND_WORK = 45.0
    WHOLE = True

    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        largest = 2 ** math.ceil(math.log2(self._bracket.top.iterations))
        return tuple(sorted({largest >> k for k in range(SIZES) if largest >> k}))
