"""Where a series changes: places, false alarms, sessions that lie far off, and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from taskgrain.estimate.change_points import Bounds, change_points, enough

ALARM = 0.01


def numbers(*levels: tuple[int, float], seed: int = 0, scatter: float = 0.04) -> list[Bounds]:
    dice = np.random.default_rng(seed)
    values = [mean + dice.normal(0.0, scatter) for count, mean in levels for _ in range(count)]
    return [(value, value) for value in values]


def test_a_change_is_found_at_its_place() -> None:
    assert change_points(numbers((14, 0.0), (8, 0.2)), ALARM) == (14,)
    assert change_points(numbers((20, 0.0), (4, -0.2)), ALARM) == (20,)
    assert change_points(numbers((5, 0.2), (20, 0.0)), ALARM) == (5,)


def test_a_change_that_was_undone_is_two() -> None:
    assert change_points(numbers((12, 0.0), (6, 0.2), (12, 0.0)), ALARM) == (12, 18)


def test_steps_are_found_one_by_one() -> None:
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
