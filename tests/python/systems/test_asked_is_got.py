"""Real drivers that get less than they are asked for say so, and nothing is measured with them."""

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
LESS = {name: {"OMP_THREAD_LIMIT": "1"} for name in OPENMP} | {"starpu": {"STARPU_NCPU": "1"}}
"""Variables by which a runtime takes less than its driver tells it."""
FOREIGN = [("mpi,taskgrain_ptg.ranks", "mpirun", "mpiexec.mpich"), ("mpi.mpich", "mpiexec.mpich", "mpirun")]
"""Systems, the launcher that they call, and what PATH has in its place."""


@pytest.mark.skipif(len(CORES) < 2, reason="fewer than two cores")
@pytest.mark.parametrize("system", LESS)
def test_a_runtime_that_takes_fewer_workers_is_refused(system: str, tmp_path: Path) -> None:
    less = replace(SYSTEMS[system], env={**SYSTEMS[system].env, **LESS[system]})
    session = Session(system, less.launch(CORES), tmp_path / "log")
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
    (tmp_path / launcher).write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    (tmp_path / launcher).chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    found = finish([verb, "--system", names, "--width", "4", "--cores", "2"], 1, env=os.environ | path)
    error, message = ("error", "message") if verb == "run" else ("failure", "failure_message")
    for one in found["runs" if verb == "run" else "cells"]:
        assert one[error] == "system"
        assert "it was asked for 2 ranks and has 1 rank" in one[message]
        assert f", {tmp_path / launcher}, started it; it has " in one[message]
        assert "choose the --launcher of this one (auto does; here are " in one[message]
        assert one.get("metg") is None and "seconds" not in one
