"""Systems with ranks on four hosts, which this machine plays, and a study there that is killed many times."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from on_hosts import on_hosts

from taskgrain.drive import catalogue

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="there is no Open MPI"),
]
TASKGRAIN = f"{sys.executable} -m taskgrain"
HOSTS = "h1,h2,h3,h4"
KILLS = 50
LEFT = "[h]ost_agent|[m]pirun|[o]rted|systems/[m]pi|taskgrain_graph/[d]river"
SYSTEMS = [
    *("mpi", "mpi_bulk", "mpi_openmp", "mpi.mpich", "starpu_mpi", "starpu_mpi.ranks"),
    *(f"taskgrain_{one}.{each}" for one in ("graph", "ptg") for each in ("ranks", "nodes")),
]


@pytest.mark.parametrize("output_bytes", ["16", "1M"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_ranks_of_four_hosts_are_one_run(system: str, output_bytes: str) -> None:
    if not catalogue.discover([])[system].probe().available:
        pytest.skip(f"{system} is not here")
    asked = f"{TASKGRAIN} run --system {system} --nodes 4 --hosts {HOSTS} --json --validate full "
    asked += f"--pattern spread --radix 3 --width 8 --steps 20 --output-bytes {output_bytes}"
    (run,) = json.loads(on_hosts(4, *asked.split(), options=("--cores", "1")))["runs"]
    assert (run["cores"], run["driver"]["nodes"], run["tasks"], run["executed"]) == (4, 4, 160, 160)


def test_kills_of_a_study_lose_no_line_and_leave_no_process(tmp_path: Path) -> None:
    study = f"{TASKGRAIN} metg --system mpi,taskgrain_graph.ranks --nodes 4 --hosts {HOSTS} -q --output out"
    running = " || ".join(f"ssh {host} 'pgrep -f \\\"{LEFT}\\\"'" for host in HOSTS.split(","))
    script = f"""
        for k in $(seq {KILLS}); do
          {study} --budget 6000 > said 2>&1 & study=$!
          sleep $((4 + k % 5)).$((k % 10))
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
    cells = json.loads((tmp_path / "end").read_text())["cells"]
    assert [one["ending"] for one in cells if one["ending"] == "failed"] == []
