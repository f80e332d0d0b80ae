"""The steps of runs, so that all runs of a workload measure one graph.

Runs differ in whole periods of the pattern alone, and are so long that its ramp, the steps before its shape
is steady, is a small part of them. Where the shape depends on the steps (`dom`), or where so many do not fit,
every run has the same steps. All of this is decided by the workload, before any system has run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from taskgrain._core import InvalidSpec, Unsupported
from taskgrain.study.shape import Shape, best_efficiency, shape_of
from taskgrain.study.workload import Workload
from taskgrain.words.errors import InputError
from taskgrain.words.warnings import Notice, notice

RAMPS = 50
"""The fewest steps of a run, in ramps: two runs then agree within 2 %."""
_LEAST_SHORT = 4
"""Steps of a run that tells start and end. It needs ramps only for what is narrow: that its first step
depends on nothing is a part of the start."""
_LEAST_RAMPS = 2
"""The fewest ramps of a run; one with fewer would be a graph of ramps."""
WHOLE, WHOLE_RAMPS = 1000, 8
"""The steps of a graph whose shape depends on them: as in Task Bench, and at least so many ramps."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps that runs may have."""

    steps: int | None = None  # of every run, if the user or the graph says so
    min_steps: int = 50  # a multiple of the period
    least_short: int = 4  # steps of a run that tells start and end, a multiple of the period, too
    period: int = 1  # of the graph
    max_steps: int = 1_000_000
    max_tasks: int = 2**26  # of one run
    notices: tuple[Notice, ...] = ()  # what is to be said of the steps

    @property
    def least(self) -> int:
        """The steps of the shortest run."""
        return self.steps or self.min_steps


S = TypeVar("S", bound=Steps)


def with_steps(settings: S, workload: Workload) -> S:
    """The settings with the steps that runs of the workload may have. Those that the user gives stay.

    Raises `InvalidSpec` or `Unsupported` for graphs that the core refuses, and `InputError` for widths of
    which no run holds the shape.
    """
    if settings.steps:
        return settings
    shape = shape_of(workload)
    # A step has as many tasks as the width at most, except in a file, which is one graph anyway.
    most = max(1, min(settings.max_steps, settings.max_tasks // workload.tasks(1)))
    if shape.nested:
        most = _of_whole_calls(settings, workload, shape)
    if shape.whole:
        return _fixed(settings, workload, shape.steps or max(WHOLE, WHOLE_RAMPS * shape.ramp), most, shape)
    least, short = (
        -(-one // shape.period) * shape.period
        for one in (RAMPS * shape.ramp, max(_LEAST_SHORT, RAMPS * (shape.ramp - 1)))
    )
    if least > most:
        return _fixed(settings, workload, least, most // shape.period * shape.period or most, shape)
    return replace(settings, min_steps=least, least_short=short, period=shape.period)


def _of_whole_calls(settings: Steps, workload: Workload, shape: Shape) -> int:
    """The most steps, with at least a period: fewer would be forks that nobody joins."""
    tasks = workload.exact_tasks(shape.period) or workload.tasks(shape.period)
    most = min(settings.max_tasks // tasks, settings.max_steps // shape.period) * shape.period
    if most == 0:
        fits = f"one whose calls, from the root and back, are at most {settings.max_tasks} tasks"
        raise InputError("width", str(workload["width"]), f"{fits}; or give the steps, too")
    return most


@lru_cache(maxsize=64)
def most_efficiency(workload: Workload, cores: int, steps: int | None = None) -> float:
    """The most that the efficiency can be on so many cores, whatever the system and the size of tasks.

    It is 1 for a graph that cannot be made here, such as one whose file is elsewhere.
    """
    try:
        asked = with_steps(Steps(steps=steps), workload)
        return best_efficiency(workload, asked.least, cores, longer=asked.steps is None)
    except (InputError, InvalidSpec, Unsupported):
        return 1.0


def _fixed(settings: S, workload: Workload, wished: int, most: int, shape: Shape) -> S:
    """Every run has the wished steps, or as many as may be. Raises `InputError` where these hold little but
    the ramp: that would be another graph than the one that was asked for."""
    steps = wished if shape.steps else min(wished, most)
    if shape.ramp > 1 and not shape.steps and steps < _LEAST_RAMPS * shape.ramp:
        fits = (
            f"one whose runs, of at most {steps} steps, have {_LEAST_RAMPS} ramps, here of {shape.ramp} steps"
        )
        raise InputError("width", str(workload["width"]), f"{fits}; or give the steps, too")
    said = notice("steps_fixed", steps=steps)
    if steps < wished:
        said = notice("steps_cut", steps=steps, wished=wished)
    return replace(settings, steps=steps, notices=(said,))
