"""The efficiency at given sizes of task: its value, and how often its interval holds the truth."""

import math
import random

import pytest

from taskgrain.estimate.efficiency import efficiencies, of_repeats
from taskgrain.estimate.sample import Sample
from taskgrain.words.interval import Interval

PEAK, CORES, TASKS = 1e9, 2, 1000


def samples(
    work: float = 20e-6, overhead: float = 5e-6, rounds: int = 10, noise: float = 0.02, seed: int = 1
) -> list[Sample]:
    """Runs of one size, whose tasks cost `overhead` beside their work, seconds of one core."""
    dice, found = random.Random(seed), []
    for number in range(rounds):
        slow = math.exp(dice.gauss(0.0, noise))
        for _ in range(3):
            seconds = (work + overhead) * slow * math.exp(dice.gauss(0.0, noise / 4)) * TASKS / CORES
            found.append(Sample(20_000, number, seconds, work * PEAK * TASKS, TASKS, CORES, PEAK))
    return found


def test_the_efficiency_is_the_share_of_the_work() -> None:
    (one,) = efficiencies(samples())
    assert one.efficiency.value == pytest.approx(0.8, rel=0.02)
    assert one.work == pytest.approx(20e-6, rel=1e-6)
    assert one.granularity.value == pytest.approx(25e-6, rel=0.02)
    assert one.efficiency.known and one.efficiency.contains(0.8)
    assert one.efficiency.half_width < 0.05
    assert one.repeats == 30


def test_sizes_ascend_and_one_round_has_no_interval() -> None:
    one = samples(rounds=1)
    many = [*one, *(Sample(9, 0, s.seconds, 1e3, TASKS, CORES, PEAK) for s in one)]
    first, second = efficiencies(many)
    assert (first.iterations, second.iterations) == (9, 20_000)
    assert second.efficiency == Interval(second.efficiency.value)


def test_a_faster_clock_beside_the_run_cancels() -> None:
    fast = [
        Sample(s.iterations, s.round, s.seconds / 2, s.work, s.tasks, s.cores, 2 * PEAK) for s in samples()
    ]
    (slow,), (quick,) = efficiencies(samples()), efficiencies(fast)
    assert quick.efficiency.value == pytest.approx(slow.efficiency.value)
    assert quick.work == pytest.approx(slow.work / 2)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(200):
        (one,) = efficiencies(samples(seed=seed), resamples=200)
        held += one.efficiency.known and one.efficiency.contains(0.8)
    assert held >= 184  # 95 % of 200 are 190, and its standard deviation is 3


def test_there_is_nothing_without_samples() -> None:
    with pytest.raises(ValueError):
        efficiencies([])


def test_repeats_of_one_run_have_students_interval() -> None:
    same = pytest.approx(0.8)
    assert of_repeats([0.8e9, 0.8e9, 0.8e9], 1e9, 1e9) == Interval(same, same, same)
    found = of_repeats([0.7e9, 0.8e9, 0.9e9], 1e9, 1e9)
    assert found.known and found.ends[0] < 0.7 and found.ends[1] > 0.9
    assert of_repeats([0.8e9], 1e9, 1e9) == Interval(same)


def test_a_peak_that_changed_meanwhile_widens_the_interval() -> None:
    found = of_repeats([0.8e9] * 3, 1e9, 1.21e9)
    assert found == Interval(*map(pytest.approx, (0.8 / 1.1, 0.8 / 1.21, 0.8)))


@pytest.mark.parametrize(("rates", "before"), [([], 1.0), ([1.0], 0.0), ([0.0], 1.0), ([-1.0], 1.0)])
def test_rates_must_be_positive(rates: list[float], before: float) -> None:
    with pytest.raises(ValueError, match="positive rates"):
        of_repeats(rates, before, 1.0)
