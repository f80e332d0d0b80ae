"""Strong scaling: sizes of tasks that make the same work of a step on each number of cores."""

from __future__ import annotations

import math

from taskgrain.measure.experiments.sweep import SIZES, Sweep


class Strong(Sweep):
    """The sweep of one cell: iterations of all points of a step together are powers of two."""

    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        tasks = self.settings.points or self._bracket.top.tasks_per_step
        largest = math.ceil(math.log2(self._bracket.top.iterations * tasks))
        sizes = (round(2.0 ** (largest - k) / tasks) for k in range(SIZES))
        return tuple(sorted({size for size in sizes if size}))
