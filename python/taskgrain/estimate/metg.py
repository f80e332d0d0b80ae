"""METG, the minimum effective task granularity, from samples: pure functions, no clock, no I/O.

    granularity  g = seconds * cores / tasks             seconds of one core a task takes in all
    efficiency   E = (work / seconds) / (peak * cores) = (work / tasks) / (g * peak)
    METG(x)        = the smallest g whose E is at least x     (Slaughter et al., SC'20, section IV)

How it is estimated, and why so:

1.  `peak` is what the kernel alone did beside the run, on the same cores. Both then had the same clock and
    the same neighbours. Against one reference for the whole session, runs at a slow clock look inefficient.
2.  A size is the robust location over rounds of log g and log E. Each round counts once, by the median of its
    repeats: a run that an interrupt hit moves little, a state that a whole run is in (placement, clock)
    counts as one draw.
3.  Around the threshold 1 / E is a straight line in 1 / (E g) (`line`). All sizes near the threshold inform
    it; where they do not lie on a line, METG is between the two around the threshold (`crossing`). Start and
    end of a run are taken off before (`start`).
4.  Whether there is one crossing at all is told by a monotone fit (centred isotonic regression, Oron &
    Flournoy, Stat. Biopharm. Res. 9(3), 2017) and by sizes whose intervals lie on the wrong side.
5.  The interval comes from a bootstrap of whole rounds, wider where neighbouring rounds are alike, and where
    sizes lie off the line by more than they scatter.

Beside METG stands the overhead of a task: what remains at no work. Where it does not depend on the size of
the task and the kernel loses nothing beside others, METG(50 %) is twice the overhead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import exp_or_none, interval, picked_rounds
from taskgrain.estimate.crossing import Crossing, crossing
from taskgrain.estimate.isotonic import Floats, centred_isotonic, crossings
from taskgrain.estimate.line import inflated
from taskgrain.estimate.location import location, spread
from taskgrain.estimate.quiet import quiet
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import MOST as MOST_START
from taskgrain.estimate.table import FEW_ROUNDS, Table
from taskgrain.words.warnings import Notice, notice

Ending = Literal["precise", "budget", "never_reached", "always_reached", "several_crossings", "at", "failed"]
ABOVE_ONE = 1.1
"""An efficiency above this is no scatter: the reference was slower than the kernel in the tasks."""
_LONG_START = 0.1  # of a run; a program that runs short graphs should know
_SURELY = 0.2  # of the probability that an interval misses: a second crossing is a finding about a system
_OUTLIER_RATIO = 1.5  # and five robust standard deviations: two placement states 25 % apart are no outliers


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One size of the curve: medians as measured (not the monotone fit), granularity in seconds."""

    iterations: int
    granularity: float
    granularity_low: float | None
    granularity_high: float | None
    efficiency: float
    efficiency_low: float | None
    efficiency_high: float | None
    repeats: int
    asked: float | None = None
    """What the work of a task was to take alone, in seconds, where a task time was asked for."""


Curve = tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metg:
    """What a cell came to: the fields of a `metg` line of the results, seconds and work per second.

    `estimate` gives a number the ending `budget`; the caller, who knows what was asked, makes it `precise`.
    `at` is what the efficiency at given task times ends with: METG has no number then. With `always_reached`,
    METG is at most `high`; with `never_reached`, it is above `low`.
    """

    ending: Ending
    threshold: float
    metg: float | None = None
    low: float | None = None
    high: float | None = None
    iterations: float | None = None
    overhead: float | None = None
    """Of a task, in seconds of a core: what remains at no work."""
    overhead_low: float | None = None
    overhead_high: float | None = None
    quiet: float | None = None
    """METG as it would be on quiet cores; None where they were quiet, or where that is not known."""
    quiet_low: float | None = None
    quiet_high: float | None = None
    floor: float | None = None
    floor_low: float | None = None
    floor_high: float | None = None
    start: float | None = None
    """Of a run, in seconds: its start and end, which all other numbers are without; None if not measured."""
    start_low: float | None = None
    start_high: float | None = None
    rounds: int
    systematic: float = 0.0
    """The half-width relative to METG that more rounds do not make narrower."""
    inflation: float = 1.0
    """By how much the variance is larger than that of independent rounds."""
    peak_rate: float
    """The reference beside the runs: their median."""
    best_rate: float | None = None
    """The reference at quiet times."""
    curve: Curve
    warnings: tuple[Notice, ...]

    @property
    def half_width(self) -> float:
        """Half the interval relative to METG; infinite where there is no number or no bound."""
        if self.metg is None or self.low is None or self.high is None:
            return math.inf
        return (self.high - self.low) / (2.0 * self.metg)

    def fields(self) -> dict[str, object]:
        """The same as a dictionary for JSON, in the order of docs/reference/results.md."""
        curve = [asdict(point) for point in self.curve]
        return asdict(self) | {"curve": curve, "warnings": [one.fields() for one in self.warnings]}


def floor(
    samples: Sequence[Sample], *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[float, float | None, float | None]:
    """Median granularity of the empty kernel and its interval, in seconds. ValueError without samples."""
    if not samples:
        raise ValueError("the floor needs at least one run of the empty kernel")
    table = Table.of([s for s in samples if s.iterations == samples[0].iterations])
    rounds = len(table.log_granularity)
    picks = picked_rounds(rounds, resamples, np.random.default_rng(seed))
    scatter = spread(table.log_granularity)
    value = float(location(table.log_granularity, scatter)[0])
    draws = location(table.log_granularity[picks], scatter)[:, 0]
    correlated = inflated(table.log_granularity - value)
    low, high = interval(draws, value, rounds, confidence, inflation=correlated)
    return math.exp(value), exp_or_none(low), exp_or_none(high)


def estimate(
    samples: Sequence[Sample],
    *,
    threshold: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    floor_samples: Sequence[Sample] = (),
    best_rate: float | None = None,
) -> Metg:
    """METG of the samples, with its interval, its warnings, and the curve that it was read off.

    `best_rate` is the reference at quiet times, work per second and core; without it there is no `quiet`.
    Raises ValueError without samples, and for samples that make no sense.
    """
    if all(one.short for one in samples):
        raise ValueError("METG needs at least one sample that is not of a short run")
    table = Table.of(samples)
    peak = math.exp(float(np.nanmedian(table.log_peak)))
    if best_rate is not None:  # a long measurement at quiet times may still be slower than short ones
        best_rate = max(best_rate, peak)
    rounds = len(table.log_granularity)
    picks = picked_rounds(rounds, resamples, np.random.default_rng(seed))
    curve, drawn_efficiency = _curve(table, picks, confidence)
    typical_g, typical_e = table.locations()
    target = math.log(threshold)
    used = table.fit
    fit = centred_isotonic(table.log_work[used], typical_e[None, used], table.rounds[used].astype(float))
    numbers: dict[str, Any] = {}
    steady = table.start.without(floor_samples)
    warnings = _warnings(table.start.without([one for one in samples if not one.short]), table, curve)
    ending: Ending = "budget"
    if table.start_share > MOST_START:
        pass  # of the little that is left beside start and end, nothing is known
    elif _falls_through(table, typical_e, drawn_efficiency, target, confidence):
        ending = "several_crossings"
    elif (fit[1] < target).all():
        ending, numbers["low"] = "never_reached", curve[-1].granularity
    elif (fit[1] >= target).all():
        ending, numbers["high"] = "always_reached", curve[0].granularity_high or curve[0].granularity
    else:
        at = float(crossings(*fit, target)[0])
        log_metg = float(np.interp(at, table.log_work[used], typical_g[used]))
        found = crossing(table, picks, threshold)
        if found is not None:
            log_metg = found.metg
            numbers = _numbers(found, table, threshold, confidence, best_rate, steady, seed)
        numbers["metg"] = math.exp(log_metg)
        numbers["iterations"] = _iterations(table, typical_g, log_metg)
        if rounds > 1 and (numbers.get("low") is None or numbers.get("high") is None):
            warnings.append(notice("no_bound"))
        warnings += _gap_warning(table, at)
    numbers |= _start(table, picks, confidence)
    warnings += _start_warning(table)
    if floor_samples:
        names = ("floor", "floor_low", "floor_high")
        base = floor(steady, confidence=confidence, resamples=resamples, seed=seed)
        numbers |= dict(zip(names, base, strict=True))
        if numbers.get("metg") and numbers["metg"] < base[0]:
            warnings.append(notice("floor_above_metg", floor=base[0]))
    return Metg(
        ending=ending,
        threshold=threshold,
        rounds=rounds,
        peak_rate=peak,
        best_rate=best_rate,
        curve=curve,
        warnings=tuple(warnings),
        **numbers,
    )


def _numbers(
    found: Crossing,
    table: Table,
    threshold: float,
    confidence: float,
    best_rate: float | None,
    empty: Sequence[Sample],
    seed: int,
) -> dict[str, float | None]:
    """Intervals of METG, the overhead of a task, and METG on quiet cores."""
    rounds = _rounds_at(table, found.metg)

    def ends(name: str, draws: Floats, value: float, systematic: float) -> dict[str, float | None]:
        low, high = interval(
            draws, value, rounds, confidence, inflation=found.inflation, systematic=systematic
        )
        return {f"{name}low": exp_or_none(low), f"{name}high": exp_or_none(high)}

    numbers: dict[str, float | None] = {"systematic": found.systematic, "inflation": found.inflation}
    numbers |= ends("", found.metg_draws, found.metg, found.systematic)
    line = found.line
    if math.isfinite(line.overhead):
        numbers["overhead"] = math.exp(line.overhead)
        numbers |= ends("overhead_", line.overhead_draws, line.overhead, line.systematic(threshold))
    if best_rate:
        # As METG is, between the states that the cores were in: the median would be one of them.
        peaks = table.log_peak[:, table.fit].reshape(-1, 1)
        log_peak = float(location(peaks, spread(peaks))[0])
        calm = quiet(found, empty, log_peak, math.log(best_rate), np.random.default_rng(seed))
        if calm is not None:
            numbers["quiet"] = math.exp(calm[0])
            numbers |= ends("quiet_", calm[1], calm[0], found.systematic)
    return numbers


def _start(table: Table, picks: NDArray[np.int64], confidence: float) -> dict[str, float | None]:
    """What start and end of a run take, and their interval, in seconds."""
    start = table.start
    if not start.known:
        return {}
    told = int((~np.isnan(start.of_round)).sum())
    low, high = interval(start.draws(picks), start.seconds, told, confidence)
    return {
        "start": start.seconds,
        "start_low": None if low is None else max(low, 0.0),
        "start_high": high,
    }


def _start_warning(table: Table) -> list[Notice]:
    share, start = table.start_share, table.start.seconds
    if share > MOST_START:
        return [notice("start_dominates", start=start, share=share)]
    return [notice("start_taken_off", start=start, share=share)] if share > _LONG_START else []


def _iterations(table: Table, log_granularity: Floats, log_metg: float) -> float:
    rising = np.maximum.accumulate(np.where(np.isnan(log_granularity), -np.inf, log_granularity))
    return math.exp(float(np.interp(log_metg, rising, np.log(table.iterations))))


def _curve(table: Table, picks: NDArray[np.int64], confidence: float) -> tuple[Curve, Floats]:
    """The curve, and the resamples of its log efficiencies [resamples x sizes]."""
    granularity, efficiency = table.locations()
    drawn_g, drawn_e = table.locations(picks)
    points = []
    for k, rounds in enumerate(table.rounds.tolist()):
        g_low, g_high = interval(drawn_g[:, k], float(granularity[k]), rounds, confidence)
        e_low, e_high = interval(drawn_e[:, k], float(efficiency[k]), rounds, confidence)
        points.append(
            CurvePoint(
                int(table.iterations[k]),
                math.exp(granularity[k]),
                exp_or_none(g_low),
                exp_or_none(g_high),
                math.exp(efficiency[k]),
                exp_or_none(e_low),
                exp_or_none(e_high),
                int(table.repeats[k]),
            )
        )
    return tuple(points), drawn_e


def _falls_through(table: Table, efficiency: Floats, drawn: Floats, target: float, confidence: float) -> bool:
    """Whether efficiency is surely above the threshold at one size and surely below at a larger one.

    Every curve begins below (a task of no work has efficiency 0), so that is a second crossing, also where
    the first lies below the sizes measured. Surely: an interval at the level shared between the sizes
    (Bonferroni) excludes the threshold, over enough rounds that the interval means what it says.
    """
    shared = 1.0 - _SURELY * (1.0 - confidence) / len(efficiency)
    above = False
    for k in np.flatnonzero(table.rounds >= FEW_ROUNDS):
        low, high = interval(drawn[:, k], float(efficiency[k]), int(table.rounds[k]), shared)
        if above and high is not None and high < target:
            return True
        above = above or (low is not None and low > target)
    return False


def _rounds_at(table: Table, log_metg: float) -> int:
    """Rounds of the worse measured of the two sizes that enclose METG."""
    log_granularity, rounds = table.locations()[0][table.fit], table.rounds[table.fit]
    right = int(np.clip(np.searchsorted(log_granularity, log_metg), 1, max(1, len(rounds) - 1)))
    return int(rounds[right - 1 : right + 1].min())


def _warnings(samples: Sequence[Sample], table: Table, curve: Curve) -> list[Notice]:
    found = []
    rounds = len(table.log_granularity)
    if rounds < 2:
        found.append(notice("one_round", needed=FEW_ROUNDS))
    elif rounds < FEW_ROUNDS:
        found.append(notice("few_rounds", rounds=rounds, needed=FEW_ROUNDS))
    found += _outlier_warning(samples, table)
    best = max(curve, key=lambda point: point.efficiency)
    if best.efficiency > ABOVE_ONE:
        found.append(notice("efficiency_above_one", efficiency=best.efficiency, iterations=best.iterations))
    return found


def _outlier_warning(samples: Sequence[Sample], table: Table) -> list[Notice]:
    column = np.searchsorted(table.iterations, [s.iterations for s in samples])
    excess = np.log([s.granularity for s in samples]) - table.locations()[0][column]
    outliers: list[int] = []
    for k in range(len(table.iterations)):
        here = np.flatnonzero(column == k)
        spread = 1.4826 * float(np.median(np.abs(excess[here])))
        outliers += here[excess[here] > max(math.log(_OUTLIER_RATIO), 5.0 * spread)].tolist()
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


def _gap_warning(table: Table, crossing: float) -> list[Notice]:
    sizes = table.iterations[table.fit]
    right = int(np.clip(np.searchsorted(table.log_work[table.fit], crossing), 1, len(sizes) - 1))
    low, high = float(sizes[right - 1]), float(sizes[right])
    return [notice("gap_at_crossing", low=low, high=high)] if high > 4.0 * low and high - low > 1 else []
