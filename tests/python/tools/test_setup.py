"""Set-up: what tools/setup refuses and reads from the systems, and when make runs it again."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
from driver_process import REPOSITORY, marked
from packaging.requirements import Requirement


def requirements(*arguments: str) -> list[str]:
    """The lines that are not empty."""
    command = [sys.executable, str(REPOSITORY / "tools" / "requirements.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
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
    done = subprocess.run([str(setup), *arguments], capture_output=True, text=True)
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


def test_the_projects_own_needs_are_ranges_with_a_pin_in_each() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    dev = requirements("project", "dev")
    assert dev == [*requirements("project"), *extras["dev"]] == [*project["dependencies"], *extras["dev"]]
    lines = (REPOSITORY / "tools" / "pins.txt").read_text().splitlines()[1:]
    pins = {one.name: str(one.specifier).removeprefix("==") for one in map(Requirement, lines)}
    for text in [*project["dependencies"], *extras["export"], *extras["productivity"]]:
        one = Requirement(text)
        assert one.specifier.contains(pins.pop(one.name)) and "==" not in text, one
    assert not pins


@pytest.mark.parametrize("arguments", ((), ("apt", "default")))
def test_requirements_that_nobody_has(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, str(REPOSITORY / "tools" / "requirements.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
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
        done = "mkdir -p .venv/bin; touch .venv/bin/python; pwd >.venv/.place"
        self.program("tools/setup", f"echo setup${{PYTHONDONTWRITEBYTECODE:+-slow}} >>did; {done}")
        self.program("tools/build", "echo build >>did; mkdir -p build/installed/taskgrain")
        self.program(".venv/bin/taskgrain", "echo the schema of studies")
        (folder / "studies").mkdir()

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
        """The programs of `setup` and `build` that `make` runs."""
        outer = ("MAKEFLAGS", "MFLAGS")  # of the make that runs the tests
        environment = {name: value for name, value in os.environ.items() if name not in outer}
        environment["BASH_ENV"] = str(self.folder / "noise")  # of a site; make's shells pass over it
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # each process would compile all that it imports
        self.write("noise", "echo noise; cd /")
        self.write("did")
        subprocess.run(["make", *arguments], cwd=self.folder, env=environment, check=True)
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


def test_the_schema_of_studies_is_made_anew_from_its_tables(checkout: Checkout) -> None:
    schema = checkout.folder / "studies/study.schema.json"
    schema.write_text("old\n")
    checkout.make("setup")
    assert schema.read_text() == "old\n"
    checkout.edit("python/taskgrain/study/settings.py")
    assert checkout.make("setup") == []
    assert schema.read_text() == "the schema of studies\n"
    checkout.edit("python/taskgrain/study/settings.py")
    checkout.program(".venv/bin/taskgrain", "echo half of; exit 1")
    with pytest.raises(subprocess.CalledProcessError):
        checkout.make("setup")
    assert schema.read_text() == "the schema of studies\n"


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


def test_what_is_lost_needs_setup(checkout: Checkout) -> None:
    (checkout.folder / ".venv/bin/python").unlink()
    (checkout.folder / ".venv/bin/python").symlink_to("gone")
    assert checkout.make("setup") == ["setup", "build"]


def test_a_checkout_that_was_moved_needs_setup(
    checkout: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    checkout.folder = shutil.move(checkout.folder, tmp_path_factory.mktemp("my dir's") / "$ü #")
    assert checkout.make("setup", "-j4") == ["setup", "build"]
    assert checkout.make("setup") == []


def test_the_tools_of_tests_and_other_groups_need_setup(checkout: Checkout) -> None:
    assert checkout.make("setup-dev") == ["setup", "build"]
    assert checkout.make("setup") == []
    assert checkout.make("setup", "GROUPS=ray") == ["setup", "build"]


MARK = "TASKGRAIN_TEST_SETUP"


class Machine:
    """tools/setup in a folder of its own, where pip, apt and what runs beside pip are scripts.

    pip has everything but what is called `nowhere`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("setup", "requirements.py"):
            self.program(f"tools/{name}", (REPOSITORY / "tools" / name).read_text())
        self.write("pyproject.toml", "[project]\ndependencies = ['own==1']\n")
        self.write("tools/pins.txt", "")
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.24)\n")
        self.program("tools/build")
        self.program(".venv/bin/python", 'echo "$*" >>pip.log; [[ $* != *nowhere* ]]')
        for name in ("apt-get", "sudo"):
            self.program(f"bin/{name}", "exit 1")
        self.system("plain", "pypi = ['plain==1']")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def program(self, name: str, script: str = "") -> None:
        self.write(name, script if script.startswith("#!") else f"#!/usr/bin/env bash\n{script}\n")
        (self.folder / name).chmod(0o755)

    def system(self, name: str, setup: str) -> None:
        self.write(f"systems/{name}/system.toml", f"[setup]\n{setup}\n")

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.Popen(
            [str(self.folder / "tools" / "setup"), *words],
            env=os.environ | {"PATH": path, MARK: str(self.folder)} | environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def set_up(self, *words: str, code: int = 0, **environment: str) -> str:
        """Runs it to its end; returns what it says."""
        self.write("pip.log", "")
        with self.start(*words, **environment) as process:
            _, said = process.communicate()
        assert process.returncode == code, said
        return said

    def installed(self) -> list[str]:
        """The packages that pip was to install in the last run, call by call, without options."""
        calls = (self.folder / "pip.log").read_text().splitlines()
        found = [line.split(" --no-compile ")[1] for line in calls if " --no-compile " in line]
        return found[1:]  # the first is what the build needs


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_one_call_of_pip_brings_all_groups(machine: Machine) -> None:
    machine.system("large", "group = 'large'\npypi = ['large==1']\npypi_alone = ['library==1']")
    machine.set_up("--groups", "all")
    project = "--no-deps --no-build-isolation --editable ."
    assert machine.installed() == ["own==1 large==1 plain==1", "--no-deps library==1", project]
    machine.set_up()
    assert machine.installed()[:2] == ["own==1 large==1 plain==1", "--no-deps library==1"], "groups stay"


def test_another_one_waits_and_says_so(machine: Machine) -> None:
    first = os.open(machine.folder, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    with machine.start() as process:
        assert process.stderr is not None
        assert "another set-up of this checkout is running" in process.stderr.readline()
        assert not (machine.folder / "pip.log").exists()
        os.close(first)
        process.communicate()
    assert process.returncode == 0 and machine.installed()


def test_a_group_that_pip_cannot_have_is_named_and_stops_no_other(machine: Machine) -> None:
    machine.system("broken", "group = 'broken'\npypi = ['nowhere==1']")
    machine.system("large", "group = 'large'\npypi_alone = ['library==1']")
    said = machine.set_up("--groups", "all")
    assert "systems of the group broken will be absent" in said
    assert said.count("absent") == 1
    assert {"own==1 plain==1", "--no-deps library==1"} <= set(machine.installed())


def test_the_project_is_only_installed_again_where_it_has_changed(machine: Machine) -> None:
    machine.set_up()
    assert "--editable" in machine.installed()[-1]
    machine.set_up()
    assert "--editable" not in machine.installed()[-1]
    machine.write("pyproject.toml", "[project]\ndependencies = ['own==2']\n")
    machine.set_up()
    assert "--editable" in machine.installed()[-1]


def test_what_runs_beside_is_told_in_one_piece_and_may_fail(machine: Machine) -> None:
    for name, end in (("good", 0), ("bad", 3)):
        machine.system(name, "program = 'setup'")
        script = f"for i in 1 2 3; do echo {name} $i; sleep 0.1; done; exit {end}"
        machine.program(f"systems/{name}/setup", script)
    said = machine.set_up()
    assert "good 1\ngood 2\ngood 3\n" in said
    bad = said[said.index("bad 1\nbad 2\nbad 3\n") :].splitlines()
    assert "setting up bad failed; its system will be absent" in bad[3]
    assert said.count("absent") == 1


APT = """
[[ $* != *install* ]] || echo "$*" >>apt.log
[[ $* != *nowhere* && $* != *jdk-17* ]] || { echo "E: Unable to locate package" >&2; exit 100; }
"""


def test_a_package_that_apt_has_not_keeps_no_other_away(machine: Machine) -> None:
    machine.program("bin/apt-get", APT)
    machine.program("bin/sudo", 'while [[ $1 == -n ]]; do shift; done; exec "$@"')
    debian = "{ nowhere = '/include/absent.h', 'jdk-17|jdk-21' = 'absent', there = '/include/also/absent.h' }"
    machine.system("picky", f"debian = {debian}")
    said = machine.set_up()
    asked = [line.split("recommends ")[1] for line in (machine.folder / "apt.log").read_text().splitlines()]
    assert asked[-5:] == ["jdk-17 nowhere there", "jdk-17", "jdk-21", "nowhere", "there"]
    assert said.count("apt-get could not install") == 1
    assert "apt-get could not install nowhere" in said
    assert "without absent.h there is no picky (Debian: nowhere)" in said


@pytest.mark.parametrize(
    ("program", "script", "words"),
    (
        (
            "bin/cmake",
            "echo cmake version 3.22.1",
            ("is CMake 3.22.1; 3.24 or newer is needed", "pip install cmake"),
        ),
        ("bin/g++", "exit 1", ("g++ cannot compile C++20; set CXX",)),
        ("bin/python3", "exit 1", ("'python3' is not Python 3.11 or newer",)),
    ),
)
def test_what_is_too_old_is_named_before_anything_is_built(
    machine: Machine, program: str, script: str, words: tuple[str, ...]
) -> None:
    machine.program(program, script)
    said = machine.set_up(code=1)
    assert all(word in said for word in words), said
    assert not (machine.folder / "pip.log").read_text()


@pytest.mark.parametrize("sign", (";", ":", '"', "\\", "#", "$"))
def test_a_path_that_cannot_be_is_refused_at_once(tmp_path: Path, sign: str) -> None:
    said = Machine(tmp_path / f"a{sign}b").set_up(code=1)
    assert "has a character that CMake or PATH cannot have" in said and said.count("\n") == 1


def test_a_folder_where_nothing_runs_is_refused_at_once(machine: Machine) -> None:
    (machine.folder / "tools/setup").chmod(0o644)
    done = subprocess.run(["bash", machine.folder / "tools/setup"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "mounted noexec" in done.stderr


@pytest.mark.submission
def test_what_is_set_for_other_programs_changes_nothing(tmp_path: Path) -> None:
    """A real environment, which as uv makes it has no pip, and real calls of pip."""
    machine = Machine(tmp_path / "my dir's ü")
    shutil.rmtree(machine.folder / ".venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", machine.folder / ".venv"], check=True)
    wheels = {"scikit_build_core": "1.1.2", "nanobind": "3.1.0", "own": "1", "plain": "1"}
    (machine.folder / "wheels").mkdir()
    for name, version in wheels.items():
        with zipfile.ZipFile(machine.folder / f"wheels/{name}-{version}-py3-none-any.whl", "w") as wheel:
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            wheel.writestr(f"{name}-{version}.dist-info/METADATA", about)
            head = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr(f"{name}-{version}.dist-info/WHEEL", head)
            wheel.writestr(f"{name}-{version}.dist-info/RECORD", "")
    links = (machine.folder / "wheels").as_uri()
    machine.write("pip.conf", f"[global]\nno-index = true\nfind-links = {links}\n[install]\nuser = true\n")
    machine.write("limits.txt", "nanobind<3\n")
    machine.write("modules/pip.py", "raise ImportError('of the module system')\n")
    machine.write(".venv/.pyproject.toml", (machine.folder / "pyproject.toml").read_text())
    machine.set_up(
        PIP_CONFIG_FILE=str(machine.folder / "pip.conf"),
        PIP_CONSTRAINT=str(machine.folder / "limits.txt"),
        PIP_FIND_LINKS="",
        PIP_USER="1",
        PIP_TARGET="elsewhere",
        PYTHONPATH=str(machine.folder / "modules"),
        CDPATH="/tmp",
        HOME="",
    )
    found = {one.name.split("-")[0] for one in machine.folder.glob(".venv/lib/*/site-packages/*.dist-info")}
    assert found == {"pip", *wheels} | ({"setuptools"} & found)
    assert not (machine.folder / "elsewhere").exists()


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
@pytest.mark.parametrize("where", ("pip", "waiting"))
def test_an_interrupt_leaves_nothing_running(machine: Machine, number: int, where: str) -> None:
    machine.system("slow", "program = 'setup'")
    for name in ("systems/slow/setup", "tools/build"):
        runs = machine.folder / f"{Path(name).name}-runs"
        machine.program(name, f"(trap '' INT; sleep 1000) & touch {runs}; sleep 1000")
    if where == "pip":
        # No program may end between the two: bash would take the interrupt for one that it has dealt with.
        machine.program(".venv/bin/python", "[[ $* != *own* ]] || { : >pip-runs; exec sleep 1000; }")
    awaited = ["setup-runs", "build-runs", "pip-runs" if where == "pip" else ".venv/.pyproject.toml"]
    with machine.start() as process:
        while not all((machine.folder / name).exists() for name in awaited):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, number)
        process.communicate()
    assert process.returncode == 130
    while marked(f"{MARK}={machine.folder}"):  # who was told to end may take a moment
        time.sleep(0.02)


def test_an_interrupt_at_the_beginning_shows_no_trace(machine: Machine) -> None:
    shutil.rmtree(machine.folder / ".venv")
    slow = "import pathlib, time; pathlib.Path('venv-runs').touch(); time.sleep(1000)"
    machine.program("bin/python", f'[[ $* != "-m venv"* ]] || exec python3 -c "{slow}"; exec python3 "$@"')
    with machine.start(PYTHON="python") as process:
        while not (machine.folder / "venv-runs").exists():
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, "Traceback" in said, "Python cannot" in said) == (130, False, False)


def test_who_waits_sees_how_much_is_compiled(machine: Machine) -> None:
    pip_ends = "until grep -q -- --editable pip.log; do sleep 0.05; done; sleep 1"
    machine.program("tools/build", f"echo '[3/40] Building CXX object' >build/ahead.log; {pip_ends}")
    assert "setup:\x1b[0m waiting for build [3/40]\n" in machine.set_up()
