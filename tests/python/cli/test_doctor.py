"""`taskgrain doctor`: the machine, its noise, and what each system lacks."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from taskgrain.cli import doctor as shown
from taskgrain.machine.facts import Noise, State
from taskgrain.words.warnings import notice

QUIET = (Noise(0, 0.001, 1e-5, 3),)


def test_json_has_the_machine_its_state_and_the_systems(taskgrain: Command, systems: Path) -> None:
    result = taskgrain("doctor", "--systems", systems, "--json")
    assert (result.code, result.err) == (0, "")
    value = json.loads(result.out)
    cpu = value["machine"]["cpu"]
    assert sorted(cpu["available"]) == sorted(os.sched_getaffinity(0))
    assert cpu["default"] == cpu["available"][: len(cpu["default"])] and cpu["default"]
    assert 0.0 <= value["state"]["busy_share"] <= 1.0
    assert value["systems"]["fast"] == {"available": True, "missing": []}
    assert value["systems"]["absent"] == {"available": False, "missing": ["program no-such-x"]}
    assert all(one["code"] and one["text"] for one in value["warnings"])


def test_fits_80_columns_and_answers_first(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = taskgrain("doctor", "--systems", systems)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    labels = [label for line in lines[:7] if (label := line[:13].strip())]
    assert labels[:5] == ["measures on", "can run", "how well", "in the way", "processor"]
    assert lines[1].strip() == "can run      3 of 4 systems"
    assert max(map(len, lines)) <= 80
    at = lines.index("absent, no program no-such-x:")
    assert lines[at + 1] == "  absent: apt-get x"
    assert "can run: fast, faulty, picky" in lines


def test_measures_the_noise_of_every_core(taskgrain: Command, systems: Path) -> None:
    found = taskgrain("doctor", "--systems", systems).out
    table = found.partition("largest gap")[2].partition("\n\n")[0].splitlines()
    cores = [int(words[0]) for line in table if (words := line.split()) and words[0].isdigit()]
    noise = json.loads(taskgrain("doctor", "--systems", systems, "--json").out)["state"]["noise"]
    assert cores == [one["core"] for one in noise]
    assert cores


CPU: dict[str, Any] = {
    "default": [0, 1], "available": [0, 1], "physical_cores": 2, "smt": False, "kinds": {}, "limit": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("cpu", "said", "way"),
    [
        ({}, "2 of 2 processors (0-1)", "nothing"),
        ({"limit": 2.0}, "2 of 2 processors (0-1)", "nothing"),
        ({"limit": 1.0, "default": [0]}, "1 of 2 processors (0): a quota allows 1", "a quota of 1 core"),
        (
            {"available": [0, 2, 1, 3], "default": [0, 2], "smt": True},
            "2 of 4 processors (0,2): one of each of 2 cores",
            "nothing",
        ),
        (
            {
                "available": [0, 1, 2, 3],
                "default": [2, 3],
                "kinds": {"performance": [2, 3], "efficiency": [0, 1]},
            },
            "2 of 4 processors (2-3): the performance cores",
            "nothing",
        ),
    ],
)
def test_says_which_processors_and_why(cpu: dict[str, Any], said: str, way: str) -> None:
    assert shown._processors(CPU | cpu) == said
    assert shown._in_the_way(CPU | cpu, []) == way


def test_says_what_can_be_expected() -> None:
    assert shown._how_well(State(0.01, QUIET)).startswith("well: others take 1.0 % of the cores")
    assert shown._how_well(State(0.01, (Noise(0, 0.1, 1e-3, 9),))).startswith("roughly")
    assert shown._how_well(State(0.2, QUIET)).startswith("roughly")
    assert shown._how_well(State(0.6, QUIET)).startswith("badly")
    noisy = [notice("virtual_machine"), notice("clock_governor", governor="powersave")]
    assert shown._in_the_way(CPU, noisy) == "the frequency governor, a virtual machine (more below)"


def test_a_group_is_shown_with_its_systems(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(systems.parent))  # only the package's own systems have groups
    for name in ("fast", "faulty"):
        file = systems / name / "system.toml"
        file.write_text(file.read_text() + '[setup]\ngroup = "two"\nmegabytes = 7\nminutes = 2\n')
    value = json.loads(taskgrain("doctor", "--json").out)
    assert value["groups"]["two"] == {
        "systems": ["fast", "faulty"],
        "megabytes": 14,
        "minutes": 4,
        "install": "make setup GROUPS=two",
    }
    (row,) = [line for line in taskgrain("doctor").out.splitlines() if line.startswith("two ")]
    assert row.split() == ["two", "14", "MB", "4", "min", "fast,", "faulty"]
