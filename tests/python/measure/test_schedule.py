"""Tests of the choice of what a study runs next: nothing beyond a hard budget, nor where places are sure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driver_process import runnable
from killable_study import DRIVERS, assert_nothing_twice, finish, lines, write_study, write_system
from simulated_world import World, comparable, measure, result

from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.measure.experiments.experiment import CellSettings, Experiment, Request
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.plan import Plan, simulated_seconds
from taskgrain.measure.record import CellState, Record
from taskgrain.measure.schedule import LOOKS, Budget, Places, Schedule, least_seconds
from taskgrain.results.ranking import MARGIN
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


class Planned:
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
    world = Planned()
    world.at(10, 0.2, 0.2, 0.9, 0.9)
    world.states[1].experiment.preparing = True  # type: ignore[misc]
    assert names(world.schedule.next_group()) == ["b fft"]
    world.states[1].experiment.preparing = False  # type: ignore[misc]
    world.states[3].experiment._round = 9
    assert names(world.schedule.next_group()) == ["b tree"]


def test_the_least_known_workload_comes_next_with_all_its_systems() -> None:
    world = Planned()
    world.at(10, 0.2, 0.2, 0.3, 0.1)
    assert names(world.schedule.next_group()) == ["a tree", "b tree"]
    world.at(10, 0.2, 0.4, 0.3, 0.1)
    assert names(world.schedule.next_group()) == ["a fft", "b fft"]
    for state in world.states[:2]:
        state.problem = "none of it makes sense"
    assert names(world.schedule.next_group()) == ["a tree", "b tree"]


def test_the_leader_changes_from_round_to_round() -> None:
    world = Planned()
    fft, tree = world.states[:2], world.states[2:]
    orders = [names(world.schedule.in_turn(fft)) for _ in range(4)]
    assert orders[0] == ["b fft", "a fft"] == orders[2] and orders[1] == orders[3] == orders[0][::-1]
    assert names(world.schedule.in_turn(tree)) == ["b tree", "a tree"], "each workload has turns of its own"


def test_who_has_had_its_share_of_the_budget_waits() -> None:
    world = Planned(budget=40.0)
    world.at(10, 0.2, 0.2, 0.2, 0.2)
    assert world.schedule.share() == 10.0
    world.now, world.states[0].spent = 120.0, 20.0
    assert world.schedule.share() == 10.0, "20 of 40 seconds are left, and one cell has had 20"
    assert names(world.schedule.next_group()) == ["b fft"]
    world.states[0].problem = "done"
    assert world.schedule.share() == pytest.approx(20.0 / 3.0)
    assert not world.budget.over
    world.now = 140.0
    assert world.budget.over and Planned().schedule.share() == float("inf")


def test_where_a_study_stands() -> None:
    world = Planned(budget=40.0)
    world.states[0].problem = "done"
    world.now = 130.0
    progress = world.schedule.progress("b/fft/width=4")
    assert (progress.done, progress.cells, progress.seconds) == (1, 4, 30.0)
    assert progress.current == "b/fft/width=4" and 0.0 < progress.seconds_left <= 10.0


def test_simulated_nodes_have_left_what_their_tasks_take_until_a_round_is_simulated() -> None:
    world = Planned(command="x{nodes}")
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


REAL = [name for name in ("limit", "mpi", "openmp_task", "serial", "dask.threads") if name in runnable()]


def test_counts_all_calls() -> None:
    now = 100.0
    budget = Budget(10.0, 6.0, now, lambda: now)
    now += 3.0
    assert (budget.elapsed(), budget.left(), budget.over) == (9.0, 1.0, False)
    assert budget.time_left() == 2.0, "a second's grace"
    now += 1.0
    assert budget.over
    assert Budget(1000.0, 0.0, now, lambda: now).time_left() == 1020.0, "or 2 % of the budget"
    assert Budget(4.0, 0.0, now, lambda: now).time_left() == 4.4, "and a tenth of it at most"


def test_none_is_no_limit() -> None:
    budget = Budget(0.0, 1e9, 0.0, lambda: 1e9)
    assert not budget.over and budget.left() == budget.time_left() == budget.most_seconds(False) == math.inf


def test_one_run_leaves_half_to_cells_that_wait() -> None:
    budget = Budget(10.0, 0.0, 0.0, lambda: 2.0)
    assert budget.most_seconds(alone=False) == 4.0 and budget.most_seconds(alone=True) == math.inf
    assert Budget(10.0, 9.5, 0.0, lambda: 0.0).most_seconds(alone=False) == 1.0


def test_any_graph_can_be_counted() -> None:
    """However wide: to count tasks takes no memory for them."""
    assert Workload("stencil_1d", 2**50).exact_tasks(16) == 2**54


# -- runs that are not begun ------------------------------------------------------------------------------


def codes(states: Sequence[CellState]) -> list[list[str]]:
    return [[one["code"] for one in result(state).warnings] for state in states]


def test_a_first_run_too_large_for_the_budget_starts_nothing(tmp_path: Path) -> None:
    width = 2**32  # of which a run has one step
    world = World()
    table = {"patterns": ["stencil_1d"], "widths": [width]}
    states = measure(tmp_path, world, Settings(cores=2, budget=3.0), table)
    assert not world.started and world.runs == 0 and world.now < 3.0
    assert codes(states) == [["steps_cut", "run_beyond_budget"]] * 2
    told: Any = result(states[0]).warnings[1]
    assert told["tasks"] == width and told["budget"] == 3.0
    assert told["needed"] == pytest.approx(least_seconds(2 * width, 2), rel=0.05)
    assert not lines(tmp_path, "run", "reference")
    assert codes(measure(tmp_path, World(), Settings(cores=2, budget=4.0), table)) == codes(states)


def test_no_run_is_begun_that_would_end_beyond_the_budget(tmp_path: Path) -> None:
    """A first run of each cell takes 3.2 s of 8 s, so a second one does not fit."""
    world = World()
    world.overheads = dict.fromkeys(world.overheads, 0.032)
    table, settings = {"patterns": ["nearest"], "widths": [4]}, Settings(cores=2, budget=8.0)
    states = measure(tmp_path, world, settings, table)
    assert [state.runs for state in states] == [1, 1] and world.now < 8.0
    assert all("run_beyond_budget" in one for one in codes(states))
    content = (tmp_path / "runs.jsonl").read_bytes()

    again = World()
    again.overheads = world.overheads
    measure(tmp_path, again, settings, table)
    assert not again.started and (tmp_path / "runs.jsonl").read_bytes() == content

    raised = measure(tmp_path, again, Settings(cores=2, budget=60.0), table)
    assert all(state.runs > 1 for state in raised)
    assert all(one["budget"] == 60.0 for state in raised for one in said(state, "run_beyond_budget"))


def said(state: CellState, code: str) -> list[Mapping[str, Any]]:
    return [one for one in result(state).warnings if one["code"] == code]


def test_what_is_larger_than_the_runs_before_is_expected_to_take_longer(tmp_path: Path) -> None:
    """An overhead of 5 µs, 64 ns an iteration: as much work more at the peak, whatever the size before."""
    states = measure(tmp_path, World(), table={"patterns": ["nearest"], "widths": [4]})
    slow = next(one for one in states if one.cell.system == "slow")
    for steps, iterations in ((1000, 1000), (10, 10**6), (10**5, 0)):
        request = Request("measure", 0, iterations, steps, repeats=2, warmup=1)
        true = 3 * steps * 4 * (5e-6 + iterations * 64e-9) / 2
        assert slow.likely_seconds(request) == pytest.approx(true, rel=0.2)


# -- runs, starts and references under way ----------------------------------------------------------------


def cells(found: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """The ending of each system's cell, and the codes of its warnings."""
    return {
        cell["system"]: (cell["ending"], [one["code"] for one in cell["warnings"]]) for cell in found["cells"]
    }


def with_enough(
    words: list[str], enough: Callable[[Mapping[str, tuple[str, list[str]]]], bool]
) -> tuple[list[str], dict[str, tuple[str, list[str]]]]:
    """The command with a budget within which this machine, busy as it is, gets so far; and its cells."""
    for budget in (1.5, 12, 100):
        found = cells(finish(more := [*words, "--budget", str(budget)]))
        if enough(found):
            break
    return more, found


@pytest.mark.usefixtures("simulated")
def test_a_run_under_way_is_stopped_and_its_driver_ended(tmp_path: Path) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), "hangs", "0")
    words = write_study(tmp_path, systems=["bad"], patterns=["stencil_1d"])
    words, found = with_enough(words, lambda found: "budget_before_first_run" not in found["bad"][1])
    assert found == {"bad": ("budget", ["run_stopped"])}
    assert not lines(tmp_path / "out", "run", "failure", "crash")
    content = (tmp_path / "out" / "runs.jsonl").read_bytes()
    # Spent, it shows what it came to, and starts nothing.
    logs = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "logs").iterdir()}
    assert cells(finish(words)) == found
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "logs").iterdir()} == logs
    assert (tmp_path / "out" / "runs.jsonl").read_bytes() == content


@pytest.mark.usefixtures("simulated")
def test_others_go_on_after_a_run_that_takes_too_much(tmp_path: Path) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), "hangs", "0")
    words = write_study(tmp_path, systems=["bad", "fast"], patterns=["stencil_1d"])
    _, found = with_enough(words, lambda found: len(lines(tmp_path / "out", "run")) > 10)
    assert found["bad"] == ("budget", ["run_stopped"])
    assert found["fast"][0] in ("precise", "budget")


@pytest.mark.usefixtures("simulated")
def test_a_start_is_stopped(tmp_path: Path) -> None:
    write_system(tmp_path, "bad", str(DRIVERS / "hostile.py"), "hangs_at_start", "0")
    words = write_study(tmp_path, systems=["bad"], patterns=["stencil_1d"], budget=1)
    assert cells(finish(words)) == {"bad": ("budget", ["budget_before_first_run"])}


@pytest.mark.usefixtures("simulated")
def test_a_reference_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "reference"
    program.write_text("#!/bin/sh\nsleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(program))
    words = write_study(tmp_path, systems=["fast"], patterns=["stencil_1d"], budget=1)
    assert cells(finish(words)) == {"fast": ("budget", ["budget_before_first_run"])}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.submission if one == REAL[0] else pytest.mark.deep) for one in REAL],
)
def test_an_enormous_run_of_a_real_system(name: str) -> None:
    """Refused where it cannot fit at all, else stopped; where the machine is very slow, even before that."""
    words = ["metg", "--system", name, "--pattern", "stencil_1d", "--width", "1e7", "--cores", "2"]
    words += ["--steps", "16"]
    assert cells(finish([*words, "--budget", "1"])) == {name: ("budget", ["run_beyond_budget"])}
    ending, (code,) = cells(finish([*words, "--budget", "4"]))[name]
    assert ending == "budget" and code in ("run_stopped", "run_beyond_budget", "budget_before_first_run")


WANTED = Settings(cores=2, precision=0.0005, rank_precision=0.2, max_rounds=LOOKS[-1])
"""A precision that nothing here reaches within so many rounds."""


def placed(folder: Path, world: World, settings: Settings = WANTED) -> list[CellState]:
    return measure(folder, world, settings, judge=Places(settings))


def endings(states: list[CellState]) -> set[str]:
    return {str(result(state).ending) for state in states}


def test_a_cell_ends_once_its_place_is_sure(tmp_path: Path) -> None:
    world = World()
    states = placed(tmp_path, world)
    assert endings(states) == {"ranked"}
    rounds = [state.experiment.rounds for state in states]
    assert min(rounds) == LOOKS[0] and max(rounds) < LOOKS[-1], "those whose sizes still change go on"
    assert all(state.stored.metg.known and not result(state).warnings for state in states)
    again = World()
    assert comparable(placed(tmp_path, again)) == comparable(states) and again.runs == 0
    assert_nothing_twice(tmp_path)


@pytest.mark.parametrize("factor", [1.0, MARGIN])
def test_a_place_that_is_not_sure_ends_nothing(factor: float, tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = factor * world.overheads["fast"]
    assert endings(placed(tmp_path, world)) == {"budget"}


@pytest.mark.parametrize("wider", [1.0, 0.01])
def test_no_place_ends_a_search_that_shall_be_precise(wider: float, tmp_path: Path) -> None:
    asked = replace(WANTED, rank_precision=wider * WANTED.precision)
    assert endings(placed(tmp_path, World(), asked)) == {"budget"}


def test_no_cell_ends_before_its_least_rounds(tmp_path: Path) -> None:
    states = placed(tmp_path, World(), replace(WANTED, min_rounds=LOOKS[0] + 1))
    assert min(state.experiment.rounds for state in states) > LOOKS[0]
    assert endings(states) == {"ranked"}


def test_a_place_that_others_disturbed_is_not_sure_yet(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 10_000
    states = placed(tmp_path, world)
    assert min(state.experiment.rounds for state in states) >= 20


def test_a_study_that_is_stopped_and_goes_on_ends_alike(tmp_path: Path) -> None:
    whole = placed(tmp_path / "whole", World())
    placed(tmp_path / "parts", World(), replace(WANTED, budget=3.0))
    again = placed(tmp_path / "parts", World())
    assert endings(again) == endings(whole) == {"ranked"}
    assert_nothing_twice(tmp_path / "parts")


def test_a_system_that_never_reaches_the_threshold_is_apart(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 1.0
    assert endings(placed(tmp_path, world)) == {"ranked", "never_reached"}


def test_a_system_that_failed_has_no_place(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "start"): "timeout"}
    assert endings(placed(tmp_path, world)) == {"budget", "failed"}
