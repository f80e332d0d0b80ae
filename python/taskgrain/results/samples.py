"""The samples of a cell, from the lines of its runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taskgrain.estimate.sample import Sample, quick
from taskgrain.estimate.start import FEWEST_ROUNDS
from taskgrain.machine.busy import left_alone
from taskgrain.results.lines import Attempt, RunLine

SESSION = 10**6
"""The distance of the numbers of rounds, and of processes, of two sessions."""
FEWEST_ALONE = 3
"""The runs of a size left alone that are better than any number of those that others disturbed: with
them it takes part in the fit."""
_SHORT, _LONG, _LOOK, _FLOOR = "start", "longer", "bracket", "floor"
"""Phases that are not rounds of the sizes that METG is read off."""


def of_sizes(runs: Iterable[RunLine]) -> list[RunLine]:
    """The runs of a curve's sizes; those that look for the crossing only if there are no others."""
    found = [one for one in runs if one.iterations and one.phase not in (_SHORT, _LONG)]
    return [one for one in found if one.phase != _LOOK] or found


def undisturbed(line: Attempt) -> list[float]:
    """Returns the times of the repeats that others left alone."""
    return left_alone(line.seconds, line.waited, line.busy or 0.0, line.steal or 0.0, line.throttled or 0.0)


@dataclass(frozen=True)
class Counting:
    """A run, with the repeats that others left alone, or with all."""

    samples: list[Sample]
    disturbed: bool
    """True if they left none alone."""


def counted(runs: Sequence[Counting]) -> list[Sample]:
    """The samples of runs of one size: disturbed runs count only where there are too few others, and then
    with a quick repeat."""
    quiet = [run for run in runs if not run.disturbed]
    used = quiet if len(quiet) >= FEWEST_ALONE else runs
    return [sample for run in used for sample in ([quick(run.samples)] if run.disturbed else run.samples)]


def told(known: Mapping[tuple[bool, int], Sequence[Counting]]) -> list[Sample]:
    """The samples that count of the runs of each size, by whether they are short ones; of these only those of
    the last size with enough rounds, which tell start and end."""
    shorts = {size: counted(some) for (short, size), some in known.items() if short}
    enough = [size for size, some in shorts.items() if len({one.round for one in some}) >= FEWEST_ROUNDS]
    telling = enough[-1] if enough else next(reversed(shorts), None)
    return [
        sample
        for (short, size), some in sorted(known.items())
        if not short or size == telling
        for sample in counted(some)
    ]


def counting(runs: Iterable[tuple[RunLine, int, float]]) -> list[Sample]:
    """The samples that a cell's result rests on, with those of the empty kernel.

    Each run comes with the number of its round, which may tell sessions apart as that of its process does,
    and with the last rate of the reference before it, work per second and core. A run that makes no sense is
    left out.
    """
    known: dict[tuple[bool, int], list[Counting]] = defaultdict(list)
    for line, number, rate in runs:
        run = _run(line, number, rate)
        if run is not None:
            known[run.samples[0].short, run.samples[0].iterations].append(run)
    return told(known)


def _run(line: RunLine, number: int, rate: float) -> Counting | None:
    seconds = [one for one in line.seconds if one is not None]
    tasks, cores, iterations = line.tasks, line.cores, line.iterations
    if not (line.phase and tasks and cores and iterations is not None) or len(seconds) != len(line.seconds):
        return None
    if line.phase in (_LOOK, _LONG) or not seconds or (iterations and not line.work):
        return None
    found = taken(line, number, rate)
    return found if not iterations or 0.0 < found.samples[0].peak < math.inf else None


def taken(line: RunLine, number: int, rate: float = math.nan) -> Counting:
    """A run that makes sense, of the round of this number. `rate` is as for `counting`."""
    assert line.tasks and line.cores
    alone = undisturbed(line)
    size, short = 0 if line.phase == _FLOOR else line.iterations or 0, line.phase == _SHORT
    of_run = (line.tasks, line.cores, rate, line.process or 0, short)
    times = alone or [one for one in line.seconds if one is not None]
    return Counting([Sample(size, number, one, line.work or 0.0, *of_run) for one in times], not alone)
