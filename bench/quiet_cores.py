"""Whether the cores are as free and as near to each other as at the best times of a benchmark.

Processes and steal time are counters (`machine.busy`). What they do not show: a neighbour on the other
hardware thread of a core, which a host does not tell its guests of, and a guest's processors being moved to
cores further apart. Such states last from milliseconds to minutes, slow a run to a half, and leave the rate
of the kernel alone almost as it was. A probe of a millisecond between runs does show them: how many integer
operations a core issues, and how long a cache line takes from core to core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from taskgrain.drive.answers import Probe

PROBE_SECONDS = 0.001
PATIENCE = 0.2
"""Seconds that a run may wait for the cores to be quiet."""
_PAUSE = 0.005
_FIRST_PROBES = 20
_LEAST_ISSUE = 0.9
"""Share of its best issue rate below which a core is disturbed: runs then take a tenth longer and more."""
_LONGEST_HOP = 1.5
"""Multiple of the usual time from core to core; it scatters by a quarter with the lines' place."""
_KEPT = 5_000
"""Probes, some minutes of them: a state that lasts longer is what the machine is."""
_FEW = 20
"""The best issue rate is that of the best 5 % of the probes, but of no more than so many."""
_RENEW = 64


class Quiet:
    """Knows the best state seen, and compares. Best, because a disturbance only ever slows."""

    def __init__(self) -> None:
        self._issue: deque[tuple[float, ...]] = deque(maxlen=_KEPT)
        self._hop: deque[float] = deque(maxlen=_KEPT)
        self._best_issue: NDArray[np.float64] = np.zeros(0)
        self._best_hop = 0.0
        self._taken = 0

    def take(self, probe: Probe) -> None:
        """Adds a probe to what is known."""
        self._issue.append(probe.issue_rates)
        if probe.hop_seconds is not None:
            self._hop.append(probe.hop_seconds)
        if self._taken < _RENEW or self._taken % _RENEW == 0:  # quantiles are not for every run
            rank = 1 + min(_FEW, len(self._issue) // 20)
            self._best_issue = np.sort(np.array(self._issue), axis=0)[-rank]
            self._best_hop = float(np.quantile(self._hop, 0.25)) if self._hop else 0.0
        self._taken += 1

    def slowdown(self, probe: Probe) -> float:
        """How many times slower than at best the slowest of what the probe looked at was; at least 1."""
        return max(1.0, self._issue_factor(probe), self._hop_factor(probe))

    def disturbed(self, probe: Probe) -> bool:
        return self._issue_factor(probe) > 1.0 / _LEAST_ISSUE or self._hop_factor(probe) > _LONGEST_HOP

    def _issue_factor(self, probe: Probe) -> float:
        return float((self._best_issue / np.array(probe.issue_rates)).max())

    def _hop_factor(self, probe: Probe) -> float:
        return 1.0 if probe.hop_seconds is None else probe.hop_seconds / self._best_hop


class Watch:
    """Probes the cores between runs, and waits for quiet ones. `probe` asks the reference."""

    def __init__(
        self, probe: Callable[[], Probe], clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._ask, self._clock, self._sleep = probe, clock, sleep
        self._quiet = Quiet()
        self._last: Probe | None = None

    def look(self) -> Probe:
        """A probe now."""
        if self._last is None:  # what is best must be known before anything is compared with it
            for _ in range(_FIRST_PROBES):
                self._quiet.take(self._ask())
                self._sleep(_PAUSE)
        self._last = self._ask()
        self._quiet.take(self._last)
        return self._last

    def wait(self, patience: float = PATIENCE) -> Probe:
        """The last probe if it was quiet, else the first quiet one, or what there is when patience ends."""
        end = self._clock() + patience
        probe = self._last or self.look()
        while self._quiet.disturbed(probe) and self._clock() < end:
            self._sleep(_PAUSE)
            probe = self.look()
        return probe

    def judge(self, *probes: Probe) -> tuple[float, bool]:
        """Of the probes around a run: the larger slowdown, and whether one of them was disturbed."""
        return max(map(self._quiet.slowdown, probes)), any(map(self._quiet.disturbed, probes))
