"""The efficiency at given task times, driven by a simulated system and in a simulated study."""

from pathlib import Path

import pytest
import simulated_world as world
from killable_study import OVERHEADS
from simulated_system import PEAK, TAU, Noise, SimulatedSystem, constant, drive

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.fixed_granularity import FixedGranularity
from taskgrain.study.settings import Settings
from taskgrain.words.interval import Interval

ORDINARY = Noise(run=0.02, repeat=0.01)


def experiment(*task_seconds: float, **rest: float) -> FixedGranularity:
    return FixedGranularity(CellSettings(task_seconds=task_seconds, resamples=300, **rest))  # type: ignore[arg-type]


def test_the_efficiency_at_two_task_times() -> None:
    at, system = experiment(20e-6, 50e-6), SimulatedSystem(constant(5e-6), ORDINARY)
    answers = drive(at, system)
    found = at.result(system.rates)
    assert (found.ending, found.metg) == ("at", Interval())
    assert [point.asked for point in found.curve] == [20e-6, 50e-6]
    for point, asked in zip(found.curve, (20e-6, 50e-6), strict=True):
        assert point.iterations * TAU == pytest.approx(asked, rel=0.05)
        truth = point.iterations * TAU / (point.iterations * TAU + 5e-6)
        assert point.efficiency.number == pytest.approx(truth, rel=0.05)
        assert point.efficiency.known and point.efficiency.contains(truth)
    assert at.rounds == 10 and at.interval_width() <= 0.07 and at.expected_seconds_left() == 0.0
    phases = [request.phase for request, *_ in answers]
    assert phases[:4] == ["bracket"] * 4 and set(phases[4:]) == {"measure", "start"}


def test_the_best_of_the_first_references_turns_times_into_iterations() -> None:
    system = SimulatedSystem(constant(1e-6))
    at = experiment(1e-3)
    slow = [[PEAK / 3.0] * 2]
    tables = [slow, [*slow, *[[PEAK] * 2] * 2], [*slow, *[[PEAK] * 2] * 2], [*slow, *[[PEAK] * 2] * 20]]
    for reference in tables:
        (request,) = at.next_round()
        at.tell(request, system.run(request), reference)
    assert list(at.asked) == [pytest.approx(1e-3 / TAU, rel=0.01)]


def test_a_task_below_one_iteration_gets_one_and_a_warning() -> None:
    at, system = experiment(TAU / 10), SimulatedSystem(constant(1e-6), ORDINARY)
    drive(at, system)
    found = at.result(system.rates)
    assert [point.iterations for point in found.curve] == [1]
    assert [one.code for one in found.warnings if one.code == "task_time_off"] == ["task_time_off"]


def test_without_task_times_it_takes_the_first_iterations() -> None:
    at, system = experiment(first_iterations=3000), SimulatedSystem(constant(1e-6))
    drive(at, system)
    (point,) = at.result(system.rates).curve
    assert (point.iterations, point.asked) == (3000, pytest.approx(3e-6, rel=0.05))


def test_before_its_end_it_is_out_of_budget_and_says_so() -> None:
    at, system = experiment(20e-6), SimulatedSystem(constant(5e-6), ORDINARY)
    with pytest.raises(ValueError, match="nothing"):
        at.result(system.rates)
    drive(at, system, most_runs=3)
    early = at.result(system.rates, out_of_budget=True)
    assert (early.ending, early.curve, early.rounds) == ("budget", (), 0)
    drive(at, system, most_runs=9)
    later = at.result(system.rates, out_of_budget=True)
    assert later.ending == "budget" and len(later.curve) == 1
    assert "budget_before_efficiency" in [one.code for one in later.warnings]
    assert at.expected_seconds_left() > 0.0


def test_what_more_rounds_did_not_settle_is_said() -> None:
    noisy = SimulatedSystem(constant(5e-6), Noise(run=0.5))
    at = experiment(20e-6, min_rounds=3, max_rounds=6)
    drive(at, noisy)
    assert at.rounds == 6
    assert "rounds_before_efficiency" in [one.code for one in at.result(noisy.rates).warnings]


def test_a_study_gives_all_systems_the_same_iterations_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    settings = Settings(cores=2, experiment="at", at="20us,100us")
    states = world.measure(tmp_path / "out", world.World(), settings)
    sizes = set()
    for state in states:
        assert world.result(state).ending == "at"
        for point in world.result(state).curve:
            assert point.iterations
            work = point.iterations * world.ITERATION
            assert work == pytest.approx(point.asked, rel=0.05)
            truth = work / (work + OVERHEADS[state.cell.system])
            assert point.efficiency == pytest.approx(truth, rel=0.03)
        sizes.add(tuple(point.iterations for point in world.result(state).curve))
    assert len(sizes) == 1
    again = world.World()
    repeated = world.measure(tmp_path / "out", again, settings)
    assert world.comparable(repeated) == world.comparable(states) and again.runs == 0
