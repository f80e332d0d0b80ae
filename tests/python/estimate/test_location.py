"""Locations of observations of which some are far off."""

import numpy as np
import pytest

from taskgrain.estimate.location import median


def test_each_column_by_itself_whatever_is_missing() -> None:
    nan = float("nan")
    table = [[1.0, 10.0, nan], [2.0, nan, nan], [3.0, 30.0, nan]]
    found = median(np.array(table))
    assert found[:2].tolist() == [2.0, 20.0] and np.isnan(found[2])


def test_outliers_move_it_little_and_it_stays_in_the_state_of_most() -> None:
    rng = np.random.default_rng(1)
    clean = rng.normal(0.0, 0.1, (200, 1))
    hit = clean.copy()
    hit[::20] += 4.0
    assert median(hit)[0] == pytest.approx(median(clean)[0], abs=0.03)
    states = clean + 2.0 * (np.arange(200) % 10 < 4)[:, None]
    assert median(states)[0] < 0.2, "40 % of the rounds were slower by a factor of seven"
