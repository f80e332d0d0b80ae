"""The reference's rates."""

import math

import numpy as np
import pytest

from taskgrain.estimate.reference import best_rate, followed, peak_beside


def test_the_reference_now_is_the_last_measurement_over_all_cores() -> None:
    assert peak_beside([[100.0, 100.0], [80.0, 40.0]]) == 60.0


def test_the_best_is_what_each_core_reaches_now_and_then_but_not_by_luck() -> None:
    steady = np.full((60, 2), [100.0, 50.0])
    lucky, disturbed = steady.copy(), steady.copy()
    lucky[3] *= 1.4
    disturbed[:50, 0] /= 5.0
    disturbed[8:58, 1] /= 5.0
    assert best_rate(steady) == best_rate(lucky) == 75.0
    assert best_rate(disturbed) == pytest.approx(75.0, rel=0.2)


@pytest.mark.parametrize("rates", [[], [[]], [[1.0, 0.0]], [[math.nan]]])
def test_rates_that_make_no_sense_are_refused(rates: list[list[float]]) -> None:
    for function in (best_rate, peak_beside):
        with pytest.raises(ValueError, match="reference"):
            function(rates)


@pytest.mark.parametrize("power", [0.0, 0.4, 1.0])
def test_runs_follow_the_reference_by_the_power_that_they_show(power: float) -> None:
    rng = np.random.default_rng(1)
    peak = 0.3 * rng.standard_normal((40, 6))
    runs = np.linspace(0.0, 5.0, 6) - power * peak + 0.05 * rng.standard_normal((40, 6))
    hit = runs + 3.0 * (rng.random((40, 6)) < 0.05)
    hit[rng.random((40, 6)) < 0.2] = math.nan
    assert followed(runs, peak) == pytest.approx(power, abs=0.05)
    assert followed(hit, peak) == pytest.approx(power, abs=0.1)


def test_what_is_usual_counts_before_there_are_runs() -> None:
    none = np.full((1, 3), math.nan)
    assert followed(none, none) == followed(np.zeros((4, 3)), np.zeros((4, 3))) == 0.5
