"""Samples as a table of rounds and sizes, with which all estimates begin."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import BootstrapSample
from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.location import median as column_median
from taskgrain.estimate.monotone import Floats
from taskgrain.estimate.reference import followed
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import Start

FEW_ROUNDS = 6  # the smallest count whose range covers the median with 95 %: 1 - 2 / 2**6 = 0.97
_INTERRUPTED = (
    math.log(3.0),
    5.0 * TO_SIGMA,
)  # log granularity above the median: at least, and in deviations
_JOINS = 3  # rounds with which a size takes part in the fit


@dataclass(frozen=True)
class Table:
    """Samples as a table: one row a round, one column a size, sizes ascending.

    [rounds x sizes] hold logarithms: the median of a run's repeats, NaN where there was no run. Start and end
    of the runs are taken off where shorter runs tell what they take. All are as they would be beside cores
    of one rate, the median one: a run after a slower reference counts as quicker, as far as runs of this
    table follow the reference.
    """

    iterations: Floats  # [sizes]
    log_work: Floats  # [sizes], log of the work of one task
    log_granularity: Floats  # [rounds x sizes]
    log_peak: Floats  # [rounds x sizes], the last reference before the run
    log_rate: float  # the median of the medians of rounds; 0 without any
    follows: float  # the power with which runs follow the reference: 1 for a clock, 0 if not at all
    process: NDArray[np.int64]  # [rounds], which process served it; 0: not known
    rounds: NDArray[np.int64]  # [sizes], how many rounds measured it
    repeats: NDArray[np.int64]  # [sizes]
    log_seconds: Floats  # [sizes], of a repeat, without start and end
    samples: Sequence[Sample]  # of whole runs, without start and end
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
        whole = start.without([one for one in samples if not one.short])
        for s in whole:
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
        lacks = np.isnan(peak) & ~np.isnan(granularity)  # the empty kernel needs none
        peak[lacks] = _rate(peak)
        follows = followed(granularity, peak)
        hit = _interrupted(granularity + follows * peak)
        granularity[hit] = peak[hit] = np.nan
        rate = _rate(peak)
        granularity += follows * (peak - rate)
        rounds = (~np.isnan(granularity)).sum(axis=0)
        numbers = np.array(sizes, dtype=float)
        lasted = column_median(seconds)
        share = start.seconds / (start.seconds + math.exp(float(np.median(lasted))))
        logs = log_work, granularity, peak
        return cls(numbers, *logs, rate, follows, process, rounds, repeats, lasted, whole, start, share)

    @cached_property
    def located(self) -> tuple[Floats, Floats]:
        """Log granularity and log efficiency of each size: locations over the rounds, [sizes]."""
        granularity = column_median(self.log_granularity)
        return granularity, self.log_work - granularity - self.log_rate

    def resampled(self, picks: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The same over each resample of `picks` [resamples x rounds], [resamples x sizes]."""
        found = column_median(self.log_granularity[picks])
        # A rare size may be missing from a resample; it then has its value of all rounds.
        found = np.where(np.isnan(found), self.located[0], found)
        # Each resample has its own start and end of a run, and its own rate.
        share = self.start.more(picks)[:, None] * np.exp(-self.log_seconds)
        rates = self.rates(picks)[:, None]
        granularity = found + np.log1p(-np.minimum(share, 0.9)) - self.follows * (rates - self.log_rate)
        return granularity, self.log_work - granularity - rates

    def rates(self, picks: NDArray[np.int64]) -> Floats:
        """The logarithm of the rate in each resample of `picks` [resamples]."""
        peaks = _of_rounds(self.log_peak)[picks]
        return np.nan_to_num(column_median(peaks)[:, 0], nan=self.log_rate)

    def size(
        self, iterations: int, picks: NDArray[np.int64], *, of_efficiency: bool = False
    ) -> BootstrapSample | None:
        """The granularity or the efficiency of one size; None where it was not measured."""
        column = np.flatnonzero(self.iterations == iterations)
        if not len(column):
            return None
        located, resampled = self.located[of_efficiency], self.resampled(picks)[of_efficiency]
        return BootstrapSample(float(located[column[0]]), resampled[:, column[0]], picks, (self.process,))

    @property
    def fit(self) -> NDArray[np.bool_]:
        """The sizes that take part in the fit: one measured seldom, or late, joins after a few rounds."""
        return np.asarray(self.rounds >= min(_JOINS, int(self.rounds.max())))


def _of_rounds(log_peak: Floats) -> Floats:
    """The medians of rounds [rounds x 1]. The median of all runs would lie at the edge of what one clock of
    two scatters by."""
    return column_median(log_peak.T)[:, None]


def _rate(log_peak: Floats) -> float:
    """The median of the rounds; 0 without any."""
    return float(np.nan_to_num(column_median(_of_rounds(log_peak))[0], nan=0.0))


def _interrupted(log_granularity: Floats) -> NDArray[np.bool_]:
    """The runs [rounds x sizes] so far above the median of their size that something else must have run."""
    above = log_granularity - column_median(log_granularity)
    least, deviations = _INTERRUPTED
    return np.asarray(above > np.maximum(least, deviations * column_median(np.abs(above))))
