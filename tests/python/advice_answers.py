"""Answers of `taskgrain advise` about made-up systems, for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taskgrain.answers.advise import Answer, Question, answer
from taskgrain.results.cell import Cell
from taskgrain.results.curves import Curve
from taskgrain.study.workload import Workload
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.origin import MEASURED, Origin

WORKLOAD = Workload("nearest", 16, radix=6)
QUESTION = Question(20e-6, WORKLOAD, 2)
SIZES = (2.5e-6, 5e-6, 10e-6, 20e-6, 40e-6)


@dataclass(repr=False)
class MadeUp(Cell):
    """A cell whose facts a test says, without lines that they follow from."""

    ending: Ending = Ending.PRECISE
    time: float | None = 1.7e9
    disturbed: float | None = None
    others: float | None = None
    cores: int | None = None
    bound: bool = False
    origin: Origin = MEASURED


def curve(
    system: str, overhead: float, sizes: Sequence[float] = SIZES, scatter: float = 0.01, **cell: Any
) -> Curve:
    """`cell` are facts of its cell."""
    points = {}
    for work in sizes:
        efficiency = work / (work + overhead)
        ends = efficiency * (1 - scatter), efficiency * (1 + scatter)
        points[work] = Interval(efficiency, *ends)
    return Curve(MadeUp(system, **cell), WORKLOAD, 2, points, Path("results/day"), "cpu")


def other(one: Curve | None, **cell: Any) -> Curve:
    """A curve with other facts of its cell."""
    assert one
    return replace(one, cell=replace(one.cell, **cell))


def found(system: str, overhead: float, sizes: Sequence[float] = SIZES, scatter: float = 0.01) -> Answer:
    return answer(QUESTION, system, curve(system, overhead, sizes, scatter))
