"""Tests of the measurements for an answer at a task time, and of their end."""

from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem, constant, drive

from taskgrain.answers.advise import Question
from taskgrain.measure import advise
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Workload

WORKLOAD = Workload("nearest", 16, radix=6)
QUESTION = Question(20e-6, WORKLOAD, 2)


def test_what_is_missing_is_measured_at_the_task_time_and_around_it() -> None:
    assert advise.task_times(20e-6) == pytest.approx([2.5e-6, 5e-6, 10e-6, 20e-6, 40e-6, 80e-6])
    assert max(advise.task_times(100e-6)) == 200e-6
    assert max(advise.task_times(1e-3)) == 1e-3
    study = advise.study(QUESTION, ["tbb"], Settings(budget=9.0, steps=50, isa="portable"))
    assert (study.systems, study.workloads) == (("tbb",), (WORKLOAD,))
    assert study.settings.task_seconds == pytest.approx(advise.task_times(20e-6))
    assert (study.settings.budget, study.settings.steps, study.settings.isa) == (9.0, 50, "portable")


def system(efficiency: float) -> SimulatedSystem:
    """One whose tasks of 20 µs are so efficient."""
    return SimulatedSystem(constant(20e-6 * (1 / efficiency - 1)), Noise(run=0.06, repeat=0.03))


def test_rounds_go_on_until_it_is_known_which_levels_are_reached() -> None:
    """An overhead that makes tasks of 20 µs 82 % efficient: 10 % of that says nothing of 80 %."""
    asked = advise.study(QUESTION, ["tbb"], Settings()).settings
    settings = CellSettings.of(replace(asked, cores=2))
    made = advise.until_known(20e-6)
    near, far, still = made(settings), made(settings), made(settings)
    drive(near, system(0.82), most_runs=3000)
    drive(far, system(0.65), most_runs=3000)
    assert far.done and far.rounds < 20 < near.rounds
    level = system(0.8)
    drive(still, level, most_runs=300)
    assert not still.done and still.interval_width() < 0.1
    early = still.result(level.rates, out_of_budget=True)
    assert "budget_before_efficiency" not in [one.code for one in early.warnings]
