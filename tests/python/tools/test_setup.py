"""tools/setup: what it refuses before it does anything, and what it reads from the systems."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


def requirements(*arguments: str) -> list[str]:
    """The lines that are not empty."""
    command = [sys.executable, str(REPOSITORY / "tools" / "requirements.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [line for line in done.stdout.split("\n") if line]


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        (("--groups", "default,rey"), ("GROUPS: 'rey'", "allowed: all, ", "default")),
        (("--groups", ""), ("GROUPS: ''",)),
        (("--group", "all"), ("'--group'", "allowed: --dev, --groups")),
    ),
)
def test_arguments_that_cannot_be(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    setup = REPOSITORY / "tools" / "setup"
    done = subprocess.run([str(setup), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr


def test_every_group_and_its_needs_are_found() -> None:
    groups = requirements("groups")
    assert "default" in groups
    packages = {line.split()[1] for line in requirements("debian", *groups)}
    assert {"libopenmpi-dev", "openmpi-bin"} <= packages
    assert packages >= {line.split()[1] for line in requirements("debian", "default")}
    for requirement in requirements("pypi", *groups) + requirements("pypi_alone", *groups):
        assert "==" in requirement, "versions are pinned"
    for program in requirements("program", *groups):
        assert Path(program).stat().st_mode & 0o111, f"{program} can be run"


def test_constraints_are_the_projects_own_pins() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert requirements("constraints") == project["dependencies"]


@pytest.mark.parametrize("arguments", ((), ("apt", "default")))
def test_requirements_that_nobody_has(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, str(REPOSITORY / "tools" / "requirements.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "allowed: groups, debian, pypi" in done.stderr
