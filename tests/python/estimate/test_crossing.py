"""Tests of the lines of METG: of all sizes near the threshold, or of the two that enclose it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, growing, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.crossing import Crossing, crossing
from taskgrain.estimate.ratio import ratio
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import Table

SIZES = (35, 60, 84, 119, 170, 300)
MANY = (25, *SIZES, 900)


def jump(iterations: float) -> float:
    """The overhead of a loop whose end the processor foretells up to a number of iterations."""
    return 1e-7 if iterations < 140 else 1.4e-7


def crossing_of(table: Table, rounds: int, resamples: int) -> Crossing | None:
    picks = picked_rounds(rounds, resamples, np.random.default_rng(0))
    return crossing(table, picks, 0.5)


def of(samples: list[Sample]) -> Crossing:
    result = crossing_of(Table.of(samples), 12, 200)
    assert result is not None
    return result


def found(system: SimulatedSystem, sizes: tuple[int, ...] = SIZES) -> Crossing:
    return of(samples_of(system, sizes, 12))


def test_a_constant_overhead_is_the_line_exactly() -> None:
    one = found(SimulatedSystem(constant(1e-7)), MANY)
    assert math.exp(one.overhead.value) == pytest.approx(1e-7, rel=1e-9)
    assert math.exp(one.metg.value) == pytest.approx(2e-7, rel=1e-9)
    assert one.metg.systematic < 1e-8 and np.abs(one.metg.influence).max() < 1e-9


def test_a_kernel_that_is_slower_beside_others_has_a_larger_metg_but_no_larger_overhead() -> None:
    one = found(SimulatedSystem(lambda n: 1e-7 + 0.25e-9 * n), MANY)  # e = 0.8
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

    sides = [samples_of(system(slow), MANY, 12) for slow in (False, True)]
    mixed = [a if (k // period) % 2 else b for k, (a, b) in enumerate(zip(*sides, strict=True))]
    assert math.exp(of(mixed).metg.value) == pytest.approx(2e-7, rel=0.05)


@pytest.mark.parametrize(
    "overhead", [growing(1e-7, 0.5), lambda n: 1e-7 if n < 105 else 1.35e-7], ids=["growing", "knee"]
)
def test_what_is_no_line_widens_the_interval(overhead: Callable[[float], float]) -> None:
    system = SimulatedSystem(overhead, Noise(run=0.01, repeat=0.0))
    straight = found(SimulatedSystem(constant(1e-7), Noise(run=0.01, repeat=0.0)), MANY)
    bent = found(system, MANY)
    assert bent.metg.systematic > 10.0 * straight.metg.systematic or straight.metg.systematic == 0.0
    assert abs(bent.metg.value - math.log(system.true_metg())) < max(0.02, bent.metg.systematic)


def test_off_a_line_it_lies_between_the_two_sizes_around_it() -> None:
    system = SimulatedSystem(jump, Noise(run=0.01))
    one = found(system)
    assert one.metg.systematic == pytest.approx(0.25 * math.log(119 / 84))
    assert one.metg.value == pytest.approx(math.log(system.true_metg()), abs=0.04)
    assert one.metg.draws.mean() == pytest.approx(one.metg.value, abs=0.03)


def test_where_the_overhead_falls_the_interval_holds_the_larger_and_quicker_size() -> None:
    """The smallest granularity that is efficient enough is that of a measured size."""
    one = found(SimulatedSystem(lambda n: 1e-7 if n < 100 else 5e-8, Noise(run=0.01))).metg
    assert abs(one.value - math.log(1.69e-7)) < one.systematic, "of 119 iterations; 170 and 84 take longer"


def test_the_overhead_is_never_above_metg() -> None:
    """Tasks of 140 iterations and more are quicker than those below: the line through the jump would have a
    task without work take longer than one of METG."""
    one = found(SimulatedSystem(lambda n: 1.4e-7 if n < 140 else 6e-8, Noise(run=0.01)))
    assert one.overhead.value <= one.metg.value
    assert (one.overhead.draws <= one.metg.draws).all()


def test_nearer_sizes_leave_less_unknown() -> None:
    system = SimulatedSystem(jump, Noise(run=0.005))
    wide, near = found(system), found(system, tuple(sorted({*SIZES, 100})))
    assert 0.0 < near.metg.systematic < 0.7 * wide.metg.systematic


def test_a_ratio_has_no_number_where_metg_has_none() -> None:
    slow = samples_of(SimulatedSystem(constant(1e-6)), SIZES, 6)
    assert crossing_of(Table.of(slow), 6, 50) is None
    assert ratio(slow, samples_of(SimulatedSystem(constant(1e-7)), SIZES, 6)).value is None


def test_without_two_sizes_there_is_none() -> None:
    table = Table.of(samples_of(SimulatedSystem(constant(1e-7)), (100,), 6))
    assert crossing_of(table, 6, 50) is None
