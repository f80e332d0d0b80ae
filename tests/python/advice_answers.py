"""Answers of `taskgrain advise` about made-up systems, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taskgrain.answers.advise import Answer, Question, answer
from taskgrain.results.curves import Curve
from taskgrain.study.workload import Workload
from taskgrain.words.interval import Interval

WORKLOAD = Workload("nearest", 16, radix=6)
QUESTION = Question(20e-6, WORKLOAD, 2)
SIZES = (2.5e-6, 5e-6, 10e-6, 20e-6, 40e-6)


def found(system: str, overhead: float, sizes: Sequence[float] = SIZES, scatter: float = 0.01) -> Answer:
    points = {}
    for work in sizes:
        efficiency = work / (work + overhead)
        ends = efficiency * (1 - scatter), efficiency * (1 + scatter)
        points[work] = Interval(efficiency, *ends)
    curve = Curve(system, WORKLOAD, 2, points, None, Interval(), Path("results/day"), "cpu", "f00d", 1.7e9)
    return answer(QUESTION, system, curve)
