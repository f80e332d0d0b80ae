"""The ratio of two METGs against systems whose ratio is known."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, samples_of

from taskgrain.estimate.metg import estimate
from taskgrain.estimate.ratio import Decision, Ratio, decision, ratio
from taskgrain.estimate.sample import Sample

SIZES = (25, 50, 71, 100, 141, 200, 400)


def steady(number: int) -> float:
    return 1.0


def sides(
    times: float, noise: Noise, rounds: int, seed: int, drift: Callable[[int], float] = steady
) -> tuple[list[Sample], list[Sample]]:
    """Two systems whose overheads are `times` apart, in rounds that `drift` slows for both alike."""
    first = SimulatedSystem(constant(times * 1e-7), noise, seed=2 * seed)
    second = SimulatedSystem(constant(1e-7), noise, seed=2 * seed + 1)
    sizes = tuple(round(times * n) for n in SIZES)
    found = [samples_of(first, sizes, rounds), samples_of(second, SIZES, rounds)]
    first_side, second_side = (
        [replace(s, seconds=s.seconds * drift(s.round), peak=s.peak / drift(s.round)) for s in side]
        for side in found
    )
    return first_side, second_side


def width(found: Ratio) -> float:
    assert found.value is not None
    return ((found.high or math.inf) - (found.low or 0.0)) / found.value


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_without_noise_the_ratio_is_that_of_the_overheads(times: float) -> None:
    first, second = sides(times, Noise(0.0, 0.0, 0.0), 6, 0)
    found = ratio(first, second)
    assert found.value == pytest.approx(times, rel=1e-9)
    assert ratio(first, second, quantity="overhead").value == pytest.approx(times, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((times, times), rel=1e-9)
    assert found.rounds == 6 and found.decided == (times != 1.0)


@pytest.mark.parametrize("rounds", [5, 9])
def test_the_interval_holds_the_truth_in_nine_of_ten_cases_at_least(rounds: int) -> None:
    held, widths = 0, []
    for seed in range(100):
        found = ratio(*sides(1.5, Noise(run=0.06, repeat=0.03, outliers=0.02), rounds, seed), resamples=400)
        held += found.contains(1.5)
        widths.append(width(found))
    assert held >= 90
    assert np.median(widths) < {5: 0.6, 9: 0.3}[rounds], "useless"


def test_a_drift_that_both_sides_share_cancels() -> None:
    """Rounds slow down by up to a half; both sides ran in each of them."""
    drifting = sides(1.5, Noise(run=0.01), 12, 3, lambda number: 1.0 + 0.5 * (number % 4) / 3)
    quiet = sides(1.5, Noise(run=0.01), 12, 3)
    found = ratio(*drifting)
    assert found.value == pytest.approx(1.5, rel=0.05)
    assert width(found) < 3.0 * width(ratio(*quiet))
    both = [estimate(side).metg.half_width for side in drifting]
    assert width(found) / 2.0 < 0.5 * math.hypot(*both), "apart, the two METGs would hide it"


def test_only_rounds_that_both_have_count() -> None:
    first, second = sides(2.0, Noise(run=0.01), 8, 5)
    spoilt = [replace(s, seconds=9.0 * s.seconds) if s.round >= 6 else s for s in first]
    found = ratio(spoilt, [s for s in second if s.round < 6])
    assert found.rounds == 6
    assert found.value == pytest.approx(2.0, rel=0.05)
    apart = ratio([s for s in first if s.round > 3], [s for s in second if s.round < 3])
    assert (apart.value, apart.rounds) == (None, 0)


def test_one_round_has_no_interval_and_no_number_has_no_ratio() -> None:
    first, second = sides(2.0, Noise(run=0.01), 1, 5)
    found = ratio(first, second)
    assert found.value is not None and (found.low, found.high) == (None, None)
    never = [replace(s, seconds=100.0 * s.seconds) for s in first]
    found = ratio(never, second)
    assert (found.value, found.low, found.high, found.decided) == (None, None, None, False)


def test_sides_turned_round_give_the_inverse() -> None:
    first, second = sides(1.5, Noise(run=0.03), 8, 7)
    found, turned = ratio(first, second), ratio(second, first)
    assert found.value is not None and turned.value == pytest.approx(1.0 / found.value)
    assert found.low is not None and turned.high == pytest.approx(1.0 / found.low, rel=0.02)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.06, 1.2, "slower"),
        (0.8, 0.94, "faster"),
        (0.96, 1.04, "same"),
        (1.01, 1.04, "same"),
        (1.01, 1.2, "undecided"),
        (0.9, 1.1, "undecided"),
        (0.9, 1.0, "undecided"),
        (1.2, None, "slower"),
        (None, 0.5, "faster"),
        (None, 1.0, "undecided"),
        (1.0, None, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_what_an_interval_shows_of_a_margin(
    low: float | None, high: float | None, expected: Decision
) -> None:
    found = Ratio(1.0, low, high, 9)
    assert decision(found, "metg", 0.05) == decision(found, "floor", 0.05) == expected
    turned = {"slower": "faster", "faster": "slower"}.get(expected, expected)
    assert decision(found, "rate", 0.05) == decision(found, "efficiency", 0.05) == turned


def test_the_margin_is_the_same_in_both_directions() -> None:
    for low, high in ((1.11, 1.3), (1 / 1.3, 1 / 1.11)):
        assert decision(Ratio(1.0, low, high, 9), "metg", 0.1) != "undecided"
    assert decision(Ratio(1.0, 1 / 1.1 + 1e-9, 1.1 - 1e-9, 9), "metg", 0.1) == "same"


def test_without_a_margin_nothing_is_the_same() -> None:
    assert decision(Ratio(1.0, 0.999, 1.001, 9), "metg", 0.0) == "undecided"
    assert decision(Ratio(1.01, 1.001, 1.02, 9), "metg", 0.0) == "slower"
