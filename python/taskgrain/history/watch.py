"""What happened in each series: its levels, its changes, and a verdict about the newest one.

docs/explanation/how-changes-are-found.md says why it is done so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from taskgrain.estimate.changes import enough
from taskgrain.estimate.course import Change, Level, Seen, course
from taskgrain.estimate.decision import Decision, decision
from taskgrain.estimate.drawn import Quantity
from taskgrain.estimate.ratio import Ratio
from taskgrain.history.series import Point, Series, seen
from taskgrain.results.compare.cells import Question
from taskgrain.words.interval import Interval

Verdict = Decision | Literal["no change", "too few sessions", "failed"]
QUANTITIES: tuple[Quantity, ...] = ("metg", "overhead", "floor", "rate")
ALARM = 0.01
"""The probability that a change is seen in any series, if there is none: once for each look."""


@dataclass(frozen=True)
class Step:
    """A change of a series."""

    before: Point
    """The last session before it."""
    after: Point
    """The first session behind it."""
    ratio: Ratio
    """The level behind it over the level before it."""
    decision: Decision


@dataclass(frozen=True)
class Watched:
    """A series and what happened in it."""

    series: Series
    numbers: tuple[Interval | None, ...]
    """One for each session."""
    verdict: Verdict
    """About the newest level against the one before, or the newest session if that failed."""
    steps: tuple[Step, ...] = ()
    levels: tuple[tuple[int, int, float | None], ...] = ()
    """First and last session of each level, and its mean; None where it has bounds only."""
    outlying: frozenset[int] = frozenset()
    """Sessions that lie far from their level, and do not count in it."""
    scatter: float | None = None
    """Of the sessions of a level (standard deviation, as a share)."""
    known: bool = False
    """Whether the user says that the newest change is known."""

    @property
    def regression(self) -> bool:
        """Whether the newest level is slower by more than the margin, or the newest session failed."""
        return self.verdict == "failed" or (self.verdict == "slower" and not self.known)


@dataclass(frozen=True)
class History:
    """All series."""

    question: Question
    confidence: float
    """Of the ratio of each change, so that those of all series hold at once."""
    enough: int
    """Sessions that a series must have before any change can be seen."""
    watched: tuple[Watched, ...]


def watch(every: Sequence[Series], question: Question, known: float | None = None) -> History:
    """What happened in each series. Changes up to the Unix time `known` are no regressions."""
    count = max(1, len(every))
    # Bonferroni, as in a comparison: the errors of all series together are no more than those of one.
    alarm, each = ALARM / count, 1.0 - (1.0 - question.confidence) / count
    found = tuple(_watched(one, question, alarm, each, known) for one in every)
    return History(question, each, enough(alarm), found)


def _watched(
    one: Series, question: Question, alarm: float, confidence: float, known: float | None
) -> Watched:
    numbers = one.numbers(question.by)
    told = seen(numbers)
    places = list(told)
    found = course(list(told.values()), alarm, confidence)
    steps = tuple(_step(one, places, change, question) for change in found.changes)
    verdict: Verdict = "no change" if len(places) >= enough(alarm) else "too few sessions"
    if one.points[-1].failed:
        verdict = "failed"
    elif steps:
        verdict = steps[-1].decision
    return Watched(
        one,
        tuple(numbers),
        verdict,
        steps,
        tuple(_level(level, places, list(told.values())) for level in found.levels),
        frozenset(places[i] for i in found.outlying),
        found.between.deviation if found.between else None,
        known is not None and bool(steps) and steps[-1].after.log.time <= known,
    )


def _step(one: Series, places: Sequence[int], change: Change, question: Question) -> Step:
    before, after = one.points[places[change.at - 1]], one.points[places[change.at]]
    return Step(before, after, change.ratio, decision(change.ratio, question.by, question.margin))


def _level(level: Level, places: Sequence[int], told: Sequence[Seen]) -> tuple[int, int, float | None]:
    value = math.exp(fmean(told[i].low for i in level.counted)) if level.counted else None
    return places[level.start], places[level.stop - 1], value


def verdicts(history: History) -> Mapping[Verdict, int]:
    """How many series have which verdict, the worst first."""
    order: tuple[Verdict, ...] = (
        "failed", "slower", "faster", "same", "undecided", "no change", "too few sessions",
    )  # fmt: skip
    counts = {one: sum(each.verdict == one for each in history.watched) for one in order}
    return {one: count for one, count in counts.items() if count}
