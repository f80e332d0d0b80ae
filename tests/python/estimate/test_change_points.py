"""Tests of the places where a series changes, and of how much: false alarms, sessions far off, and bounds."""

import math

import numpy as np
import pytest
from simulated_worlds.history import log_with, segmented, simulated

from taskgrain.estimate.change_points import Bounds, change_points, enough, segmentation
from taskgrain.words.interval import Interval

ALARM = 0.01


def numbers(*levels: tuple[int, float], seed: int = 0, scatter: float = 0.04) -> list[Bounds]:
    dice = np.random.default_rng(seed)
    values = [mean + dice.normal(0.0, scatter) for count, mean in levels for _ in range(count)]
    return [(value, value) for value in values]


def test_changes_are_found_at_their_places() -> None:
    assert change_points(numbers((14, 0.0), (8, 0.2)), ALARM) == (14,)
    assert change_points(numbers((20, 0.0), (4, -0.2)), ALARM) == (20,)
    assert change_points(numbers((5, 0.2), (20, 0.0)), ALARM) == (5,)
    assert change_points(numbers((12, 0.0), (6, 0.2), (12, 0.0)), ALARM) == (12, 18), "it was undone"
    assert change_points(numbers((12, 0.0), (12, 0.3), (12, 0.6), (12, 0.1)), ALARM) == (12, 24, 36)


def test_one_session_far_off_is_no_change_and_hides_none() -> None:
    for place in (0, 7, 19):
        values = numbers((20, 0.0))
        values[place] = (1.0, 1.0)
        assert change_points(values, ALARM) == ()
    values = numbers((20, 0.0), (8, 0.25), seed=1)
    values[4] = values[24] = (2.0, 2.0)
    assert change_points(values, ALARM) == (20,)


def test_one_session_at_the_end_is_no_level() -> None:
    assert change_points([*numbers((30, 0.0)), (0.5, 0.5)], ALARM) == ()


def test_the_order_decides_and_not_the_values() -> None:
    """The same values are a change in order, and none where they take turns."""
    turns = numbers(*[(1, 0.0), (1, 0.2)] * 12)
    assert change_points(turns, ALARM) == ()
    assert change_points(sorted(turns), ALARM) != ()


def test_values_without_scatter() -> None:
    assert change_points([(0.0, 0.0)] * 20, ALARM) == ()
    assert change_points([(0.0, 0.0)] * 12 + [(0.2, 0.2)] * 6, ALARM) == (12,)


def test_bounds_count_as_far_as_they_reach() -> None:
    above, below = (0.1, math.inf), (-math.inf, -0.1)
    assert change_points([*numbers((12, 0.0), scatter=0.01), *[above] * 6], ALARM) == (12,)
    assert change_points([*[below] * 6, *numbers((12, 0.0), scatter=0.01)], ALARM) == (6,)
    assert change_points([above] * 20, ALARM) == ()


def test_too_few_sessions_show_nothing() -> None:
    """Ten in two levels lie so in one of 126 orders, which is likelier than half of 1 %."""
    assert enough(ALARM) == 11 and enough(ALARM / 30) == 16
    assert change_points(numbers((5, 0.0), (5, 9.0)), ALARM) == ()
    assert change_points(numbers((5, 0.0), (6, 9.0)), ALARM) == (5,)
    assert change_points([], ALARM) == ()


def test_a_change_is_found_among_hundreds_of_series() -> None:
    """So small a probability needs more orders."""
    assert change_points(numbers((20, 0.0), (20, 0.3)), ALARM / 200) == (20,)


@pytest.mark.submission
def test_false_alarms_are_as_rare_as_they_were_asked_to_be() -> None:
    """Five in a hundred were asked for; above 27 of 300 would come by chance once in a thousand tests."""
    found = [change_points(numbers((16, 0.0), seed=seed), 0.05) for seed in range(300)]
    assert 3 <= sum(map(bool, found)) <= 27


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
