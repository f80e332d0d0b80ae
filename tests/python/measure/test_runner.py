"""The runner: order, references, budget, and going on where it was cut; all with simulated drivers."""

import random
from pathlib import Path
from typing import Any

import pytest
from killable_study import OVERHEADS, assert_nothing_twice, lines
from simulated_world import FLOP, ITERATION, STUDY, Simulated, World, comparable, measure, result

from taskgrain.drive.system import System
from taskgrain.measure.crew import DriverName
from taskgrain.measure.record import CellState
from taskgrain.measure.runner import Runner
from taskgrain.study.settings import Settings
from taskgrain.study.workload import REFERENCE
from taskgrain.words.errors import UsageError

Study = tuple[Path, World, list[CellState]]
PARTS = {"systems": ["fast", "slow"], "patterns": ["stencil_1d"], "tasks_per_core": 4, "cores": [1, 2]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that was measured to its end: its folder, its machine, its cells."""
    folder, world = tmp_path_factory.mktemp("whole"), World()
    return folder, world, measure(folder, world)


def assert_metg(states: list[CellState], overheads: float = 2.0) -> None:
    for state in states:
        assert result(state).ending == "precise"
        assert result(state).metg == pytest.approx(overheads * OVERHEADS[state.cell.system], rel=0.05)


def test_finds_metg_of_every_cell(whole: Study) -> None:
    folder, world, states = whole
    names = [f"{system}/{pattern}/width=4" for pattern in STUDY["patterns"] for system in ("fast", "slow")]
    assert [state.cell.name for state in states] == names
    assert_metg(states)
    for state in states:
        assert result(state).floor == pytest.approx(OVERHEADS[state.cell.system], rel=0.05)
    assert_nothing_twice(folder)
    assert world.started == {REFERENCE: 1, "fast": 1, "slow": 1}


def test_every_cell_is_compared_with_the_best_of_its_workload(whole: Study) -> None:
    found = lines(whole[0], "ratio")
    assert [(line["cell"], line["to"]) for line in found] == [
        (f"slow/{pattern}/width=4", f"fast/{pattern}/width=4") for pattern in STUDY["patterns"]
    ]
    for line in found:
        assert line["value"] == pytest.approx(OVERHEADS["slow"] / OVERHEADS["fast"], rel=0.05)
        assert line["low"] <= line["value"] <= line["high"] and line["rounds"] >= 5


def test_a_bound_is_not_the_best_and_all_are_compared_with_it(tmp_path: Path) -> None:
    world = World()
    world.bounds = {"fast"}
    measure(tmp_path, world, table={"patterns": ["nearest"], "widths": [4]})
    fast, slow = "fast/nearest/width=4", "slow/nearest/width=4"
    assert [(line["cell"], line["to"]) for line in lines(tmp_path, "ratio")] == [(fast, slow), (slow, fast)]


def test_what_is_finished_is_not_measured_again(whole: Study) -> None:
    folder, _, states = whole
    before, again = (folder / "runs.jsonl").read_bytes(), World()
    assert comparable(measure(folder, again)) == comparable(states)
    assert again.runs == 0 and (folder / "runs.jsonl").read_bytes() == before


def test_the_reference_is_measured_throughout(whole: Study) -> None:
    found = lines(whole[0], "run", "reference")
    gaps = "".join("R" if line["kind"] == "reference" else "." for line in found).split("R")
    assert not gaps[0] and max(map(len, gaps)) <= 2 * 16 and len(gaps) > 8 * 2
    runs = [line for line in found if line["kind"] == "run"]
    assert len(runs) > 3 * (len(found) - len(runs)), "most runs have no reference line before them"


def test_no_run_begins_with_an_old_reference(tmp_path: Path) -> None:
    world = World()
    world.wait = 0.1
    measure(tmp_path, world, table={"patterns": ["nearest"], "widths": [4]})
    told = 0.0
    for line in lines(tmp_path, "run", "reference"):
        if line["kind"] == "reference":
            told = line["elapsed"]
        else:
            assert line["elapsed"] - sum(line["seconds"]) - world.wait - told <= 0.25


def test_systems_and_sizes_are_interleaved_and_the_leader_changes(whole: Study) -> None:
    found = [line for line in lines(whole[0], "run") if line["phase"] in ("measure", "floor")]
    for pattern in STUDY["patterns"]:
        leaders = []
        for number in range(8):
            here = [one for one in found if one["round"] == number and f"/{pattern}/" in one["cell"]]
            order = [line["cell"].split("/")[0] for line in here]
            both = order[: 2 * min(order.count("fast"), order.count("slow"))]
            assert len(both) >= 2 * 6
            assert all(len(set(both[k : k + 2])) == 2 for k in range(0, len(both), 2))
            leaders.append(order[0])
        assert set(leaders[::2]) | set(leaders[1::2]) == {"fast", "slow"}
        assert leaders[0] != leaders[1]


def test_the_command_of_a_cell_finds_its_system(tmp_path: Path) -> None:
    own = System("fast", tmp_path, "fast", group="default", command=("x",))
    folder = tmp_path / "not mine"
    folder.mkdir()
    measure(folder, World(), systems={"fast": own})
    commands = {line["cell"]: line["command"] for line in lines(folder, "cell")}
    assert commands["fast/nearest/width=4"] == "taskgrain metg --system fast --pattern nearest --width 4"
    outside = f"taskgrain metg --systems '{folder}' --system slow --pattern nearest --width 4"
    assert commands["slow/nearest/width=4"] == outside


def test_the_budget_ends_it_and_more_budget_goes_on(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world, Settings(cores=2, budget=0.6))
    assert 0.5 < world.now < 0.8
    assert {result(state).ending for state in states} <= {"budget", "precise"}
    assert any(result(state).ending == "budget" for state in states)
    again = World()
    measure(tmp_path, again, Settings(cores=2, budget=0.6))
    assert again.runs == 0
    states = measure(tmp_path, World(), Settings(cores=2, budget=1000.0))
    assert all(result(state).ending == "precise" for state in states)
    assert_nothing_twice(tmp_path)


@pytest.mark.parametrize("wait", [0.0, 0.1])
def test_the_time_left_counts_more_than_runs(tmp_path: Path, wait: float) -> None:
    world = World()
    world.wait = wait
    measure(tmp_path, world, Settings(cores=2))
    quarter, half = (next(one for one in world.standings if one[0] > world.now * k / 4) for k in (1, 2))
    for now, shown in (quarter, half):
        assert shown.seconds_left and 0.3 < shown.seconds_left / (world.now - now) < 3.0


@pytest.mark.parametrize("seed", range(4))
def test_progress_never_falls_and_promises_no_more_than_is_known(tmp_path: Path, seed: int) -> None:
    """Cells that end early or late, requests that take long, with and without a budget that ends first."""
    dice, world = random.Random(seed), World()
    world.wait, world.pace = dice.choice([0.0, 0.05]), dice.choice([1.0, 3.0])
    world.overheads["slow"] = dice.choice([5e-6, 2e-4])
    world.busy = [dice.choice([0.0, 0.3]) for _ in range(200)]
    budget = dice.choice([1.0, 4.0, 30.0]) if seed % 2 else 0.0
    measure(tmp_path, world, Settings(cores=2, budget=budget, max_rounds=12))
    shares = [shown.share for _, shown in world.standings]
    assert shares == sorted(shares) and shares[-1] > 0.5
    for now, shown in world.standings:
        if budget and shown.seconds_left is not None:
            assert shown.at_most and shown.seconds_left >= budget - now - 1e-9
    preparing = world.standings[0][1]
    assert (preparing.seconds_left is None) == (not budget), "without a budget nobody knows at first"


def test_no_system_takes_more_than_its_share_of_the_budget(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 6e-4  # one round of it takes a third of the budget
    states = measure(tmp_path, world, Settings(cores=2, budget=12.0))
    endings = {state.cell.name: result(state).ending for state in states}
    assert {name.split("/")[0] for name, ending in endings.items() if ending == "precise"} == {"fast"}
    assert list(endings.values()).count("precise") == 2
    fast = sum(state.spent for state in states if state.cell.system == "fast")
    for state in states:
        if state.cell.system == "slow":  # and gets what the fast ones leave, to within a run
            assert (12.0 - fast) / 2 - 1.0 < state.spent < (12.0 - fast) / 2 + 1.0
    again = measure(tmp_path, World(), Settings(cores=2, budget=12.0))
    assert [state.spent for state in again] == pytest.approx([state.spent for state in states])


def test_an_interrupt_takes_no_time_and_asks_nothing_of_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, run = Simulated.run, Runner.run

    def interrupt(driver: Simulated, *words: Any, **named: Any) -> Any:
        if driver.world.runs == 60:
            driver.world.now += 100.0
            raise KeyboardInterrupt
        return ask(driver, *words, **named)

    def interrupted(runner: Runner) -> list[CellState]:
        with pytest.raises(KeyboardInterrupt):
            run(runner)
        runner.interrupt()
        return []

    monkeypatch.setattr(Simulated, "run", interrupt)
    monkeypatch.setattr(Runner, "run", interrupted)
    world = World()
    measure(tmp_path, world, Settings(cores=2, budget=1000.0))
    known = lines(tmp_path, "metg")
    assert known and {line["ending"] for line in known} == {"unfinished"} and world.now > 100.0
    assert all(line["elapsed"] < 100.0 for line in known)


def test_the_empty_kernel_has_no_peak(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kernel: empty is not allowed"):
        measure(tmp_path, World(), table={"patterns": ["trivial"], "kernel": "empty"})


def test_a_study_cut_anywhere_ends_as_if_never_cut(tmp_path: Path, whole: Study) -> None:
    expected = comparable(whole[2])
    content = (whole[0] / "runs.jsonl").read_bytes()
    total = len(lines(whole[0], "run"))
    dice = random.Random(1)
    cuts = [0, 1, len(content) - 1, len(content), *(dice.randrange(len(content)) for _ in range(2))]
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "study.toml").write_bytes((whole[0] / "study.toml").read_bytes())
        (folder / "runs.jsonl").write_bytes(content[:cut])
        stored = len(lines(folder, "run"))
        world = World()
        found = comparable(measure(folder, world))
        assert world.runs == total - stored
        assert_nothing_twice(folder)
        for one, other in zip(found, expected, strict=True):
            # The reference is measured once more after a cut, and the order within a round may differ.
            assert one["metg"] == pytest.approx(other["metg"], rel=0.02)
            assert one["ending"] == other["ending"]


def test_a_cell_that_was_cut_before_its_result_keeps_to_its_own_cores(tmp_path: Path) -> None:
    """A system of one core is compared with that core's rates, also where its driver is not started again."""
    world = World()
    world.rates, world.cores = (2e9, 4e9), 1
    expected = comparable(measure(tmp_path, world))
    runs = tmp_path / "runs.jsonl"
    kept = [line for line in runs.read_bytes().splitlines(True) if b'"kind": "metg"' not in line]
    runs.write_bytes(b"".join(kept))
    world = World()
    found = comparable(measure(tmp_path, world))
    assert world.runs == 0
    assert found == expected
    assert found[0]["peak_rate"] == pytest.approx(2e9)


# -- other processors, and some of the cores --------------------------------------------------------------


def on_another_processor(folder: Path) -> dict[str, System]:
    return {"slow": System("slow", folder, "slow", command=("x",), reference=("/there/other",))}


def test_a_system_elsewhere_has_its_own_reference(tmp_path: Path) -> None:
    """One processor as fast as 2.4 cores, of which it takes what two cores do: METG is 1.25 overheads."""
    world = World()
    world.rates_of["other"] = (2.4 * FLOP / ITERATION,)
    states = measure(tmp_path, world, systems=on_another_processor(tmp_path))
    assert_metg(states[::2])
    assert_metg(states[1::2], 1.25)
    assert world.started == {REFERENCE: 1, "other": 1, "fast": 1, "slow": 1}
    found = {(line["program"], len(line["rates"])) for line in lines(tmp_path, "reference")}
    assert found == {(REFERENCE, 2), ("other", 1)}
    known = {(line["system"], line["reference"], line["cores"]) for line in lines(tmp_path, "cell")}
    assert known == {("fast", REFERENCE, 2), ("slow", "other", 1)}
    again = World()
    found_again = measure(tmp_path, again, systems=on_another_processor(tmp_path))
    assert comparable(found_again) == comparable(states) and again.runs == 0


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
    systems = on_another_processor(tmp_path)
    if fault:
        world.faults["other", "start"] = fault
    else:
        measure(tmp_path, world, Settings(cores=2, budget=0.3), systems=systems)
        world.rates_of["other"] *= rates
    states = measure(tmp_path, world, systems=systems)
    assert [result(state).ending for state in states] == ["precise", "failed"] * 2
    assert all(words in line["message"] for line in lines(tmp_path, "failure"))


def test_each_number_of_cores_has_its_drivers_and_its_reference(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world, table=PARTS)
    assert [state.cell.name for state in states] == [
        f"{system}/stencil_1d/width={4 * cores}/cores={cores}" for cores in (1, 2) for system in OVERHEADS
    ]
    assert_metg(states)
    assert world.started == {REFERENCE: 2, "fast": 2, "slow": 2}
    rates = {(one["asked_cores"], len(one["rates"])) for one in lines(tmp_path, "reference")}
    assert (
        rates == {(one["asked_cores"], one["cores"]) for one in lines(tmp_path, "cell")} == {(1, 1), (2, 2)}
    )
    for line in lines(tmp_path, "ratio"):
        assert line["cell"].partition("/")[2] == line["to"].partition("/")[2]
        assert line["value"] == pytest.approx(OVERHEADS["slow"] / OVERHEADS["fast"], rel=0.1)
    assert_nothing_twice(tmp_path)
    again = World()
    assert comparable(measure(tmp_path, again, table=PARTS)) == comparable(states) and again.runs == 0


def test_a_driver_is_named_with_its_cores() -> None:
    assert [str(DriverName("mpi", cores)) for cores in (0, 1, 2)] == [
        "mpi",
        "mpi on 1 core",
        "mpi on 2 cores",
    ]


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
    states = measure(tmp_path, world, table=PARTS)
    endings = [result(state).ending for state in states]
    assert endings == ["failed", "precise", "precise", "precise"]
