"""tools/build: a checkout keeps its installation while a new one is made, and says so where it has none."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from copied_package import run_from
from driver_process import REPOSITORY

from taskgrain import _core
from taskgrain.drive.catalogue import package_folder

CMAKE = """cmake_minimum_required(VERSION 3.24)
project(copied LANGUAGES NONE)
install(FILES "{core}" DESTINATION taskgrain)
install(PROGRAMS {serial}/driver {serial}/system.toml DESTINATION taskgrain/systems/serial)
"""


class Checkout:
    """The modules and the tool of this checkout; its build copies the core and one driver of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = shutil.ignore_patterns("__pycache__", "systems", "bin", "jvm", "*.so")
        shutil.copytree(REPOSITORY / "python" / "taskgrain", folder / "python" / "taskgrain", ignore=kept)
        (folder / "tools").mkdir()
        shutil.copy(REPOSITORY / "tools" / "build", folder / "tools")
        serial = package_folder() / "systems" / "serial"
        (folder / "CMakeLists.txt").write_text(CMAKE.format(core=_core.__file__, serial=serial))
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        self.system = folder / "build" / "installed" / "taskgrain" / "systems" / "serial"

    def build(self, *words: str) -> str:
        """Runs the tool; returns what it prints."""
        command = [str(self.folder / "tools" / "build"), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run_from(self.folder / "python", *words)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_without_what_is_built_the_command_says_what_to_do_in_one_line(checkout: Checkout) -> None:
    done = checkout.run("systems")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "taskgrain: its core is missing; build the project (make setup)\n"
    assert checkout.run("--version").returncode == 0, "it needs nothing built"
    core = checkout.folder / "build" / "installed" / "taskgrain" / Path(_core.__file__).name
    core.parent.mkdir(parents=True)
    core.write_text("half a file")
    done = checkout.run("systems")
    assert done.returncode == 1
    assert done.stderr.startswith("taskgrain: its core cannot be loaded: ") and done.stderr.count("\n") == 1


def test_every_command_finds_what_is_installed_while_it_is_replaced(checkout: Checkout) -> None:
    checkout.build()
    with (
        subprocess.Popen(
            [checkout.system / "driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as driver,
        ThreadPoolExecutor(2) as beside,
    ):
        assert driver.stdin and driver.stdout
        builds = beside.submit(lambda: [checkout.build() for _ in range(4)])
        commands = beside.submit(lambda: [checkout.run("systems", "--json") for _ in range(4)])
        looks = 0
        while not builds.done() or not commands.done():
            assert (checkout.system / "system.toml").is_file()
            looks += 1
        builds.result()
        for done in commands.result():
            assert done.returncode == 0, done.stderr
            assert [one["name"] for one in json.loads(done.stdout)] == ["serial"]
        assert looks > 4
        # A driver that has run since before the first of them still answers.
        driver.stdin.write('{"op":"hello"}\n{"op":"quit"}\n')
        driver.stdin.close()
        assert '"ready"' in driver.stdout.read()
    assert driver.returncode == 0


def test_an_installation_has_nothing_of_those_before(checkout: Checkout) -> None:
    checkout.build()
    (checkout.system / "of-before.txt").touch()
    checkout.build()
    assert {one.name for one in checkout.system.iterdir()} == {"driver", "system.toml"}


def test_an_installation_of_before_there_was_a_link_is_replaced(checkout: Checkout) -> None:
    checkout.system.mkdir(parents=True)
    checkout.build()
    assert (checkout.system / "driver").is_file()


def test_a_build_ahead_is_silent_and_installs_nothing(checkout: Checkout) -> None:
    assert checkout.build("--ahead") == ""
    with (checkout.folder / "CMakeLists.txt").open("a") as file:
        file.write("message(FATAL_ERROR broken)\n")
    assert checkout.build("--ahead") == "", "the next build says it"
    assert not checkout.system.exists()
    with pytest.raises(AssertionError, match="broken"):
        checkout.build()
    assert not checkout.system.exists()
