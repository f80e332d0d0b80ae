"""Real drivers that get less than they are asked for say so, and nothing is measured with them."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from driver_process import CORES, runnable
from killable_study import finish

from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session

SYSTEMS = runnable()
OPENMP = ("openmp_task", "openmp_task.libomp", "openmp_for", "openmp_for.libomp", "mpi_openmp")
LESS = {name: {"OMP_THREAD_LIMIT": "1"} for name in OPENMP} | {
    "starpu": {"STARPU_NCPU": "1"},
    "realm": {"REALM_DEFAULT_ARGS": "-ll:cpu 1"},
}
"""Variables by which a runtime takes less than its driver tells it."""
FOREIGN = [("mpi,taskgrain_ptg.ranks", "mpirun", "mpiexec.mpich"), ("mpi.mpich", "mpiexec.mpich", "mpirun")]
"""Systems, the launcher that they call, and what PATH has in its place."""


@pytest.mark.skipif(len(CORES) < 2, reason="fewer than two cores")
@pytest.mark.parametrize("name", LESS)
def test_a_runtime_that_takes_fewer_workers_is_refused(name: str, tmp_path: Path) -> None:
    if name not in SYSTEMS:
        pytest.skip(f"{name} is not set up")
    system = replace(SYSTEMS[name], env={**SYSTEMS[name].env, **LESS[name]})
    session = Session(name, system.launch(CORES), tmp_path / "log")
    with session, pytest.raises(DriverError, match="it was asked for 2 cores and has 1 core") as caught:
        session.start()
    assert caught.value.kind == "system"


@pytest.mark.skipif(len(CORES) < 2, reason="fewer than two cores")
@pytest.mark.parametrize(("names", "launcher", "foreign"), FOREIGN)
@pytest.mark.parametrize("verb", ["run", "metg"])
def test_the_launcher_of_another_mpi_is_named_and_nothing_is_measured(
    verb: str, names: str, launcher: str, foreign: str, tmp_path: Path
) -> None:
    real = shutil.which(foreign)
    if real is None or not SYSTEMS.keys() >= {*names.split(",")}:
        pytest.skip(f"{names} or {foreign} is not set up")
    (tmp_path / launcher).symlink_to(real)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    cores = ["--cores", ",".join(map(str, CORES))]
    found = finish([verb, "--system", names, "--width", "4", *cores], 1, env=os.environ | path)
    for one in found["runs" if verb == "run" else "cells"]:
        failure = one if verb == "run" else one["failure"]
        assert failure["error"] == "system"
        assert "it was asked for 2 cores and has 1 core" in failure["message"]
        assert f"{tmp_path / launcher} ({os.path.realpath(real)}) started it; it has " in failure["message"]
        assert "let PATH begin with the folder of this library's own" in failure["message"]
        assert one.get("metg") is None
