"""`taskgrain systems`: the systems, and why some cannot run here."""

import json
import re
from pathlib import Path

from command_line import Command


def test_lists_each_system_and_what_it_lacks(taskgrain: Command, systems: Path) -> None:
    result = taskgrain("systems", "--systems", systems)
    assert (result.code, result.err) == (0, "")
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.strip()}
    assert "Fake fast" in rows["fast"] and rows["fast"].split()[-1] == "yes"
    assert rows["absent"].rstrip().endswith("no program no-such-x: apt-get x")


def test_says_which_run_nested_forks_alone(taskgrain: Command, systems: Path) -> None:
    with (systems / "picky" / "system.toml").open("a") as file:
        file.write("[limits]\nnested = true\n")
    out = taskgrain("systems", "--systems", systems).out
    assert re.search(r"^ picky .* graphs of nested forks *$", out, re.MULTILINE), out


def test_json_says_what_is_missing(taskgrain: Command, systems: Path) -> None:
    listed = json.loads(taskgrain("systems", "--systems", systems, "--json").out)
    assert [one["name"] for one in listed] == ["absent", "fast", "faulty", "picky"]
    absent, fast = listed[:2]
    assert (fast["available"], fast["missing"]) == (True, [])
    assert (absent["available"], absent["missing"]) == (False, ["program no-such-x"])
    assert absent["install"] == "apt-get x"


def test_a_folder_of_one_system_will_do(taskgrain: Command, systems: Path) -> None:
    words = ("--systems", systems / "fast", "--systems", systems / "picky")
    listed = json.loads(taskgrain("systems", *words, "--json").out)
    assert [one["name"] for one in listed] == ["fast", "picky"]


def test_a_folder_without_systems_is_refused(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        result = taskgrain("systems", "--systems", folder).refusal()
        assert result.startswith(f"taskgrain: --systems: {folder}")


def test_a_broken_description_is_told_by_file(taskgrain: Command, systems: Path) -> None:
    file = systems / "fast" / "system.toml"
    file.write_text("title = 5\n[launch]\ncommand = ['x']\n")
    result = taskgrain("systems", "--systems", systems).refusal()
    assert str(file) in result and "title" in result
