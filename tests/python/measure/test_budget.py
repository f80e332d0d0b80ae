"""A budget is hard: for a run not yet begun, for one under way, for whatever starts or measures besides."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from driver_process import runnable
from killable_study import DRIVERS, finish, lines, write_study, write_system
from simulated_world import World, measure, result

from taskgrain.measure.experiments.experiment import Request
from taskgrain.measure.record import CellState
from taskgrain.measure.schedule import Budget, least_seconds
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Workload

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
