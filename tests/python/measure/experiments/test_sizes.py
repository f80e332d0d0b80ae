"""Which sizes are measured around a crossing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.measure.experiments.sizes import (
    KnownSize,
    crossing_between,
    crossing_of,
    grid_size,
    inner,
    outer,
    place_below,
)


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
