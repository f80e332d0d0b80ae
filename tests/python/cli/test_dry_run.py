"""`--dry-run`: what is shown of a plan, and that nothing is measured."""

import json
import os
import re
import shlex
import socket
from pathlib import Path

import pytest
from command_line import Command, Result
from killable_study import FAKE

from taskgrain.cli.dry_run import show_plan


def test_measures_nothing(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text('systems = "all"\npatterns = ["stencil_1d", "fft"]\n')
    output = tmp_path / "out"
    result = taskgrain("study", study, "--systems", systems, "-o", output, "--dry-run").printed()
    assert not output.exists()
    assert re.search(r"^6 cells, about \d+ s on a quiet machine$", result, re.MULTILINE)
    assert re.search(r"^ *fast/fft/width=\d+ +2 s *$", result, re.MULTILINE)
    value = json.loads(taskgrain("metg", "--systems", systems, "--dry-run", "--json").out)
    assert value["cells"][0]["cell"].startswith("fast/stencil_1d/")
    assert value["commands"]["fast"][1] == str(FAKE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("metg", "--restart", "--keep-both"), "--restart: give this or --keep-both, not both"),
        (("metg", "--pattern", "dag", "--dag", "/nowhere"), "dag: '/nowhere' is not allowed"),
        (("run", "--pattern", "dag", "--dag", "/nowhere"), "taskgrain: dag: '/nowhere' is not allowed"),
        (("run", "--width", 2**62, "--steps", 2**62), "is not allowed"),
        (("faults", "--pattern", "dag", "--dag", "/nowhere"), "dag: '/nowhere' is not allowed"),
    ],
)
def test_refuses_what_the_measurement_refuses(
    taskgrain: Command, systems: Path, words: tuple[object, ...], said: str
) -> None:
    assert said in taskgrain(*words, "--systems", systems, "--system", "fast", "--dry-run").refusal()


def test_says_of_the_folder_what_the_measurement_says(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = ("metg", "--systems", systems, "--max-rounds", "1", "--width", "4", "-o", tmp_path / "out")

    def foretold(*more: str) -> Result:
        return taskgrain(*words, *more, "--dry-run")

    assert taskgrain(*words, "-q").code == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("out/**/*") if file.is_file()}
    assert (foretold().code, foretold().err) == (0, "")
    for more, said in (
        (("--threshold", "0.6"), "differs in threshold"),
        (("-o", str(systems)), "is not allowed"),
    ):
        assert foretold(*more) == taskgrain(*words, *more) and said in foretold(*more).err
    file = systems / "fast" / "system.toml"
    file.write_text(file.read_text().replace("0.02", "0.03"))
    assert foretold() == taskgrain(*words) and "holds results of other builds of fast" in foretold().err
    assert "built again since the last call: fast; their earlier cells stay" in foretold("--keep-both").err
    assert foretold("--keep-both", "-q").err == ""
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("out/**/*") if file.is_file()}


def test_knows_budgets(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text('systems = "fast"\npatterns = ["dom", "fft"]\nbudget = "10m"\n')
    words = ("study", study, "--systems", systems, "--dry-run")
    shown = taskgrain(*words).out
    assert "2 cells, about 2 s on a quiet machine; the budget ends it after 10 min 0 s" in shown
    plan = json.loads(taskgrain(*words, "--json").out)
    assert plan["budget"] == 600.0
    study.write_text(study.read_text() + "steps = 1_000_000\n")
    longer = json.loads(taskgrain(*words, "--json").out)
    assert longer["seconds"] > 100 * plan["seconds"]  # fixed steps leave no choice
    study.write_text('systems = "fast"\npatterns = ["fft"]\nexperiment = "sweep"\n')
    assert json.loads(taskgrain(*words, "--json").out)["seconds"] > 2 * plan["cells"][1]["seconds"]


def test_a_kernel_that_a_system_does_not_support_is_said(taskgrain: Command, systems: Path) -> None:
    with (systems / "fast" / "system.toml").open("a") as file:
        file.write('[limits]\nkernels = ["compute_bound"]\n')
    for verb in ("metg", "run"):
        words = (verb, "--systems", systems, "--system", "fast", "--dry-run")
        assert "unsupported" not in taskgrain(*words).out
        words = (*words, "--kernel", "busy_wait")
        assert re.search(r"kernel=busy_wait +unsupported", taskgrain(*words).out)
        (cell,) = json.loads(taskgrain(*words, "--json").out)["cells"]
        assert (cell["seconds"], cell["unsupported"]) == (0.0, True)


def test_a_command_can_be_copied_into_a_shell(taskgrain: Command, systems: Path) -> None:
    file = systems / "fast" / "system.toml"
    file.write_text('default = true\n[launch]\ncommand = ["/my programs/driver", "a b", "$HOME"]\n')
    core = min(os.sched_getaffinity(0))
    words = ("run", "--systems", systems, "--dry-run", "--cores", 1)
    assert json.loads(taskgrain(*words, "--json").out)["seconds"] is None
    shown = taskgrain(*words).out
    (line,) = [one for one in shown.splitlines() if one.startswith("fast: ")]
    assert shlex.split(line)[1:] == [f"TASKGRAIN_CORES={core}", "/my programs/driver", "a b", "$HOME"]


@pytest.mark.parametrize("seconds", [None, 75.0])
def test_a_time_that_nobody_knows_is_left_out(
    capsys: pytest.CaptureFixture[str], seconds: float | None
) -> None:
    plan = {
        "cells": [{"cell": "a/fft", "seconds": seconds}],
        "commands": {}, "cores": [0], "seconds": seconds, "budget": None,
    }  # fmt: skip
    show_plan(plan, as_json=False)
    shown = capsys.readouterr().out
    assert ("1 cell, about 1 min 15 s on a quiet machine\n" in shown) == (seconds is not None)
    assert ("1 min 15 s" in shown) == (seconds is not None)
    show_plan(plan, as_json=True)
    assert json.loads(capsys.readouterr().out) == plan


def test_on_several_nodes_the_command_is_that_of_these(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    file = systems / "fast" / "system.toml"
    file.write_text('default = true\ndistributed = true\n[launch]\nranks = "node"\ncommand = ["/it"]\n')
    here = socket.gethostname()
    words = (
        "--systems",
        systems,
        "--system",
        "fast,faulty",
        "--hosts",
        f"{here},other",
        "--dry-run",
        "--json",
    )
    plan = json.loads(taskgrain("metg", "--nodes", "1,2", *words).out)["commands"]
    assert sorted(plan) == ["fast", "fast/nodes=2", "faulty"]
    assert "--host" not in plan["fast"]
    assert plan["fast/nodes=2"][3:5] == ["--host", f"{here}:1,other:1"]
    assert list(json.loads(taskgrain("run", "--nodes", "2", *words).out)["commands"]) == ["fast/nodes=2"]
