"""The line of efficiencies around the threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, growing, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.line import Crossing, line
from taskgrain.estimate.table import Table

SIZES = (25, 35, 60, 84, 119, 170, 300, 900)


def found(system: SimulatedSystem, sizes: tuple[int, ...] = SIZES, rounds: int = 12) -> Crossing:
    table = Table.of(samples_of(system, sizes, rounds))
    result = line(table, picked_rounds(rounds, 200, np.random.default_rng(0)), 0.5)
    assert result is not None
    return result


def test_a_constant_overhead_is_the_line_exactly() -> None:
    one = found(SimulatedSystem(constant(1e-7)))
    assert math.exp(one.overhead.value) == pytest.approx(1e-7, rel=1e-9)
    assert math.exp(one.metg.value) == pytest.approx(2e-7, rel=1e-9)
    assert one.metg.systematic < 1e-8 and np.abs(one.metg.off).max() < 1e-9


def test_a_kernel_that_is_slower_beside_others_has_a_larger_metg_but_no_larger_overhead() -> None:
    one = found(SimulatedSystem(lambda n: 1e-7 + 0.25e-9 * n))  # e = 0.8
    assert math.exp(one.overhead.value) == pytest.approx(1e-7, rel=1e-9)
    assert math.exp(one.metg.value) == pytest.approx(1e-7 / (1.0 - 0.5 / 0.8), rel=1e-9)


def test_an_overhead_hidden_behind_the_work() -> None:
    one = found(SimulatedSystem(lambda n: max(0.0, 1e-7 - 1e-9 * n)), (10, 20, 30, 42, 60, 80))
    assert math.exp(one.metg.value) == pytest.approx(1e-7, rel=1e-6), "t = max(a, c)"


@pytest.mark.parametrize("period", [1, 7, 1000])
def test_a_state_of_the_cores_moves_runs_along_the_line(period: int) -> None:
    """The clock is halved, but the overhead, which waits for others, is not."""

    def system(slow: bool) -> SimulatedSystem:
        return SimulatedSystem(constant(1e-7 / (2.0 if slow else 1.0)), drift=lambda _: 2.0 if slow else 1.0)

    sides = [samples_of(system(slow), SIZES, 12) for slow in (False, True)]
    mixed = [a if (k // period) % 2 else b for k, (a, b) in enumerate(zip(*sides, strict=True))]
    result = line(Table.of(mixed), picked_rounds(12, 50, np.random.default_rng(0)), 0.5)
    assert result is not None and math.exp(result.metg.value) == pytest.approx(2e-7, rel=0.05)


@pytest.mark.parametrize(
    "overhead", [growing(1e-7, 0.5), lambda n: 1e-7 if n < 105 else 1.35e-7], ids=["growing", "knee"]
)
def test_what_is_no_line_widens_the_interval(overhead: Callable[[float], float]) -> None:
    system = SimulatedSystem(overhead, Noise(run=0.01, repeat=0.0))
    bent, straight = found(system), found(SimulatedSystem(constant(1e-7), Noise(run=0.01, repeat=0.0)))
    assert bent.metg.systematic > 10.0 * straight.metg.systematic or straight.metg.systematic == 0.0
    assert abs(bent.metg.value - math.log(system.true_metg())) < max(0.02, bent.metg.systematic)


def test_beyond_all_sizes_the_line_says_so() -> None:
    never = found(SimulatedSystem(lambda n: 1.5e-9 * n + 1e-7), (100, 200, 400, 800))
    assert never.metg.value == math.inf
