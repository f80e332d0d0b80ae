"""Student's distribution and the normal one, against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, stdtr, stdtrit  # type: ignore[import-untyped,unused-ignore]

from taskgrain.estimate.student import normal_cdf, student_cdf, student_quantile

FREEDOMS = st.integers(1, 500)


@given(st.floats(-1e6, 1e6), FREEDOMS)
def test_the_distribution_is_that_of_scipy(t: float, freedom: int) -> None:
    assert student_cdf(t, freedom) == pytest.approx(
        float(stdtr(freedom, t)), abs=1e-10
    )  # its own error near 0


@given(st.floats(1e-4, 1.0 - 1e-4), FREEDOMS)
def test_the_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    expected = float(stdtrit(freedom, probability))
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9_999])
@pytest.mark.parametrize("probability", [0.025, 0.001, 0.5, 0.975])
def test_few_and_very_many_degrees_of_freedom(freedom: int, probability: float) -> None:
    expected = float(stdtrit(freedom, probability))
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.floats(-30.0, 8.0))
def test_the_normal_tail_is_that_of_scipy(x: float) -> None:
    assert normal_cdf(x) == pytest.approx(float(ndtr(x)), rel=1e-11)


def test_what_is_no_probability_is_refused() -> None:
    for wrong in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="probability"):
            student_quantile(wrong, 3)
    with pytest.raises(ValueError, match="degree of freedom"):
        student_quantile(0.5, 0)
