"""`taskgrain submit`: the scripts, and what is refused. drive/launch/test_slurm.py submits to a Slurm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from command_line import Command


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "my study.toml"
    file.write_text('systems = ["mpi"]\npatterns = ["fft"]\nnodes = [1, 2, 4]\ntasks_per_core = 8\n')
    return file


def test_there_is_a_script_for_each_number_of_nodes(taskgrain: Command, study: Path) -> None:
    printed = taskgrain("submit", study, "--time", "90m", "--dry-run").out
    first, *others = printed.split("#!/bin/sh\n")[1:]
    assert len(others) == 2
    for line in (
        "--nodes=1",
        "--time=90",
        "--dependency=singleton",
        "--job-name='taskgrain-my study'",
        "--requeue",
    ):
        assert f"#SBATCH {line}\n" in first
    assert f"study '{study}' --output" in first and "--launcher slurm --nodes 1 --retry" in first
    assert subprocess.run(["sh", "-n"], input=first, text=True, check=False).returncode == 0
    study.write_text(study.read_text() + 'launcher = "openmpi"\n')
    (only,) = taskgrain("submit", study, "--time", "90m", "--nodes", "4", "--dry-run").out.split(
        "#!/bin/sh\n"
    )[1:]
    assert "#SBATCH --nodes=4\n" in only and "--launcher" not in only


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('systems = ["mpi_simulated"]', "mpi_simulated simulates its nodes and needs no job"),
        (
            'hosts = "a, b"',
            "hosts: a, b is not allowed; allowed: none, as a job has the hosts that Slurm gives it",
        ),
    ],
)
def test_studies_that_are_not_for_jobs(taskgrain: Command, study: Path, line: str, message: str) -> None:
    name = line.partition(" ")[0]
    kept = [one for one in study.read_text().splitlines() if not one.startswith(f"{name} ")]
    study.write_text("\n".join([line, *kept]))
    done = taskgrain("submit", study, "--time", "1h", "--dry-run")
    assert (done.code, done.out) == (2, "") and message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--time", "1m"), "--time: 1m is not allowed; allowed: at least 120s"),
        (("--time", "240"), "--time: 240 is not allowed; allowed: a time with its unit, such as 30m or 2h"),
        (
            ("--time", "1h", "--nodes", "2,3"),
            "--nodes: 3 is not allowed; allowed: numbers of nodes that the study has: 1, 2, 4",
        ),
        (("--time", "1h"), "no program sbatch; --dry-run prints the scripts that it would get"),
    ],
)
def test_refusals(
    taskgrain: Command, study: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    done = taskgrain("submit", study, *words)
    assert (done.code, done.out) == (2, "") and message in done.err
