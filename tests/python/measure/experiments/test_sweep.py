"""The sweep of a cell, and those of weak and strong scaling, driven by a simulated system."""

import pytest
from simulated_system import QUIET, Noise, SimulatedSystem, constant, drive, prepare

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.sweep import SIZES, Strong, Sweep, Weak

ORDINARY = Noise(run=0.03, repeat=0.015)


def test_a_sweep_goes_in_powers_of_two_from_one_to_full_efficiency() -> None:
    sweep = Sweep(CellSettings(resamples=200))
    system = SimulatedSystem(constant(1e-6), ORDINARY)
    answers = drive(sweep, system)
    found = sweep.result(system.rates)
    assert sweep.sizes == tuple(2**k for k in range(len(sweep.sizes))) and len(sweep.sizes) <= SIZES
    assert found.curve[-1].efficiency.number > 0.93 and found.metg.value == pytest.approx(2e-6, rel=0.1)
    assert {request.phase for request, *_ in answers} == {"bracket", "sweep", "start", "floor"}


def test_a_sweep_of_a_slow_system_leaves_the_smallest_sizes_out() -> None:
    sweep = Sweep(CellSettings(resamples=50))
    drive(sweep, SimulatedSystem(constant(1e-2), ORDINARY))
    assert len(sweep.sizes) == SIZES and sweep.sizes[0] > 1


def test_the_sizes_of_a_sweep_stay_as_they_are() -> None:
    """Where the metg search would add sizes, because the bracket was led astray."""
    system = SimulatedSystem(constant(1e-6), ORDINARY)
    sweep = Sweep(CellSettings(resamples=50))
    prepare(sweep, system)
    chosen = sweep.sizes
    system.overhead = constant(1.2e-5)
    drive(sweep, system)
    assert sweep.done and sweep.sizes == chosen


def test_a_sweep_of_a_system_that_never_gets_there_is_still_a_curve() -> None:
    sweep = Sweep(CellSettings(resamples=50, min_rounds=8, max_rounds=8))
    system = SimulatedSystem(lambda n: 2e-9 * n + 1e-7, ORDINARY)
    drive(sweep, system)
    found = sweep.result(system.rates)
    assert (found.ending, found.metg.value) == ("never_reached", None)
    assert len(found.curve) == len(sweep.sizes) == SIZES


def test_for_weak_scaling_every_number_of_cores_has_the_same_sizes_of_tasks() -> None:
    sizes = []
    for cores in (1, 2, 3):
        weak = Weak(CellSettings(resamples=50))
        drive(weak, SimulatedSystem(constant(1e-6), QUIET, width=8 * cores, cores=cores))
        sizes.append(set(weak.sizes))
    shared = set.intersection(*sizes)
    assert len(shared) >= 8 and all(size & (size - 1) == 0 for size in shared)


@pytest.mark.parametrize("cores", [1, 2, 3, 6])
def test_for_strong_scaling_all_tasks_of_a_step_have_a_power_of_two_of_iterations(cores: int) -> None:
    width = 8 * cores
    strong = Strong(CellSettings(resamples=50, points=width))
    system = SimulatedSystem(constant(1e-6), QUIET, width=width, cores=cores)
    drive(strong, system)
    assert 5 < len(strong.sizes) <= SIZES
    assert set(strong.sizes) <= {round(2**k / width) for k in range(60)} - {0}
    found = strong.result(system.rates)
    assert found.metg.value == pytest.approx(2e-6, rel=0.1) and found.curve[-1].efficiency.number > 0.9
