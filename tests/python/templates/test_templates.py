"""The templates of systems: copied out of the tree, built, run on every pattern, and measured."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_process import REPOSITORY, DriverProcess
from killable_study import finish, lines

from taskgrain._core import patterns
from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.system import System
from taskgrain.drive.system_file import read


def build(folder: Path, *flags: str) -> str:
    """Builds the driver as docs/how-to/add-a-system.md does; returns what CMake says."""
    place = str(folder / "build")
    configure = ["cmake", "-S", str(folder), "-B", place, f"-DCMAKE_PREFIX_PATH={package_folder()}", *flags]
    said = ""
    for command in (configure, ["cmake", "--build", place]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout
    return said


def copy(template: str, folder: Path) -> Path:
    return shutil.copytree(REPOSITORY / "templates" / template, folder / "mine")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("system-cpp", marks=pytest.mark.submission),
        pytest.param("system-python", marks=pytest.mark.slow),
    ],
)
def mine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> System:
    folder = copy(request.param, tmp_path_factory.mktemp(request.param))
    if (folder / "CMakeLists.txt").exists():
        said = build(folder)
        assert "is compiled with -O3 -DNDEBUG, because there is no CMAKE_BUILD_TYPE" in said
    return read(folder)


@pytest.fixture
def driver(mine: System) -> Iterator[DriverProcess]:
    with DriverProcess(mine) as process:
        yield process


def test_it_says_what_it_is(mine: System, driver: DriverProcess) -> None:
    assert not mine.probe().missing
    ready = driver.ask({"op": "hello"})
    assert (ready["system"], ready["flags"]) == ("mine", "-O3 -DNDEBUG")
    assert all(len(processors) == 1 for processors in ready["binding"])
    assert len(ready["binding"]) == ready["cores"]


def test_it_runs_every_pattern(driver: DriverProcess, tmp_path: Path) -> None:
    dag = tmp_path / "graph.json"
    middle = {"width": 1, "first_point": 2, "dependences": [[0, 1]]}
    layers = [{"width": 3}, middle, {"width": 2, "dependences": [[2], []]}]
    dag.write_text(json.dumps({"steps": layers}))
    for pattern in patterns():
        sizes = {"steps": 3, "width": 3, "dag": str(dag)} if pattern == "dag" else {"steps": 40, "width": 7}
        graphs = [sizes | {"pattern": pattern, "output_bytes": 40}] * 2
        answer = driver.run(*graphs, repeats=3, warmup=1)
        assert answer["event"] == "result", answer


def test_it_is_measured_and_its_command_finds_it_again(mine: System, tmp_path: Path) -> None:
    found = ["--systems", str(mine.folder), "--system", "mine"]
    (run,) = finish(["run", *found, "--pattern", "nearest", "--radix", "5", "--validate", "full"])["runs"]
    assert "error" not in run, run
    out = tmp_path / "out"
    finish(["metg", *found, "--pattern", "stencil_1d", "--budget", "3", "-o", str(out)])
    assert not lines(out, "failure")
    assert lines(out, "run") and lines(out, "metg")
    program, *words = shlex.split(lines(out, "cell")[0]["command"])
    assert program == "taskgrain"
    plan = finish([*words, "--dry-run"])
    assert str(mine.folder) in " ".join(plan["commands"]["mine"])


WRONG = {
    "one point for each core": ("range(first, last + 1)", "range(first, last + 1)[: self.cores]"),
    "stencils only": ("run.deps(g, step, point)", "range(point - 1, point + 2) if j in before"),
    "twice": ("futures += now", "self._pool.submit(task, g, step, point, inputs); futures += now"),
}
"""Mistakes of a first driver: what stands in the template, and what in its place."""


@pytest.mark.submission
@pytest.mark.parametrize("mistake", WRONG)
def test_the_first_check_of_a_driver_finds(mistake: str, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/how-to/add-a-system.md").read_text()
    (check,) = re.findall(r"^for pattern[^`]*--systems mine-python[^`]*^done$", page, re.MULTILINE)
    folder = copy("system-python", tmp_path).rename(tmp_path / "mine-python")
    driver = folder / "driver.py"
    right, wrong = WRONG[mistake]
    assert driver.read_text().count(right) == 1
    driver.write_text(driver.read_text().replace(right, wrong))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", check],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "validation: " in done.stdout, done.stdout + done.stderr


@pytest.mark.deep
def test_a_driver_reports_the_flags_of_its_own_build(tmp_path: Path) -> None:
    folder = copy("system-cpp", tmp_path)
    build(folder, "-DCMAKE_CXX_FLAGS=-O1")
    with DriverProcess(read(folder)) as driver:
        assert driver.ask({"op": "hello"})["flags"] == "-O1"
