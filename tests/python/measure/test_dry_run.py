"""The time that a dry run foretells is the one that the search then takes."""

from dataclasses import replace
from pathlib import Path

import pytest
from simulated_system import SimulatedSystem, constant, drive

from taskgrain.drive.system import System
from taskgrain.measure.dry_run import cell_seconds, study
from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.sweep import Sweep
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study
from taskgrain.study.workload import Workload

SETTINGS = CellSettings(resamples=100)
CASES: dict[str, tuple[type[Experiment], CellSettings, int]] = {
    "default": (MetgSearch, SETTINGS, 4),
    "one task a core": (MetgSearch, SETTINGS, 2),
    "more rounds": (MetgSearch, replace(SETTINGS, min_rounds=20, repeats=5), 4),
    "sweep": (Sweep, SETTINGS, 4),
    "fixed steps": (MetgSearch, replace(SETTINGS, steps=5000), 4),
    "many fixed steps": (MetgSearch, replace(SETTINGS, steps=200_000), 4),  # long enough without repeats
    "fixed steps, sweep": (Sweep, replace(SETTINGS, steps=1000), 16),
    "wide": (MetgSearch, SETTINGS, 100_000),
}


@pytest.mark.parametrize(("experiment", "settings", "width"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("metg", [0.5e-6, 2e-6])
def test_a_cell_takes_the_time_foretold(
    experiment: type[Experiment], settings: CellSettings, width: int, metg: float
) -> None:
    system = SimulatedSystem(constant(metg / 2), width=width)
    spent = 0.0
    for request, samples, _ in drive(experiment(settings), system):
        spent += sum(one.seconds for one in samples) * (request.repeats + request.warmup) / request.repeats
    foretold = cell_seconds(Workload("trivial", width), experiment, settings, system.cores)
    # Where the search cannot choose how long a run lasts, METG says it. 1.3 is for all that is no run.
    free = settings.steps is None and width < 1000
    assert 1.2 < foretold / (spent * (1.0 if free else 1e-6 / metg)) < 1.6


def test_a_simulation_is_foretold_in_seconds_that_pass(tmp_path: Path) -> None:
    """On twice the nodes each step has twice the tasks, all of which one core simulates."""
    words = {"command": ("it", "{nodes}"), "simulated": True}
    chosen = [System("one", tmp_path, "One", **words)]  # type: ignore[arg-type]
    workloads = (Workload("fft", 8, nodes=4), Workload("fft", 16, nodes=8))
    made = Study(("one",), workloads, Settings(steps=1000))
    few, many = (one["seconds"] for one in study(made, chosen, (0, 1))["cells"])
    assert many == pytest.approx(2 * few)
    assert 5 * 8000 * 1e-4 < few < 40 * 8000 * 1e-4
