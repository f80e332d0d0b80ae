"""The monotone curve and its crossing, against what must hold of any curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from simulated_system import Floats

from taskgrain.estimate.monotone import monotone, place_of

values = st.lists(st.floats(-3.0, 3.0).map(lambda one: round(one, 6)), min_size=1, max_size=22)


@given(values)
def test_a_monotone_curve_stays_as_it_is_and_no_other_is_nearer_everywhere(y: list[float]) -> None:
    fitted = monotone(np.array(y))
    assert (np.diff(fitted) >= 0.0).all() and (monotone(fitted) == fitted).all()
    # Where it lies off the points by some distance, two of them are twice as far the wrong way round.
    falls = max((one - other for k, one in enumerate(y) for other in y[k:]), default=0.0)
    assert np.abs(fitted - y).max() == pytest.approx(0.5 * falls)


@given(values, st.floats(-2.5, 2.5).map(lambda one: round(one, 6)))
def test_a_crossing_lies_between_the_points_around_it(y: list[float], target: float) -> None:
    x: Floats = np.arange(float(len(y))) * 0.5
    fitted = monotone(np.array(y))
    assume(target not in fitted)
    found = place_of(target, x, fitted)
    below, above = x[fitted < target], x[fitted >= target]
    if below.size and above.size:
        assert below.max() - 1e-9 <= found <= above.min() + 1e-9
    else:
        assert found == (math.inf if below.size else -math.inf)


def test_between_two_points_the_inverse_of_efficiency_is_linear_in_the_inverse_of_work() -> None:
    """1/E = 1 + 100/work, from two points far apart: 50 % is reached at 100."""
    work = np.array([10.0, 10_000.0])
    found = place_of(math.log(0.5), np.log(work), -np.log1p(100.0 / work))
    assert math.exp(found) == pytest.approx(100.0)


def test_beyond_the_points_nothing_is_known() -> None:
    for work, end in ((np.array([150.0, 900.0]), -math.inf), (np.array([10.0, 80.0]), math.inf)):
        assert place_of(math.log(0.5), np.log(work), -np.log1p(100.0 / work)) == end
