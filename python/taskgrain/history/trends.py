"""The trend of each series: its levels, its changes, and a verdict about the newest one.

docs/explanation/how-changes-are-found.md says why it is done so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Literal

from taskgrain.answers.compare.cells import Question
from taskgrain.estimate.change_points import Segment, Segmentation, enough, segmentation
from taskgrain.estimate.quantities import Quantity
from taskgrain.estimate.ratio import Decision, Ratio, decision
from taskgrain.history.series import Entry, Series
from taskgrain.words.interval import Interval

Verdict = Decision | Literal["other host", "no change", "too few sessions", "failed"]
QUANTITIES: tuple[Quantity, ...] = ("metg", "overhead", "floor", "rate")
_OPEN = ("undecided", "other host")
"""The verdicts of changes that may or may not be regressions."""
_IN_COMMON = 0.5
"""The share of sessions, on both sides of a change, from which on the same hosts measured both."""
ALARM = 0.01
"""The probability that a change is seen in any series, if there is none: once for each look."""


@dataclass(frozen=True)
class Change:
    before: Entry
    after: Entry
    """The first session behind it."""
    ratio: Ratio
    """The level behind it over the level before it."""
    decision: Decision | Literal["other host"]
    """`other host` where it came with another host, and the user has not said that hosts can be compared."""
    hosts: str = ""
    """The host before it and the one behind it, if it came with another one."""


@dataclass(frozen=True)
class Trend:
    """A series and what happened in it."""

    series: Series
    numbers: tuple[Interval | None, ...]
    """One for each session."""
    verdict: Verdict
    """The verdict on the newest level against the one before, or on the newest session if that failed."""
    changes: tuple[Change, ...] = ()
    levels: tuple[tuple[int, int, float | None], ...] = ()
    """First and last session of each level, and its mean; None where its sessions have no interval."""
    outlying: frozenset[int] = frozenset()
    """Sessions that lie far from their level, and do not count in it."""
    scatter: float | None = None
    """Scatter of the sessions of a level (standard deviation, as a share)."""
    known: bool = False
    """True if the user says that the newest change is known."""
    over_all: Change | None = None
    """The newest level against the first one, or the level of the last known session, where more than one
    change lies between."""

    @property
    def slower_over_all(self) -> bool:
        """True if it is slower than that: a later change may have taken back a part, or each be too small."""
        return self.over_all is not None and self.over_all.decision == "slower"

    @property
    def regression(self) -> bool:
        """True if the newest level is slower by more than the margin than the one before, or than the first
        one, or the newest session failed."""
        slower = self.verdict == "slower" and not self.known
        return self.verdict == "failed" or slower or self.slower_over_all

    @property
    def undecided(self) -> bool:
        """True if nobody can say whether the change is a regression."""
        over_all = self.over_all is not None and self.over_all.decision in _OPEN
        newest = self.verdict in _OPEN and not self.known
        return not self.regression and (newest or over_all or self.verdict == "too few sessions")


@dataclass(frozen=True)
class History:
    question: Question
    confidence: float
    """The confidence of the interval of each change, so that the intervals of all series hold at once."""
    enough: int
    """Sessions that a series must have before any change can be seen."""
    trends: tuple[Trend, ...]
    missing: tuple[str, ...] = ()
    """The cells that the newest session lacks, though an earlier one has them."""


def analyse(
    every: Sequence[Series], question: Question, known: float | None = None, newest: str = ""
) -> History:
    """The trend of each series. Changes up to the Unix time `known` are no regressions; `newest` is the label
    of the newest session."""
    count = max(1, len(every))
    # Bonferroni, as in a comparison: the errors of all series together are no more than those of one.
    alarm, each = ALARM / count, 1.0 - (1.0 - question.confidence) / count
    found = tuple(_trend(one, question, alarm, each, known) for one in every)
    there = {one.name for one in every for entry in one.entries if entry.log.label == newest}
    missing = dict.fromkeys(one.name for one in every if newest and one.name not in there)
    return History(question, each, enough(alarm), found, tuple(missing))


def _trend(one: Series, question: Question, alarm: float, confidence: float, known: float | None) -> Trend:
    numbers = one.numbers(question.by)
    places = [place for place, number in enumerate(numbers) if number is not None]
    told = [number.log() for number in numbers if number is not None]
    found = segmentation(told, alarm, confidence)
    levels = [one.entries[places[part.start] : places[part.stop - 1] + 1] for part in found.segments]
    changes = tuple(
        _change(each, change.ratio, question)
        for each, change in zip(pairwise(levels), found.changes, strict=True)
    )
    verdict: Verdict = "no change" if len(places) >= enough(alarm) else "too few sessions"
    if one.entries[-1].failed:
        verdict = "failed"
    elif changes:
        verdict = changes[-1].decision
    return Trend(
        one,
        tuple(numbers),
        verdict,
        changes,
        tuple(_level(level, places, told) for level in found.segments),
        frozenset(places[i] for i in found.outlying),
        found.between.deviation if found.between else None,
        known is not None and bool(changes) and changes[-1].after.log.time <= known,
        _over_all(levels, found, changes, question, known),
    )


def _over_all(
    levels: Sequence[Sequence[Entry]],
    found: Segmentation,
    changes: Sequence[Change],
    question: Question,
    known: float | None,
) -> Change | None:
    """The newest level against that of the last session that is known, or the first one."""
    first = sum(known is not None and change.after.log.time <= known for change in changes)
    if len(changes) - first < 2:
        return None
    change = _change((levels[first], levels[-1]), found.newest[first], question)
    return replace(change, after=levels[-1][-1])


def _change(levels: tuple[Sequence[Entry], Sequence[Entry]], ratio: Ratio, question: Question) -> Change:
    hosts = _other_hosts(*levels)
    judged = question.across_hosts or not hosts
    verdict = decision(ratio, question.by, question.margin) if judged else "other host"
    return Change(levels[0][-1], levels[1][0], ratio, verdict, hosts)


def _other_hosts(before: Sequence[Entry], after: Sequence[Entry]) -> str:
    """The hosts that measured most of each level, if they differ, and the levels have few hosts in common:
    then nobody knows whether the system changed or the host."""
    one, other = (Counter(entry.measurement.session.where for entry in level) for level in (before, after))
    common = sum(min(one[host] / one.total(), other[host] / other.total()) for host in one)
    (first, _), (second, _) = one.most_common(1)[0], other.most_common(1)[0]
    moved = first and second and first != second and common < _IN_COMMON
    return f"{first} → {second}" if moved else ""


def _level(level: Segment, places: Sequence[int], told: Sequence[Interval]) -> tuple[int, int, float | None]:
    # What has no upper bound is no level, but at least so much.
    known = bool(level.counted) and all(told[i].known for i in level.counted)
    value = math.exp(fmean(told[i].number for i in level.counted)) if known else None
    return places[level.start], places[level.stop - 1], value


def verdicts(history: History) -> Mapping[Verdict, int]:
    """Counts the series by verdict, the worst first."""
    order: tuple[Verdict, ...] = (
        "failed", "slower", "faster", "same", "undecided", "other host", "no change", "too few sessions",
    )  # fmt: skip
    counts = {one: sum(each.verdict == one for each in history.trends) for one in order}
    return {one: count for one, count in counts.items() if count}
