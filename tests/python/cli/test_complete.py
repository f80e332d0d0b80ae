"""Tests of the completions of the shell."""

from pathlib import Path

import pytest
from command_line import process

from taskgrain.cli import complete
from taskgrain.drive import catalogue

SYSTEMS = ["mpi", "mpi_bulk", "openmp_for", "openmp_task"]


def test_one_of_some_names() -> None:
    completion = complete.one_of(("stencil_1d", "stencil_2d", "tree"))
    assert completion("st") == ["stencil_1d", "stencil_2d"]
    assert completion("x") == []


@pytest.mark.parametrize(
    ("incomplete", "found"),
    [
        ("", SYSTEMS),
        ("open", ["openmp_for", "openmp_task"]),
        ("mpi,open", ["mpi,openmp_for", "mpi,openmp_task"]),
        ("mpi,m", ["mpi,mpi_bulk"]),
        ("mpi, m", []),
    ],
)
def test_the_last_of_names_with_commas(incomplete: str, found: list[str]) -> None:
    assert complete.listed(incomplete, SYSTEMS) == found


def test_systems_are_the_projects_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "discover", lambda: dict.fromkeys(SYSTEMS))
    assert complete.systems("mpi_b") == ["mpi_bulk"]
    monkeypatch.setattr(catalogue, "discover", lambda: 1 / 0)
    assert complete.systems("mpi_b") == []


def completed(*words: str) -> list[str]:
    """The answers for bash when it completes the last of the words."""
    line = " ".join(["taskgrain", *words])
    told = {"COMP_WORDS": line, "COMP_CWORD": str(len(words)), "_TASKGRAIN_COMPLETE": "complete_bash"}
    return process(**told).printed().split()


def test_the_shell_gets_verbs_options_and_values() -> None:
    assert completed("gr") == ["graph"]
    assert completed("metg", "--pat") == ["--pattern"]
    assert completed("metg", "--pattern", "stencil_1d_") == ["stencil_1d_periodic"]
    assert completed("run", "--kernel", "memory_b") == ["memory_bound"]


def test_the_shell_gets_systems(no_own_systems: None, tmp_path: Path) -> None:
    folder = tmp_path / "nothing" / "systems" / "mine"
    folder.mkdir(parents=True)
    (folder / "system.toml").write_text('[launch]\ncommand = ["true"]\n')
    assert completed("metg", "--system", "mi") == ["mine"]


def test_the_script_of_each_shell_is_shown() -> None:
    for shell in ("bash", "zsh", "fish"):
        shown = process(
            "--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
        ).printed()
        assert "_TASKGRAIN_COMPLETE=complete_" in shown
