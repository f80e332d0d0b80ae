"""The monotone curve and its crossing, against scipy and against what must hold of any curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped,unused-ignore]
from simulated_system import Floats

from taskgrain.estimate.isotonic import centred_isotonic, crossings

values = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=22)


@given(values, st.data())
def test_centred_isotonic_agrees_with_scipy_and_keeps_the_mean(y: list[float], data: st.DataObject) -> None:
    weights = np.array(data.draw(st.lists(st.integers(1, 20), min_size=len(y), max_size=len(y))), dtype=float)
    steps = data.draw(st.lists(st.floats(0.1, 2.0), min_size=len(y), max_size=len(y)))
    x: Floats = np.cumsum(np.array(steps))
    centres, fitted = centred_isotonic(x, np.array([y]), weights)
    np.testing.assert_allclose(fitted[0], isotonic_regression(y, weights=weights).x, atol=1e-9)
    assert (np.diff(fitted[0]) >= -1e-9).all() and (np.diff(centres[0]) >= -1e-9).all()
    assert (weights @ centres[0]) == pytest.approx(weights @ x)
    again = centred_isotonic(x, fitted, weights)[1]
    np.testing.assert_allclose(again, fitted, atol=1e-9)


@given(values, st.floats(-2.5, 2.5))
def test_a_crossing_lies_between_the_points_around_it(y: list[float], target: float) -> None:
    x: Floats = np.arange(float(len(y))) * 0.5
    centres, fitted = centred_isotonic(x, np.array([y]), np.ones(len(y)))
    found = crossings(centres, fitted, target)[0]
    below, above = centres[0][fitted[0] < target], centres[0][fitted[0] >= target]
    if below.size and above.size:
        assert below.max() - 1e-9 <= found <= above.min() + 1e-9
    elif below.size:
        assert found >= below.max() - 1e-9
    else:
        assert found <= above.min() + 1e-9


def test_between_two_points_the_inverse_of_efficiency_is_linear_in_the_inverse_of_work() -> None:
    """1/E = 1 + 100/work, from two points far apart: 50 % is reached at 100."""
    work = np.array([10.0, 10_000.0])
    found = crossings(np.log(work)[None], -np.log1p(100.0 / work)[None], math.log(0.5))
    assert math.exp(found[0]) == pytest.approx(100.0)


def test_beyond_a_factor_of_two_outside_of_the_points_nothing_is_believed() -> None:
    work = np.array([[300.0, 900.0], [150.0, 900.0], [10.0, 20.0], [40.0, 80.0]])
    found = crossings(np.log(work), -np.log1p(100.0 / work), math.log(0.5))
    assert found[0] == -math.inf and found[2] == math.inf
    assert np.exp(found[[1, 3]]) == pytest.approx([100.0, 100.0])
