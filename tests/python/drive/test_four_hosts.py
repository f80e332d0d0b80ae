"""Systems and programs on hosts that this machine plays, and a study there that is killed many times."""

import json
import shutil
import sys
from pathlib import Path

import every_pattern
import pytest
from killable_study import assert_nothing_twice
from on_hosts import on_hosts

from taskgrain._core import patterns

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="there is no Open MPI"),
]
TASKGRAIN = f"{sys.executable} -m taskgrain"
HOSTS = "h1,h2,h3,h4"
KILLS = 50
LEFT = "[h]ost_agent|[m]pirun|[o]rted|systems/[m]pi|taskgrain_graph/[d]river"
SYSTEMS = [
    *("mpi", "mpi_bulk", "mpi_openmp", "mpi.mpich", "starpu_mpi", "starpu_mpi.ranks", "parsec_shard"),
    "charmpp.ranks",
    *(f"taskgrain_{one}.{each}" for one in ("graph", "ptg") for each in ("ranks", "nodes")),
    *("taskgrain_stf.ranks", "dask", "ray_tasks", "ray_actors", "spark.cluster"),
]
ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = (
    "OMPI_ALLOW_RUN_AS_ROOT=1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMPI_MCA_rmaps_base_oversubscribe=1",
)
PROGRAMS = {
    **dict.fromkeys(("gemm-taskgrain_2d", "gemm-taskgrain_3d"), "--size 512 --block 64 --validate"),
    **dict.fromkeys(("gemm-starpu", "gemm-scalapack"), "--size 512 --block 64 --validate"),
    "cholesky-taskgrain": "--size 768 --block 64 --rho 1.5 --threads 2 --validate",
    **dict.fromkeys(("cholesky-starpu", "cholesky-scalapack"), "--size 512 --block 64 --validate"),
    "stencil-mpi": "--size 1000 --steps 50",
    "aero-mpi": "--size 16 --steps 10",
    **dict.fromkeys(("cg-mpi", "cg-petsc"), "--size 2000 --steps 50"),
    "hydro-mpi": "--size 32 --steps 20",
}


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("system", [pytest.param(one, marks=pytest.mark.uses(one)) for one in SYSTEMS])
def test_every_pattern_runs_on_hosts(system: str, nodes: int, tmp_path: Path) -> None:
    """With outputs of 16 B, 64 KiB and 1 MiB, alone and three at once, all validated."""
    words = (sys.executable, every_pattern.__file__, system, str(nodes))
    printed = on_hosts(nodes, *words, options=("--cores", "1"), folder=tmp_path)
    assert printed == f"{len(patterns()) * 3 * 2} runs\n"


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_compute_the_same_on_two_hosts(program: str, ranks: int) -> None:
    path = ROOT / "build" / "release" / "apps" / program
    if not path.exists():
        pytest.skip(f"{path} is not built")
    each = f"h1:{ranks // 2},h2:{ranks // 2}"
    command = ["mpirun.openmpi", "-n", str(ranks), "-H", each, "--bind-to", "none"]
    printed = on_hosts(
        2, "env", *ENVIRONMENT, *command, str(path), *PROGRAMS[program].split(), options=("--cores", "1")
    )
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert lines and all(one["ranks"] == ranks for one in lines)
    assert all(one["error"] < one.get("allowed", 1e-13 * one["size"]) for one in lines)


def test_kills_of_a_study_lose_no_line_and_leave_no_process(tmp_path: Path) -> None:
    study = f"{TASKGRAIN} metg --system mpi,taskgrain_graph.ranks --nodes 4 --hosts {HOSTS} -q --output out"
    running = " || ".join(f"ssh {host} 'pgrep -f \\\"{LEFT}\\\"'" for host in HOSTS.split(","))
    script = f"""
        for k in $(seq {KILLS}); do
          {study} --budget 6000 > said 2>&1 & study=$!
          sleep $((k % 9)).$((1 + k % 8))
          cp out/runs.jsonl before 2> /dev/null || : > before
          kill -9 $study; wait $study 2> /dev/null
          timeout 60 sh -c "while {running}; do sleep 0.2; done" > left
          [ $? = 0 ] || {{ echo left after kill $k; cat left; }}
          [ ! -s before ] || head -c $(stat -c %s before) out/runs.jsonl | cmp - before
        done
        for host in h1 h2 h3 h4; do ssh $host ls /dev/shm; done
        {study} --budget 6000 --json > end 2>> said & sleep 20; kill -TERM $!; wait $!; echo $?
    """
    printed = on_hosts(4, "bash", "-c", script, options=("--cores", "1"), folder=tmp_path)
    assert printed == "130\n"
    assert_nothing_twice(tmp_path / "out")
    cells = json.loads((tmp_path / "end").read_text())["cells"]
    assert [one["ending"] for one in cells if one["ending"] == "failed"] == []
