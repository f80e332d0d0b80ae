"""Tests of what the systems of this machine make of a fault, and that none leaves anything behind."""

from pathlib import Path
from typing import Any

import pytest
from driver_process import CORES, DriverProcess, marked, runnable
from waiting import wait_until

from taskgrain.measure.faults import Fault, Wanted, run
from taskgrain.study.field import flag
from taskgrain.study.study import workload

SYSTEMS = runnable()
DEEP = (pytest.mark.deep, pytest.mark.waits)


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    mark = f"taskgrain-test={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    yield
    assert not marked(mark), "processes were left behind"


def outcome(name: str, kind: str) -> dict[str, Any]:
    graph = workload({"pattern": "stencil_1d", "width": 4}, len(CORES), flag)
    found = run(SYSTEMS[name], CORES, Wanted(graph, 20, 100, Fault(kind, 10, 3), repeats=1))
    assert "error" not in found, found
    assert found["struck"] == 1, found
    assert found["next_run"][0].startswith("works"), found
    return found


@pytest.mark.parametrize(
    ("system", "kind"),
    [
        pytest.param("dask", "kill", marks=DEEP),
        pytest.param("dask", "fail", marks=DEEP),
        pytest.param("ray_tasks", "kill", marks=DEEP),
        pytest.param("ray_tasks", "fail", marks=DEEP),
        pytest.param("spark", "fail", marks=DEEP),
        pytest.param("spark.cluster", "kill", marks=DEEP),
        pytest.param("spark.cluster", "fail", marks=DEEP),
    ],
)
def test_survives(system: str, kind: str) -> None:
    found = outcome(system, kind)
    assert (found["survived"], found["correct"]) == (1, 1), found
    assert found["again"]["median"] >= 1


@pytest.mark.parametrize(
    ("system", "kind", "how"),
    [
        ("serial", "kill", "crash: ended during run (killed by signal 9)"),
        ("serial", "fail", "system: the fault that the run was asked for"),
        ("openmp_task", "kill", "crash: "),
        ("taskgrain_graph", "fail", "system: "),
        ("taskgrain_ptg", "fail", "system: "),
        ("taskflow", "fail", "system: the fault that the run was asked for"),
        ("libfork", "fail", "system: the fault that the run was asked for"),
        ("stdexec", "fail", "system: the fault that the run was asked for"),
        ("taskgrain_graph.ranks", "kill", "system: rank 1 failed: its process has ended"),
        ("mpi", "kill", "crash: "),
        ("charmpp", "kill", "crash: "),
        ("charmpp.ranks", "kill", "crash: "),
        ("itoyori", "kill", "crash: "),
        ("itoyori", "fail", "system: "),
        ("rayon", "fail", "system: the fault that the run was asked for"),
        ("tokio", "fail", "system: the fault that the run was asked for"),
        ("goroutines", "fail", "system: the fault that the run was asked for"),
        pytest.param("ray_actors", "kill", "system: ", marks=DEEP),
        pytest.param("ray_compiled", "fail", "system: ", marks=DEEP),
        pytest.param("ray_compiled.each_task", "fail", "system: ", marks=DEEP),
        pytest.param("spark", "kill", "crash: ", marks=DEEP),
    ],
)
def test_does_not_survive_and_says_how(system: str, kind: str, how: str) -> None:
    found = outcome(system, kind)
    assert (found["survived"], found["correct"]) == (0, 0), found
    assert found["ended"][0].startswith(how)


@pytest.mark.deep
@pytest.mark.waits
@pytest.mark.uses("spark.cluster")
def test_executors_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    with DriverProcess(SYSTEMS["spark.cluster"]) as driver:
        driver.ask({"op": "hello"})
        mark = f"taskgrain-test={tmp_path}"
        assert len(marked(mark)) == 1 + len(CORES)
        driver.kill()
    wait_until(lambda: not marked(mark))
