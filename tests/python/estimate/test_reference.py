"""The reference's rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from taskgrain.estimate.reference import best_rate, peak_beside


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
