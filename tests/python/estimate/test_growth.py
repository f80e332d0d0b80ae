"""Whether the cost of a task grows with the length of a run, from runs of two and of three lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from taskgrain.estimate.growth import growth
from taskgrain.estimate.metg import estimate
from taskgrain.estimate.sample import Sample
from taskgrain.words.interval import Interval

LENGTHS = (100, 1000, 4000)
TASK = 1e-4


def runs(seconds: Callable[[int], float], noise: float = 0.0, rounds: int = 10) -> list[list[Sample]]:
    """By length: short ones, those of METG, and longer ones. A task at the crossing is half overhead."""
    dice = np.random.default_rng(1)
    found: list[list[Sample]] = []
    for tasks in LENGTHS:
        times = [seconds(tasks) * float(np.exp(noise * dice.standard_normal())) for _ in range(rounds)]
        one = Sample(100, 0, 1.0, TASK / 2.0 * tasks * 1e9, tasks, 1, 1e9, short=tasks == LENGTHS[0])
        found.append([replace(one, round=r, seconds=time) for r, time in enumerate(times)])
    return found


def steady(tasks: int) -> float:
    return 0.02 + TASK * tasks


def quadratic(tasks: int) -> float:
    return 0.02 + TASK * tasks * (1.0 + tasks / 2000.0)


def test_start_and_end_are_no_growth_and_hide_none_from_three_lengths() -> None:
    short, usual, longer = runs(steady)
    found = growth([*short, *usual], longer)
    assert found.number == pytest.approx(1.0)
    # Up to the shortest run, start and end count as a cost of its tasks: of two lengths, less than nothing.
    found = growth([*short, *usual])
    assert found.number < 1.0
    # Slopes 1.55 and 3.5 times TASK, the middles 550 and 2500 tasks.
    short, usual, longer = runs(quadratic)
    found = growth([*short, *usual], longer)
    assert np.log(found.number) == pytest.approx(np.log(3.5 / 1.55) / np.log2(2500 / 550))


def test_two_lengths_tell_a_growth_without_a_start() -> None:
    short, usual, _ = runs(lambda tasks: quadratic(tasks) - 0.02)
    found = growth([*short, *usual])
    assert np.log(found.number) == pytest.approx(np.log(1.55 / 1.05) / np.log2(550 / 50))


def test_disturbed_runs_tell_nothing() -> None:
    short, *others = runs(quadratic)
    usual, longer = ([replace(s, disturbed=s.round > 1) for s in some] for some in others)
    assert not growth([*short, *usual], longer).known


def test_the_interval_is_that_of_the_rounds() -> None:
    short, usual, longer = runs(steady, noise=0.05)
    found = growth([*short, *usual], longer)
    assert found.contains(1.0) and 1.01 < found.factor < 1.2


def test_too_few_rounds_tell_nothing() -> None:
    short, usual, longer = runs(quadratic, rounds=4)
    assert growth(usual) == growth([*short, *usual]) == growth([*short, *usual], longer[:2]) == Interval()
    assert growth([*short, *usual], longer).known


@pytest.mark.parametrize(("seconds", "said"), [(steady, False), (quadratic, True)])
def test_the_estimate_says_so(seconds: Callable[[int], float], said: bool) -> None:
    short, usual, longer = runs(seconds, noise=0.02)
    small = [replace(one, iterations=25, work=one.work / 4.0) for one in usual]
    found = estimate([*short, *usual, *small], longer=longer)
    warned = [one.text for one in found.warnings if one.code == "cost_grows"]
    assert bool(warned) is said
    assert not said or "METG holds for runs of 1,000 tasks" in warned[0]
