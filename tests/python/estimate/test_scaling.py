"""Strong scaling from a curve: where the answer can be worked out by hand, and where it meets the limit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st

from taskgrain.estimate.scaling import Meeting, Program, ProgramByCores, ideal, meeting
from taskgrain.words.interval import Interval

OVERHEAD = 1e-6


def program(*works: float, spread: float = 0.0) -> Program:
    """100 steps of 5 tasks a core. Each task costs its work and an overhead."""
    costs = [one + OVERHEAD for one in works]
    curve = {
        one: Interval(cost, cost * (1 - spread), cost * (1 + spread))
        for one, cost in zip(works, costs, strict=True)
    }
    return Program(1.0, 100, 5.0, curve)


@given(some.floats(21, 1e6))
def test_each_core_pays_the_overhead_of_its_own_tasks(cores: float) -> None:
    scaled = program(0.0, 1e-6, 1e-5, 1e-4).on(cores)
    assert scaled.measured
    assert scaled.task == pytest.approx(1.0 / 500 / cores)
    assert scaled.seconds.value == pytest.approx(1.0 / cores + 500 * OVERHEAD)
    assert scaled.efficiency.value == pytest.approx(scaled.task / (scaled.task + OVERHEAD))


def test_intervals_are_those_of_the_curve() -> None:
    scaled = program(0.0, 1e-5, spread=0.1).on(1000.0)
    assert scaled.seconds.low == pytest.approx(0.9 * scaled.seconds.number)
    assert scaled.seconds.high == pytest.approx(1.1 * scaled.seconds.number)
    assert scaled.efficiency.low == pytest.approx(scaled.efficiency.number / 1.1)
    assert scaled.efficiency.high == pytest.approx(scaled.efficiency.number / 0.9)


def test_beyond_the_largest_task_efficiency_lies_between_its_own_and_all() -> None:
    scaled = program(0.0, 1e-6).on(1.0)
    assert not scaled.measured
    assert scaled.seconds == Interval(pytest.approx(1.0 + 500 * OVERHEAD), 1.0, pytest.approx(2.0))
    assert scaled.efficiency.low == pytest.approx(0.5)
    assert scaled.efficiency.high == pytest.approx(1.0)


def test_below_the_smallest_task_nothing_bounds_the_time_if_the_empty_one_is_not_known() -> None:
    unknown = program(1e-6, 1e-5)
    scaled = unknown.on(1e5)
    assert (scaled.measured, scaled.seconds.high, scaled.efficiency.low) == (False, None, None)
    assert (unknown.at_least(), unknown.no_gain_beyond()) == (None, None)


def test_metg_tells_up_to_how_many_cores_it_is_efficient() -> None:
    known = program(0.0, 1e-6, 1e-5)
    metg = Interval(2 * OVERHEAD, 1.8 * OVERHEAD, None)  # half of it is work
    until = known.until(0.5, metg)
    assert until.value == pytest.approx(1.0 / 500 / OVERHEAD)
    assert until.low is None
    assert until.high == pytest.approx(until.number / 0.9)
    assert known.on(until.number).efficiency.value == pytest.approx(0.5)


def test_empty_tasks_are_the_shortest_time() -> None:
    known = program(0.0, 1e-6, 1e-5, spread=0.1)
    ends = (pytest.approx(times * OVERHEAD) for times in (500, 450, 550))
    assert known.at_least() == Interval(*ends)
    beyond = known.no_gain_beyond()
    assert beyond is not None
    assert known.on(beyond).seconds.value == pytest.approx(1.1 * 500 * OVERHEAD)


def test_a_curve_that_dips_still_ends_somewhere() -> None:
    curve = {0.0: Interval(2e-6), 1e-7: Interval(1.9e-6)}
    assert Program(1.0, 1, 1.0, curve).no_gain_beyond() is None
    curve[1e-6] = Interval(3e-6)
    assert Program(1.0, 1, 1.0, curve).no_gain_beyond() == pytest.approx(1.0 / (1e-7 + 0.2 / 1.0 * 9e-7))


def on_two() -> ProgramByCores:
    """On 2 cores an overhead of 1 us, and on 32 of 10 us; there METG is 2 us and 20 us."""
    costly = {one: Interval(one + 1e-5) for one in (0.0, 1e-4)}
    return ProgramByCores([(2, program(0.0, 1e-4)), (32, Program(1.0, 100, 5.0, costly))])


def test_each_number_of_cores_has_the_curve_of_as_many_or_of_the_next_fewer() -> None:
    seconds = [on_two().on(cores).seconds.number - 1.0 / cores for cores in (20.0, 31.0, 32.0, 500.0)]
    assert seconds == pytest.approx([500 * 1e-6, 500 * 1e-6, 500 * 1e-5, 500 * 1e-5])
    assert on_two().on(1.0).task == pytest.approx(1.0 / 500), "fewer than were measured"


def test_an_end_that_lies_beyond_the_next_curve_is_not_that_of_the_first() -> None:
    """With 1 us, tasks of 1 us are half efficient, on 2000 cores; with 10 us, on 200."""
    ends = [
        one.until(0.5, Interval(metg)) for (_, one), metg in zip(on_two().curves, (2e-6, 2e-5), strict=True)
    ]
    assert [one.value for one in ends] == pytest.approx([2000, 200])
    assert on_two().first(ends) == ends[1].from_on(32)
    assert on_two().first([Interval(30.0), ends[1]]) == Interval(30.0)
    assert on_two().first([None, None]) is None


def test_what_the_next_curve_has_lost_before_it_holds_ends_where_it_does() -> None:
    """Efficient on 7 cores by the curve of 2, and nowhere by that of 32."""
    ends = [Interval(100.0), Interval(5.0, 4.0, 6.0)]
    assert on_two().first(ends) == Interval(32.0, 32.0, 32.0)


def test_the_shortest_time_is_of_the_most_cores() -> None:
    least = on_two().at_least()
    assert least is not None and least.value == pytest.approx(500 * 1e-5)
    beyond = on_two().no_gain_beyond()
    assert beyond == pytest.approx(2000), "a tenth of 10 us is a task of 1 us"


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
