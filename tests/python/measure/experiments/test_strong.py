"""Strong scaling: other numbers of cores get sizes that make the same work of a step."""

from __future__ import annotations

import pytest
from simulated_system import QUIET, SimulatedSystem, constant, drive

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.strong import Strong
from taskgrain.measure.experiments.sweep import SIZES


@pytest.mark.parametrize("cores", [1, 2, 3, 6])
def test_all_tasks_of_a_step_together_have_a_power_of_two_of_iterations(cores: int) -> None:
    width = 8 * cores
    strong = Strong(CellSettings(resamples=50, points=width))
    system = SimulatedSystem(constant(1e-6), QUIET, width=width, cores=cores)
    drive(strong, system)
    assert 5 < len(strong.sizes) <= SIZES
    wanted = {round(2**k / width) for k in range(60)}
    assert set(strong.sizes) <= wanted and 0 not in strong.sizes
    found = strong.result(system.rates)
    assert found.metg == pytest.approx(2e-6, rel=0.1) and found.curve[-1].efficiency > 0.9
