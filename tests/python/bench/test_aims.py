"""Tests of the table of the runtime's aims."""

import subprocess
import sys
from pathlib import Path

import compared_folders as made

FILE = Path(__file__).parents[3] / "bench" / "aims.py"


def aims(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(FILE), *map(str, words)], capture_output=True, text=True)


def study(folder: Path, graph: float, ptg: float) -> Path:
    """METGs on stencil_1d with four tasks a step, in times that of `limit`."""
    overheads = {"limit": 1e-7, "taskgrain_graph": graph * 1e-7, "taskgrain_ptg": ptg * 1e-7}
    return made.measured(folder, overheads)


def test_each_aim_has_the_ratio_of_now_and_of_last_time(tmp_path: Path) -> None:
    study(tmp_path / "day1" / "runtime", 2.0, 3.0)
    now = study(tmp_path / "day2" / "runtime", 1.0, 3.0)
    done = aims(now)
    assert done.returncode == 0, done.stderr
    assert "taskgrain_graph.ranks to mpi\n  not measured: taskgrain_graph.ranks, mpi\n" in done.stdout
    *lines, last = done.stdout.splitlines()
    graph, ptg = (line.split() for line in lines if " aim " in line)
    # WORKLOAD VALUE (LOW – HIGH) aim AIM MET last time VALUE (LOW – HIGH)
    assert graph[6:8] == ["1.15", "yes"] and ptg[6:8] == ["1.6", "no"]
    assert abs(float(graph[1]) - 1.0) < 0.1 and abs(float(graph[10]) - 2.0) < 0.2
    assert abs(float(ptg[1]) - 3.0) < 0.3
    assert last == "1 of 2 ratios meet their aims, 1 miss them, 0 are open"


def test_an_earlier_folder_may_lack_a_system(tmp_path: Path) -> None:
    made.measured(tmp_path / "day1" / "runtime", {"limit": 1e-7, "taskgrain_graph": 1e-7})
    done = aims(study(tmp_path / "day2" / "runtime", 1.0, 3.0))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if " aim " in line]
    assert ["last time" in line for line in lines] == [True, False]


def test_bad_input(tmp_path: Path) -> None:
    done = aims(tmp_path)
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr and "Traceback" not in done.stderr
