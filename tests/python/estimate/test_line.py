"""The line of efficiencies around the threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, growing, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.line import Line, inflated, line
from taskgrain.estimate.table import Table

SIZES = (25, 35, 60, 84, 119, 170, 300, 900)


def found(system: SimulatedSystem, sizes: tuple[int, ...] = SIZES, rounds: int = 12) -> Line:
    table = Table.of(samples_of(system, sizes, rounds))
    result = line(table, picked_rounds(rounds, 200, np.random.default_rng(0)), 0.5)
    assert result is not None
    return result


def test_a_constant_overhead_is_the_line_exactly() -> None:
    one = found(SimulatedSystem(constant(1e-7)))
    assert math.exp(one.overhead) == pytest.approx(1e-7, rel=1e-9)
    assert math.exp(one.metg) == pytest.approx(2e-7, rel=1e-9)
    assert one.misfit < 1e-9 and np.abs(one.off).max() < 1e-9


def test_a_kernel_that_is_slower_beside_others_has_a_larger_metg_but_no_larger_overhead() -> None:
    one = found(SimulatedSystem(lambda n: 1e-7 + 0.25e-9 * n))  # e = 0.8
    assert math.exp(one.overhead) == pytest.approx(1e-7, rel=1e-9)
    assert math.exp(one.metg) == pytest.approx(1e-7 / (1.0 - 0.5 / 0.8), rel=1e-9)


def test_an_overhead_hidden_behind_the_work() -> None:
    one = found(SimulatedSystem(lambda n: max(0.0, 1e-7 - 1e-9 * n)), (10, 20, 30, 42, 60, 80))
    assert math.exp(one.metg) == pytest.approx(1e-7, rel=1e-6), "t = max(a, c)"


@pytest.mark.parametrize("period", [1, 7, 1000])
def test_a_state_of_the_cores_moves_runs_along_the_line(period: int) -> None:
    """The clock is halved, but the overhead, which waits for others, is not."""

    def system(slow: bool) -> SimulatedSystem:
        return SimulatedSystem(constant(1e-7 / (2.0 if slow else 1.0)), drift=lambda _: 2.0 if slow else 1.0)

    sides = [samples_of(system(slow), SIZES, 12) for slow in (False, True)]
    mixed = [a if (k // period) % 2 else b for k, (a, b) in enumerate(zip(*sides, strict=True))]
    result = line(Table.of(mixed), picked_rounds(12, 50, np.random.default_rng(0)), 0.5)
    assert result is not None and math.exp(result.metg) == pytest.approx(2e-7, rel=0.05)


@pytest.mark.parametrize(
    "overhead", [growing(1e-7, 0.5), lambda n: 1e-7 if n < 105 else 1.35e-7], ids=["growing", "knee"]
)
def test_what_is_no_line_widens_the_interval(overhead: Callable[[float], float]) -> None:
    system = SimulatedSystem(overhead, Noise(run=0.01, repeat=0.0))
    bent, straight = found(system), found(SimulatedSystem(constant(1e-7), Noise(run=0.01, repeat=0.0)))
    assert bent.systematic(0.5) > 10.0 * straight.systematic(0.5) or straight.systematic(0.5) == 0.0
    assert abs(bent.metg - math.log(system.true_metg())) < max(0.02, bent.systematic(0.5))


def test_beyond_all_sizes_the_line_says_so() -> None:
    never = found(SimulatedSystem(lambda n: 1.5e-9 * n + 1e-7), (100, 200, 400, 800))
    assert never.metg == math.inf


@pytest.mark.parametrize(("rho", "least", "most"), [(0.0, 1.0, 1.25), (0.5, 2.2, 4.5), (0.9, 8.0, 19.1)])
def test_rounds_that_are_alike_inflate_the_variance(rho: float, least: float, most: float) -> None:
    rng = np.random.default_rng(5)
    series = np.zeros((400, 6))
    for k in range(1, 400):
        series[k] = rho * series[k - 1] + rng.normal(size=6)
    assert least <= inflated(series) <= most
    assert inflated(series[:3]) == 1.0 == inflated(np.zeros((20, 2))) == inflated(np.full((20, 1), np.nan))


def test_few_rounds_inflate_less_than_they_seem_to_be_alike() -> None:
    rng = np.random.default_rng(5)
    independent = [inflated(rng.normal(size=(10, 1))) for _ in range(200)]
    assert np.median(independent) < 1.3 and np.quantile(independent, 0.9) < 3.5
