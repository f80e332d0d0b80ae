"""apps/run.py, with scripts in the place of the programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from apps_programs import LINE, install, prints, right
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
RUN = [sys.executable, str(ROOT / "apps" / "run.py")]


def run(program: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    own = ["--programs", str(tmp_path / "programs"), "--rounds", "2", "--cores", "2"]
    return subprocess.run(
        [*RUN, program, str(tmp_path / "out"), *own, *words], capture_output=True, text=True
    )


@pytest.fixture
def overhead(tmp_path: Path) -> Path:
    """Programs of which one is twice as slow."""
    return install(
        tmp_path / "programs",
        overhead_taskgrain=right(0.1),
        overhead_openmp=right(0.2),
        overhead_starpu=right(0.2),
    )


def test_prints_tables_draws_plots_and_keeps_lines(overhead: Path, tmp_path: Path) -> None:
    done = run("overhead", tmp_path, "--spins", "1,10", "--dependences", "2")
    assert done.returncode == 0, done.stderr
    assert "overhead: tasks without dependences" in done.stdout
    openmp = next(line for line in done.stdout.splitlines() if "OpenMP" in line)
    assert "200 (200 to 200)" in openmp and "2 (2 to 2)" in openmp
    lines = [json.loads(line) for line in (tmp_path / "out" / "overhead.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * 3 * (
        2 * 2 * 5 + 2 * 3
    )  # rounds, repeats; threads × spins × systems, and the grid
    assert {line["title"] for line in lines} >= {"taskgrain", "OpenMP", "StarPU, STF"}
    for name in ("independent", "dependences"):
        assert (tmp_path / "out" / f"overhead-{name}.svg").read_text().startswith("<svg")


def test_tells_of_a_system_that_is_absent_and_goes_on(overhead: Path, tmp_path: Path) -> None:
    (overhead / "overhead-openmp").unlink()
    done = run("overhead", tmp_path, "--spins", "1", "--dependences", "2")
    assert done.returncode == 0
    assert "NOT MEASURED: OpenMP: there is no overhead-openmp" in done.stdout
    assert "StarPU, task" in done.stdout


def test_tells_of_a_program_that_crashes_and_shows_its_log(overhead: Path, tmp_path: Path) -> None:
    install(overhead, overhead_openmp=prints(code=7, says="ouch"))
    done = run("overhead", tmp_path, "--spins", "1", "--dependences", "2")
    assert done.returncode == 1
    assert "FAILED: OpenMP, 1 rank × 1" in done.stdout
    assert "ouch" in (tmp_path / "out" / "overhead.log").read_text()
    assert "StarPU, task" in done.stdout


def test_tells_what_a_program_refuses(overhead: Path, tmp_path: Path) -> None:
    says = "overhead: threads: 2 is not allowed; allowed: 1"
    install(overhead, overhead_starpu=prints(code=2, says=says))
    done = run("overhead", tmp_path, "--spins", "1", "--dependences", "2")
    assert done.returncode == 0
    assert "NOT MEASURED: StarPU, task (4 of its points): threads: 2 is not allowed" in done.stdout


def test_a_wrong_result_is_a_failure(overhead: Path, tmp_path: Path) -> None:
    install(overhead, overhead_openmp=prints(LINE % (0, 0.1, 0.5), LINE % (1, 0.1, 0.5)))
    done = run("overhead", tmp_path, "--spins", "1", "--dependences", "2")
    assert done.returncode == 1
    assert "its result is wrong: error 0.5" in done.stdout


def test_a_program_that_does_not_end_is_a_failure(overhead: Path, tmp_path: Path) -> None:
    install(overhead, overhead_openmp="#!/bin/sh\nsleep 100\n")
    done = run("overhead", tmp_path, "--spins", "1", "--dependences", "2", "--timeout", "1")
    assert done.returncode == 1
    assert "it did not end within 1 s" in done.stdout


def test_ctrl_c_keeps_what_was_measured(overhead: Path, tmp_path: Path) -> None:
    install(overhead, overhead_openmp="#!/bin/sh\nsleep 100\n")
    out = tmp_path / "out"
    words = [*RUN, "overhead", str(out), "--programs", str(overhead), "--spins", "1", "--cores", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    lines = out / "overhead.jsonl"
    wait_until(lambda: lines.exists() and "insertion apart" in lines.read_text())
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130
    assert "100 (100 to 100)" in output and "interrupted" in output


@pytest.mark.parametrize(
    "words, field",
    [
        (["--rounds", "0"], "--rounds: '0' is not allowed; allowed: 1 to 1000"),
        (["--blocks", "x"], "--blocks: 'x' is not allowed; allowed: 1 to"),
        (["--systems", "MKL"], "--systems: 'MKL' is not allowed; allowed: taskgrain, 2D, large;"),
    ],
)
def test_names_what_is_wrong(tmp_path: Path, words: list[str], field: str) -> None:
    done = run("gemm", tmp_path, *words)
    assert done.returncode == 2
    assert field in done.stderr


def test_runs_ranks_by_mpirun(tmp_path: Path) -> None:
    """A script in the place of mpirun writes what it is told."""
    programs = install(
        tmp_path / "programs",
        cholesky_taskgrain="",
        cholesky_starpu="",
        mpirun=f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>{tmp_path}/calls\n" + right().removeprefix("#!/bin/sh"),
    )
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    small = ["--sizes", "64", "--blocks", "16", "--block", "16", "--rhos", "1,2", "--rounds", "1"]
    small += ["--cores", "2"]
    done = subprocess.run(
        [*RUN, "cholesky", str(tmp_path / "out"), "--programs", str(programs), *small],
        env=os.environ | {"PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT MEASURED: ScaLAPACK" in done.stdout
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == len(set(calls)), "an experiment runs again what another has run"
    assert any(call.startswith("-n 2 --bind-to none") and "--rho 2.0 --threads 1" in call for call in calls)
    assert any(call.startswith("-n 1 --bind-to none") and "--threads 2" in call for call in calls)
    assert all(call.endswith("--validate") for call in calls)
