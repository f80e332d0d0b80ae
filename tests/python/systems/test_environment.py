"""Shells as people have them, around real runtimes: each still does what taskgrain asks for."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from driver_process import CORES

SLURM = {
    **dict.fromkeys(("SLURM_JOB_ID", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"), "1"),
    **dict.fromkeys(("SLURM_NODELIST", "SLURM_JOB_NODELIST"), socket.gethostname()),
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.mark.parametrize(
    ("system", "variables", "outer"),
    [
        ("openmp_task", {"OMP_THREAD_LIMIT": "1", "OMP_DYNAMIC": "true", "GOMP_CPU_AFFINITY": "0"}, []),
        ("openmp_task", {"PYTHONPATH": "HOME", "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2"}, []),
        ("goroutines", {"GOMAXPROCS": "1", "GODEBUG": "asyncpreemptoff=1"}, []),
        ("rayon", {"RAYON_NUM_THREADS": "1"}, []),
        ("taskgrain_graph", {"TASKGRAIN_GRAPH_POLICY": "no such"}, []),
        ("mpi", {"HOME": "HOME", "OMPI_MCA_btl": "self"}, []),  # of which ranks could not talk
        ("mpi", AS_ROOT, ["mpirun", "-n", "1", "--bind-to", "none"]),
        ("mpi.mpich", SLURM, []),
        ("mpi.mpich", {}, ["mpiexec.mpich", "-n", "1"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_shell_changes_nothing(
    system: str, variables: dict[str, str], outer: list[str], tmp_path: Path
) -> None:
    if len(CORES) < 2 or (outer and not shutil.which(outer[0])):
        pytest.skip(f"needs two cores, {' '.join(outer)}")
    (tmp_path / "rich.py").touch()
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text("btl = self\n")
    words = ["-m", "taskgrain", "run", "--system", system, "--width", "4", "--steps", "20", "--json"]
    env = {key: value.replace("HOME", str(tmp_path)) for key, value in variables.items()}
    done = subprocess.run(
        [*outer, sys.executable, *words], env=os.environ | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    assert one["cores"] == 2
    assert all(one["binding"]), one["binding"]
    said = "note: Drivers do not get "
    assert (said in done.stderr) == bool(outer or variables.keys() - {"HOME"} - {"PYTHONPATH"})
