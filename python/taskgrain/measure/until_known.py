"""The study that `taskgrain advise --measure` measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taskgrain.answers.advise import LEVELS, Question
from taskgrain.estimate.efficiency import Curve, CurvePoint
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import FEW_ROUNDS
from taskgrain.measure.experiments.experiment import Experiment, Phase, Request
from taskgrain.measure.experiments.fixed_granularity import FixedGranularity
from taskgrain.study.field import flag
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study
from taskgrain.words import numbers

_FRACTIONS = (0.125, 0.25, 0.5, 1.0)
_MULTIPLES = ((2.0, 200e-6), (4.0, 50e-6))
"""The margin by which a task time is long enough takes measurements at these shares of it, and at these
multiples where it is not longer than so many seconds, because runs of long tasks take long."""
_GIVEN = ("budget", "steps", "validate", "isa", "launcher", "hosts", "hostfile")
"""Settings that the user gives."""
_PRECISION, _MOST_ROUNDS = 0.1, 10_000
"""The budget ends what is not known, not the number of rounds."""
_APART = 1.4
"""The rounds end once an efficiency is so many times its half-width away from each level: who looks
after every round, and stops once an interval of 95 % is on one side, errs more often than once in twenty."""


def task_times(work: float) -> list[float]:
    """Returns the times to measure for a task time: it, and others from which the margin follows."""
    times = [share * work for share in _FRACTIONS]
    return times + [times_as_long * work for times_as_long, most in _MULTIPLES if work <= most]


def until_known(work: float) -> type[Experiment]:
    """The experiment that goes on until it is known which levels tasks of so much work reach."""

    class UntilKnown(FixedGranularity):
        """Its first rounds are of this time alone: it is what was asked. The others tell the margin."""

        def _prepare(self, request: Request, samples: list[Sample], alone: float) -> Request | None:
            following = super()._prepare(request, samples, alone)
            if self.asked:
                self._short = self._size if self.settings.steps is None else None
                self.sizes = (self._size,)
            return following

        def _request(self, iterations: int, length: Phase = "measure") -> Request:
            request = super()._request(iterations, length)
            # Where one run is long, all systems shall have one soon: the looks before it were warm-up.
            once = not self._round and self.settings.slow(self._typical)
            return replace(request, warmup=0) if once else request

        @property
        def _size(self) -> int:
            return min(self.asked, key=lambda one: abs(self.asked[one] - work))

        def _settled(self) -> bool:
            if self._round >= FEW_ROUNDS:
                self.sizes = tuple(self.asked)
            return super()._settled()

        def _answers(self, found: Curve) -> bool:
            return all(_clear(one) for one in found if one.iterations == self._size)

    return UntilKnown


def _clear(found: CurvePoint) -> bool:
    value, low, high = found.efficiency.value, found.efficiency.low, found.efficiency.high
    if value is None or low is None or high is None:
        return False
    low, high = (value * (end / value) ** _APART for end in (low, high))
    return not any(low < level <= high for level in LEVELS)


def study(question: Question, systems: Sequence[str], given: Settings) -> Study:
    """The study that measures what the answer for these systems needs; `given` has budget and steps."""
    at = ",".join(map(numbers.duration_text, task_times(question.work)))
    fields = {one: getattr(given, one) for one in _GIVEN}
    settings = Settings(experiment="at", at=at, precision=_PRECISION, max_rounds=_MOST_ROUNDS, **fields)
    return Study(tuple(systems), (question.workload,), settings, settings_named=flag)
