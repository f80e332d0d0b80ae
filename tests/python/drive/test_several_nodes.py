"""Real ranks on several hosts, which this machine plays."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from on_hosts import on_hosts

pytestmark = [
    pytest.mark.submission,
    pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="there is no Open MPI"),
]


def taskgrain(verb: str, *words: str) -> str:
    return on_hosts(2, sys.executable, "-m", "taskgrain", verb, *words, options=("--cores", "1"))


def test_ranks_of_two_hosts_are_one_run() -> None:
    asked = ("--system", "mpi,serial", "--nodes", "2", "--hosts", "h1,h2", "--steps", "100", "--json")
    script = f"{sys.executable} -m taskgrain run {' '.join(asked)}; [ $? = 1 ]"  # of serial, which cannot
    printed = on_hosts(2, "sh", "-c", script, options=("--cores", "1"))
    one, serial = json.loads(printed)["runs"]
    assert (one["workload"], one["cores"]) == ("stencil_1d/width=2/nodes=2", 2)
    assert one["executed"] == one["tasks"] == 200
    assert serial["error"] == "unsupported"


def test_a_search_over_nodes_has_a_cell_for_each() -> None:
    printed = taskgrain(
        *("metg", "--system", "mpi", "--nodes", "1,2", "--hosts", "h1,h2", "--budget", "8", "--json", "-q")
    )
    assert "width=2/nodes=2" in printed and '"failed"' not in printed
