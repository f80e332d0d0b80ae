"""Where METG is read off: the line of all sizes, or between the two that enclose it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.crossing import crossing
from taskgrain.estimate.line import Crossing, line
from taskgrain.estimate.ratio import ratio
from taskgrain.estimate.table import Table

SIZES = (35, 60, 84, 119, 170, 300)


def jump(iterations: float) -> float:
    """The overhead of a loop whose end the processor foretells up to a number of iterations."""
    return 1e-7 if iterations < 140 else 1.4e-7


def found(system: SimulatedSystem, sizes: tuple[int, ...] = SIZES) -> tuple[Crossing, Table]:
    table = Table.of(samples_of(system, sizes, 12))
    result = crossing(table, picked_rounds(12, 200, np.random.default_rng(0)), 0.5)
    assert result is not None
    return result, table


def test_on_a_line_it_is_the_line() -> None:
    one, table = found(SimulatedSystem(constant(1e-7), Noise(run=0.02)))
    same = line(table, picked_rounds(12, 200, np.random.default_rng(0)), 0.5)
    assert same is not None and one.metg.systematic == same.metg.systematic
    assert [one.metg.value, *one.metg.draws] == [same.metg.value, *same.metg.draws]


def test_off_a_line_it_lies_between_the_two_sizes_around_it() -> None:
    system = SimulatedSystem(jump, Noise(run=0.01))
    one, table = found(system)
    same = line(table, picked_rounds(12, 200, np.random.default_rng(0)), 0.5)
    assert same is not None and one.metg.systematic < 0.5 * same.metg.systematic
    assert one.metg.value == pytest.approx(math.log(system.true_metg()), abs=0.04)
    assert one.metg.draws.mean() == pytest.approx(one.metg.value, abs=0.03)


def test_where_the_overhead_falls_a_larger_and_quicker_size_is_metg() -> None:
    """The smallest granularity that is efficient enough is that of a measured size."""
    one, _ = found(SimulatedSystem(lambda n: 1e-7 if n < 100 else 5e-8, Noise(run=0.01)))
    assert math.exp(one.metg.value) == pytest.approx(1.69e-7, rel=0.03), (
        "of 119 iterations; 170 and 84 take longer"
    )
    assert one.metg.systematic > 0.05


def test_nearer_sizes_leave_less_unknown() -> None:
    system = SimulatedSystem(jump, Noise(run=0.005))
    wide, near = found(system)[0], found(system, tuple(sorted({*SIZES, 100})))[0]
    assert 0.0 < near.metg.systematic < 0.7 * wide.metg.systematic


def test_a_ratio_has_no_number_where_metg_has_none() -> None:
    slow = samples_of(SimulatedSystem(constant(1e-6)), SIZES, 6)
    assert crossing(Table.of(slow), picked_rounds(6, 50, np.random.default_rng(0)), 0.5) is None
    assert ratio(slow, samples_of(SimulatedSystem(constant(1e-7)), SIZES, 6)).value is None


def test_without_two_sizes_there_is_none() -> None:
    table = Table.of(samples_of(SimulatedSystem(constant(1e-7)), (100,), 6))
    assert crossing(table, picked_rounds(6, 50, np.random.default_rng(0)), 0.5) is None
