"""The common part of `metg` and `study`: what a measurement prints, and how it ends."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from command_line import Command, process


def test_warnings_are_codes_and_words_for_programs(taskgrain: Command, systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1", "-q", "--sweep")
    value = json.loads(taskgrain(*words, "--json").out)
    assert (value["schema"], value["output"], value["failures"]) == (1, None, [])
    (cell,) = value["cells"]
    said = {one["code"]: one for one in cell["warnings"]}
    sentence = (
        "The interval is missing, because there was only one round. Allow at least 6 rounds, or a larger "
        "budget."
    )
    assert said["one_round"] == {"code": "one_round", "needed": 6, "text": sentence}
    assert f"fast/stencil_1d/width=4: {sentence}" in taskgrain(*words).out


def test_a_failed_cell_gives_code_1_beside_the_others(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = ("metg", "--systems", systems, "--system", "fast,faulty", "--pattern", "tree", "-q")
    words = (*words, "--max-rounds", "2", "-o", tmp_path / "out")
    shown = taskgrain(*words)
    assert shown.code == 1
    assert "faulty/tree/width=" in shown.out and ": validation: pattern: tree is not allowed" in shown.out
    found = taskgrain(*words, "--json")
    assert found.code == 1
    value = json.loads(found.out)
    fast, faulty = value["cells"]
    assert fast["metg"] is not None
    assert faulty["ending"] == "failed"
    assert value["failures"][0]["error"] == "validation"


def test_retry_measures_again_what_failed(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = ("metg", "--systems", systems, "--system", "faulty", "--pattern", "tree", "-q")
    words = (*words, "--max-rounds", "2", "-o", tmp_path / "out")

    def failures(*more: str) -> int:
        assert taskgrain(*words, *more).code == 1
        return (tmp_path / "out" / "runs.jsonl").read_text().count('"kind": "failure"')

    assert [failures(), failures(), failures("--retry")] == [1, 1, 2]
    file = systems / "faulty" / "system.toml"
    file.write_text(file.read_text().replace("tree=", "fft="))
    mended = taskgrain(*words, "--json")
    assert mended.code == 0, "another build is measured without being asked"
    assert json.loads(mended.out)["cells"][0]["metg"] is not None


def test_the_command_for_the_report_can_be_copied(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my results"
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1", "-q", "-o", folder)
    command = taskgrain(*words).out.split("`")[1]
    assert shlex.split(command) == ["taskgrain", "report", str(folder)]


def test_a_terminal_of_ascii_gets_ascii(systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "2", "-q")
    shown = process(*words, PYTHONIOENCODING="ascii")
    assert shown.code == 0
    assert shown.out.isascii()
    assert " us" in shown.out


def test_progress_is_told_unless_quiet(taskgrain: Command, systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1")
    assert "0 of 1 cells" in taskgrain(*words).err
    assert taskgrain(*words, "--quiet").err == ""
