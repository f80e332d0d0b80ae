"""Start and end of a run, and what a task costs the longer it is, from runs of two and of three lengths."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, runs_of_both_lengths, samples_of

from taskgrain.estimate.metg import estimate
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import Start, growth
from taskgrain.words.interval import Interval

SIZES = (50, 100, 200)
ROUNDS = 12
NOISE = Noise()
RUN = 4e-4  # seconds of 1000 steps at 100 iterations


def found(start_seconds: float, noise: Noise = NOISE, rounds: int = ROUNDS) -> Start:
    system = SimulatedSystem(constant(1e-7), noise, start_seconds=start_seconds)
    return Start.of(runs_of_both_lengths(system, SIZES, rounds), range(rounds))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_two_lengths_tell_start_and_end(share: float) -> None:
    assert found(share * RUN, Noise(0.0, 0.0, 0.0)).seconds == pytest.approx(share * RUN, rel=1e-6, abs=1e-12)


def test_it_is_known_ten_times_better_than_a_run() -> None:
    start = found(0.1 * RUN, Noise(run=0.05))
    draws = start.more(np.random.default_rng(0).integers(0, ROUNDS, (500, ROUNDS)))
    assert start.seconds == pytest.approx(0.1 * RUN, abs=0.02 * RUN)
    assert draws.std() < 0.007 * RUN, "that of a run's location is 0.05 / sqrt(12) = 0.014"


def test_a_run_that_was_interrupted_changes_little() -> None:
    runs = runs_of_both_lengths(
        SimulatedSystem(constant(1e-7), Noise(), start_seconds=0.1 * RUN), SIZES, ROUNDS
    )
    hit = [replace(s, seconds=s.seconds + RUN) if s.short and s.round in (0, 2, 7) else s for s in runs]
    assert Start.of(hit, range(ROUNDS)).seconds == pytest.approx(0.1 * RUN, abs=0.02 * RUN)


def test_it_is_never_negative() -> None:
    """A long run that costs more by the task, as caches fill, has no start that could be taken off."""
    runs = runs_of_both_lengths(SimulatedSystem(constant(1e-7), Noise(0.0, 0.0, 0.0)), SIZES, ROUNDS)
    cheap = [replace(s, seconds=0.8 * s.seconds) if s.short else s for s in runs]
    start = Start.of(cheap, range(ROUNDS))
    assert start.known and start.seconds == 0.0 and start.without(runs) == runs


def test_without_enough_short_runs_nothing_is_taken_off() -> None:
    system = SimulatedSystem(constant(1e-7), start_seconds=RUN)
    runs = samples_of(system, SIZES, ROUNDS)
    start = Start.of(runs, range(ROUNDS))
    assert not start.known and start.without(runs) == runs
    picks = np.zeros((5, ROUNDS), dtype=np.int64)
    assert start.more(picks).tolist() == [0.0] * 5
    few = [s for s in runs_of_both_lengths(system, SIZES, ROUNDS) if not s.short or s.round < 4]
    assert not Start.of(few, range(ROUNDS)).known


def test_a_run_never_loses_all_of_its_time() -> None:
    start = replace(found(0.1 * RUN), seconds=RUN)
    runs = samples_of(SimulatedSystem(constant(1e-7)), SIZES, 2)
    assert all(0.0 < a.seconds < b.seconds for a, b in zip(start.without(runs), runs, strict=True))


LENGTHS = (100, 1000, 4000)
TASK = 1e-4


def of_three_lengths(
    seconds: Callable[[int], float], noise: float = 0.0, rounds: int = 10
) -> list[list[Sample]]:
    """The samples by length: short, those of METG, longer. A task at the crossing is half overhead."""
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
    short, usual, longer = of_three_lengths(steady)
    found = growth([*short, *usual], longer)
    assert found.number == pytest.approx(1.0)
    # Up to the shortest run, start and end count as a cost of its tasks: of two lengths, less than nothing.
    found = growth([*short, *usual])
    assert found.number < 1.0
    # Slopes 1.55 and 3.5 times TASK, the middles 550 and 2500 tasks.
    short, usual, longer = of_three_lengths(quadratic)
    found = growth([*short, *usual], longer)
    assert np.log(found.number) == pytest.approx(np.log(3.5 / 1.55) / np.log2(2500 / 550))


def test_two_lengths_tell_a_growth_without_a_start() -> None:
    short, usual, _ = of_three_lengths(lambda tasks: quadratic(tasks) - 0.02)
    found = growth([*short, *usual])
    assert np.log(found.number) == pytest.approx(np.log(1.55 / 1.05) / np.log2(550 / 50))


def test_disturbed_runs_tell_nothing() -> None:
    short, *others = of_three_lengths(quadratic)
    usual, longer = ([replace(s, disturbed=s.round > 1) for s in some] for some in others)
    assert not growth([*short, *usual], longer).known


def test_the_interval_is_that_of_the_rounds() -> None:
    short, usual, longer = of_three_lengths(steady, noise=0.05)
    found = growth([*short, *usual], longer)
    assert found.contains(1.0) and 1.01 < found.factor < 1.2


def test_too_few_rounds_tell_nothing() -> None:
    short, usual, longer = of_three_lengths(quadratic, rounds=4)
    assert growth(usual) == growth([*short, *usual]) == growth([*short, *usual], longer[:2]) == Interval()
    assert growth([*short, *usual], longer).known


@pytest.mark.parametrize(("seconds", "said"), [(steady, False), (quadratic, True)])
def test_the_estimate_says_so(seconds: Callable[[int], float], said: bool) -> None:
    short, usual, longer = of_three_lengths(seconds, noise=0.02)
    small = [replace(one, iterations=25, work=one.work / 4.0) for one in usual]
    found = estimate([*short, *usual, *small], longer=longer)
    warned = [one.text for one in found.warnings if one.code == "cost_grows"]
    assert bool(warned) is said
    assert not said or "METG holds for runs of 1,000 tasks" in warned[0]
