"""The shape of a workload's graph: its dependence on the steps, and the best efficiency that it allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from taskgrain.study.workload import Workload, core_run


@dataclass(frozen=True)
class Shape:
    """The shape of a graph as it depends on its steps."""

    ramp: int
    """Steps after which it is steady: points and dependences then repeat after each `period` steps."""
    period: int
    whole: bool
    """True if other steps make another shape."""
    nested: bool
    """A period is a nest of calls, which fork and join."""
    steps: int
    """The steps that a file gives; else 0."""


@dataclass(frozen=True)
class Bound:
    """The efficiency that the shape of all graphs of a run allows to any system."""

    tasks: int
    critical_path: int
    """Tasks of the longest chain."""
    narrowest: int
    """Tasks of the narrowest step."""
    widest: int
    narrow_steps: int
    """Steps that have fewer tasks than there are cores."""
    time: float
    """The least that it takes on these cores, in tasks of the mean length."""


@lru_cache(maxsize=64)  # a file of a large graph takes a second
def shape_of(workload: Workload) -> Shape:
    """Raises `InvalidSpec` or `Unsupported` for graphs that the core refuses."""
    run = core_run(workload.request(0, 1))
    return Shape(**run.shape(), steps=run.steps() if workload["dag"] else 0)


def bound_of(workload: Workload, steps: int, cores: int) -> Bound:
    """The bound of a run of so many steps on so many cores. Raises as `shape_of` does."""
    return Bound(**core_run(workload.request(0, steps)).bound(cores))


def best_efficiency(workload: Workload, steps: int, cores: int, *, longer: bool) -> float:
    """The most that the efficiency can be on so many cores, in a run of so many steps, which are whole
    periods, or with `longer` in one of more periods. Raises as `shape_of` does."""
    few = bound_of(workload, steps, cores)
    best = few.tasks / (cores * few.time)
    if longer:
        many = bound_of(workload, 2 * steps, cores)
        if many.critical_path == few.critical_path:  # steps do not wait for each other: enough fill all cores
            return 1.0
        best = max(best, (many.tasks - few.tasks) / (cores * (many.time - few.time)))
    # The tasks of the longest chain may be short ones.
    shortest = 1.0 - 0.5 * float(workload["imbalance"])
    return best / shortest if best < shortest else 1.0
