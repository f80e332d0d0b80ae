"""Samples, and the same as a table of rounds and sizes with its medians."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.isotonic import Floats

FEW_ROUNDS = 6  # the smallest count whose range covers the median with 95 %: 1 - 2 / 2**6 = 0.97


@dataclass(frozen=True, slots=True)
class Sample:
    """One repeat of a run: `work` (in the kernel's unit) done in `tasks` tasks in `seconds` of wall time."""

    iterations: int
    round: int
    seconds: float
    work: float
    tasks: int
    cores: int

    @property
    def granularity(self) -> float:
        """Seconds of one core per task."""
        return self.seconds * self.cores / self.tasks

    @property
    def rate(self) -> float:
        """Work per second of all cores together."""
        return self.work / self.seconds


@dataclass(frozen=True, slots=True)
class Table:
    """Samples as a table: one row a round, one column a size, sizes ascending."""

    iterations: Floats  # [sizes]
    log_work: Floats  # [sizes], log of the work of one task
    log_granularity: Floats  # [rounds x sizes], the median of a run's repeats, NaN where there was no run
    medians: Floats  # [sizes], over rounds
    rounds: NDArray[np.int64]  # [sizes], how many rounds measured it
    repeats: NDArray[np.int64]  # [sizes]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Table:
        runs: dict[tuple[int, int], list[float]] = defaultdict(list)
        work: dict[int, float] = {}
        for s in samples:
            if not (s.seconds > 0.0 and s.tasks > 0 and s.cores > 0 and s.iterations >= 0):
                raise ValueError(f"a sample needs positive seconds, tasks and cores: {s}")
            if s.iterations and not s.work > 0.0:
                raise ValueError(f"a sample of {s.iterations} iterations needs positive work: {s}")
            runs[s.round, s.iterations].append(math.log(s.granularity))
            work[s.iterations] = s.work / s.tasks if s.iterations else 1.0
        sizes = sorted(work)
        rows = {r: k for k, r in enumerate(sorted({r for r, _ in runs}))}
        columns = {n: k for k, n in enumerate(sizes)}
        table = np.full((len(rows), len(sizes)), np.nan)
        repeats = np.zeros(len(sizes), dtype=np.int64)
        for (r, n), logs in runs.items():
            table[rows[r], columns[n]] = median(logs)
            repeats[columns[n]] += len(logs)
        log_work = np.log(np.array([work[n] for n in sizes]))
        if not (np.diff(log_work) > 0.0).all():
            raise ValueError("the work of a task must grow with its iterations")
        rounds = (~np.isnan(table)).sum(axis=0)
        medians = np.nanmedian(table, axis=0)
        return cls(np.array(sizes, dtype=float), log_work, table, medians, rounds, repeats)

    @property
    def fit(self) -> NDArray[np.bool_]:
        """The sizes that take part in the fit: one added late joins once its median means something.

        The round that is under way may be missing from any of them.
        """
        return np.asarray(self.rounds >= max(1, min(FEW_ROUNDS, int(self.rounds.max())) - 1))
