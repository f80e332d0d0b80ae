"""Slurm itself, on hosts that this machine plays."""

import json
from pathlib import Path

import pytest
from on_slurm import TASKGRAIN, on_slurm

pytestmark = pytest.mark.deep
SYSTEMS = "mpi,mpi_openmp,taskgrain_graph.ranks,taskgrain_graph.nodes,dask"
METG = f"{TASKGRAIN} metg --system mpi --nodes 2 --launcher slurm --budget 600 --output out"


def test_ranks_of_two_nodes_are_one_run(tmp_path: Path) -> None:
    asked = f"run --system {SYSTEMS} --nodes 2 --steps 100 --validate full --launcher slurm --json"
    printed = on_slurm(f"salloc --quiet --nodes=2 {TASKGRAIN} {asked}; left >&2", tmp_path)
    runs = json.loads(printed)["runs"]
    assert [one["system"] for one in runs] == SYSTEMS.split(",")
    assert [(one.get("error"), one["cores"], one["executed"]) for one in runs] == [(None, 2, 200)] * 5
    assert [one["driver"]["nodes"] for one in runs] == [2] * 5


@pytest.mark.parametrize("end", ["scancel", "node"])
def test_what_a_job_has_measured_outlives_it(end: str, tmp_path: Path) -> None:
    """A job that is cancelled, or loses a node, leaves no process, and the next one goes on."""
    (tmp_path / "job").write_text(f"#!/bin/sh\nexec {METG} -q > said 2>&1\n")
    ends = {"scancel": "scancel $job", "node": 'ssh h2 "pkill -9 slurm; ip link set eth0 down"'}
    again = "" if end == "node" else f"salloc --quiet --nodes=2 {METG} --budget 20 --retry --json"
    printed = on_slurm(
        f"""
        job=$(sbatch --parsable --nodes=2 --no-requeue --output=said.job job); measures out
        {ends[end]}
        once "[ -z \\"\\$(squeue --noheader --nodelist=h1)\\" ]"
        {"left" if end == "scancel" else "pgrep -af '[h]ost_agent|[s]run|systems/[m]pi' || true"}
        {again}
        """,
        tmp_path,
    )
    assert (tmp_path / "out" / "runs.jsonl").read_text().count('"kind": "session"') == (
        1 if end == "node" else 2
    )
    if again:
        (cell,) = json.loads(printed)["cells"]
        assert cell["ending"] != "failed"
    else:
        assert printed == ""


def test_a_study_that_is_submitted_outlives_the_time_limit(tmp_path: Path) -> None:
    """Slurm lets a job that is queued again wait for two minutes."""
    (tmp_path / "s.toml").write_text(
        'systems = ["mpi"]\npatterns = ["stencil_1d"]\nnodes = [1, 2]\n'
        "precision = 1e-4\nmin_rounds = 10000\nbudget = 80\n"
    )
    printed = on_slurm(
        f"""
        {TASKGRAIN} submit s.toml --nodes 2 --time 2m
        timeout 500 sh -c 'until [ -z "$(squeue --noheader)" ]; do sleep 1; done'
        """,
        tmp_path,
    )
    assert printed == f"Submitted batch job 1, on 2 nodes; its log: {tmp_path}/results/s-jobs\n"
    said = (tmp_path / "results" / "s-jobs" / "nodes-2.log").read_text("utf-8")
    lines = [json.loads(one) for one in (tmp_path / "results" / "s" / "runs.jsonl").read_text().splitlines()]
    assert sum(one["kind"] == "session" for one in lines) >= 2, said
    ended = [(one["cell"], one["ending"]) for one in lines if one["kind"] == "metg"]
    assert ended[-1] == ("mpi/stencil_1d/width=2/nodes=2", "budget"), said
