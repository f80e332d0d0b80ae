"""`taskgrain doctor`: the machine, its noise, and what each system lacks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from command_line import Command


def test_json_has_the_machine_its_state_and_the_systems(taskgrain: Command, systems: Path) -> None:
    result = taskgrain("doctor", "--systems", systems, "--json")
    assert (result.code, result.err) == (0, "")
    value = json.loads(result.out)
    assert sorted(value["machine"]["cpu"]["available"]) == sorted(os.sched_getaffinity(0))
    assert 0.0 <= value["state"]["busy_share"] <= 1.0
    assert value["systems"]["fast"] == {"available": True, "missing": []}
    assert value["systems"]["absent"] == {"available": False, "missing": ["program no-such-x"]}
    assert all(one["code"] and one["text"] for one in value["warnings"])


def test_says_how_to_install_what_is_missing(taskgrain: Command, systems: Path) -> None:
    result = taskgrain("doctor", "--systems", systems)
    assert (result.code, result.err) == (0, "")
    lines = [line.strip() for line in result.out.splitlines()]
    at = lines.index("no  absent: no program no-such-x")
    assert lines[at + 1] == "install: apt-get x"
    assert "ok  fast" in lines


def test_measures_the_noise_of_every_core(taskgrain: Command, systems: Path) -> None:
    found = taskgrain("doctor", "--systems", systems).out
    table = found.partition("largest gap")[2].partition("\n\n")[0].splitlines()
    cores = [int(words[0]) for line in table if (words := line.split()) and words[0].isdigit()]
    noise = json.loads(taskgrain("doctor", "--systems", systems, "--json").out)["state"]["noise"]
    assert cores == [one["core"] for one in noise]
    assert cores


def test_a_group_is_shown_with_its_systems(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(systems.parent))  # only the package's own systems have groups
    for name in ("fast", "faulty"):
        file = systems / name / "system.toml"
        file.write_text(file.read_text() + '[setup]\ngroup = "two"\nmegabytes = 7\nminutes = 2\n')
    value = json.loads(taskgrain("doctor", "--json").out)
    install = "make setup GROUPS=two"
    assert value["groups"]["two"] == {
        "systems": ["fast", "faulty"],
        "megabytes": 14,
        "minutes": 4,
        "install": install,
    }
    (row,) = [line for line in taskgrain("doctor").out.splitlines() if line.startswith(" two ")]
    assert re.split(r"  +", row.strip()) == ["two", "14 MB", "4 min", install, "fast, faulty"]
