"""`taskgrain submit`: the scripts, and what is refused. drive/launch/test_slurm.py submits to a Slurm."""

import os
import subprocess
from pathlib import Path

import pytest
from command_line import Command

from taskgrain.drive import system


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


def test_the_jobs_find_systems_of_a_folder(
    taskgrain: Command, study: Path, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.write_text('systems = ["fast"]\npatterns = ["fft"]\nwidths = [4]\n')
    words = ("submit", study, "--time", "90m", "--dry-run")
    assert "--systems DIR adds a system of yours" in taskgrain(*words).err
    monkeypatch.chdir(systems.parent)
    assert f" --systems {systems} " in taskgrain(*words, "--systems", systems.name).out


def test_no_nodes_are_reserved_for_what_runs_on_one(taskgrain: Command, study: Path) -> None:
    study.write_text(study.read_text().replace('"mpi"', '"serial"'))
    words = ("submit", study, "--time", "90m", "--dry-run")
    assert taskgrain(*words).out.count("#SBATCH --nodes=") == taskgrain(*words).out.count("--nodes=1\n") == 1
    assert "serial is not distributed: it runs on one node" in taskgrain(*words, "--nodes", "2").err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            'systems = ["mpi_simulated"]',
            "mpi_simulated simulates its nodes and needs no job",
            marks=pytest.mark.uses("mpi_simulated"),
        ),
        (
            'hosts = "a, b"',
            "hosts: a, b is not allowed; allowed: none, as a job has the hosts that Slurm gives it",
        ),
        ('systems = ["mpj"]', "systems[0]: mpj is not allowed; "),
        pytest.param(
            'systems = ["mpi", "mpi_simulated"]',
            "mpi_simulated is simulated, and mpi measured",
            marks=pytest.mark.uses("mpi", "mpi_simulated"),
        ),
        ('systems = ["dask"]', "systems: dask cannot run here: no Python module dask"),
        ("exclude = [{ system = 'mpi' }]", "the study has no cells; is everything excluded?"),
        ("cores = 0.5", "cores: 0.5 is not allowed"),
    ],
)
def test_studies_that_are_not_for_jobs(
    taskgrain: Command, study: Path, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "_importable", lambda name: False)
    name = line.partition(" ")[0]
    kept = [one for one in study.read_text().splitlines() if not one.startswith(f"{name} ")]
    study.write_text("\n".join([line, *kept]))
    assert message in taskgrain("submit", study, "--time", "1h", "--dry-run").refusal()


ALLOWED = "a time from 120s to 365d with its unit, such as 30m, 2h, 1d, 1-00:00:00"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--time", "1m"), f"--time: 1m is not allowed; allowed: {ALLOWED}"),
        (("--time", "240"), f"--time: 240 is not allowed; allowed: {ALLOWED}"),
        (
            ("--time", "1h", "--nodes", "2,3"),
            "--nodes: 3 is not allowed; allowed: of the study: 1, 2, 4",
        ),
        (("--time", "1h"), "no program sbatch; --dry-run prints the scripts that it would get"),
    ],
)
def test_refusals(
    taskgrain: Command, study: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert message in taskgrain("submit", study, *words).refusal()


@pytest.mark.parametrize("which", ["file", "used", "/proc/results"])
@pytest.mark.parametrize("dry", [True, False])
def test_a_folder_that_cannot_be_written(
    taskgrain: Command, study: Path, which: str, dry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as `study` says it, before there is a job."""
    folder = study.parent / which
    if which == "file":
        folder.touch()
    elif which == "used":
        (folder / "notes").mkdir(parents=True)
    _a_slurm(study.parent, monkeypatch)
    done = taskgrain("submit", study, "--time", "1h", "--output", folder, *(["--dry-run"] if dry else []))
    if which == "/proc/results" and dry:  # only who tries it knows
        assert done.code == 0
        return
    message = {
        "file": "allowed: a folder",
        "used": "a new or empty folder, or a results folder",
        "/proc/results": "cannot be written",
    }
    assert (done.code, done.out) == (2, "") and message[which] in done.err and str(folder) in done.err
    assert taskgrain("study", study, "--output", folder, "--hosts", "x").code == 2
    assert not (study.parent / "asked").exists()


def test_a_job_is_submitted_with_its_folders(
    taskgrain: Command, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm makes no folder, and more jobs may be submitted while some run."""
    _a_slurm(study.parent, monkeypatch)
    output = study.parent / "results"
    for _ in range(2):
        done = taskgrain("submit", study, "--time", "1h", "--nodes", "4,1", "--output", output)
        assert (done.code, done.err) == (0, "")
        assert done.out.count("its log: ") == 2 and done.out.index("4 nodes") < done.out.index("1 node;")
        assert output.is_dir() and (study.parent / "results-jobs").is_dir()
    assert (study.parent / "asked").read_text().count("#SBATCH --nodes=") == 4


def _a_slurm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `sbatch` that keeps what it is asked."""
    sbatch = folder / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/sh\ncat >> '{folder}/asked'\necho Submitted batch job 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(sbatch.parent), prepend=os.pathsep)
