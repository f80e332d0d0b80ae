"""The runs of a cell: the samples behind its curve, and the curve itself where no `metg` line holds one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from taskgrain.estimate.reference import reference_table
from taskgrain.report.cells import Point


@dataclass(frozen=True)
class Run:
    """One answer of a driver; granularities in seconds, one a repeat."""

    phase: str
    iterations: float
    granularities: tuple[float, ...]
    work: float
    """Of one task, in the kernel's unit."""
    disturbed: bool
    """Whether others on the cores disturbed it after all repeats."""


def samples(runs: Iterable[Run], iterations: float, disturbed: bool = False) -> tuple[float, ...]:
    """The granularity of every repeat at a size, of the runs that were disturbed or of the others."""
    chosen = (run for run in runs if run.iterations == iterations and run.disturbed == disturbed)
    return tuple(one for run in chosen for one in run.granularities)


def counting(runs: Iterable[Run]) -> list[Run]:
    """Those that a curve rests on; the short runs that look for the crossing only if there are no others."""
    tasks = [run for run in runs if run.iterations > 0 and run.work > 0]
    return [run for run in tasks if run.phase not in ("bracket", "start")] or tasks


def peak(rates: Iterable[Sequence[float]], cores: int | None) -> float | None:
    """The reference of a session in work per second and core, of the cores that the system uses."""
    table = [row[:cores] for row in rates if cores is not None and len(row) >= cores > 0]
    try:
        return float(np.median(reference_table(table), axis=0).mean())
    except ValueError:
        return None


def curve(runs: Sequence[Run], peak: float | None) -> tuple[Point, ...]:
    """The medians at each size, for a cell whose measurement was cut off: no intervals are known."""
    work = {run.iterations: run.work for run in runs}
    points = []
    for iterations in sorted(work) if peak else ():
        quiet, disturbed = samples(runs, iterations), samples(runs, iterations, disturbed=True)
        granularity = median(quiet or disturbed)
        efficiency = work[iterations] / (granularity * (peak or 1.0))
        known = (granularity, None, None, efficiency, None, None)
        points.append(
            Point(iterations, *known, repeats=len(quiet + disturbed), samples=quiet, disturbed=disturbed)
        )
    return tuple(points)
