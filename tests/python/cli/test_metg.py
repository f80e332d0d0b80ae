"""`taskgrain metg`: METG of systems on one workload, from the options to the table."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from command_line import Command


def test_table_and_json_of_one_folder(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = ("metg", "--systems", systems, "-o", tmp_path / "out", "--quiet")
    result = taskgrain(*words, "--width", "1e1")
    assert result.code == 0, result.err
    assert "fast" in result.out
    assert "µs" in result.out
    assert not result.err
    assert (tmp_path / "out" / "runs.jsonl").exists()
    again = taskgrain(*words, "--width", "10", "--json")
    value = json.loads(again.out)
    assert value["cells"][0]["metg"] == pytest.approx(2e-6, rel=0.1)
    other = taskgrain(*words, "--width", "12").refusal()
    assert "differs in workloads[0]." in other and " there, " in other


def test_a_budget_that_is_used_up_says_how_to_go_on(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = (
        "metg",
        "--systems",
        systems,
        "--width",
        "4",
        "-q",
        "--min-rounds",
        "1000",
        "--max-rounds",
        "1000",
        "-o",
        tmp_path / "out",
    )
    said = "The budget of 1 s is used up; the same command with `--budget 2` goes on from here."
    for budget in ("1", "1"):
        assert said in taskgrain(*words, "--budget", budget).out
    assert "budget of 1 s" not in taskgrain(*words, "--budget", "2").out
    # More than that call has spent: a busy machine may have held it up beyond its budget.
    assert re.search("with `--budget (4|8|16)` goes on from here", taskgrain(*words, "--budget", "1").out)


def test_the_threshold_is_an_option(taskgrain: Command, systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "-q", "--threshold", "0.8", "--max-rounds", "2")
    (cell,) = json.loads(taskgrain(*words, "--json").out)["cells"]
    assert cell["threshold"] == 0.8
    assert cell["metg"] == pytest.approx(5e-6, rel=0.1)  # of 1 µs overhead, a fifth
    assert "\nMETG(80 %): " in taskgrain(*words).out


def test_the_search_starts_at_iterations(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "-q", "--max-rounds", "1", "-o", tmp_path / "out")
    assert taskgrain(*words, "--iterations", "321").code == 0
    lines = [json.loads(line) for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines()]
    sizes = [line["iterations"] for line in lines if line["kind"] == "run" and line["iterations"]]
    assert sizes[0] == 321


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--min-rounds", "9", "--max-rounds", "3"], "--min-rounds: 9"),
        (["--pattern", "spread", "--period", "9"], "period: '9' is not allowed; allowed: at most 1"),
        (["--at", "20us", "--kernel", "empty"], "--at: needs tasks that work"),
        (["--at", "20us", "--experiment", "sweep"], "--at: give this or the experiment sweep, not both"),
        (["--experiment", "at"], "--at: is missing; give the task times"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    result = taskgrain("metg", "--systems", systems, *words).refusal()
    assert message in result
    assert len(result.strip().splitlines()[-1]) < 400


def test_two_references_must_not_share_a_name(taskgrain: Command, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "system.toml").write_text('[launch]\ncommand = ["true"]\nreference = ["{dir}/peak"]\n')
    result = taskgrain("metg", "--systems", tmp_path, "--system", "one,two").refusal()
    assert result == "taskgrain: two: launch.reference: peak is something else's name; rename it\n"


def test_the_efficiency_at_task_times(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = ("metg", "--systems", systems, "--width", 4, "-q", "--at", "5us,50us", "-o", tmp_path / "out")
    shown = taskgrain(*words).printed()
    assert "5.00 µs (" in shown and "50.0 µs (" in shown and "METG" not in shown
    value = json.loads(taskgrain(*words, "--json").out)
    (cell,) = value["cells"]
    assert (cell["ending"], cell["metg"], value["interrupted"]) == ("at", None, False)
    for point, asked in zip(cell["at"], (5e-6, 50e-6), strict=True):
        assert point["asked"] == asked and point["work"] == pytest.approx(asked, rel=0.05)
        truth = asked / (asked + 1e-6)
        assert point["low"] < point["efficiency"] < point["high"]
        assert point["efficiency"] == pytest.approx(truth, rel=0.05)
    assert "differs in at" in taskgrain(*words[:-4], "--at", "6us", "-o", tmp_path / "out").refusal()


def test_steps_are_as_wide_as_the_help_says(taskgrain: Command, systems: Path) -> None:
    plan = taskgrain("metg", "--systems", systems, "--cores", 1, "--dry-run", "--json")
    (cell,) = json.loads(plan.out)["cells"]
    assert cell["cell"] == "fast/stencil_1d/width=1", "one task for each core"
    study = tomllib.loads((Path(__file__).parents[3] / "studies" / "default.toml").read_text("utf-8"))
    assert {one["tasks_per_core"] for one in study["workloads"]} == {1, 8}


def test_a_graph_that_would_be_all_ramp_is_refused_before_anything_is_written(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = ("metg", "--systems", systems, "--pattern", "dom", "-q", "-o", tmp_path / "out")
    refused = taskgrain(*words, "--width", "100000").refusal()
    assert "width: 100000 is not allowed; allowed: one whose runs" in refused
    assert not (tmp_path / "out").exists()
