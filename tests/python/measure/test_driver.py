"""Drivers on a part of the study's cores: one for each number of them, with a reference of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from killable_study import OVERHEADS, assert_nothing_twice, lines
from simulated_world import World, comparable, measure, result

from taskgrain.drive.system import REFERENCE
from taskgrain.measure.driver import DriverName
from taskgrain.study.settings import Settings

TABLE = {"systems": ["fast", "slow"], "patterns": ["stencil_1d"], "tasks_per_core": 4, "cores": [1, 2]}


def test_a_driver_is_named_with_its_cores() -> None:
    assert [str(DriverName("mpi", cores)) for cores in (0, 1, 2)] == [
        "mpi",
        "mpi on 1 core",
        "mpi on 2 cores",
    ]


def test_each_number_of_cores_has_its_drivers_and_its_reference(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world, table=TABLE)
    assert [state.cell.name for state in states] == [
        "fast/stencil_1d/width=4/cores=1",
        "slow/stencil_1d/width=4/cores=1",
        "fast/stencil_1d/width=8/cores=2",
        "slow/stencil_1d/width=8/cores=2",
    ]
    for state in states:
        assert result(state).ending == "precise"
        assert result(state).metg == pytest.approx(2 * OVERHEADS[state.cell.system], rel=0.05)
    assert world.started == {REFERENCE: 2, "fast": 2, "slow": 2}
    assert {(one["asked_cores"], len(one["rates"])) for one in lines(tmp_path, "reference")} == {
        (1, 1),
        (2, 2),
    }
    assert {(one["asked_cores"], one["cores"]) for one in lines(tmp_path, "cell")} == {(1, 1), (2, 2)}
    beside = {(one["cell"][-1], len(one["reference_before"])) for one in lines(tmp_path, "run")}
    assert beside == {("1", 1), ("2", 2)}
    assert_nothing_twice(tmp_path)
    again = World()
    assert comparable(measure(tmp_path, again, table=TABLE)) == comparable(states)
    assert again.runs == 0


def test_cells_are_compared_on_the_same_cores(tmp_path: Path) -> None:
    measure(tmp_path, World(), table=TABLE)
    for line in lines(tmp_path, "ratio"):
        assert line["cell"].partition("/")[2] == line["to"].partition("/")[2]
        assert line["value"] == pytest.approx(OVERHEADS["slow"] / OVERHEADS["fast"], rel=0.1)


def test_one_that_does_not_start_on_some_cores_goes_on_with_others(tmp_path: Path) -> None:
    """A driver that fails at its start ends the cells of the same number of cores."""
    world = World()
    make = world.make

    def failing(name: DriverName):  # type: ignore[no-untyped-def]
        made = make(name)
        if name == DriverName("fast", 1):
            made.name = "none"
            world.faults["none", "start"] = "system"
        return made

    world.make = failing  # type: ignore[method-assign]
    states = measure(tmp_path, world, Settings(cores=2), table=TABLE)
    endings = [result(state).ending for state in states]
    assert endings == ["failed", "precise", "precise", "precise"]
