"""The levels of a series, and by how much its changes moved them."""

from __future__ import annotations

import math

import pytest
from simulated_worlds.history import log_with, segmented, simulated

from taskgrain.estimate.segments import segmentation
from taskgrain.words.interval import Interval


def exact(*logs: float, error: float = 0.01) -> list[Interval]:
    return [log_with(log, error) for log in logs]


def test_a_change_has_the_ratio_of_its_levels() -> None:
    found = segmented(simulated("normal", 1, (14, 1.0), (8, 1.2)))
    (change,) = found.changes
    assert change.at == 14
    low, high = change.ratio.ends
    assert 1.1 < low < 1.2 < high < 1.3
    assert [(level.start, level.stop) for level in found.segments] == [(0, 14), (14, 22)]
    assert found.between is not None and 0.025 < found.between.deviation < 0.06
    assert found.between.freedom == 20


def test_a_series_without_a_change_is_one_level() -> None:
    found = segmented(simulated("normal", 2, (20, 1.0)))
    assert found.changes == () and [(one.start, one.stop) for one in found.segments] == [(0, 20)]


def test_a_session_far_from_its_level_does_not_count() -> None:
    logs = [0.0, 0.01, -0.01, 0.02, 0.0, 0.9, -0.02, 0.01, 0.0, -0.01, 0.01, 0.0]
    found = segmentation(exact(*logs), 0.01, 0.95)
    assert found.outlying == {5}
    assert 5 not in found.segments[0].counted and len(found.segments[0].counted) == 11
    assert found.between is not None and found.between.deviation < 0.03


def test_a_session_without_an_interval_does_not_count_either() -> None:
    seen = [*exact(*[0.0, 0.01] * 6), Interval(0.05)]
    found = segmentation(seen, 0.01, 0.95)
    assert 12 not in found.segments[0].counted and found.between is not None
    assert math.isfinite(found.between.deviation)


def test_a_change_that_the_ratio_does_not_show_is_none() -> None:
    """The order is clear, but sessions that know so little of themselves show no ratio."""
    logs = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17]
    assert [one.at for one in segmentation(exact(*logs), 0.01, 0.95).changes] == [8]
    assert segmentation(exact(*logs, error=0.5), 0.01, 0.95).changes == ()


def test_a_level_of_bounds_has_a_ratio_with_one_bound() -> None:
    seen = [*exact(*[0.0, 0.01, -0.01] * 4), *[Interval(low=1.0)] * 5]
    (change,) = segmentation(seen, 0.01, 0.95).changes
    assert change.at == 12 and change.ratio.value is None and change.ratio.high is None
    assert change.ratio.low == pytest.approx(math.exp(0.99))
    back = segmentation(list(reversed(seen)), 0.01, 0.95).changes[0].ratio
    assert back.low is None and back.high == pytest.approx(math.exp(-0.99))


def test_a_bound_among_numbers_is_left_out_of_the_level() -> None:
    seen = [*exact(*[0.0, 0.01, -0.01] * 4), Interval(low=0.0), *exact(0.0, 0.01)]
    found = segmentation(seen, 0.01, 0.95)
    assert found.changes == () and 12 not in found.segments[0].counted


def test_nothing_is_known_of_no_session() -> None:
    found = segmentation([], 0.01, 0.95)
    assert (found.segments, found.changes, found.between) == ((), (), None)
