"""Tells whether tasks of a given time are long enough for a system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from taskgrain._core import InvalidSpec, Unsupported
from taskgrain.answers.program import Program
from taskgrain.estimate.advice import (
    Efficiency,
    Level,
    Verdict,
    efficiency_at,
    in_order,
    level_of,
    needed,
    verdict_of,
)
from taskgrain.estimate.ratio import ratio
from taskgrain.results.curves import Curve
from taskgrain.results.ranking import MARGIN
from taskgrain.study.steps import Steps, most_efficiency, with_steps
from taskgrain.study.workload import Workload
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin
from taskgrain.words.quantity import counted

LEVELS = (0.5, 0.8, 0.9)
"""The efficiencies that an answer speaks of."""
A_GOOD_PART = 0.25
"""The share of runs that others disturbed, or of the cores' time that they used during the runs, from which
on a system may be more efficient than it seems."""
LEAST_SAVED = 1.0 - 1.0 / MARGIN
"""The share of the time from which on a difference is one."""
_SHOWN = 5
"""The most other workloads of a folder that are named."""
_START, _RUNS, _RUNS_OF_A_PROGRAM = 0.3, 4.0, 8.0
"""Seconds in which a system starts, and the runs, as long as no overhead makes them, that its first looks and
its first round take on a machine that others use, too. With a program they are as many rounds as an interval
needs: what the answer is about are the times."""
_POINT = 2e-6
"""Seconds that a point of a program costs, beside its work, with most systems, with its share of reading the
graph before each run."""


@dataclass(frozen=True)
class Question:
    """The question which systems run these tasks efficiently."""

    work: float
    """Seconds that the work of a task takes alone on one core."""
    workload: Workload
    cores: int
    steps: int = 0
    """The steps of the graph, if they are given."""
    program: Program | None = None
    """The program whose graph the workload is; the work is then the mean of its points."""

    @property
    def most(self) -> float:
        """The highest efficiency that the graph allows on all of these cores, whatever the system."""
        return most_efficiency(self.workload, self.workload.cores_of_all(self.cores), self.steps or None)

    def needs(self, systems: int) -> float:
        """The seconds in which so many systems have the runs that an answer needs."""
        if self.program:
            run = self.program.least(self.cores) + self.program.steps.points * _POINT
            return systems * (_START + _RUNS_OF_A_PROGRAM * run)
        try:
            steps = with_steps(Steps(steps=self.steps or None), self.workload).least
        except (InvalidSpec, Unsupported):  # the measurement says so
            steps = 1
        run = self.workload.tasks(steps) * self.work / self.workload.cores_of_all(self.cores)
        return systems * (_START + _RUNS * run)

    def fit(self, budget: float) -> int:
        """The number of systems that can have these runs within a budget, in seconds; one at least."""
        return max(1, int(budget / self.needs(1)))


@dataclass(frozen=True)
class Answer:
    system: str
    curve: Curve | None
    """The curve that it rests on."""
    efficiency: Efficiency
    levels: tuple[Level, ...]
    problem: str = ""
    """The reason why it could not be measured, if that was tried."""
    measured_now: bool = False

    @property
    def name(self) -> str:
        """The system's, with its marks."""
        return self.curve.cell.called if self.curve else self.system

    @property
    def origin(self) -> Origin | None:
        return self.curve.cell.origin if self.curve else None

    @property
    def known(self) -> bool:
        """Tells whether the efficiency has a value, measured at the task time or between two others."""
        return self.efficiency.found.value is not None

    @property
    def rough(self) -> bool:
        """True if its efficiency has a value without bounds, as one round gives it."""
        found = self.efficiency.found
        return found.value is not None and found.low is None and found.high is None

    @property
    def disturbed(self) -> bool:
        """True if others disturbed a good part of its runs, so that it may be more efficient than shown."""
        return _disturbed(self.curve)

    @property
    def size(self) -> float | None:
        """The iterations of the tasks that were measured, if they took this time."""
        if self.curve is None or self.efficiency.how != "measured":
            return None
        return self.curve.sizes.get(self.efficiency.at[0])

    @property
    def occupied(self) -> int:
        """The cores that the system occupies."""
        return (self.curve and (self.curve.cell.cores or self.curve.cores)) or 1

    @property
    def speed(self) -> float:
        """The speed of the system with these tasks, at least: its efficiency, or the lower bound of that,
        times the cores that it occupies."""
        found = self.efficiency.found
        return (found.low or 0.0 if found.value is None else found.value) * self.occupied


@dataclass(frozen=True)
class Choice:
    """The system that takes the least time for the tasks, and what it saves users of another one."""

    best: Answer
    """The system that surely saves most; others with only a bound may save more."""
    saved: Mapping[str, Interval]
    """The share of the time of each other system that can be chosen, as far as it is known. Without a value
    where the order by the rounds that both have is another one, or only bounds are known."""
    bounded: tuple[Answer, ...]
    """The others of which only a bound is known, by other sizes, so that they may be better."""

    @property
    def sure(self) -> dict[str, Interval]:
        """Returns the systems with a sure saving, the largest first. Two processes of one system may differ
        by as much as the others."""
        found = {name: one for name, one in self.saved.items() if (one.low or 0.0) > LEAST_SAVED}
        return dict(sorted(found.items(), key=lambda each: -(each[1].about or 0.0)))


def choice(answers: Iterable[Answer]) -> Choice | None:
    """None where there are not two systems that one can choose and that can be compared."""
    able = [one for one in answers if one.curve and not one.curve.cell.bound]
    best = max(able, key=lambda one: (one.speed, one.known), default=None)
    if best is None:
        return None
    shares = {one.system: _saved(one, best) for one in able if one is not best}
    found = Choice(best, {name: one for name, one in shares.items() if one}, ())
    open_ones = (one for one in able if one is not best and not one.known and one.system not in found.sure)
    bounded = tuple(one for one in open_ones if one.efficiency.how in ("above", "below"))
    return replace(found, bounded=bounded) if found.saved else None


def _saved(one: Answer, best: Answer) -> Interval | None:
    """The share of its time that the best saves: of the rounds that both have, if there are any. None where
    nothing is known of it.

    It is no surer than the two efficiencies: it has no bounds where one of them has none, and where others
    disturbed one of the two, it has none on the side of that one.
    """
    if not (one.known and best.known):
        return _saved_at_least(one, best)
    share = (side_by_side(one, best) or _apart(one, best)).times(one.occupied / best.occupied)
    value = None if share.number > 1.0 else 1.0 - share.number
    rough = one.rough or best.rough
    low = None if rough or one.disturbed or share.high is None else 1.0 - share.high
    high = None if rough or best.disturbed or share.low is None else 1.0 - share.low
    return Interval(value, low, high)


def _saved_at_least(one: Answer, best: Answer) -> Interval | None:
    """The same where only a bound is known of one of the two."""
    most, least = one.efficiency.found.high, best.efficiency.found.low
    if most is None or least is None:
        return None
    return Interval(low=1.0 - most * one.occupied / (least * best.occupied))


def side_by_side(one: Answer, best: Answer) -> Interval | None:
    """The ratio of two efficiencies from common rounds of one size; None without them."""
    over, under = one.curve, best.curve
    if over is None or under is None or over.folder.resolve() != under.folder.resolve():
        return None
    size = one.size
    if size is None or size != best.size:
        return None
    found = ratio(over.samples, under.samples, quantity="efficiency", iterations=int(size))
    return found if found.value is not None else None


def _apart(one: Answer, best: Answer) -> Interval:
    """The same from their intervals, if the two were independent."""
    over, under = one.efficiency.found.log(), best.efficiency.found.log()
    value = over.number - under.number

    def end(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else math.hypot(a - over.number, b - under.number)

    below, above = end(over.low, under.high), end(over.high, under.low)
    low = None if below is None else value - below
    return Interval(value, low, None if above is None else value + above).exp()


def answer(
    question: Question, system: str, curve: Curve | None, problem: str = "", *, now: bool = False
) -> Answer:
    """The answer for a system; without a curve nothing is known."""
    points = curve.points if curve else {}
    if curve and not points:
        problem = problem or (curve.problem and f"{curve.problem} ({curve.folder})")
        curve = None
    most = curve.most if curve else 1.0
    known = [
        level_of(points, question.work, one, curve.needed(one) if curve else None, most) for one in LEVELS
    ]
    levels = in_order([_doubted(one) for one in known] if _disturbed(curve) else known)
    return Answer(system, curve, at(curve, question.work), levels, problem, now)


def at(curve: Curve | None, work: float) -> Efficiency:
    """The efficiency of tasks of so much work. Where a good part of the runs was disturbed, they set no
    upper bound of it: that slows a run more than the reference beside it."""
    found = efficiency_at(curve.points, work, curve.most) if curve else efficiency_at({}, work)
    if not _disturbed(curve):
        return found
    return replace(found, found=replace(found.found, high=found.most if found.most < 1.0 else None))


def least(curve: Curve, level: float) -> Interval:
    """The work that tasks need for a level of efficiency. Where a good part of the runs was disturbed, they
    set no lower bound of it."""
    found = curve.needed(level) or needed(curve.points, level)
    return replace(found, low=None) if _disturbed(curve) else found


def verdicts(found: Efficiency) -> tuple[Verdict, ...]:
    """Returns the verdict of each of `LEVELS`, as `answer` gives it where the curve says so much."""
    return tuple(verdict_of(found.found, level, found.most) for level in LEVELS)


def _disturbed(curve: Curve | None) -> bool:
    return curve is not None and max(curve.cell.disturbed or 0.0, curve.cell.others or 0.0) > A_GOOD_PART


def _doubted(level: Level) -> Level:
    """A level from runs that others disturbed much: it does not follow that tasks are too short."""
    verdict: Verdict = "unknown" if level.verdict == "no" else level.verdict
    least, margin = replace(level.needed, low=None), replace(level.margin, high=None)
    return replace(level, verdict=verdict, needed=least, margin=margin)


def newest(curves: Iterable[Curve], question: Question) -> dict[str, Curve]:
    """The last measured curve of each system that has the question's workload and cores."""
    asked = question.workload.graph, question.cores
    fitting = [one for one in curves if (one.workload.graph, one.cores) == asked]
    return {one.cell.system: one for one in sorted(fitting, key=lambda one: one.cell.time or 0.0)}


def others(curves: Iterable[Curve], question: Question) -> list[str]:
    """Names other workloads with results, so that nobody takes these for the answer."""
    notes: dict[str, None] = {}
    for one in curves:
        if differs := differences(one, question):
            notes[f"{one.folder}: has {one.workload.name}: {', '.join(differs)}; not what was asked"] = None
    listed = list(notes)
    more = [f"and {len(listed) - _SHOWN} other workloads"] if len(listed) > _SHOWN else []
    return listed[:_SHOWN] + more


def differences(curve: Curve, question: Question) -> list[str]:
    """Names the fields in which a curve differs from the question."""
    own, asked = curve.workload.fields(), question.workload.fields()
    same = asked["dag_hash"] and own["dag_hash"] == asked["dag_hash"]
    found = [f"{key} {own[key]}" for key in own if own[key] != asked[key] and not (same and key == "dag")]
    return found + ([counted(curve.cores or 0, "core")] if curve.cores != question.cores else [])


def of_machine(curves: Sequence[Curve], fingerprint: str) -> tuple[list[Curve], list[str]]:
    """The curves that may stand beside what this machine measures now, and which are left out."""
    own = [one for one in curves if one.cell.session.machine == fingerprint]
    left = dict.fromkeys(str(one.folder) for one in curves if one.cell.session.machine != fingerprint)
    return own, [f"{folder}: is of another machine, and not used beside what is measured" for folder in left]


def missing(answers: Mapping[str, Answer]) -> list[str]:
    """The systems whose efficiency at the task time was not measured, or in one run only."""
    return [name for name, one in answers.items() if not one.efficiency.found.known]
