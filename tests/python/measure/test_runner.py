"""The runner: order, budget, failures, and going on where it was cut; all with simulated drivers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from killable_study import OVERHEADS, assert_nothing_twice, lines
from simulated_world import FLOP, ITERATION, STUDY, World, comparable, measure

from taskgrain.drive.system import REFERENCE, System
from taskgrain.study.settings import Settings
from taskgrain.words.errors import UsageError


def test_finds_metg_of_every_cell(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world)
    assert [state.cell.name for state in states] == [
        "fast/stencil_1d/width=4",
        "slow/stencil_1d/width=4",
        "fast/nearest/width=4",
        "slow/nearest/width=4",
    ]
    for state in states:
        assert state.metg is not None
        assert state.metg["ending"] == "precise"
        assert state.metg["metg"] == pytest.approx(2 * OVERHEADS[state.cell.system], rel=0.05)
        assert state.metg["floor"] == pytest.approx(OVERHEADS[state.cell.system], rel=0.05)
    assert_nothing_twice(tmp_path)
    assert world.started == {REFERENCE: 1, "fast": 1, "slow": 1}
    assert not world.awake


def test_the_command_of_a_cell_finds_its_system(tmp_path: Path) -> None:
    own = System("fast", tmp_path, "fast", group="default", command=("x",))
    folder = tmp_path / "not mine"
    folder.mkdir()
    measure(folder, World(), systems={"fast": own})
    commands = {line["cell"]: line["command"] for line in lines(folder, "cell")}
    assert commands["fast/nearest/width=4"] == "taskgrain metg --system fast --pattern nearest --width 4"
    outside = f"taskgrain metg --systems '{folder}' --system slow --pattern nearest --width 4"
    assert commands["slow/nearest/width=4"] == outside


def test_systems_and_sizes_are_interleaved_and_the_leader_changes(tmp_path: Path) -> None:
    measure(tmp_path, World())
    found = [line for line in lines(tmp_path, "run") if line["phase"] in ("measure", "floor")]
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
        assert state.metg is not None
        overheads = 1.25 if state.cell.system == "slow" else 2.0
        assert state.metg["metg"] == pytest.approx(overheads * OVERHEADS[state.cell.system], rel=0.05)
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
    assert [state.metg["ending"] for state in states if state.metg] == ["precise", "failed"] * 2
    assert all(words in line["message"] for line in lines(tmp_path, "failure"))


def test_the_budget_ends_it_and_more_budget_goes_on(tmp_path: Path) -> None:
    world = World()
    states = measure(tmp_path, world, Settings(cores=2, budget=0.6))
    assert 0.5 < world.now < 0.8
    assert {state.metg["ending"] for state in states if state.metg} <= {"budget", "precise"}
    assert any(state.metg["ending"] == "budget" for state in states if state.metg)
    again = World()
    measure(tmp_path, again, Settings(cores=2, budget=0.6))
    assert again.runs == 0
    states = measure(tmp_path, World(), Settings(cores=2, budget=1000.0))
    assert all(state.metg and state.metg["ending"] == "precise" for state in states)
    assert_nothing_twice(tmp_path)


@pytest.mark.parametrize("wait", [0.0, 0.1])
def test_the_time_left_counts_more_than_runs(tmp_path: Path, wait: float) -> None:
    world = World()
    world.wait = wait
    measure(tmp_path, world, Settings(cores=2, budget=1e6))
    quarter, half = (next(one for one in world.standings if one[0] > world.now * k / 4) for k in (1, 2))
    for now, left in (quarter, half):
        assert 0.3 < left / (world.now - now) < 3.0


def test_no_system_takes_more_than_its_share_of_the_budget(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 2e-3  # one round of it takes a third of the budget
    states = measure(tmp_path, world, Settings(cores=2, budget=12.0))
    endings = {state.cell.name: (state.metg or {})["ending"] for state in states}
    assert {name.split("/")[0] for name, ending in endings.items() if ending == "precise"} == {"fast"}
    assert list(endings.values()).count("precise") == 2
    fast = sum(state.spent for state in states if state.cell.system == "fast")
    for state in states:
        if state.cell.system == "slow":  # and gets what the fast ones leave, to within a run
            assert (12.0 - fast) / 2 - 1.0 < state.spent < (12.0 - fast) / 2 + 1.0
    again = measure(tmp_path, World(), Settings(cores=2, budget=12.0))
    assert [state.spent for state in again] == pytest.approx([state.spent for state in states])


def test_a_budget_that_ends_before_the_first_run(tmp_path: Path) -> None:
    states = measure(tmp_path, World(), Settings(cores=2, budget=1e-3))
    endings = [(state.metg or {}).get("ending") for state in states]
    assert set(endings) == {"budget"}


def test_disturbed_runs_are_repeated_and_counted(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5, 0.0, 0.2, 0.1, 0.3]
    states = measure(tmp_path, world)
    rejected = lines(tmp_path, "rejected")
    assert [line["busy"] for line in rejected] == [0.5, 0.2, 0.1]
    first = lines(tmp_path, "run")[:2]
    assert [(line["busy"], line["attempts"]) for line in first] == [(0.0, 2), (0.1, 3)]
    assert sum(state.rejected for state in states) == 3
    assert sum((state.metg or {})["repeated_runs"] for state in states) == 3
    assert sum((state.metg or {})["disturbed_runs"] for state in states) == 1
    assert_nothing_twice(tmp_path)


ONE = {"patterns": ["stencil_1d"], "widths": [4]}


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_slower_machine_is_seen_through(tmp_path: Path, share: float) -> None:
    """A state of the cores slows system and reference alike, for a while that a run may well lie within."""
    world, quiet = World(), World()
    world.slowdown = lambda now: 1.8 if now > 0.5 and (now / 0.1) % 1.0 < share else 1.0
    expected = measure(tmp_path / "quiet", quiet, table=ONE)
    for state, other in zip(measure(tmp_path / "noisy", world, table=ONE), expected, strict=True):
        found, right = state.metg or {}, (other.metg or {})["metg"]
        assert right <= found["metg"] * 1.05 and found["metg"] <= 1.9 * right
        assert found["iterations"] == pytest.approx((other.metg or {})["iterations"], rel=0.2)
        if share == 1.0:
            assert found["quiet_low"] <= right <= found["quiet_high"]


def test_repeating_stops_where_it_does_not_help(tmp_path: Path) -> None:
    world = World()
    world.busy = [0.5] * 100_000
    measure(tmp_path, world, table=ONE)
    assert 16 <= len(lines(tmp_path, "rejected")) <= 40


def test_a_run_of_more_than_a_second_is_not_repeated(tmp_path: Path) -> None:
    world = World()
    world.overheads["slow"] = 0.05
    world.busy = [0.5] * 8  # too few for repeating to be given up
    measure(tmp_path, world, Settings(cores=2, budget=8.0), table=ONE)
    assert {line["cell"].split("/")[0] for line in lines(tmp_path, "rejected")} == {"fast"}
    assert any(line["disturbed"] for line in lines(tmp_path, "run") if line["cell"].startswith("slow/"))


def test_a_failing_cell_is_marked_and_the_rest_goes_on(tmp_path: Path) -> None:
    world = World()
    world.faults = {("slow", "nearest"): "validation", ("fast", "stencil_1d"): "crash"}
    states = measure(tmp_path, world)
    endings = {state.cell.name: (state.metg or {})["ending"] for state in states}
    assert endings == {
        "fast/stencil_1d/width=4": "failed",
        "slow/stencil_1d/width=4": "precise",
        "fast/nearest/width=4": "precise",
        "slow/nearest/width=4": "failed",
    }
    failures = {line["cell"]: line for line in lines(tmp_path, "failure")}
    assert failures["slow/nearest/width=4"]["error"] == "validation"
    assert failures["fast/stencil_1d/width=4"]["log"] == "last words"
    again = World()
    measure(tmp_path, again)
    assert again.runs == 0  # a failure is not tried again by itself
    states = measure(tmp_path, World(), retry=True)
    assert all((state.metg or {})["ending"] == "precise" for state in states)
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
    assert not world.awake


def test_the_empty_kernel_has_no_peak(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kernel: empty is not allowed"):
        measure(tmp_path, World(), table={"patterns": ["trivial"], "kernel": "empty"})


def test_a_study_cut_anywhere_ends_as_if_never_cut(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    expected = comparable(measure(whole, World()))
    content = (whole / "runs.jsonl").read_bytes()
    total = len(lines(whole, "run"))
    dice = random.Random(1)
    cuts = [0, 1, len(content) - 1, len(content), *(dice.randrange(len(content)) for _ in range(5))]
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "study.toml").write_bytes((whole / "study.toml").read_bytes())
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


def test_lines_that_do_not_fit_are_ignored(tmp_path: Path) -> None:
    measure(tmp_path, World())
    runs = tmp_path / "runs.jsonl"
    odd = [
        {"kind": "run", "cell": "fast/nearest/width=4"},
        {"kind": "run", "cell": "unknown/nearest/width=4"},
        {"kind": "reference", "rates": "x", "kernel": []},
        {"kind": "metg"},
        {"kind": "from the future"},
        {"kind": "run", "cell": {}},
    ]
    runs.write_text("".join(json.dumps(line) + "\n" for line in odd) + runs.read_text())
    world = World()
    states = measure(tmp_path, world)
    assert world.runs == 0
    assert all((state.metg or {})["ending"] == "precise" for state in states)
