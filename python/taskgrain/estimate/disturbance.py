"""Runs that were disturbed count only at sizes where too few others do; the interval then says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from taskgrain.estimate.metg import Metg
from taskgrain.estimate.samples import FEW_ROUNDS, Sample
from taskgrain.words.warnings import notice

_ENOUGH = FEW_ROUNDS - 1
"""Undisturbed runs that can do without the others."""


@dataclass(frozen=True)
class Run:
    """The repeats of one size in one round."""

    samples: tuple[Sample, ...]
    slowdown: float
    """How many times slower the cores were than at their best; 1 for a run that nothing disturbed."""

    def at_best(self) -> Run:
        """What the run would have been had the cores not been slower, if all of it was slowed alike."""
        return Run(tuple(replace(one, seconds=one.seconds / self.slowdown) for one in self.samples), 1.0)


def chosen(runs: Sequence[Run]) -> list[Run]:
    """Those of one size that count."""
    quiet = [run for run in runs if run.slowdown <= 1.0]
    return quiet if len(quiet) >= _ENOUGH else list(runs)


def samples_of(runs: Iterable[Run]) -> list[Sample]:
    return [sample for run in runs for sample in run.samples]


def widened(found: Metg, at_best: Metg) -> Metg:
    """The result of disturbed runs; `at_best` is what comes of the same runs at their best."""
    found = replace(found, warnings=(*found.warnings, notice("interval_of_disturbed_runs")))
    if found.floor_low is not None and at_best.floor_low is not None:
        found = replace(found, floor_low=min(found.floor_low, at_best.floor_low))
    if found.ending == at_best.ending == "budget":
        lows = [one.low for one in (found, at_best) if one.low is not None]
        return replace(found, low=min(lows) if len(lows) == 2 else None)
    if found.ending == at_best.ending:
        return found
    if found.metg is not None:  # quiet cores might reach the threshold at all sizes: no bound below is known
        return replace(found, low=None)
    # Quiet cores might give a number, or another reason why there is none.
    low = at_best.low if at_best.metg is not None else found.low
    return replace(found, ending="budget", metg=None, low=low, high=found.high, iterations=None)
