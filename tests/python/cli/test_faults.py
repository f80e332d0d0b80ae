"""`taskgrain faults`: a table for each system, JSON for programs, and refusals that name the option."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from taskgrain.measure import faults
from taskgrain.measure.faults import run

WORDS = ("faults", "--width", "4", "--cores", "1", "--repeats", "2")


def test_prints_what_came_of_the_fault(taskgrain: Command, systems: Path) -> None:
    shown = taskgrain(*WORDS, "--systems", systems, "--quiet")
    assert (shown.code, shown.err) == (0, "")
    title, *table = shown.out.splitlines()
    assert title == "stencil_1d/width=4, 100 steps: the process that executes task (50, 3) is killed"
    (row,) = [line.split() for line in table if line.strip().startswith("fast")]
    assert row[:4] == ["fast", "yes", "yes", "3"]
    assert row[-1] == "works"


def test_json_has_every_run(taskgrain: Command, systems: Path) -> None:
    words = ("--systems", systems, "--json", "--fail", "7", "--point", "2", "--times", "2", "--steps", "9")
    value = json.loads(taskgrain(*WORDS, *words).out)
    assert value["schema"] == 1
    (one,) = value["faults"]
    assert (one["system"], one["steps"], one["runs"], one["survived"], one["correct"]) == ("fast", 9, 2, 2, 2)
    assert one["fault"] == {"kind": "fail", "step": 7, "point": 2, "times": 2}
    assert one["again"] == {"median": 3, "low": 3, "high": 3}
    assert len(one["takes"]) == 2
    for take in one["takes"]:
        assert take["seconds"] > 0 and take["plain_seconds"] > 0


def test_what_fails_without_a_fault_is_an_error(taskgrain: Command, systems: Path) -> None:
    words = ("--system", "faulty,fast", "--pattern", "tree", "--systems", systems)
    shown = taskgrain(*WORDS, *words)
    assert shown.code == 1
    assert "faulty, without any fault: validation: pattern: tree is not allowed" in shown.out
    assert "1 of 2 cells" in shown.err


def test_who_refuses_the_request_leaves_the_others_their_results(taskgrain: Command, systems: Path) -> None:
    words = ("--system", "picky,fast", "--pattern", "dom", "--systems", systems, "--quiet")
    shown = taskgrain(*WORDS, *words)
    assert shown.code == 2 and shown.err == "taskgrain: picky: pattern: dom is not allowed; allowed: others\n"
    assert "fast" in shown.out and "picky" not in shown.out


def test_a_graph_with_too_many_tasks_is_refused_before_anything_starts(
    taskgrain: Command, systems: Path
) -> None:
    shown = taskgrain("faults", "--systems", systems, "--steps", "1e9", "--dry-run").refusal()
    assert "a run with a fault has at most 67108864" in shown


def test_an_interrupt_shows_the_systems_that_have_ended(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt_the_second(system: Any, *rest: Any) -> dict[str, Any]:
        if system.name == "faulty":
            os.kill(os.getpid(), signal.SIGTERM)
        return run(system, *rest)

    monkeypatch.setattr(faults, "run", interrupt_the_second)
    words = ("--system", "fast,faulty", "--systems", systems, "--quiet")
    shown = taskgrain(*WORDS, *words)
    assert shown.code == 130
    assert "fast" in shown.out and "faulty" not in shown.out
    assert shown.err == "taskgrain: interrupted; systems that had not ended are left out\n"
    value = json.loads(taskgrain(*WORDS, *words, "--json").out)
    assert value["interrupted"] and [one["system"] for one in value["faults"]] == ["fast"]


def test_a_plan_starts_nothing(taskgrain: Command, systems: Path) -> None:
    shown = taskgrain(*WORDS, "--systems", systems, "--dry-run").printed()
    assert "fast/stencil_1d" in shown and "survived" not in shown
    assert "task (50, 3) is killed; 2 runs with it, and as many without" in shown
    plan = json.loads(taskgrain(*WORDS, "--systems", systems, "--dry-run", "--json").out)
    assert (plan["fault"]["kind"], plan["steps"], plan["repeats"]) == ("kill", 100, 2)


@pytest.mark.parametrize(("option", "moved"), [("--take-core", "taken"), ("--give-core", "given")])
def test_a_run_that_is_over_too_soon_is_said_to_be(
    taskgrain: Command, systems: Path, option: str, moved: str
) -> None:
    words = ("--systems", systems, option, "1", "--cores", "2", "--quiet")
    shown = taskgrain("faults", *words, "--repeats", "2").printed()
    assert f"a core is {moved} as soon as task (1, 1) begins" in shown
    assert f"fast: in 2 of 2 runs the run was over before the core was {moved}" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kill", "100"], "--kill: 100 is not allowed; allowed: an integer from 0 to 99"),
        (["--fail", "2", "--steps", "2"], "--fail: 2 is not allowed; allowed: an integer from 0 to 1"),
        (["--kill", "1", "--fail", "1"], "--kill: give this or --fail, not both"),
        (["--kill", "1", "--take-core", "1"], "--kill: give this or --take-core, not both"),
        (["--take-core", "1"], "--cores: 1 is not allowed; allowed: 2 or more, for --take-core"),
        (["--give-core", "1"], "--cores: 1 is not allowed; allowed: 2 or more, for --give-core"),
        (["--give-core", "1", "--take-core", "1"], "--take-core: give this or --give-core, not both"),
        (["--take-core", "1", "--cores", "2", "--times", "2"], "--times: --take-core moves a core only once"),
        (["--point", "4"], "--point: 4 is not allowed; allowed: an integer from 0 to 3"),
        (["--pattern", "tree", "--kill", "1", "--point", "2"], "--point: 2 is not allowed"),
        (["--validate", "sample"], "No such option: --validate"),
        (["--system", "fst"], "Did you mean fast?"),
        (["--pattern", "dom", "--system", "picky"], "pattern: dom is not allowed; allowed: others"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    assert message in taskgrain(*WORDS, "--systems", systems, *words).refusal()
