"""The measurements of `taskgrain advise --measure`: as many as the answer needs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taskgrain.answers.advise import LEVELS, Answer, Question, answer, newest
from taskgrain.drive.system import System
from taskgrain.estimate.efficiency import Curve, CurvePoint
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure import call
from taskgrain.measure.experiments.experiment import Experiment, Phase, Request
from taskgrain.measure.experiments.fixed_granularity import FixedGranularity
from taskgrain.results import curves
from taskgrain.study.field import flag
from taskgrain.study.settings import Settings, take_settings
from taskgrain.study.study import Study
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError
from taskgrain.words.quantity import counted
from taskgrain.words.warnings import grouped

_FRACTIONS = (0.125, 0.25, 0.5, 1.0)
_MULTIPLES = ((2.0, 200e-6), (4.0, 50e-6))
"""The margin by which a task time is long enough takes measurements at these shares of it, and at these
multiples where it is not longer than so many seconds, because runs of long tasks take long."""
_GIVEN = ("budget", "steps", "validate", "isa", "launcher", "hosts", "hostfile")
"""Settings that the user gives."""
_AFTER, _AFTER_SHARE = 3.0, 0.05
"""Seconds of the budget, or a share of it if that is less, in which the last run ends, the systems stop and
the answer is made."""
_PRECISION, _MOST_ROUNDS = 0.1, 10_000
"""The most rounds, so that the budget and not this number ends the measurement."""
_APART = 1.4
"""The rounds end once an efficiency is so many times its half-width away from each level: to look after every
round, and to stop once an interval of 95 % is on one side, errs more often than once in twenty."""


@dataclass(frozen=True)
class Measured:
    """The answers by new measurements."""

    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = ()
    interrupted: str = ""
    """The sentence for a person who interrupted it; empty if nobody did."""


def measured(
    question: Question,
    lacking: Sequence[str],
    known: Mapping[str, System],
    cores: Sequence[int],
    settings: Mapping[str, Any],
    folder: Path,
    *,
    quiet: bool,
    kept: bool,
    begun: float,
) -> Measured:
    """Measures the lacking systems, of which some are `known` here, into a folder within the budget.

    `settings` are those that the user gives. A large graph takes a part of the budget to be read: `begun` is
    when that was, by the monotonic clock. Raises `TaskgrainError` like `call.measure`.
    """
    problems: dict[str, str] = {}
    for name in lacking:
        probe = known[name].probe() if name in known else None
        if probe is None or not probe.available:
            missing = f"no {', no '.join(probe.missing)}" if probe else "it is not among the systems here"
            problems[name] = f"it cannot run here: {missing}"
    able = [known[name] for name in lacking if name not in problems]
    notes: list[str] = []
    interrupted = ""
    found: Sequence[curves.Curve] = ()
    if able:
        # All have the same launcher.
        given = take_settings({**settings, "launcher": able[0].launcher or "auto"}, "--{}".format)
        able.sort(key=lambda one: one.bound)  # nobody can choose a bound, so that its number can wait
        last = min(_AFTER, _AFTER_SHARE * given.budget)
        passed = time.monotonic() - begun
        if passed + last >= given.budget:
            least = min(passed + _AFTER, passed / (1 - _AFTER_SHARE))
            allowed = f"more than {quantity.seconds(least, 2)}, for reading the graph, and the answer"
            raise InputError("--budget", quantity.seconds(given.budget), allowed)
        fit = question.fit(given.budget - passed - last)
        systems = counted(fit, "system")
        short = f"a budget of {given.budget:g} s is too short for more than {systems} with such tasks"
        seconds = 10 * math.ceil((passed + _AFTER + question.needs(len(able))) / 10)
        enough = f"raise --budget to {seconds} s, which has room for all, or choose by --system"
        problems |= {one.name: f"{short}; {enough}" for one in able[fit:]}
        able = able[:fit]
        came = call.measure(
            study(question, [one.name for one in able], replace(given, budget=given.budget - last)),
            able,
            cores,
            folder,
            quiet=quiet,
            kept=kept,
            experiment=until_known(question.work, alone=question.program is not None),
            begun=begun,
        )
        interrupted = came.interrupted
        found = curves.opened(folder, interrupted=bool(interrupted))[0]
        problems |= {one.cell.partition("/")[0]: f"{one.kind_of}: {one.message}" for one in came.failures}
        # The answer is for the time that was asked for, whatever exactly was measured.
        said = [(cell.name, one) for cell in came.cells for one in cell.warnings]
        left_out = ("task_time_off", *(["steps_fixed"] if question.program else []))
        for group in grouped([(cell, one) for cell, one in said if one.code not in left_out]):
            more = " and others" if len(group.cells) > 1 else ""
            notes.append(f"{group.cells[0].partition('/')[0]}{more}: {group.text}")
    fresh = newest(found, question)
    default = f"{'it was interrupted' if interrupted else 'the budget ended'} before it was measured"
    answers = {}
    for name in lacking:
        curve = fresh.get(name)
        curve = curve if curve and curve.points else None
        problem = "" if curve else problems.get(name, default)
        answers[name] = answer(question, name, curve, problem, now=True)
    return Measured(answers, tuple(notes), interrupted)


def task_times(work: float) -> list[float]:
    """Returns the times to measure for a task time: it, and others from which the margin follows."""
    times = [share * work for share in _FRACTIONS]
    return times + [times_as_long * work for times_as_long, most in _MULTIPLES if work <= most]


def until_known(work: float, *, alone: bool = False) -> type[Experiment]:
    """The experiment that goes on until it is known which levels tasks of so much work reach, or `alone` how
    efficient they are."""

    class UntilKnown(FixedGranularity):
        """Rounds of the user's task time alone at first, and then also of others, which tell the margin."""

        def _prepare(self, request: Request, samples: list[Sample], alone: float) -> Request | None:
            following = super()._prepare(request, samples, alone)
            if self.asked:
                self._short = self._size if self.settings.steps is None else None
                self.sizes = (self._size,)
            return following

        def _request(self, iterations: int, length: Phase = "measure") -> Request:
            request = super()._request(iterations, length)
            # Where one run is long, all systems shall have one soon: the looks before it were warm-up.
            # Where all are of one size, none needs more.
            once = self.settings.slow(self._typical) and (alone or not self._round)
            return replace(request, warmup=0) if once else request

        @property
        def _size(self) -> int:
            return min(self.asked, key=lambda one: abs(self.asked[one] - work))

        def _settled(self) -> bool:
            if self._round >= FEW_ROUNDS:
                self.sizes = tuple(self.asked)
            return super()._settled()

        def _answers(self, found: Curve) -> bool:
            return alone or all(_clear(one) for one in found if one.iterations == self._size)

    return UntilKnown


def _clear(found: CurvePoint) -> bool:
    value, low, high = found.efficiency.value, found.efficiency.low, found.efficiency.high
    if value is None or low is None or high is None:
        return False
    low, high = (value * (end / value) ** _APART for end in (low, high))
    return not any(low < level <= high for level in LEVELS)


def study(question: Question, systems: Sequence[str], given: Settings) -> Study:
    """The study that measures what the answer for these systems needs; `given` has budget and steps."""
    times = [question.work] if question.program else task_times(question.work)
    at = ",".join(map(numbers.duration_text, times))
    fields = {one: getattr(given, one) for one in _GIVEN}
    settings = Settings(experiment="at", at=at, precision=_PRECISION, max_rounds=_MOST_ROUNDS, **fields)
    return Study(tuple(systems), (question.workload,), settings, settings_named=flag)
