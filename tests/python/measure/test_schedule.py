"""Tests of the choice of what a study runs next."""

from pathlib import Path

import pytest

from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.plan import Plan, simulated_seconds
from taskgrain.measure.record import CellState, Record
from taskgrain.measure.schedule import Budget, Schedule
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Cell, Workload

WORKLOADS = [Workload("fft", 4), Workload("tree", 4)]


class Standing(MetgSearch):
    """A search that stands where the test says."""

    preparing = False  # type: ignore[assignment]
    width = 1.0

    def interval_width(self) -> float:
        return self.width


def nobody(name: str) -> Session:
    raise DriverError("system", name)


class World:
    def __init__(self, budget: float = 0.0, command: str = "x") -> None:
        self.now = 100.0
        cells = [Cell(system, one) for one in WORKLOADS for system in ("a", "b")]
        settings = Settings(cores=2, budget=budget)
        systems = {name: System(name, Path(), name, command=(command,), simulated=True) for name in "ab"}
        plan = Plan(cells, systems, settings, nobody, clock=lambda: self.now)

        def experiment(_: Cell) -> Experiment:
            return Standing(CellSettings.of(settings))

        self.record = Record(cells, experiment, 2, {})
        self.budget = Budget(budget, 0.0, self.now, plan.clock)
        self.schedule = Schedule(plan, self.record, self.budget)
        self.states = list(self.record.cells.values())

    def at(self, rounds: int, *widths: float) -> None:
        for state, width in zip(self.states, widths, strict=True):
            assert isinstance(state.experiment, Standing)
            state.experiment._round, state.experiment.width = rounds, width


def names(group: list[CellState]) -> list[str]:
    return [f"{state.cell.system} {state.cell.workload.pattern}" for state in group]


def test_all_brackets_come_first_and_then_the_rounds_that_every_cell_gets() -> None:
    world = World()
    world.at(10, 0.2, 0.2, 0.9, 0.9)
    world.states[1].experiment.preparing = True  # type: ignore[misc]
    assert names(world.schedule.next_group()) == ["b fft"]
    world.states[1].experiment.preparing = False  # type: ignore[misc]
    world.states[3].experiment._round = 9
    assert names(world.schedule.next_group()) == ["b tree"]


def test_the_least_known_workload_comes_next_with_all_its_systems() -> None:
    world = World()
    world.at(10, 0.2, 0.2, 0.3, 0.1)
    assert names(world.schedule.next_group()) == ["a tree", "b tree"]
    world.at(10, 0.2, 0.4, 0.3, 0.1)
    assert names(world.schedule.next_group()) == ["a fft", "b fft"]
    for state in world.states[:2]:
        state.problem = "none of it makes sense"
    assert names(world.schedule.next_group()) == ["a tree", "b tree"]


def test_the_leader_changes_from_round_to_round() -> None:
    world = World()
    fft, tree = world.states[:2], world.states[2:]
    orders = [names(world.schedule.in_turn(fft)) for _ in range(4)]
    assert orders[0] == ["b fft", "a fft"] == orders[2] and orders[1] == orders[3] == orders[0][::-1]
    assert names(world.schedule.in_turn(tree)) == ["b tree", "a tree"], "each workload has turns of its own"


def test_who_has_had_its_share_of_the_budget_waits() -> None:
    world = World(budget=40.0)
    world.at(10, 0.2, 0.2, 0.2, 0.2)
    assert world.schedule.share() == 10.0
    world.now, world.states[0].spent = 120.0, 20.0
    assert world.schedule.share() == 10.0, "20 of 40 seconds are left, and one cell has had 20"
    assert names(world.schedule.next_group()) == ["b fft"]
    world.states[0].problem = "done"
    assert world.schedule.share() == pytest.approx(20.0 / 3.0)
    assert not world.budget.over
    world.now = 140.0
    assert world.budget.over and World().schedule.share() == float("inf")


def test_where_a_study_stands() -> None:
    world = World(budget=40.0)
    world.states[0].problem = "done"
    world.now = 130.0
    progress = world.schedule.progress("b/fft/width=4")
    assert (progress.done, progress.cells, progress.seconds) == (1, 4, 30.0)
    assert progress.current == "b/fft/width=4" and 0.0 < progress.seconds_left <= 10.0


def test_simulated_nodes_have_left_what_their_tasks_take_until_a_round_is_simulated() -> None:
    world = World(command="x{nodes}")
    left = [world.schedule.progress("a").seconds_left]
    world.states[0].spent = left[0] / 8
    left.append(world.schedule.progress("a").seconds_left)
    world.at(1, 1.0, 1.0, 1.0, 1.0)
    assert left[0] == pytest.approx(
        4 * simulated_seconds(WORKLOADS[0], MetgSearch, CellSettings.of(Settings()))
    )
    assert left[1] == pytest.approx(left[0] * 7 / 8)
    assert world.schedule.progress("a").seconds_left == 0.0
    assert world.schedule.progress("a").share < 1.0
