"""The command that measures one cell again."""

import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import typer

from taskgrain.answers.data import command
from taskgrain.cli.app import app
from taskgrain.results import reader
from taskgrain.results.lines import CellLine
from taskgrain.study.settings import Settings

STORED = [
    *sorted((Path(__file__).parents[3] / "docs" / "results").glob("*/")),
    *sorted((Path(__file__).parents[1] / "results" / "old").glob("*/")),
]
RECORDED = "taskgrain metg --system mpi"


def test_a_command_has_the_settings_of_its_study() -> None:
    study: dict[str, object] = {"cores": 2, "threshold": 0.5, "precision": 0.05, "budget": 9.0}
    study |= {
        "repeats": 3,
        "experiment": "sweep",
        "isa": "avx2; rm -rf /",
        "validate": ["full"],
        "first_iterations": 100,
        "steps": 0,
    }
    made = command("taskgrain metg --system mpi --iterations 5", study)
    added = made.removeprefix("taskgrain metg --system mpi --iterations 5")
    assert added == " --cores 2 --precision 0.05 --experiment sweep --isa 'avx2; rm -rf /'"


def test_defaults_are_left_out() -> None:
    assert command(RECORDED, {}) == RECORDED
    assert command(RECORDED, asdict(Settings())) == RECORDED


def test_what_was_not_recorded_stays_unknown() -> None:
    assert command("", {"cores": 2, "precision": 0.05}) == ""


def test_numbers_are_as_short_as_a_person_writes_them() -> None:
    assert command(RECORDED, {"threshold": 0.8, "first_iterations": 4096}) == (
        f"{RECORDED} --threshold 0.8 --iterations 4096"
    )


@pytest.mark.parametrize("folder", STORED, ids=lambda one: one.name)
def test_the_commands_of_stored_results_have_options_that_there_are(folder: Path) -> None:
    study = tomllib.loads((folder / "study.toml").read_text("utf-8"))
    cells = [line for line in reader.read(folder).lines if isinstance(line, CellLine) and line.command]
    commands = [command(str(line.command), study) for line in cells]
    assert commands
    group: Any = typer.main.get_command(app)
    parent = group.make_context("taskgrain", ["metg"])
    verb = group.get_command(parent, "metg")
    for one in commands:
        program, name, *words = shlex.split(one)
        assert (program, name) == ("taskgrain", "metg")
        given = verb.make_context("metg", words, parent=parent).params
        assert given["names"] and given["pattern"]
