"""Tests of the beginning and the end of cells: their lines, failures, and warnings."""

from pathlib import Path

import pytest
from killable_study import assert_nothing_twice, lines
from simulated_world import World, measure, result

from taskgrain.words.errors import UsageError


def test_a_failing_cell_is_marked_and_the_rest_goes_on(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "nearest"): "validation", ("fast", "stencil_1d"): "crash"}
    states = measure(tmp_path, world)
    endings = {state.cell.name: result(state).ending for state in states}
    assert endings == {
        "fast/stencil_1d/width=4": "failed",
        "slow/stencil_1d/width=4": "precise",
        "fast/nearest/width=4": "precise",
        "slow/nearest/width=4": "failed",
    }
    failures = {line["cell"]: line for line in lines(tmp_path, "failure")}
    assert failures["slow/nearest/width=4"]["error"] == "validation"
    assert failures["fast/stencil_1d/width=4"]["log"] == "last words"
    assert not lines(tmp_path, "ratio"), "what failed is compared with nothing"
    again = World()
    measure(tmp_path, again)
    assert again.runs == 0  # a failure is not tried again by itself
    states = measure(tmp_path, World(), retry=True)
    assert all(result(state).ending == "precise" for state in states)
    assert_nothing_twice(tmp_path)


def test_a_system_that_does_not_start_fails_once(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "start"): "timeout"}
    measure(tmp_path, world)
    assert world.started["slow"] == 1
    assert len(lines(tmp_path, "failure")) == 2


def test_an_invalid_request_stops_everything(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "nearest"): "invalid"}
    with pytest.raises(UsageError, match="slow/nearest/width=4: cannot"):
        measure(tmp_path, world)


def test_a_cell_line_says_what_is_measured_and_how_to_repeat_it(tmp_path: Path) -> None:
    measure(tmp_path, World(), table={"patterns": ["nearest"], "widths": [4], "radix": 5})
    for line in lines(tmp_path, "cell"):
        assert (line["pattern"], line["radix"], line["cores"]) == ("nearest", 5, 2)
        assert (
            line["command"].startswith("taskgrain metg ") and f"--system {line['system']} " in line["command"]
        )
        assert "--pattern nearest" in line["command"] and "--radix 5" in line["command"]
        assert line["driver"] == {"event": "ready"}


def test_crashes_and_disturbed_runs_are_warned_of(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 100_000
    codes = {
        one["code"]
        for state in measure(tmp_path, world)
        for one in result(state).warnings
        if result(state).disturbed_runs
    }
    assert "runs_disturbed" in codes
