"""An interval: what its bounds say, and what becomes of it in other units."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from taskgrain.words.interval import Interval

AMOUNTS = some.floats(1e-9, 1e9)
WHOLE = some.lists(AMOUNTS, min_size=3, max_size=3).map(sorted).map(lambda x: Interval(x[1], x[0], x[2]))


@given(WHOLE, AMOUNTS, AMOUNTS)
def test_what_it_contains_it_contains_in_every_unit(one: Interval, value: float, factor: float) -> None:
    assert one.contains(one.number) and one.known
    clear = abs(math.log(value / one.ends[0])) > 1e-9 < abs(math.log(value / one.ends[1]))
    if clear:
        held = one.contains(value)
        assert one.times(factor).contains(value * factor) == held
        assert one.inverse(factor).contains(factor / value) == held
    assert one.log().exp().half_width == pytest.approx(one.half_width, rel=1e-6, abs=1e-12)


def test_a_bound_that_is_missing_is_infinitely_far_away() -> None:
    nothing, least, most = Interval(), Interval(low=2.0), Interval(high=3.0)
    assert nothing.contains(1e-300) and nothing.half_width == nothing.factor == nothing.reach == math.inf
    assert least.contains(1e300) and not least.contains(1.0) and least.about == 2.0
    assert most.ends == (0.0, 3.0) and most.about == 3.0
    assert nothing.log() == nothing.exp() == nothing.inverse() == nothing
    assert least.inverse() == Interval(high=0.5)
    with pytest.raises(ValueError, match="no value"):
        _ = least.number


def test_what_cannot_exceed_something_does_not() -> None:
    assert Interval(1.02, 0.9, 1.2).up_to(1.0) == Interval(1.0, 0.9, 1.0)
    assert Interval(low=1.1).up_to(1.0) == Interval(low=1.0)


def test_what_may_be_wrong_by_a_factor_reaches_so_much_further() -> None:
    one = Interval(3.0, 2.0, 4.0)
    assert one.within(2.0) == Interval(3.0, 1.0, 8.0)
    assert one.within(2.0, sure=1.0) == Interval(3.0, 1.5, 7.0)
    assert Interval(3.0, high=4.0).within(1.0, sure=5.0) == Interval(3.0, high=4.0)
