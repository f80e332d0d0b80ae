"""The bracket, two sizes around the crossing found in a few short runs, and the sizes to be measured then."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_system import SimulatedSystem, constant

from taskgrain.measure.experiments.bracket import (
    Bracket,
    KnownSize,
    crossing_between,
    crossing_of,
    grid_size,
    inner,
    outer,
    place_below,
)
from taskgrain.measure.experiments.experiment import CellSettings, Request


def closed(system: SimulatedSystem, settings: CellSettings, *, whole: bool = False) -> Bracket:
    bracket = Bracket(settings, whole=whole)
    request: Request | None = settings.first_request()
    while request:
        request = bracket.take(request, system.run(request))
    return bracket


@pytest.mark.parametrize("overhead", [3e-9, 1e-7, 1e-5, 1e-3])
def test_two_sizes_a_factor_of_two_apart_enclose_the_crossing(overhead: float) -> None:
    system = SimulatedSystem(constant(overhead))
    bracket = closed(system, CellSettings())
    enclosing = bracket.enclosing()
    assert enclosing is not None and bracket.runs <= 8
    low, high = enclosing
    assert low.iterations < overhead / 1e-9 * 1.001 and high.iterations >= overhead / 1e-9 * 0.999
    assert high.iterations <= 2.1 * low.iterations or high.iterations - low.iterations == 1
    assert bracket.crossing() == pytest.approx(overhead / 1e-9, rel=0.05)


def test_of_a_whole_curve_it_goes_on_by_doubling_until_the_efficiency_is_reached() -> None:
    system = SimulatedSystem(constant(1e-7))
    near, far = (closed(system, CellSettings(), whole=whole) for whole in (False, True))
    assert near.top.efficiency < 0.9 and 0.95 < far.top.efficiency < 0.98
    never = closed(SimulatedSystem(lambda n: 1e-7 + 0.25e-9 * n), CellSettings(), whole=True)
    assert never.top.efficiency < 0.81 and 64.0 < never.top.iterations / never.crossing() < 270.0


def test_no_crossing_ends_at_one_iteration_or_at_the_longest_task() -> None:
    always = closed(SimulatedSystem(constant(4e-10)), CellSettings())
    assert always.enclosing() is None and always.least.iterations == 1
    never = closed(SimulatedSystem(lambda n: 2e-9 * n), CellSettings(max_task_seconds=0.01))
    assert never.enclosing() is None and never.crossing() == 1.0
    assert 0.005 < never.top.granularity <= 0.01
    assert never.largest_allowed() <= 1.3 * never.top.iterations


def test_slow_runs_are_neither_repeated_nor_warmed_up() -> None:
    settings = CellSettings()
    bracket = Bracket(settings)
    system = SimulatedSystem(constant(1e-2), width=16)
    request = bracket.take(settings.first_request(), system.run(settings.first_request()))
    assert request is not None and (request.repeats, request.warmup) == (1, 0)


@given(st.floats(0.6, 1e7), st.floats(0.05, 0.95), st.integers(1, 2**40))
def test_the_sizes_lie_around_the_crossing(crossing: float, threshold: float, largest: int) -> None:
    sizes, seldom = inner(crossing, largest), outer(crossing, threshold, largest)
    for found in (sizes, seldom):
        assert list(found) == sorted(set(found)) and found[0] >= 1 and found[-1] <= largest
    assert min(5, largest) <= len(sizes) <= 6 or crossing > largest / 4
    assert len(seldom) <= 2
    if crossing > 20 and 4 * crossing < largest:
        below, above = max(n for n in sizes if n <= crossing), min(n for n in sizes if n > crossing)
        assert above / below <= 1.5
        assert sizes[0] <= 0.52 * crossing and sizes[-1] >= 1.95 * crossing
        assert seldom[0] <= 0.31 * crossing and seldom[-1] >= 0.8 * min(4 * crossing, largest)


def test_all_searches_take_their_sizes_from_one_grid() -> None:
    grid = [grid_size(k) for k in range(60)]
    assert grid[:9] == [1, 2, 3, 4, 6, 8, 11, 16, 23]
    assert all(a < b <= 2 * a for a, b in itertools.pairwise(grid))
    assert all(grid[place_below(n)] <= n < grid[place_below(n) + 1] for n in [*range(1, 3000), 2.9, 1e6, 1e9])
    assert inner(99.0, 10**9) == inner(123.0, 10**9) == (45, 64, 91, 128, 181, 256)
    assert len({*inner(90.0, 10**9)} & {*inner(92.0, 10**9)}) == 5, "a crossing at a size hardly matters"
    assert set(outer(99.0, 0.5, 10**9)) <= {*grid}


@given(st.floats(1.0, 1e6), st.floats(0.1, 0.9), st.floats(0.01, 100.0))
def test_a_constant_overhead_is_seen_through_at_any_size(
    overhead: float, threshold: float, times: float
) -> None:
    """E = n / (n + overhead) reaches the threshold at overhead * threshold / (1 - threshold)."""

    expected = overhead * threshold / (1.0 - threshold)
    at = times * overhead
    assert crossing_of(at, at / (at + overhead), threshold) == pytest.approx(expected)
    low, high = (KnownSize(n, n / (n + overhead), 1.0, 1.0, 1) for n in (10, 1000))
    assert crossing_between(low, high, threshold) == pytest.approx(expected)


def test_a_task_that_costs_nothing_but_its_work_crosses_at_once() -> None:
    assert crossing_of(100, 1.0, 0.5) == 0.0
    assert crossing_of(100, 1.3, 0.5) == 0.0, "above one, as a disturbed reference makes it"
