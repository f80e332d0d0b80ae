"""METG, the minimum effective task granularity, from samples: pure functions, no clock, no I/O.

    granularity  g = seconds * cores / tasks             seconds of one core a task takes in all
    efficiency   E = (work / seconds) / (peak * cores) = (work / tasks) / (g * peak)
    METG(x)        = the smallest g whose E is at least x     (Slaughter et al., SC'20, section IV)

How it is estimated, and why so:

1.  `peak` is one rate for all samples: the median over the rounds of what the kernel alone did, a moment
    before each run. A run after a slower reference counts as quicker, as far as runs follow the reference
    (`reference`): wholly where a clock moves both, hardly where the reference saw a state of the cores that
    the run did not.
2.  A size is the median over rounds of log g, which gives its E. Each round counts once, by the median of its
    repeats: a run that an interrupt hit moves little, a state that a whole run is in (placement, clock)
    counts as one draw. Of two states between which the cores switch, METG is that of the state in which
    most runs were, not one between the two that no run has seen.
3.  Around the threshold 1 / E is a straight line in 1 / (E g) (`crossing`), which all sizes near the
    threshold inform; where they do not lie on a line, METG is read off the two around it. Start and
    end of a run are taken off before (`start`).
4.  Whether there is one crossing at all is told by a monotone curve and by sizes whose intervals lie on the
    wrong side.
5.  The interval comes from a bootstrap of whole rounds, wider where neighbouring rounds are alike, and where
    sizes lie off the line by more than they scatter.

Beside METG stands the overhead of a task: what remains at no work. Where it does not depend on the size of
the task and the kernel loses nothing beside others, METG(50 %) is twice the overhead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import CONFIDENCE, interval, picked_rounds
from taskgrain.estimate.crossing import Crossing, crossing, crossing_work
from taskgrain.estimate.efficiency import Curve, curve
from taskgrain.estimate.location import TO_SIGMA
from taskgrain.estimate.monotone import Floats, around
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import MOST as MOST_START
from taskgrain.estimate.start import growth
from taskgrain.estimate.table import FEW_ROUNDS, Table
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.warnings import Notice, notice

ABOVE_ONE = 1.1
"""An efficiency above this is no scatter: the reference was slower than the kernel in the tasks."""
_LONG_START = 0.1  # of a run; a program that runs short graphs should know
_GROWS = 1.1  # times as much, surely, where a run is twice as long: a program of another length should know
_SURELY = 0.2  # of the probability that an interval misses: a second crossing is a finding about a system
_OUTLIER_RATIO = 1.5  # and five robust standard deviations: two placement states 25 % apart are no outliers


@dataclass(frozen=True, slots=True, kw_only=True)
class Metg:
    """The result of a cell: fields of a `metg` line of the results, seconds and work per second.

    `estimate` gives a number the ending `budget`; the caller, who knows what was asked, makes it `precise` or
    `ranked`.
    `at` is what the efficiency at given task times ends with: METG has no number then. With `always_reached`,
    METG has only an upper bound; with `never_reached`, only a lower one.
    """

    ending: Ending
    threshold: float
    metg: Interval = Interval()
    work: Interval = Interval()
    """The work of a task of METG, in the kernel's unit: METG times the peak rate times the threshold. It does
    not depend on the clock, as far as overhead and kernel slow alike."""
    iterations: float | None = None
    overhead: Interval = Interval()
    """The part of a task that is no work, in seconds of a core."""
    floor: Interval = Interval()
    start: Interval = Interval()
    """Start and end of a run, in seconds, which all other numbers are without."""
    rounds: int
    systematic: float = 0.0
    """The half-width relative to METG that more rounds do not make narrower."""
    lasting: float = 0.0
    """The half-width relative to METG of what processes differ by; more rounds hardly make it narrower."""
    inflation: float = 1.0
    """The factor by which the variance is larger than that of independent rounds."""
    peak_rate: float
    """The reference: the median of the rounds."""
    best_rate: float | None = None
    """The reference at quiet times."""
    curve: Curve
    warnings: tuple[Notice, ...]


def estimate(
    samples: Sequence[Sample],
    *,
    threshold: float = 0.5,
    resamples: int = 1000,
    seed: int = 0,
    floor_samples: Sequence[Sample] = (),
    longer: Sequence[Sample] = (),
    best_rate: float | None = None,
) -> Metg:
    """METG of the samples, with its interval, its warnings, and the curve that it was read off.

    `longer` are runs of more steps beside those of `samples`, which only tell whether a task's cost grows.
    `best_rate` is the reference at quiet times, work per second and core.
    Raises ValueError without samples, and for samples that make no sense.
    """
    table = Table.of(samples)
    peak = math.exp(table.log_rate)
    if best_rate is not None:  # a long measurement at quiet times may still be slower than short ones
        best_rate = max(best_rate, peak)
    rounds = len(table.log_granularity)
    picks = picked_rounds(rounds, resamples, np.random.default_rng(seed))
    resampled = table.resampled(picks)
    points = curve(table, resampled)
    target = math.log(threshold)
    at = crossing_work(table, target)
    numbers: dict[str, Any] = {}
    steady = table.start.without(floor_samples)
    warnings = _warnings(table, points)
    ending = Ending.BUDGET
    if table.start_share > MOST_START:
        pass  # of the little that is left beside start and end, nothing is known
    elif _falls_through(table, table.located[1], resampled[1], target):
        ending = Ending.SEVERAL_CROSSINGS
    elif at == math.inf:
        ending, numbers["metg"] = Ending.NEVER_REACHED, Interval(low=points[-1].granularity.value)
    elif at == -math.inf:
        smallest = points[0].granularity
        ending, numbers["metg"] = Ending.ALWAYS_REACHED, Interval(high=smallest.high or smallest.value)
    else:
        found = crossing(table, picks, threshold)
        assert found
        left, right = around(table.log_work[table.fit], at)
        known = int(table.rounds[table.fit][[left, right]].min())  # of the worse measured of the two
        numbers = _numbers(found, known)
        work = found.metg.times(table.log_rate, table.rates(picks))
        at = work.value + target
        numbers["work"] = work.interval(known).exp().times(threshold)
        numbers["iterations"] = math.exp(float(np.interp(at, table.log_work, np.log(table.iterations))))
        if rounds > 1 and not numbers["metg"].known:
            warnings.append(notice("no_bound"))
        low, high = table.iterations[table.fit][[left, right]].tolist()
        if high > 4.0 * low and high - low > 1:
            warnings.append(notice("gap_at_crossing", low=low, high=high))
    numbers["start"] = _start(table, picks)
    warnings += _start_warning(table) + _growth_warning(samples, longer)
    if floor_samples:
        empty = Table.of(steady)
        picks = picked_rounds(len(empty.log_granularity), resamples, np.random.default_rng(seed))
        sample = empty.size(0, picks)
        assert sample
        base = numbers["floor"] = sample.interval(len(empty.log_granularity)).exp()
        if (numbers.get("metg", Interval()).value or math.inf) < base.number:
            warnings.append(notice("floor_above_metg", floor=base.number))
    return Metg(
        ending=ending,
        threshold=threshold,
        rounds=rounds,
        peak_rate=peak,
        best_rate=best_rate,
        curve=points,
        warnings=tuple(warnings),
        **numbers,
    )


def _numbers(found: Crossing, rounds: int) -> dict[str, Any]:
    """METG and the overhead of a task, with what their intervals rest on."""
    metg, overhead = (
        one.interval(rounds).exp() if math.isfinite(one.value) else Interval()
        for one in (found.metg, found.overhead)
    )
    return {
        "metg": metg,
        "overhead": overhead,
        "systematic": found.metg.systematic,
        "inflation": found.metg.inflation,
        "lasting": found.metg.lasting(),
    }


def _start(table: Table, picks: NDArray[np.int64]) -> Interval:
    """Start and end of a run, in seconds; nothing if that is not known."""
    start = table.start
    if not start.known:
        return Interval()
    told = int((~np.isnan(start.of_round)).sum())
    found = interval(start.more(picks) + start.seconds, start.seconds, told)
    return found if found.low is None else replace(found, low=max(found.low, 0.0))


def _start_warning(table: Table) -> list[Notice]:
    share, start = table.start_share, table.start.seconds
    if share > MOST_START:
        return [notice("start_dominates", start=start, share=share)]
    return [notice("start_taken_off", start=start, share=share)] if share > _LONG_START else []


def _growth_warning(samples: Sequence[Sample], longer: Sequence[Sample]) -> list[Notice]:
    factor = growth(samples, longer)
    if (factor.low or 0.0) <= _GROWS:
        return []
    sizes = {one.iterations for one in samples if one.short}
    tasks = median(one.tasks for one in samples if one.iterations in sizes and not one.short)
    return [notice("cost_grows", share=factor.number - 1.0, tasks=round(tasks))]


def _falls_through(table: Table, efficiency: Floats, resampled: Floats, target: float) -> bool:
    """True if efficiency is surely above the threshold at one size and surely below at a larger one.

    Every curve begins below (a task of no work has efficiency 0), so that is a second crossing, also where
    the first lies below the sizes measured. Surely: an interval at the level shared between the sizes
    (Bonferroni) excludes the threshold, over enough rounds that the interval means what it says.
    """
    shared = 1.0 - _SURELY * (1.0 - CONFIDENCE) / len(efficiency)
    above = False
    for k in np.flatnonzero(table.rounds >= FEW_ROUNDS):
        found = interval(resampled[:, k], float(efficiency[k]), int(table.rounds[k]), shared)
        if above and found.high is not None and found.high < target:
            return True
        above = above or (found.low is not None and found.low > target)
    return False


def _warnings(table: Table, curve: Curve) -> list[Notice]:
    found = []
    rounds = len(table.log_granularity)
    if rounds < 2:
        found.append(notice("one_round", needed=FEW_ROUNDS))
    elif rounds < FEW_ROUNDS:
        found.append(notice("few_rounds", rounds=rounds, needed=FEW_ROUNDS))
    found += _outlier_warning(table)
    best, iterations = max((point.efficiency.number, -point.iterations) for point in curve)
    if best > ABOVE_ONE:
        found.append(notice("efficiency_above_one", efficiency=best, iterations=-iterations))
    return found


def _outlier_warning(table: Table) -> list[Notice]:
    samples = table.samples
    column = np.searchsorted(table.iterations, [s.iterations for s in samples])
    excess = np.log([s.granularity for s in samples]) - table.located[0][column]
    usual = [float(np.median(np.abs(excess[column == k]))) for k in range(len(table.iterations))]
    far = np.maximum(math.log(_OUTLIER_RATIO), 5.0 * TO_SIGMA * np.array(usual))[column]
    outliers = np.flatnonzero(excess > far).tolist()
    if not outliers:
        return []
    k = max(outliers, key=lambda k: float(excess[k]))
    share = len(outliers) / len(samples)
    return [
        notice(
            "many_outliers" if share > 0.05 else "few_outliers",
            outliers=len(outliers),
            repeats=len(samples),
            share=share,
            worst=math.exp(excess[k]),
            round=samples[k].round,
            iterations=samples[k].iterations,
        )
    ]
