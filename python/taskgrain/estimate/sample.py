"""One measurement: a repeat of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Sample:
    """One repeat of a run: `work` (in the kernel's unit) done in `tasks` tasks in `seconds` of wall time."""

    iterations: int
    round: int
    seconds: float
    work: float
    tasks: int
    cores: int
    peak: float = math.nan
    """The last reference before the run: work per second and core of the kernel alone."""
    process: int = 0
    """Tells the processes of the system apart; 0: not known."""
    short: bool = False
    """True for the shorter run of a size, which tells its start and end (`start`)."""
    disturbed: bool = False
    """True if others took a part of the cores meanwhile."""

    @property
    def granularity(self) -> float:
        """Seconds of one core per task."""
        return self.seconds * self.cores / self.tasks

    @property
    def efficiency(self) -> float:
        """Share of what the cores would do without the system."""
        return self.work / self.seconds / (self.peak * self.cores)

    def lasting(self, seconds: float) -> Sample:
        """The same, had it lasted so long."""
        same = self.work, self.tasks, self.cores, self.peak, self.process, self.short, self.disturbed
        return Sample(self.iterations, self.round, seconds, *same)


def quick(samples: Sequence[Sample]) -> Sample:
    """Returns what counts of a disturbed run: the lower quartile of its repeats by their time, of three the
    fastest. Unlike the fastest, it does not become quicker with more of them."""
    return replace(sorted(samples, key=lambda one: one.seconds)[(len(samples) - 1) // 4], disturbed=True)
