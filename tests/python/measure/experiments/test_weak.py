"""Weak scaling: other numbers of cores get the same sizes of tasks."""

from __future__ import annotations

from simulated_system import QUIET, SimulatedSystem, constant, drive

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.weak import Weak


def test_every_number_of_cores_has_the_same_sizes_of_tasks() -> None:
    sizes = []
    for cores in (1, 2, 3):
        weak = Weak(CellSettings(resamples=50))
        drive(weak, SimulatedSystem(constant(1e-6), QUIET, width=8 * cores, cores=cores))
        sizes.append(set(weak.sizes))
    shared = set.intersection(*sizes)
    assert len(shared) >= 8 and all(size & (size - 1) == 0 for size in shared)
