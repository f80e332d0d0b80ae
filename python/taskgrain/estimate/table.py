"""Samples as a table of rounds and sizes, with which all estimates begin."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.location import TO_SIGMA, location, spread
from taskgrain.estimate.location import median as column_median
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import Start

FEW_ROUNDS = 6  # the smallest count whose range covers the median with 95 %: 1 - 2 / 2**6 = 0.97
_INTERRUPTED = (math.log(3.0), 5.0 * TO_SIGMA)  # log efficiency below the median: at least, and in deviations
_DIP, _FEW_DIPS = 3.0, 0.125  # robust deviations below its round, and the share of measurements so low
_JOINS = 3  # rounds with which a size takes part in the fit


@dataclass(frozen=True)
class Table:
    """Samples as a table: one row a round, one column a size, sizes ascending.

    [rounds x sizes] hold logarithms: the median of a run's repeats, NaN where there was no run. Start and end
    of the runs are taken off where shorter runs tell what they take.
    """

    iterations: Floats  # [sizes]
    log_work: Floats  # [sizes], log of the work of one task
    log_granularity: Floats  # [rounds x sizes]
    log_efficiency: Floats  # [rounds x sizes], against the reference beside the run
    log_peak: Floats  # [rounds x sizes], that reference
    process: NDArray[np.int64]  # [rounds], which process served it; 0: not known
    rounds: NDArray[np.int64]  # [sizes], how many rounds measured it
    repeats: NDArray[np.int64]  # [sizes]
    log_seconds: Floats  # [sizes], of a repeat, without start and end
    start: Start
    start_share: float
    """Start and end as a share of a run, of the median one."""

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Table:
        """Raises ValueError without samples of whole runs, for samples that make no sense, and for sizes with
        work but without a reference."""
        rows = {r: k for k, r in enumerate(sorted({one.round for one in samples if not one.short}))}
        if not rows:
            raise ValueError("an estimate needs at least one sample that is not of a short run")
        start = Start.of(samples, list(rows))
        runs: dict[tuple[int, int], list[Sample]] = defaultdict(list)
        work: dict[int, float] = {}
        for s in start.without([one for one in samples if not one.short]):
            if not (s.seconds > 0.0 and s.tasks > 0 and s.cores > 0 and s.iterations >= 0):
                raise ValueError(f"a sample needs positive seconds, tasks and cores: {s}")
            if s.iterations and not (s.work > 0.0 and 0.0 < s.peak < math.inf):
                raise ValueError(f"a sample of {s.iterations} iterations needs positive work and peak: {s}")
            runs[s.round, s.iterations].append(s)
            work[s.iterations] = s.work / s.tasks if s.iterations else 1.0
        sizes = sorted(work)
        columns = {n: k for k, n in enumerate(sizes)}
        log_work = np.log(np.array([work[n] for n in sizes]))
        if not (np.diff(log_work) > 0.0).all():
            raise ValueError("the work of a task must grow with its iterations")
        granularity, peak, seconds = np.full((3, len(rows), len(sizes)), np.nan)
        repeats = np.zeros(len(sizes), dtype=np.int64)
        process = np.zeros(len(rows), dtype=np.int64)
        for (r, n), run in runs.items():
            at = rows[r], columns[n]
            seconds[at] = median(math.log(s.seconds) for s in run)
            granularity[at] = median(math.log(s.granularity) for s in run)
            peak[at] = math.log(run[0].peak)
            repeats[columns[n]] += len(run)
            process[rows[r]] = run[0].process
        peak = _without_dips(peak)
        efficiency = log_work - granularity - peak
        hit = _interrupted(efficiency)
        granularity[hit] = efficiency[hit] = peak[hit] = np.nan
        rounds = (~np.isnan(granularity)).sum(axis=0)
        numbers = np.array(sizes, dtype=float)
        lasted = column_median(seconds)
        share = start.seconds / (start.seconds + math.exp(float(np.median(lasted))))
        return cls(
            numbers, log_work, granularity, efficiency, peak, process, rounds, repeats, lasted, start, share
        )

    @cached_property
    def located(self) -> tuple[Floats, Floats]:
        """Log granularity and log efficiency of each size: locations over the rounds, [sizes]."""
        granularity, efficiency = self.log_granularity, self.log_efficiency
        return location(granularity, spread(granularity)), location(efficiency, spread(efficiency))

    def resampled(self, picks: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The same over each resample of `picks` [resamples x rounds], [resamples x sizes]."""
        # Each resample has its own start and end of a run, and the rows are without those of all rounds.
        share = self.start.more(picks)[:, None] * np.exp(-self.log_seconds)
        less = np.log1p(-np.minimum(share, 0.9))
        logs = (self.log_granularity, less), (self.log_efficiency, -less)
        found = [location(one[picks], spread(one)) + more for one, more in logs]
        # A size measured seldom may be missing from a resample altogether; it then says what it says in all.
        granularity, efficiency = (
            np.where(np.isnan(some), all_of, some) for some, all_of in zip(found, self.located, strict=True)
        )
        return granularity, efficiency

    def at_one_clock(self) -> Table:
        """The same with the reference for a clock: granularity is what a core of it does in that time, in the
        unit of the work. A slower clock lengthens both, and cancels."""
        return replace(
            self, log_granularity=self.log_work - self.log_efficiency, log_peak=np.zeros_like(self.log_peak)
        )

    @property
    def fit(self) -> NDArray[np.bool_]:
        """The sizes that take part in the fit: one measured seldom, or added late, joins after a few
        rounds."""
        return np.asarray(self.rounds >= min(_JOINS, int(self.rounds.max())))


def _without_dips(log_peak: Floats) -> Floats:
    """The reference beside each run [rounds x sizes], and where it was interrupted that of its round.

    An interrupt hits a measurement here and there; a state of the cores more of them, and the runs as well.
    """
    middle = column_median(log_peak.T)[:, None]
    below = middle - log_peak
    dips = below > _DIP * TO_SIGMA * column_median(np.abs(below).reshape(-1, 1))
    return np.where(dips, middle, log_peak) if dips.mean() <= _FEW_DIPS else log_peak


def _interrupted(log_efficiency: Floats) -> NDArray[np.bool_]:
    """The runs [rounds x sizes] so far below the median of their size that something else must have run."""
    below = column_median(log_efficiency) - log_efficiency
    least, deviations = _INTERRUPTED
    return np.asarray(below > np.maximum(least, deviations * column_median(np.abs(below))))
