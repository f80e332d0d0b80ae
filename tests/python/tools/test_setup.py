"""Set-up: what tools/setup refuses and reads from the systems, and when make runs it again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
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


class Checkout:
    """A Makefile among files with the names of the sources; set-up and build only say that they ran."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (
            "CMakeLists.txt",
            "cmake",
            "pyproject.toml",
            "include",
            "python",
            "src",
            "systems",
            "tools",
        ):
            for file in [REPOSITORY / name, *(REPOSITORY / name).rglob("*")]:
                if file.is_file():
                    self.write(str(file.relative_to(REPOSITORY)))
        for file in (REPOSITORY / "systems").glob("*/system.toml"):
            shutil.copyfile(file, folder / file.relative_to(REPOSITORY))
        shutil.copyfile(REPOSITORY / "Makefile", folder / "Makefile")
        self.program("tools/setup", "echo setup >>did")
        self.program("tools/build", "echo build >>did; mkdir -p build/installed/taskgrain")

    def write(self, name: str, text: str = "") -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def edit(self, name: str) -> None:
        """Gives a file that is there a new time, later than what was made by any clock of a file system."""
        assert (self.folder / name).is_file()
        time.sleep(0.05)
        (self.folder / name).touch()

    def program(self, name: str, script: str) -> None:
        self.write(name, f"#!/usr/bin/env bash\n{script}\n")
        (self.folder / name).chmod(0o755)

    def make(self, *arguments: str) -> list[str]:
        """What `make` runs, of `setup` and `build`."""
        outer = ("MAKEFLAGS", "MFLAGS")  # of the make that runs the tests
        environment = {name: value for name, value in os.environ.items() if name not in outer}
        self.write("did")
        subprocess.run(["make", *arguments], cwd=self.folder, env=environment, check=True, timeout=60)
        return (self.folder / "did").read_text().split()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    assert made.make("setup") == ["setup", "build"]
    return made


def test_edits_of_python_files_need_no_setup(checkout: Checkout) -> None:
    for name in ("python/taskgrain/cli/app.py", "systems/dask/driver.py", "systems/dask/system.toml"):
        checkout.edit(name)
    checkout.write("python/taskgrain/another.py")
    assert checkout.make("setup") == []


@pytest.mark.parametrize(
    "name", ("src/core/graph.cpp", "include/taskgrain/rt.hpp", "systems/mpi/CMakeLists.txt")
)
def test_edits_of_what_is_compiled_need_a_build(checkout: Checkout, name: str) -> None:
    assert (REPOSITORY / name).exists()
    checkout.edit(name)
    assert checkout.make("setup") == ["build"]
    assert checkout.make("setup") == []


def test_what_setup_reads_needs_setup(checkout: Checkout) -> None:
    checkout.edit("pyproject.toml")
    assert checkout.make("setup") == ["setup", "build"]
    toml = checkout.folder / "systems/dask/system.toml"
    toml.write_text(toml.read_text().replace("[setup]", '[setup]\ndebian = { curl = "curl" }'))
    assert checkout.make("setup") == ["setup", "build"]
    shutil.rmtree(checkout.folder / "build")
    assert checkout.make("setup") == ["setup", "build"]
    assert checkout.make("setup") == []


def test_new_files_of_systems_and_systems_of_the_user_need_a_build(checkout: Checkout) -> None:
    checkout.write("systems/dask/another.py")
    assert checkout.make("setup") == ["build"]
    assert checkout.make("setup", "CMAKE_PREFIX_PATH=/opt/hpx") == ["build"]
    assert checkout.make("setup", "CMAKE_PREFIX_PATH=/opt/hpx") == []


def test_the_tools_of_tests_and_other_groups_need_setup(checkout: Checkout) -> None:
    assert checkout.make("setup-dev") == ["setup", "build"]
    assert checkout.make("setup") == []
    assert checkout.make("setup", "GROUPS=ray") == ["setup", "build"]
