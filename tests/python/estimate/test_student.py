"""Student's distribution against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped,unused-ignore]
from scipy.stats import sem  # type: ignore[import-untyped,unused-ignore]
from scipy.stats import t as students

from taskgrain.estimate.student import interval_of_mean, student_cdf, student_quantile
from taskgrain.words.interval import Interval

FREEDOMS = st.integers(1, 4) | st.integers(1, 10_000)  # few and many


@given(st.floats(-1e6, 1e6), FREEDOMS)
def test_the_distribution_is_that_of_scipy(t: float, freedom: int) -> None:
    assert student_cdf(t, freedom) == pytest.approx(
        float(stdtr(freedom, t)), abs=1e-9
    )  # its own error near 0


@given(st.floats(1e-4, 1.0 - 1e-4), FREEDOMS)
def test_the_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    expected = float(stdtrit(freedom, probability))
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    values = [1.0, 2.0, 4.0]
    low, high = students.interval(0.95, 2, loc=np.mean(values), scale=sem(values))
    assert interval_of_mean(values, 0.5) == Interval(*map(pytest.approx, (7 / 3, low - 0.5, high + 0.5)))


def test_what_is_no_probability_is_refused() -> None:
    for wrong in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="probability"):
            student_quantile(wrong, 3)
    with pytest.raises(ValueError, match="degree of freedom"):
        student_quantile(0.5, 0)
