"""The sweep: the whole curve of efficiency, as the Task Bench paper measures it, in powers of two.

Weak and strong scaling are sweeps on several numbers of cores, whose sizes can be compared.
"""

from __future__ import annotations

import math

from taskgrain.measure.experiments.crossing import CrossingSearch
from taskgrain.study.settings import KEEPS
from taskgrain.study.study import Study
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError

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


class Scaling(Sweep):
    """A sweep that compares numbers of cores."""

    @classmethod
    def check(cls, study: Study, cores: int) -> None:
        """Raises `UsageError` also for a workload of a study file that does not scale."""
        super().check(study, cores)
        numbers_of: dict[tuple[object, ...], set[int]] = {}  # by what stays the same
        keys: dict[Workload, tuple[tuple[object, ...], tuple[object, ...]]] = {}
        for one in study.named:
            used = one.cores_of_all(cores)
            same = one.fields() | {"nodes": 1, "cores": 0}
            keys[one] = ("step", *same.values()), ("task", *(same | {"width": one.width / used}).values())
            for key in keys[one]:
                numbers_of.setdefault(key, set()).add(used)
        kind = study.settings.experiment
        for one, named in study.named.items():
            kept = [key[0] for key in keys[one] if len(numbers_of[key]) > 1]
            if not kept:
                place = named("cores")
                raise UsageError(
                    f"{place}: {kind} scaling compares numbers of cores; give a list, such as [1, 2], or one "
                    "of nodes"
                )
            if KEEPS[kind] == "task" and "task" not in kept:
                place = named("tasks_per_core")
                raise UsageError(
                    f"{place}: {kind} scaling keeps the tasks of each core; give this, not a width"
                )


class Weak(Scaling):
    """Measures the same sizes of tasks, powers of two, on each number of cores: each core keeps its work."""


class Strong(Scaling):
    """Measures sizes with which a step has the same work, a power of two, on each number of cores."""

    def _first_sizes(self, crossing: float, found: bool) -> tuple[int, ...]:
        tasks = self.settings.points or self._bracket.top.tasks_per_step
        largest = math.ceil(math.log2(self._bracket.top.iterations * tasks))
        sizes = (round(2.0 ** (largest - k) / tasks) for k in range(SIZES))
        return tuple(sorted({size for size in sizes if size}))
