"""METG, the minimum effective task granularity, from samples: pure functions, no clock, no I/O.

    granularity  g = seconds * cores / tasks             seconds of one core a task takes in all
    efficiency   E = (work / seconds) / (peak * cores) = (work / tasks) / (g * peak)
    METG(x)        = the smallest g whose E is at least x     (Slaughter et al., SC'20, section IV)

What is estimated is the crossing of the *median* curve with the threshold, against the session's shared
reference. How, and why so:

1.  A point is the median over rounds of log g, each round counting once by the median of its repeats: a run
    hit by an interrupt moves nothing, a state that a whole run is in (placement, clock) counts as one draw.
2.  log E over log work is made monotone by centred isotonic regression (Oron & Flournoy, Stat. Biopharm.
    Res. 9(3), 2017): neighbours that noise has put in the wrong order become one point at their common
    centre. Plain isotonic regression leaves a flat step there, which shifts a crossing by up to half a step.
3.  Between points 1/E is linear in 1/work. That is exact for a constant overhead per task,
    1/E = a + b/work, at any spacing, and monotone whenever the points are. (Linear in log-log would put
    METG 0.8 % too high with sizes sqrt(2) apart, 3 % with sizes 2 apart.)
4.  The interval comes from a bootstrap of whole rounds (drift hits a round as a whole) and, independently,
    of the reference's measurements; with Hesterberg's expanded percentiles (The American Statistician
    69(4), 2015, section 4.3), and wider still below six rounds, where even the range of a sample covers
    its median less than 95 % of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from taskgrain.estimate.bootstrap import (
    exp_or_none,
    interval,
    peak_rate,
    picked_rounds,
    reference_table,
    resampled_log_peaks,
    resampled_medians,
)
from taskgrain.estimate.isotonic import Floats, centred_isotonic, crossings
from taskgrain.estimate.samples import FEW_ROUNDS, Sample, Table
from taskgrain.words.warnings import Notice, notice

Ending = Literal["precise", "budget", "never_reached", "always_reached", "several_crossings", "failed"]
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


Curve = tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class Metg:
    """What a cell came to: the fields of a `metg` line of the results, seconds and work per second.

    `estimate` gives a number the ending `budget`; the caller, who knows what was asked, makes it `precise`.
    With `always_reached`, METG is at most `high`; with `never_reached`, it is above `low`.
    """

    ending: Ending
    threshold: float
    metg: float | None
    low: float | None
    high: float | None
    iterations: float | None
    floor: float | None
    floor_low: float | None
    floor_high: float | None
    rounds: int
    peak_rate: float
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
    draws = resampled_medians(table, picked_rounds(table, resamples, np.random.default_rng(seed)))
    value = float(table.medians[0])
    low, high = interval(draws[:, 0], value, len(table.log_granularity), confidence)
    return math.exp(value), exp_or_none(low), exp_or_none(high)


def estimate(
    samples: Sequence[Sample],
    reference: ArrayLike,
    *,
    threshold: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    floor_samples: Sequence[Sample] = (),
) -> Metg:
    """METG(threshold) of one cell from its samples and the reference's rates [measurements x cores].

    The ending is `budget` where there is a number (see `Metg`), else `never_reached`, `always_reached` or
    `several_crossings`. The same samples in any order and the same seed give the same result.
    Raises ValueError for no samples, or for samples or rates that are not positive.
    """
    if not 0.0 < threshold < 1.0:
        raise ValueError(f"threshold must lie between 0 and 1, not {threshold}")
    if not samples:
        raise ValueError("METG needs at least one sample")
    rng = np.random.default_rng(seed)
    table = Table.of(samples)
    peak = peak_rate(reference)
    log_peaks = resampled_log_peaks(reference_table(reference), resamples, rng)
    draws = resampled_medians(table, picked_rounds(table, resamples, rng))
    log_efficiency = table.log_work - table.medians - math.log(peak)
    drawn_efficiency = table.log_work - draws - log_peaks[:, None]
    curve = _curve(table, draws, log_efficiency, drawn_efficiency, confidence)
    warnings = _warnings(samples, table, curve, reference_table(reference), peak)

    used = table.fit
    target = math.log(threshold)
    weights = table.rounds[used].astype(float)
    fit = centred_isotonic(table.log_work[used], log_efficiency[None, used], weights)
    crossing = float(crossings(*fit, target)[0])
    ending: Ending = "budget"
    metg = iterations = low = high = None
    if _falls_through(table, log_efficiency, drawn_efficiency, target, confidence):
        ending = "several_crossings"
    elif (fit[1] < target).all():
        ending, low = "never_reached", curve[-1].granularity
    elif (fit[1] >= target).all():
        ending, high = "always_reached", curve[0].granularity_high or curve[0].granularity
    else:
        value = crossing - target - math.log(peak)
        known = _rounds_at(table, crossing)
        log_low, log_high = interval(log_metg(table, draws, log_peaks, target), value, known, confidence)
        metg, low, high = math.exp(value), exp_or_none(log_low), exp_or_none(log_high)
        iterations = math.exp(float(np.interp(crossing, table.log_work, np.log(table.iterations))))
        if low is None or high is None:
            warnings.append(notice("no_bound"))
        warnings += _gap_warning(table, crossing)
    base: tuple[float | None, float | None, float | None] = (None, None, None)
    if floor_samples:
        base = floor(floor_samples, confidence=confidence, resamples=resamples, seed=seed)
    rounds = len(table.log_granularity)
    found = (threshold, metg, low, high, iterations, *base, rounds, peak)
    return Metg(ending, *found, curve=curve, warnings=tuple(warnings))


def log_metg(table: Table, medians: Floats, log_peaks: Floats, target: float) -> Floats:
    """log METG [rows] at the log threshold `target`, from medians [rows x sizes] and log peaks [rows].

    Infinite in a row whose crossing lies beyond all sizes.
    """
    used = table.fit
    efficiency = table.log_work - medians - log_peaks[:, None]
    fit = centred_isotonic(table.log_work[used], efficiency[:, used], table.rounds[used].astype(float))
    return crossings(*fit, target) - target - log_peaks


def _curve(table: Table, draws: Floats, efficiency: Floats, drawn: Floats, confidence: float) -> Curve:
    points = []
    for k, rounds in enumerate(table.rounds.tolist()):
        g_low, g_high = interval(draws[:, k], float(table.medians[k]), rounds, confidence)
        e_low, e_high = interval(drawn[:, k], float(efficiency[k]), rounds, confidence)
        points.append(
            CurvePoint(
                int(table.iterations[k]),
                math.exp(table.medians[k]),
                exp_or_none(g_low),
                exp_or_none(g_high),
                math.exp(efficiency[k]),
                exp_or_none(e_low),
                exp_or_none(e_high),
                int(table.repeats[k]),
            )
        )
    return tuple(points)


def _falls_through(table: Table, efficiency: Floats, drawn: Floats, target: float, confidence: float) -> bool:
    """Whether efficiency is surely above the threshold at one size and surely below at a larger one.

    Every curve begins below (a task of no work has efficiency 0), so that is a second crossing, also where
    the first lies below the sizes measured. Surely: an interval at the level shared between the sizes
    (Bonferroni) excludes the threshold, over enough rounds that the interval means what it says.
    """
    shared = 1.0 - (1.0 - confidence) / len(efficiency)
    above = False
    for k in np.flatnonzero(table.rounds >= FEW_ROUNDS):
        low, high = interval(drawn[:, k], float(efficiency[k]), int(table.rounds[k]), shared)
        if above and high is not None and high < target:
            return True
        above = above or (low is not None and low > target)
    return False


def _rounds_at(table: Table, crossing: float) -> int:
    """Rounds of the worse measured of the two sizes that enclose the crossing."""
    log_work, rounds = table.log_work[table.fit], table.rounds[table.fit]
    right = int(np.clip(np.searchsorted(log_work, crossing), 1, len(log_work) - 1))
    return int(rounds[right - 1 : right + 1].min())


def _warnings(
    samples: Sequence[Sample], table: Table, curve: Curve, rates: Floats, peak: float
) -> list[Notice]:
    found = []
    rounds = len(table.log_granularity)
    if rounds < 2:
        found.append(notice("one_round", needed=FEW_ROUNDS))
    elif rounds < FEW_ROUNDS:
        found.append(notice("few_rounds", rounds=rounds, needed=FEW_ROUNDS))
    found += _outlier_warning(samples, table)
    best = max(curve, key=lambda point: point.efficiency)
    if best.efficiency > 1.1:
        found.append(notice("efficiency_above_one", efficiency=best.efficiency, iterations=best.iterations))
    if len(rates) < 5:
        found.append(notice("few_references", measurements=len(rates)))
    typical = float(np.median(rates, axis=0).mean())
    if len(rates) >= 5 and typical < 0.9 * peak:
        found.append(notice("clock_changed", share=typical / peak))
    return found


def _outlier_warning(samples: Sequence[Sample], table: Table) -> list[Notice]:
    column = np.searchsorted(table.iterations, [s.iterations for s in samples])
    excess = np.log([s.granularity for s in samples]) - table.medians[column]
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
