"""The monotone curve and its crossing, against what must hold of any curve."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from simulated_system import Floats

from taskgrain.estimate.monotone import monotone, place_of

values = st.lists(st.floats(-3.0, 3.0).map(lambda one: round(one, 6)), min_size=1, max_size=22)


@given(st.data())
def test_of_monotone_curves_it_is_the_nearest_and_another_stays_as_it_is(data: st.DataObject) -> None:
    y = np.array(data.draw(values))
    same = {"min_size": len(y), "max_size": len(y)}
    weights = np.array(data.draw(st.lists(st.integers(1, 40), **same)))
    other = np.sort(data.draw(st.lists(st.floats(-3.0, 3.0), **same)))
    fitted = monotone(y, weights)
    assert (np.diff(fitted) >= -1e-9).all() and monotone(other, weights) == pytest.approx(other, abs=1e-9)
    far, farther = ((weights * (curve - y) ** 2).sum() for curve in (fitted, other))
    assert far <= farther + 1e-9
    rows = monotone(np.array([y, other]), weights)
    assert (rows[0] == fitted).all()


def test_a_far_point_that_few_rounds_measured_moves_no_crossing() -> None:
    efficiency = [0.476, 0.475, 0.527, 0.541, 0.548, 0.653, 0.738, 0.284]
    fitted = np.exp(monotone(np.log(efficiency), [8, 8, 8, 8, 8, 8, 3, 3]))
    assert fitted[:3] == pytest.approx(efficiency[:3], rel=0.01) and (fitted[2:] > 0.5).all()


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
