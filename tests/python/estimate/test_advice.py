"""Tests of what a curve of efficiency says of one task time, and what it does not say."""

from dataclasses import replace

import pytest

from taskgrain.estimate.advice import Level, efficiency_at, in_order, level_of, needed, verdict_of
from taskgrain.words.interval import Interval

OVERHEAD = 5e-6


def efficiency(work: float) -> Interval:
    """The efficiency of a system whose tasks cost the same at each size."""
    value = work / (work + OVERHEAD)
    return Interval(value, 0.98 * value, min(1.0, 1.02 * value))


CURVE = {work: efficiency(work) for work in (2e-6, 4e-6, 8e-6, 16e-6, 32e-6, 64e-6)}


def test_what_was_measured_is_taken_as_it_is() -> None:
    found = efficiency_at(CURVE, 16e-6)
    assert (found.how, found.at) == ("measured", (16e-6,))
    assert found.found == CURVE[16e-6]
    assert efficiency_at({16e-6: CURVE[16e-6]}, 16e-6).found.value == CURVE[16e-6].value


@pytest.mark.parametrize("work", [14.5e-6, 17e-6, 1.8e-6, 70e-6])
def test_a_little_beside_a_point_the_overhead_is_the_same(work: float) -> None:
    found = efficiency_at(CURVE, work)
    truth = work / (work + OVERHEAD)
    assert found.how == "measured" and found.found.value == pytest.approx(truth)
    assert found.found.known and found.found.contains(truth)


@pytest.mark.parametrize("work", [15e-6, 16e-6, 17e-6])
def test_other_sizes_make_what_was_measured_at_this_time_no_less_sure(work: float) -> None:
    alone = {16e-6: CURVE[16e-6]}
    once = alone | {other: Interval(efficiency(other).value) for other in (8e-6, 15.5e-6, 32e-6)}
    for curve in (alone, once, CURVE):
        assert efficiency_at(curve, work) == efficiency_at(alone, work)


def test_between_two_points_the_overhead_is_constant_and_the_interval_wider() -> None:
    found = efficiency_at(CURVE, 11e-6)
    assert (found.how, found.at) == ("between", (8e-6, 16e-6))
    assert found.found.value == pytest.approx(11 / 16) and found.found.contains(11 / 16)
    assert 0.02 < found.found.half_width < 1.0


def test_beyond_the_points_there_is_one_bound_and_no_value() -> None:
    above, below = efficiency_at(CURVE, 1e-3), efficiency_at(CURVE, 1e-6)
    assert (above.how, above.found) == ("above", Interval(low=CURVE[64e-6].low))
    assert (below.how, below.found) == ("below", Interval(high=CURVE[2e-6].high))
    assert efficiency_at({}, 1e-6).how == "unknown"


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_the_work_that_a_level_needs(level: float) -> None:
    found = needed(CURVE, level)
    truth = OVERHEAD * level / (1.0 - level)
    assert found.value == pytest.approx(truth, rel=0.01)
    assert found.known and found.contains(truth)
    assert found.factor > 2.0**0.5, "a quarter of the distance on either side"


def test_a_level_that_is_always_or_never_reached_has_one_bound() -> None:
    assert needed(CURVE, 0.2) == Interval(high=2e-6)
    assert needed(CURVE, 0.97) == Interval(low=64e-6)
    assert needed({}, 0.5) == Interval()
    assert needed({16e-6: efficiency(16e-6)}, 0.5) == Interval(high=16e-6)


def test_a_bound_that_the_interval_does_not_set_is_missing() -> None:
    wide = {work: Interval(one.value, 0.01, 1.0) for work, one in CURVE.items()}
    found = needed(wide, 0.5)
    assert found.value == pytest.approx(OVERHEAD, rel=0.01) and (found.low, found.high) == (None, None)


def test_a_level_is_reached_not_reached_or_not_known() -> None:
    at_16 = {level: level_of(CURVE, 16e-6, level) for level in (0.5, 0.76, 0.9)}
    assert [one.verdict for one in at_16.values()] == ["yes", "unknown", "no"]
    margin = at_16[0.5].margin
    assert margin.value == pytest.approx(3.2, rel=0.01)
    assert margin.known and margin.contains(3.2) and at_16[0.9].margin.ends[1] < 1.0


def test_what_lies_beyond_the_points_is_decided_only_by_a_bound() -> None:
    assert level_of(CURVE, 1e-3, 0.9).verdict == "yes", "efficiency does not fall as tasks grow"
    assert level_of(CURVE, 1e-3, 0.99).verdict == "unknown"
    assert level_of(CURVE, 1e-6, 0.5).verdict == "no"
    assert level_of(CURVE, 1e-6, 0.1).verdict == "unknown"
    assert level_of({}, 1e-6, 0.1).verdict == "unknown"


def test_no_efficiency_and_no_bound_of_it_is_above_one() -> None:
    noisy = {work: Interval(one.value, 0.2, 1.73) for work, one in CURVE.items()}
    for work in (1e-6, 3e-6, 16e-6, 17e-6, 1e-3):
        assert (efficiency_at(noisy, work).found.high or 1.0) == 1.0
    above = {16e-6: Interval(1.02, 0.9, 1.2)}
    assert efficiency_at(above, 16e-6).found == Interval(1.0, 0.9, 1.0)


@pytest.mark.parametrize("needs", [Interval(5e-6, 4e-6, 7e-6), Interval(30e-6, 20e-6, 40e-6)])
def test_where_a_verdict_is_not_known_the_margin_does_not_decide_it(needs: Interval) -> None:
    noisy = {work: Interval(one.value, 0.2, 1.0) for work, one in CURVE.items()}
    found = level_of(noisy, 16e-6, 0.5, needs)
    assert found.verdict == "unknown" and found.margin.contains(1.0)
    # The efficiency is above the level, so that a margin below 1 would contradict it.
    assert found.margin.value == (16e-6 / needs.number if needs.number < 16e-6 else None)


def test_one_run_has_a_value_and_no_bounds() -> None:
    rough = {work: Interval(one.value) for work, one in CURVE.items()}
    assert efficiency_at(rough, 16e-6).found == Interval(16 / 21)
    between = efficiency_at(rough, 11e-6)
    assert between.how == "between" and between.found == Interval(pytest.approx(11 / 16))
    assert efficiency_at(rough, 1e-3).found == efficiency_at(rough, 1e-6).found == Interval()
    assert needed(rough, 0.5) == Interval(pytest.approx(OVERHEAD, rel=0.01))
    assert needed(rough, 0.2) == Interval()
    one = level_of(rough, 16e-6, 0.5)
    assert one.verdict == "unknown" and one.margin == Interval(pytest.approx(3.2, rel=0.01))
    mixed = rough | {work: CURVE[work] for work in (4e-6, 8e-6)}
    assert needed(mixed, 0.5).known, "what was measured in several rounds counts"


def test_a_higher_level_never_needs_less() -> None:
    half, most = (
        Level(0.5, "yes", Interval(5e-6), Interval(4.0)),
        Level(0.9, "no", Interval(4e-6), Interval(5.0)),
    )
    assert in_order([half, most]) == (half, Level(0.9, "no", Interval(), Interval()))
    assert in_order([half, replace(most, needed=Interval(6e-6))])[1].needed == Interval(6e-6)


def test_a_search_knows_the_needed_work_better() -> None:
    known = Interval(5e-6, 4.8e-6, 5.2e-6)
    found = level_of(CURVE, 20e-6, 0.5, known)
    assert found.needed == known
    assert found.margin == Interval(20 / 5, pytest.approx(20 / 5.2), pytest.approx(20 / 4.8))


def test_a_slow_run_of_a_large_task_does_not_say_that_a_level_needs_more() -> None:
    """Two of the runs of 64 µs were hit: their interval is below that of 16 µs."""
    hit = {work: one for work, one in CURVE.items() if work < 20e-6} | {64e-6: Interval(0.3, 0.02, 0.45)}
    found = level_of(hit, 16e-6, 0.9)
    assert found.verdict == "no" and found.margin.high is not None and found.margin.high > 16 / 45
    assert needed(hit, 0.5).value == pytest.approx(needed(CURVE, 0.5).number, rel=0.05)


@pytest.mark.parametrize("most", [0.5, 0.54, 0.9])
def test_no_task_is_long_enough_for_more_than_the_graph_allows(most: float) -> None:
    shaped = {work: one.times(most) for work, one in CURVE.items()}
    for work in (1e-6, 3e-6, 16e-6, 17e-6, 1e-3):
        found = efficiency_at(shaped, work, most)
        assert found.most == most and (found.found.about or 0.0) <= most >= (found.found.high or 0.0)
        for level in (0.2, 0.5, 0.8, 0.9):
            one = level_of(shaped, work, level, most=most)
            assert (one.verdict == "never") == (level >= most), (work, level)
            assert one.verdict != "never" or (one.needed, one.margin) == (Interval(), Interval())
            assert one.verdict == verdict_of(found.found, level, most)
    assert efficiency_at(shaped, 17e-6, most).found.number == pytest.approx(most * 17 / 22)


def test_a_verdict_needs_the_bound_on_its_side() -> None:
    assert verdict_of(Interval(0.6, 0.55, 0.65), 0.5) == "yes"
    assert verdict_of(Interval(0.6, 0.55, 0.65), 0.7) == "no"
    assert verdict_of(Interval(0.6, 0.45, 0.75), 0.5) == verdict_of(Interval(0.6), 0.5) == "unknown"
    assert verdict_of(Interval(low=0.5), 0.5) == "yes" and verdict_of(Interval(high=0.5), 0.5) == "unknown"
