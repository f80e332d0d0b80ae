"""Where a scaling curve meets the limit of METG."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.estimate.limit import Meeting, ideal, meeting

LIMIT = {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}


def test_ideal_time_falls_with_the_cores_from_the_fewest() -> None:
    assert ideal({2: 6.0, 4: 5.0}, [1, 2, 4, 8]) == {2: 6.0, 4: 3.0, 8: 1.5}


def test_a_line_meets_the_limit_between_two_numbers_of_cores() -> None:
    met = meeting(ideal({1: 3.0}, [1, 2, 4]), LIMIT)
    assert met is not None
    assert (met.number, met.seconds) == (pytest.approx(3.0), pytest.approx(1.0))


def test_a_rising_limit_is_met_on_its_own_line() -> None:
    """As in figure 14: with more cores METG grows."""
    met = meeting({1: 4.0, 4: 1.0}, {1: 1.0, 4: 2.0})
    assert met is not None
    assert met.number == pytest.approx(4 ** (2 / 3)) and met.seconds == pytest.approx(4 ** (1 / 3))


def test_what_meets_beyond_the_cores_of_both_is_not_known() -> None:
    assert meeting({1: 100.0, 2: 50.0}, LIMIT) is None
    assert meeting({1: 0.5, 2: 0.25}, LIMIT) is None, "below the limit from the beginning"
    assert meeting({1: 4.0, 16: 0.1}, {2: 1.0}) is None and meeting({}, LIMIT) is None
    assert meeting({1: 1.0, 2: 0.5}, LIMIT) == Meeting(1, 1.0)
    assert meeting({1: 2.0, 2: 1.0}, LIMIT) == Meeting(pytest.approx(2.0), pytest.approx(1.0))


def test_points_lie_apart_by_factors_of_at_least_one() -> None:
    one, other = Meeting(2.0, 3.0), Meeting(3.0, 1.5)
    assert one.apart(other) == other.apart(one) == (1.5, 2.0)


TIMES = st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), st.floats(1e-6, 1e3), min_size=1)


@given(TIMES, TIMES)
def test_a_meeting_lies_on_both_lines(line: dict[int, float], limit: dict[int, float]) -> None:
    met = meeting(line, limit)
    if met is None:
        return
    known = sorted(line.keys() & limit.keys())
    assert known[0] <= met.number <= known[-1] * (1 + 1e-9)
    for one in (line, limit):
        left = max((n for n in known if n <= met.number), default=known[0])
        right = next((n for n in known if n > left), left)
        share = math.log(met.number / left) / math.log(right / left) if right > left else 0.0
        expected = (1 - share) * math.log(one[left]) + share * math.log(one[right])
        assert math.log(met.seconds) == pytest.approx(expected, abs=1e-6)
