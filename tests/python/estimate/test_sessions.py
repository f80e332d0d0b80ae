"""Ratios across sessions: their intervals hold the truth, and the scatter of sessions is theirs."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from taskgrain.estimate.sessions import (
    USUAL,
    Scatter,
    as_one,
    error,
    filled_up,
    of_one_cell,
    over_longer_times,
    ratio_of_pairs,
    ratio_of_sessions,
    scatter,
)
from taskgrain.words.interval import Interval


def session(value: float, error: float) -> Interval:
    """A logarithm with so large a standard error; infinite where nobody knows it."""
    half = 1.96 * error
    return Interval(value, value - half, value + half) if math.isfinite(half) else Interval(value)


def sessions(
    rng: np.random.Generator, count: int, between: float, within: float, value: float = 0.0
) -> list[Interval]:
    spread = math.hypot(between, within)
    return [session(value + spread * float(rng.standard_normal()), within) for _ in range(count)]


def test_the_scatter_is_the_variance_of_sessions_of_one_build() -> None:
    found = scatter(
        [
            [session(1.0, 0.01), session(1.2, 0.01)],
            [session(5.0, 0.01)],
            [session(3.0, 0.01)] * 3,
        ]
    )
    assert found is not None
    assert found.variance == pytest.approx((0.1**2 + 0.1**2) / 3)
    assert found.freedom == 3
    assert found.within == pytest.approx(1e-4)
    assert found.deviation == pytest.approx(math.sqrt(found.variance))


def test_sessions_that_agree_by_chance_scatter_no_less_than_their_rounds() -> None:
    found = scatter([[session(1.0, 0.05), session(1.0, 0.05)]])
    assert found is not None and found.variance == pytest.approx(0.05**2)


@pytest.mark.parametrize("groups", [[], [[session(0.0, 0.1)], [session(0.0, 0.1)]], [[]]])
def test_without_two_sessions_of_one_build_nothing_is_known(groups: Sequence[Sequence[Interval]]) -> None:
    assert scatter(groups) is None


def test_what_is_usual_takes_the_place_of_what_is_missing() -> None:
    assert filled_up(None) == USUAL
    few = filled_up(Scatter(0.01**2, 0.0, 4, 4))
    assert (few.freedom, few.own) == (10, 4)
    assert few.variance == pytest.approx((4 * 0.01**2 + 6 * USUAL.variance) / 10)
    for enough in (Scatter(0.01**2, 0.0, 10, 10), Scatter(0.2**2, 0.0, 1, 1)):
        assert filled_up(enough) == enough, "no machine that is noisier than usual is taken for a usual one"


def test_sessions_of_an_hour_do_not_tell_of_days() -> None:
    assert over_longer_times(None) == over_longer_times(Scatter(0.01**2, 0.0, 8, 8)) == USUAL
    noisy = over_longer_times(Scatter(0.2**2, 0.0, 8, 8))
    assert (noisy.variance, noisy.own) == (0.2**2, 0)
    (both,) = as_one([session(1.0, 0.1), session(2.0, 0.3)])
    assert both.value == 1.5 and error(both) == pytest.approx(0.3), "two of them say no more than one"


def test_a_session_that_does_not_know_its_error_tells_nothing_of_the_scatter() -> None:
    sure = [session(0.0, 0.1), session(0.2, 0.1)]
    assert scatter([sure, [session(0.0, math.inf)] * 2]) == scatter([sure])


@pytest.mark.parametrize(("first", "second"), [(1, 2), (1, 5), (3, 3), (5, 5)])
@pytest.mark.parametrize("between", [0.0, 0.1])
@pytest.mark.parametrize("confidence", [0.95, 0.995])
def test_intervals_hold_the_truth_as_often_as_they_say(
    first: int, second: int, between: float, confidence: float
) -> None:
    """Tests both kinds of scatter: between sessions, and of rounds alone."""
    rng = np.random.default_rng(first + 10 * second)
    held, times = 0, 2000
    for _ in range(times):
        over = sessions(rng, first, between, 0.03, math.log(1.3))
        under = sessions(rng, second, between, 0.03)
        known = scatter([over, under])
        assert known is not None
        found = ratio_of_sessions(over, under, known, confidence)
        held += found.contains(1.3)
    assert held / times >= confidence - 3.0 * math.sqrt(confidence * (1.0 - confidence) / times)


@pytest.mark.parametrize("count", [2, 4])
def test_ratios_of_pairs_hold_the_truth(count: int) -> None:
    """A state of the session that both sides went through is not in their ratio."""
    rng = np.random.default_rng(count)
    held = 0
    for _ in range(2000):
        each = sessions(rng, count, 0.02, 0.02, math.log(1.3))
        known = scatter([each])
        assert known is not None
        found = ratio_of_pairs(each, known)
        held += found.contains(1.3)
        assert found.rounds == count
    assert 0.93 < held / 2000 <= 1.0


def test_five_sessions_a_side_show_a_fifth() -> None:
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(200):
        over, under = sessions(rng, 5, 0.05, 0.02, math.log(1.2)), sessions(rng, 5, 0.05, 0.02)
        known = scatter([over, under])
        assert known is not None
        shown += (ratio_of_sessions(over, under, known).low or 0.0) > 1.05
    assert shown > 150


def test_a_session_that_is_worse_known_widens_the_interval() -> None:
    known = Scatter(0.01, 0.0025, 4)
    good, bad = ([session(0.0, error)] for error in (0.05, 0.5))
    narrow, wide = (ratio_of_sessions(side, [session(0.0, 0.05)], known) for side in (good, bad))
    assert (wide.high or math.inf) > 2.0 * (narrow.high or math.inf)
    assert (narrow.value, narrow.rounds) == (1.0, 1)


def test_what_is_not_known_has_no_bounds() -> None:
    known = Scatter(0.01, 0.0025, 4)
    found = ratio_of_sessions([session(0.0, math.inf)], [session(0.0, 0.05)], known)
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert ratio_of_sessions([session(0.0, 0.1)], [session(0.0, 0.1)], Scatter(9.0, 0.1, 1)).low is None


def test_the_interval_of_a_cell_alone_is_that_of_two_one_sided_tests() -> None:
    one, other = [session(0.1, 0.02)], [session(0.0, 0.02)]
    for wide in (0.95, 0.999):
        found = of_one_cell(ratio_of_sessions(one, other, USUAL, wide), USUAL, wide)
        straight = ratio_of_sessions(one, other, USUAL, 0.9)
        assert (found.low, found.high) == (pytest.approx(straight.low), pytest.approx(straight.high))
    unbounded = ratio_of_sessions([session(0.0, math.inf)], other, USUAL)
    assert of_one_cell(unbounded, USUAL, 0.95) == unbounded
