"""The benchmarks' own options: what is wrong is said before anything is measured."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from driver_process import marked, runnable
from waiting import wait_until

from taskgrain.drive.launch.launch import Launch
from taskgrain.study.workload import Workload

BENCH = Path(__file__).parents[3] / "bench"


def refused(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("script", "option", "value", "words"),
    [
        ("versus.py", "--systems", "nix", "allowed: "),
        ("overhead.py", "--rounds", "0", "whole number from 1"),
        ("imbalance.py", "--rounds", "1e3", "whole number from 1"),
        ("versus.py", "--patterns", "fft:1,stencil_1d", "stencil_1d"),
        ("overhead.py", "--patterns", "fft:1,stencil_1d:x", "'stencil_1d:x' is not"),
    ],
)
def test_options_that_cannot_be(script: str, option: str, value: str, words: str) -> None:
    error = refused(sys.executable, str(BENCH / script), option, value)
    assert option in error and words in error


def test_a_driver_that_is_no_program(tmp_path: Path) -> None:
    for text in ("driver", f"driver={tmp_path / 'nowhere'}"):
        assert text in refused(sys.executable, str(BENCH / "overhead.py"), "--driver", text)


def test_calls_are_counted_in_every_language() -> None:
    assert "--rounds: '0'" in refused(sys.executable, str(BENCH / "calls.py"), "--rounds", "0")
    command = [sys.executable, str(BENCH / "calls.py"), "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *rows = done.stdout.splitlines()
    assert first.startswith("nanoseconds a call")
    assert [row.split()[0] for row in rows] in (["C++", "Python"], ["C++", "Python", "Java"])
    for row in rows:
        assert [float(number) > 0.0 for number in row.split()[1:]] == [True] * 3


def test_instructions_of_what_is_no_program() -> None:
    assert "'nowhere' is no program" in refused(str(BENCH / "rt_instructions"), "nowhere")
    assert "is no program" in refused(str(BENCH / "rt_instructions"))
    assert "no taskgrain-rt-workers beside" in refused(str(BENCH / "rt_instructions"), "/bin/true")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--systems", "mpi,nix", "'nix' is not compared"),
        ("--seconds", "nan", "'nan' is no number above 0"),
        ("--patterns", "fft", "'fft' is no list of pattern:tasks per core"),
        ("--attempts", "0", "'0' is no whole number from 1"),
    ],
)
def test_wrong_options_of_the_comparison_with_task_bench(
    tmp_path: Path, option: str, value: str, words: str
) -> None:
    script = str(BENCH / "versus_task_bench.py")
    assert words in refused(sys.executable, script, str(tmp_path), option, value)


def test_programs_of_task_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    side_by_side = importlib.import_module("side_by_side")
    versus = importlib.import_module("versus_task_bench")
    says = tmp_path / "says"
    says.write_text("echo ran >> $RUNS\necho $*\necho Elapsed Time 2.5e-01 seconds\n")
    program = versus.Program("says", "sh {program} -on {cores}", {"RUNS": "{checkout}/runs"})
    launch = Launch(("driver",), {}, side_by_side.CORES)
    side = versus.TaskBench(program, launch, versus.places(tmp_path, sys.executable))
    graph = side_by_side.Case(Workload("trivial", 4), 1000)
    assert side.seconds(graph, 16) == 0.25
    assert (tmp_path / "runs").read_text() == "ran\n" * 3
    # Its 20 steps take 0.25 seconds.
    assert side_by_side.affordable([side], graph, 1.0).steps == 80
    assert side_by_side.affordable([side], graph, 100.0).steps == 1000
    assert side_by_side.affordable([side], graph, 0.01).steps == 20
    says.write_text("echo no such pattern >&2\n")
    with pytest.raises(RuntimeError, match="no such pattern"):
        side.seconds(graph, 16)
    side.close()


@pytest.mark.deep
@pytest.mark.skipif("dask" not in runnable(), reason="Dask is not set up")
def test_an_ended_comparison_leaves_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"taskgrain-test={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    says, ran = tmp_path / "dask" / "task_bench_direct.py", tmp_path / "ran"
    says.parent.mkdir()
    says.write_text(f"open({str(ran)!r}, 'w'); print('Elapsed Time 1e-3 seconds')\n")
    command = [sys.executable, str(BENCH / "versus_task_bench.py"), str(tmp_path), "--systems", "dask"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as bench:
        try:
            wait_until(lambda: ran.exists() or bench.poll() is not None)
            own = marked(mark)
            commands = [
                " ".join(one.info["cmdline"] or [])
                for one in psutil.process_iter(["pid", "cmdline"])
                if one.pid in own
            ]
            assert any("dask_scheduler" in words for words in commands)
        finally:
            bench.terminate()
            _, said = bench.communicate()
    assert bench.returncode == 128 + signal.SIGTERM, said
    assert "Traceback" not in said
    assert not marked(mark)
