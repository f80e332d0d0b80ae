"""`taskgrain study`: from a study file to the table. study/test_study.py is about how the file is read."""

import json
import os
from pathlib import Path

import pytest
from command_line import Command

from taskgrain.study.schema import schema_text


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study that is quickly measured, in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "little.toml"
    file.write_text('systems = "fast"\npatterns = ["fft"]\nwidths = [4]\nmax_rounds = 1\nmin_rounds = 1\n')
    return file


def test_results_lie_under_the_name_of_the_file(taskgrain: Command, systems: Path, study: Path) -> None:
    result = taskgrain("study", study, "--systems", systems, "-q")
    assert (result.code, result.err) == (0, "")
    assert (study.parent / "results" / "little" / "runs.jsonl").is_file()
    assert "results: results/little; `taskgrain report results/little` makes the report" in result.out


def test_environments_are_compared_and_kept_apart(
    taskgrain: Command, systems: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.write_text('env = [{}, { FAKE_MODE = "a/b" }]\n' + study.read_text())
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    out = study.parent / "out"
    words = ("study", study, "--systems", systems, "-o", out, "--json")
    first = taskgrain(*words)
    assert first.err.startswith("taskgrain: note: Drivers do not get OMP_NUM_THREADS of your environment")
    assert [one["system"] for one in json.loads(first.out)["cells"]] == ["fast", "fast+FAKE_MODE=b"]
    session, *lines = map(json.loads, (out / "runs.jsonl").read_text().splitlines())
    assert session["withheld"] == {"OMP_NUM_THREADS": "1"}
    assert {one["name"]: one.get("env") for one in session["systems"]}["fast+FAKE_MODE=b"] == {
        "FAKE_MODE": "a/b"
    }
    commands = [one["command"] for one in lines if one["kind"] == "cell"]
    assert ["--env FAKE_MODE=a/b" in one for one in sorted(commands, key=len)] == [False, True]
    assert taskgrain(*words).out == first.out
    both = taskgrain(*words, "--env", "FAKE_MODE=1")
    assert both.code == 2 and both.err.startswith("taskgrain: --env: FAKE_MODE: the study sets it")
    refused = taskgrain(*words, "--env", "OTHER=1")
    assert refused.code == 2 and "other builds of fast, fast+FAKE_MODE=b (with other variables" in refused.err


def test_the_launcher_that_a_study_chooses_starts_the_ranks_and_is_stored(
    taskgrain: Command, systems: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (systems / "fast" / "system.toml").open("a") as file:
        file.write('ranks = "core"\n')
    srun, told, out = study.parent / "bin" / "srun", study.parent / "told", study.parent / "out"
    srun.parent.mkdir()
    srun.write_text(f"""#!/bin/sh
echo "$@" > {told}; env | grep ^SLURM >> {told}
for word; do case $word in --*) shift;; *) exec "$@";; esac; done
""")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "1")
    study.write_text('launcher = "slurm"\n' + study.read_text())
    words = ("study", study, "--systems", systems, "-q", "-o", out)
    assert taskgrain(*words).code == 0
    ranks, job = told.read_text().splitlines()
    assert "--ntasks=" in ranks and "--overlap" in ranks
    assert job == "SLURM_JOB_ID=7"
    assert 'launcher = "slurm"' in (out / "study.toml").read_text()
    other = taskgrain(*words, "--launcher", "auto").refusal()
    assert "differs in launcher" in other or "no program mpirun" in other
    monkeypatch.delenv("SLURM_JOB_ID")
    gone = taskgrain(*words).refusal()
    assert f"{study}:1:12: launcher: slurm cannot start ranks here: no job of slurm" in gone


VERBS = (
    "run|metg|study little.toml|faults|advise --at 20us --measure|compare --build systems/fast systems/fast"
)


@pytest.mark.parametrize("verb", VERBS.split("|"))
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("alps", "alps is not allowed; allowed: auto, openmpi, mpich, slurm, flux, pbs, lsf"),
        (
            "lsf",
            "lsf cannot start ranks here: no program jsrun, no job of lsf (LSB_JOBID is not set); allowed",
        ),
    ],
)
def test_a_launcher_that_is_not_there_is_refused(
    taskgrain: Command,
    systems: Path,
    study: Path,
    verb: str,
    name: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LSB_JOBID", raising=False)
    refused = taskgrain(*verb.split(), "--systems", systems, "--launcher", name).refusal()
    assert refused.startswith(f"taskgrain: --launcher: {words}")


def test_options_stand_in_for_what_the_study_does_not_say(
    taskgrain: Command, systems: Path, study: Path
) -> None:
    words = ("study", study, "--systems", systems, "--dry-run", "--json")
    plan = json.loads(taskgrain(*words, "--cores", "1", "--budget", "2m").out)
    assert plan["cores"] == [min(os.sched_getaffinity(0))]
    assert plan["budget"] == 120.0
    study.write_text(study.read_text() + 'cores = 1\nbudget = "5m"\n')
    assert json.loads(taskgrain(*words).out)["budget"] == 300.0
    assert json.loads(taskgrain(*words, "--budget", "0").out)["budget"] is None
    for same in ("0", "1"):
        assert json.loads(taskgrain(*words, "--cores", same).out)["cores"] == plan["cores"]


def test_nodes_that_are_simulated_have_as_many_cores_as_asked(
    taskgrain: Command, systems: Path, study: Path
) -> None:
    file = systems / "fast" / "system.toml"
    file.write_text(file.read_text().replace("'=']", "'=', '{nodes}']"))
    words = ("study", study, "--systems", systems, "--dry-run", "--json")
    study.write_text("systems = 'fast'\npatterns = ['fft']\n[defaults]\ncores = [2, 5000]\n")
    assert json.loads(taskgrain(*words).out)["cores"] == [*range(5000)]
    study.write_text(study.read_text().replace("'fast'", "['fast', 'faulty']"))
    assert "5000 is not allowed; allowed: 1 to" in taskgrain(*words).err


@pytest.mark.parametrize(
    "cores", ["cores = [1, 2]", "[defaults]\ncores = [1, 2]", "[[workloads]]\ncores = 2\npattern = 'fft'"]
)
def test_a_study_with_cores_of_its_own_takes_no_others(
    taskgrain: Command, systems: Path, tmp_path: Path, cores: str
) -> None:
    study = tmp_path / "s.toml"
    patterns = "" if "workloads" in cores else "patterns = ['fft']\n"
    study.write_text(f"systems = 'fast'\n{patterns}{cores}\n")
    result = taskgrain("study", study, "--systems", systems, "--dry-run", "--cores", "4").refusal()
    assert f"--cores: 4 is not allowed; allowed: 2, the most that {study} gives as `cores`" in result
    study.write_text(study.read_text() + "[[workloads]]\npattern = 'dom'\n")  # on all cores
    result = taskgrain("study", study, "--systems", systems, "--dry-run", "--cores", "4")
    assert ("the most that" in result.err) == ("workloads" not in cores)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.toml"], "nowhere.toml: cannot be read"),
        (["little.toml", "--cores", "1_000_000"], "--cores: 1000000 is not allowed; allowed: 1 to"),
        (["little.toml", "--threshold", "0.9"], "No such option: --threshold"),
        ([], "FILE"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, study: Path, words: list[str], message: str) -> None:
    assert message in taskgrain("study", *words, "--systems", systems).refusal()
    assert not (study.parent / "results").exists()


def test_the_schema_is_printed_for_editors(taskgrain: Command) -> None:
    result = taskgrain("study", "--schema")
    assert (result.code, result.out, result.err) == (0, schema_text(), "")
    assert json.loads(result.out)["title"] == "taskgrain study"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cores = 1_000_000", "s.toml:3:9: cores: 1000000 is not allowed; allowed: 1 to"),
        ('exclude = [{ system = ["fast", "slow"] }]', "s.toml:3:32: exclude[0].system[1]: slow is not"),
        ('exclude = [{ system = "slow" }]', "allowed: absent, fast, faulty, picky"),
    ],
)
def test_what_a_study_says_wrong_has_its_place(
    taskgrain: Command, systems: Path, tmp_path: Path, line: str, message: str
) -> None:
    study = tmp_path / "s.toml"
    study.write_text(f'systems = "fast"\npatterns = ["fft"]\n{line}\n')
    assert message in taskgrain("study", study, "--systems", systems, "--dry-run").refusal()


def test_a_study_may_exclude_a_system(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    rules = '[{ system = "absent" }, { system = "picky" }]'
    study.write_text(f'systems = "all"\npatterns = ["fft"]\nexclude = {rules}\n')
    result = taskgrain("study", study, "--systems", systems, "--dry-run", "--json")
    assert [cell["cell"].partition("/")[0] for cell in json.loads(result.out)["cells"]] == ["fast", "faulty"]
