"""Locations of observations of which some are far off."""

from __future__ import annotations

import numpy as np
import pytest

from taskgrain.estimate.location import location, median, spread


def located(x: list[list[float]]) -> list[float]:
    table = np.array(x)
    return location(table, spread(table)).tolist()


def test_each_column_by_itself_whatever_is_missing() -> None:
    nan = float("nan")
    table = [[1.0, 10.0, nan], [2.0, nan, nan], [3.0, 30.0, nan]]
    assert median(np.array(table)).tolist()[:2] == [2.0, 20.0]
    found = located(table)
    assert found[:2] == pytest.approx([2.0, 20.0]) and np.isnan(found[2])


def test_a_few_outliers_move_it_little_and_one_of_two_states_as_often_as_it_is() -> None:
    rng = np.random.default_rng(1)
    clean = rng.normal(0.0, 0.1, (200, 1))
    hit = clean.copy()
    hit[::20] += 4.0
    assert located(hit.tolist())[0] == pytest.approx(located(clean.tolist())[0], abs=0.015)
    states = clean + 0.5 * (np.arange(200) % 10 < 4)[:, None]
    assert 0.1 < located(states.tolist())[0] < 0.3, "the middle, no state by itself"


def test_its_scatter_is_below_the_median_s_for_normal_errors() -> None:
    x = np.random.default_rng(2).normal(size=(2000, 9, 1))
    found = location(x, np.array([1.0]))[:, 0]
    assert 1.0 <= found.std() / x.mean(axis=1).std() < 1.1
    assert found.std() < 0.92 * median(x)[:, 0].std()


def test_a_short_column_borrows_the_scatter_of_the_others() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(0.0, 0.2, (9, 6))
    table[:, 0] = np.nan
    table[:2, 0] = [1.0, 1.0]
    assert spread(table)[0] == pytest.approx(0.2, rel=0.5)
    assert (spread(np.full((3, 1), np.nan)) == 0.0).all()
