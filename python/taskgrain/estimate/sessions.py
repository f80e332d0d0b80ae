"""The ratio of contender and baseline that were measured in different sessions: pure functions.

Two sessions of one build differ by more than their intervals say: the machine was in another state, a process
lay elsewhere in memory. No number of rounds within a session shows that, so the session is the unit that is
counted. Its scatter comes from sessions of one build, S² with f degrees of freedom, and the ratio of two
builds with m and n sessions has Student's interval of the difference of two means,

    t(f) · sqrt(v / m + v' / n),   v = S² + what their sessions are worse known than those S² comes from.

Few sessions tell S² badly, and one of each side tells nothing of it: what is usual fills it up to ten degrees
of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from taskgrain.estimate.bootstrap import WIDEST
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.student import student_quantile
from taskgrain.words.interval import Interval

_NORMAL = 1.96
"""Standard deviations to either end of a 95 % interval."""


def error(log: Interval) -> float:
    """The standard error of a session's logarithm, from its interval; infinite where that lacks a bound."""
    return math.inf if log.low is None or log.high is None else (log.high - log.low) / 2.0 / _NORMAL


@dataclass(frozen=True)
class Scatter:
    """The scatter of sessions of one build."""

    variance: float
    """The variance of the logarithm of one session's number, with that of its own rounds."""
    within: float
    """The part of it that the rounds of the sessions explain, on average."""
    freedom: int
    own: int = 0
    """The degrees of freedom that were measured; the others are the usual ones."""

    @property
    def deviation(self) -> float | None:
        """The deviation as a share of the number; None where a session has no interval of its own."""
        return math.sqrt(self.variance) if math.isfinite(self.variance) else None


def scatter(groups: Sequence[Sequence[Interval]]) -> Scatter | None:
    """The scatter between sessions; each group is of one build. None where no build has two sessions that
    know their own error."""
    known = ([one for one in group if one.known] for group in groups)
    repeated = [group for group in known if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    if not freedom:
        return None
    squares = sum((len(group) - 1) * variance([one.number for one in group]) for group in repeated)
    within = fmean(error(one) ** 2 for group in repeated for one in group)
    # Sessions cannot scatter less than their rounds do; where they seem to, there were too few.
    return Scatter(max(squares / freedom, within), within, freedom, freedom)


USUAL_OF_ONE = Scatter(variance=0.07**2, within=0.02**2, freedom=10)
"""The scatter of quiet sessions of one machine and build, hours apart, at one clock, whose rounds know METG
within ±4 %, and which had one process each: docs/explanation/how-runs-are-compared.md has the figures."""
USUAL = Scatter(variance=0.03**2, within=0.02**2, freedom=10)
"""The same of sessions in which several processes took turns."""


def filled_up(known: Scatter | None, usual: Scatter = USUAL) -> Scatter:
    """Returns the known scatter, with the usual one in place of the degrees of freedom that it lacks. If the
    sessions of a machine scatter by more than usual, their scatter stands alone."""
    if known is None or known.freedom >= usual.freedom or known.variance > usual.variance:
        return known or usual
    lacks = usual.freedom - known.freedom

    def mean(of_known: float, of_usual: float) -> float:
        return (known.freedom * of_known + lacks * of_usual) / usual.freedom

    within = mean(known.within, usual.within)
    return Scatter(mean(known.variance, usual.variance), within, usual.freedom, known.freedom)


def over_longer_times(known: Scatter | None, usual: Scatter = USUAL) -> Scatter:
    """Returns the scatter between sides that lie farther apart than the known sessions: the usual one, or
    more if they scatter by more."""
    if known is None or known.variance <= usual.variance:
        return usual
    return Scatter(known.variance, known.within, min(known.freedom, usual.freedom))


def as_one(sessions: Sequence[Interval]) -> list[Interval]:
    """Sessions that say no more than one: what lasts longer than they lie apart is in all of them."""
    value, half = fmean(one.number for one in sessions), _NORMAL * max(map(error, sessions))
    return [Interval(value, value - half, value + half)]


def ratio_of_sessions(
    contender: Sequence[Interval], baseline: Sequence[Interval], between: Scatter, confidence: float = 0.95
) -> Ratio:
    """The contender over the baseline, each of one session or more. `rounds` counts sessions here."""
    value = fmean(one.number for one in contender) - fmean(one.number for one in baseline)
    both = sum(_variance(one, between) for one in (contender, baseline))
    return _interval(value, both, between, confidence, min(len(contender), len(baseline)))


def ratio_of_pairs(ratios: Sequence[Interval], between: Scatter, confidence: float = 0.95) -> Ratio:
    """The ratio of two that were measured together in each of several sessions: the mean of their ratios.

    `between` is the scatter of these: what a session does to both is not in it.
    """
    value = fmean(one.number for one in ratios)
    return _interval(value, _variance(ratios, between), between, confidence, len(ratios))


def of_one_cell(found: Ratio, between: Scatter, confidence: float) -> Ratio:
    """The same ratio with the 90 % interval of a cell alone, each end of which is wrong with 5 %.

    `confidence` is that of `found`. Two one-sided tests call two means equivalent where this interval lies
    within a margin (Schuirmann, J. Pharmacokin. Biopharm. 15, 1987).
    """
    if not found.value or not found.low or not found.high:
        return found
    quantiles = [student_quantile(0.5 + level / 2.0, between.freedom) for level in (0.9, confidence)]
    narrower = quantiles[0] / quantiles[1]
    low, high = (found.value * (end / found.value) ** narrower for end in (found.low, found.high))
    return Ratio(found.value, low, high, found.rounds)


def _interval(value: float, squared: float, between: Scatter, confidence: float, sessions: int) -> Ratio:
    half = student_quantile(0.5 + confidence / 2.0, between.freedom) * math.sqrt(squared)
    bounded = half < WIDEST  # false for unknown bounds, too
    low, high = (math.exp(value - half), math.exp(value + half)) if bounded else (None, None)
    return Ratio(math.exp(value), low, high, sessions)


def _variance(sessions: Sequence[Interval], between: Scatter) -> float:
    """The variance of the mean of some sessions."""
    each = [between.variance + max(0.0, error(one) ** 2 - between.within) for one in sessions]
    return sum(each) / len(sessions) ** 2
