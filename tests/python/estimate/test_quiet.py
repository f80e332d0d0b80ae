"""METG on quiet cores: the exponent of the slowdown, and how sure it is. `test_metg` has whole sessions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from simulated_system import PEAK, Noise, SimulatedSystem, constant, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.crossing import crossing
from taskgrain.estimate.quiet import quiet
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.table import Table

SIZES = (35, 60, 84, 119, 170, 300)


def slowed(samples: list[Sample], gamma: float) -> list[Sample]:
    """Every other round on cores twice as slow; the overhead is slower by 2 ** gamma."""
    return [
        replace(s, peak=s.peak / 2.0, seconds=s.seconds * 2.0**gamma) if s.round % 2 else s for s in samples
    ]


def foretold(gamma: float, varied: bool = True) -> tuple[float, float, float]:
    """METG on quiet cores over METG as it was, and the ends of 95 % of its resamples, where cores are slow by
    2."""
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02))
    found = crossing(
        Table.of(samples_of(system, SIZES, 20)), picked_rounds(20, 1000, np.random.default_rng(0)), 0.5
    )
    assert found is not None
    empty = samples_of(system, (0,), 20)
    if varied:
        empty = slowed(empty, gamma)
    calm = quiet(found.metg, empty, math.log(PEAK / 2.0), math.log(PEAK), np.random.default_rng(1))
    assert calm is not None
    low, high = np.quantile(calm.draws, [0.025, 0.975])
    value, before = calm.value, found.metg.value
    return math.exp(value - before), math.exp(low - before), math.exp(high - before)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0])
def test_the_exponent_is_that_of_the_empty_kernel(gamma: float) -> None:
    value, low, high = foretold(gamma)
    assert value == pytest.approx(2.0**-gamma, rel=0.06)
    assert low <= 2.0**-gamma * 1.02 and high >= 2.0**-gamma * 0.98 and high / low < 1.3


def test_without_variation_nothing_is_known_but_the_prior() -> None:
    value, low, high = foretold(0.0, varied=False)
    assert value == pytest.approx(2.0**-0.5, rel=0.05)
    assert low < 0.5 and high > 1.0


def test_quiet_cores_have_no_second_number() -> None:
    system = SimulatedSystem(constant(1e-7))
    found = crossing(
        Table.of(samples_of(system, SIZES, 6)), picked_rounds(6, 50, np.random.default_rng(0)), 0.5
    )
    assert found is not None
    assert quiet(found.metg, [], math.log(PEAK), math.log(PEAK), np.random.default_rng(1)) is None


def test_an_interrupted_run_of_the_empty_kernel_changes_nothing() -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02))
    found = crossing(
        Table.of(samples_of(system, SIZES, 12)), picked_rounds(12, 50, np.random.default_rng(0)), 0.5
    )
    assert found is not None
    empty = slowed(samples_of(system, (0,), 12), 0.2)
    hit = [replace(s, seconds=40.0 * s.seconds) if s.round == 4 else s for s in empty]
    values = []
    for runs in (empty, hit):
        calm = quiet(found.metg, runs, math.log(PEAK / 2.0), math.log(PEAK), np.random.default_rng(1))
        assert calm is not None
        values.append(calm.value)
    assert values[1] == pytest.approx(values[0], abs=0.02)
