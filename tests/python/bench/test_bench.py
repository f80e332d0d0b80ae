"""Tests of what else the benchmarks bring: drivers for the ruler, and a count of instructions."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from driver_process import marked, runnable
from waiting import wait_until

BENCH = Path(__file__).parents[3] / "bench"
RUN = [sys.executable, "-m", "taskgrain", "run", "--json", "--steps", "20", "--repeats", "2", "--systems"]


def runs(*words: str) -> dict[str, Any]:
    """The JSON of `taskgrain run`."""
    done = subprocess.run([*RUN, *words], capture_output=True, text=True)
    return {one["system"]: one for one in json.loads(done.stdout)["runs"]}


@pytest.mark.parametrize("system", ["calls", pytest.param("calls.java", marks=pytest.mark.uses("spark"))])
def test_calls_are_made_in_every_language(system: str) -> None:
    """The jar for Java comes with the systems that need it."""
    graph = ("--pattern", "nearest", "--width", "8", "--kernel", "empty", "--cores", "1")
    found = runs(str(BENCH / "calls"), "--system", system, *graph, "--validate", "full")
    assert found[system]["tasks"] == 160 and found[system]["granularity"] > 0


def installed(folder: Path, script: str) -> None:
    """A program of Task Bench that is a script."""
    program = folder / "openmp" / "main"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_programs_of_task_bench_are_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASK_BENCH", str(tmp_path))
    words = (str(BENCH / "task_bench"), "--system", "task_bench.openmp_task", "--pattern", "nearest")
    graphs = ("--radix", "5", "--width", "8", "--graphs", "2", "--iterations", "7", "--cores", "1")
    installed(tmp_path, f'echo "$*" >>{tmp_path}/calls; echo Elapsed Time 1e-03 seconds')
    found = runs(*words, *graphs)["task_bench.openmp_task"]
    assert found["seconds"] == [1e-3, 1e-3] and found["tasks"] == 320
    assert found["rate"] == pytest.approx(320 * 7 * 128 / 1e-3)
    graph = (
        "-type nearest -output 16 -steps 20 -width 8 -radix 5 -fraction 0.25 -kernel compute_bound -iter 7"
    )
    assert (tmp_path / "calls").read_text() == 2 * f"-worker 1 {graph} -and {graph}\n"
    busy = runs(*words, "--kernel", "busy_wait", "--iterations", "3")["task_bench.openmp_task"]
    assert busy["error"] == "unsupported"
    installed(tmp_path, "echo no such pattern >&2")
    found = runs(*words)["task_bench.openmp_task"]
    assert found["error"] == "system" and "no such pattern" in found["message"]


@pytest.mark.deep
@pytest.mark.skipif("dask" not in runnable(), reason="Dask is not set up")
def test_an_ended_comparison_leaves_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"taskgrain-test={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    monkeypatch.setenv("TASK_BENCH", str(tmp_path))
    says, ran = tmp_path / "dask" / "task_bench_direct.py", tmp_path / "ran"
    says.parent.mkdir()
    says.write_text(f"open({str(ran)!r}, 'w'); import time; time.sleep(1000)\n")
    words = [str(BENCH / "task_bench"), "--system", "task_bench.dask"]
    with subprocess.Popen(
        [*RUN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as bench:
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
            bench.send_signal(signal.SIGINT)
            _, said = bench.communicate()
    assert "Traceback" not in said
    assert not marked(mark)


@pytest.mark.parametrize(
    ("script", "option", "value"),
    [
        ("worlds", "--budget", "nan"),
        ("worlds", "--worlds", "quiet,calm"),
        ("history", "--worlds", "calm"),
        ("history", "--sessions", "3"),
        ("compare", "--ways", "calm"),
        ("compare", "--seeds", "1e3"),
    ],
)
def test_options_that_cannot_be(script: str, option: str, value: str) -> None:
    said = refused(sys.executable, str(BENCH / f"{script}.py"), option, value)
    assert option in said and value.rpartition(",")[2] in said and "Traceback" not in said


def refused(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_instructions_of_what_is_no_program() -> None:
    assert "'nowhere' is no program" in refused(str(BENCH / "rt_instructions"), "nowhere")
    assert "is no program" in refused(str(BENCH / "rt_instructions"))
    assert "no taskgrain-rt-workers beside" in refused(str(BENCH / "rt_instructions"), "/bin/true")
