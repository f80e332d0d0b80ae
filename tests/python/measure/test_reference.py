"""The reference: when it is measured, on what, and who depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from killable_study import OVERHEADS, lines
from simulated_world import FLOP, ITERATION, World, comparable, measure, result

from taskgrain.drive.system import REFERENCE, System
from taskgrain.study.settings import Settings


def test_the_reference_is_measured_throughout(tmp_path: Path) -> None:
    measure(tmp_path, World())
    kinds = [line["kind"] for line in lines(tmp_path, "run", "reference")]
    gaps = "".join("R" if kind == "reference" else "." for kind in kinds).split("R")
    assert not gaps[0]
    assert max(map(len, gaps)) <= 2 * 16
    assert len(gaps) > 8 * 2


def on_another_processor(folder: Path) -> System:
    return System("slow", folder, "slow", command=("x",), reference=("/there/other",))


def test_a_system_elsewhere_has_its_own_reference(tmp_path: Path) -> None:
    """One processor as fast as 2.4 cores, of which it takes what two cores do: METG is 1.25 overheads."""
    world = World()
    world.rates_of["other"] = (2.4 * FLOP / ITERATION,)
    systems = {"slow": on_another_processor(tmp_path)}
    states = measure(tmp_path, world, systems=systems)
    for state in states:
        overheads = 1.25 if state.cell.system == "slow" else 2.0
        assert result(state).metg == pytest.approx(overheads * OVERHEADS[state.cell.system], rel=0.05)
    assert world.started == {REFERENCE: 1, "other": 1, "fast": 1, "slow": 1}
    assert {(line["program"], len(line["rates"])) for line in lines(tmp_path, "reference")} == {
        (REFERENCE, 2),
        ("other", 1),
    }
    assert {(line["system"], line["reference"], line["cores"]) for line in lines(tmp_path, "cell")} == {
        ("fast", REFERENCE, 2),
        ("slow", "other", 1),
    }
    again = World()
    assert comparable(measure(tmp_path, again, systems=systems)) == comparable(states)
    assert again.runs == 0


@pytest.mark.parametrize(
    ("fault", "rates", "words"),
    [("crash", 1, "no licence"), ("", 3, "gives 3 rates for 1 processors")],
    ids=["crash", "count"],
)
def test_another_reference_that_fails_stops_only_who_needs_it(
    tmp_path: Path, fault: str, rates: int, words: str
) -> None:
    world = World()
    world.rates_of["other"] = (FLOP / ITERATION,)
    systems = {"slow": on_another_processor(tmp_path)}
    if fault:
        world.faults["other", "start"] = fault
    else:
        measure(tmp_path, world, Settings(cores=2, budget=0.3), systems=systems)
        world.rates_of["other"] *= rates
    states = measure(tmp_path, world, systems=systems)
    assert [result(state).ending for state in states] == ["precise", "failed"] * 2
    assert all(words in line["message"] for line in lines(tmp_path, "failure"))


def test_the_reference_beside_a_run_is_quick_and_no_line_of_its_own(tmp_path: Path) -> None:
    world = World()
    measure(tmp_path, world)
    for line in lines(tmp_path, "run"):
        assert line["reference_before"] == line["reference_after"] == list(world.rates)
    beside_only = len(lines(tmp_path, "run")) / len(lines(tmp_path, "reference"))
    assert beside_only > 3.0, "most runs have no reference line before them"


def test_processors_of_a_system_s_own_have_no_reference_beside_a_run(tmp_path: Path) -> None:
    world = World()
    world.rates_of["other"] = (2.4 * FLOP / ITERATION,)
    measure(tmp_path, world, systems={"slow": on_another_processor(tmp_path)})
    beside = {line["cell"].split("/")[0]: line.get("reference_before", []) for line in lines(tmp_path, "run")}
    assert beside == {"fast": list(world.rates), "slow": []}
