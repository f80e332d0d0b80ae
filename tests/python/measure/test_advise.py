"""Tests of the measurements for an answer at a task time, of what is known meanwhile, and of their end."""

from dataclasses import replace
from pathlib import Path

import pytest
from killable_study import lines
from simulated_system import Noise, SimulatedSystem, constant, drive
from simulated_world import World, measure

from taskgrain.answers.advice_words import efficiency, sentences
from taskgrain.answers.advise import Question, answer, at, choice, side_by_side
from taskgrain.measure import advise
from taskgrain.measure.advise import task_times, until_known
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.results import curves, measurements
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


WORK = 20e-6
TABLE = {"patterns": ["nearest"], "widths": [4]}


def measured(folder: Path, world: World, budget: float) -> None:
    at = ",".join(f"{1e6 * one:g}us" for one in task_times(WORK))
    settings = Settings(cores=2, budget=budget, experiment="at", at=at, precision=0.1, max_rounds=10_000)
    measure(folder, world, settings, TABLE, experiment=until_known(WORK))


@pytest.mark.parametrize("budget", [0.11, 0.15, 0.2, 0.5, 1.0])
def test_from_the_first_round_on_there_is_an_answer_for_each_system(tmp_path: Path, budget: float) -> None:
    world = World()
    world.bounds = {"fast"}
    measured(tmp_path, world, budget)
    assert world.notes and world.notes[0] == (
        "after 1 round, tasks of 20 µs reach about 80 % with slow, about 95 % with fast (bound); more rounds "
        "make this surer"
    )
    assert len(world.notes) == len(set(world.notes)) <= 2
    found = {one.cell.system: one for one in curves.opened(tmp_path)[0]}
    answers = [answer(Question(WORK, one.workload, 2), name, one) for name, one in found.items()]
    assert {one.system: round(one.efficiency.found.number, 2) for one in answers} == {
        "fast": 0.95,
        "slow": 0.8,
    }
    for one in answers:  # as sure as what was measured at this time
        assert one.curve
        at = min(one.curve.points, key=lambda work: abs(work - WORK))
        assert one.efficiency.found.known == one.curve.points[at].known == (not one.rough)
    said = " ".join(sentences(Question(WORK, found["slow"].workload, 2), answers))
    assert "Nothing is known" not in said and "not known" not in said


def test_the_time_that_was_asked_about_comes_first_and_bounds_come_last(tmp_path: Path) -> None:
    world = World()
    world.bounds = {"fast"}
    measured(tmp_path, world, 1.0)
    runs = [line for line in lines(tmp_path, "run") if line["phase"] == "measure"]
    first = [line for line in runs if line["round"] < 6]
    assert {line["iterations"] for line in first} == {round(WORK / 64e-9)}
    assert len({line["iterations"] for line in runs}) == len(task_times(WORK))
    systems = [line["cell"].partition("/")[0] for line in first]
    assert systems == ["slow", "fast"] * 6


def test_on_the_way_it_says_what_the_answer_says(tmp_path: Path) -> None:
    """Tasks came out longer than was asked for, and those of the bound did more than the reference."""
    world = World()
    world.bounds, world.overheads["fast"] = {"fast"}, -1e-6
    measured(tmp_path / "quick", world, 0.15)
    (quick,) = world.notes
    assert quick.startswith("after 1 round, tasks of 20 µs reach about 80 % with slow, about 100 % with fast")
    world = World()
    world.slowdown = lambda now: 1.0 if now < 0.05 else 1.6
    measured(tmp_path / "late", world, 1.0)
    *_, late = world.notes
    assert ", ≤ 80 %, that of 32 µs, with slow; " in late
    first = next(one for one in curves.opened(tmp_path / "late")[0] if one.cell.system == "slow")
    alone = replace(first, points={work: one for work, one in first.points.items() if work > WORK})
    assert "≤ 80 %, that of 32 µs" in efficiency(at(alone, WORK))


def test_the_answer_rests_on_the_samples_that_compare_takes(tmp_path: Path) -> None:
    measured(tmp_path, World(), 0.5)
    found = {one.cell.name: one for one in curves.opened(tmp_path)[0]}
    every = {one.cell.name: one.samples for one in measurements.opened(tmp_path).measurements}
    assert {name: one.samples for name, one in found.items()} == every and all(every.values())
    answers = [answer(Question(WORK, one.workload, 2), one.cell.system, one) for one in found.values()]
    chosen = choice(answers)
    assert (
        chosen and chosen.best.system == "fast" and chosen.sure["slow"].value == pytest.approx(0.16, abs=0.01)
    )
    slow = next(one for one in answers if one.system == "slow")
    assert side_by_side(slow, chosen.best)
