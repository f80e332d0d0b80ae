"""Launchers: their commands, and what they need. No scheduler runs here; theirs follow their manuals."""

import json
import socket
import tomllib
from pathlib import Path

import pytest
from system_folder import LEAST, make

from taskgrain.drive.launch import mpirun
from taskgrain.drive.launch.launcher import Launcher, Node, Ranks
from taskgrain.drive.launch.registry import LAUNCHERS, MPIS, present
from taskgrain.drive.system_file import read
from taskgrain.study.settings import SETTINGS
from taskgrain.words.errors import UsageError

REPOSITORY = Path(__file__).resolve().parents[4]
HERE = socket.gethostname()
ONE, TWO, MPICH = Ranks(4, 4, 1), Ranks(2, 1, 8, hosts=("a", "b")), Ranks(8, 4, 1, "mpich", ("a", "b"))
SRUN = "--overlap --cpu-bind=none --input=0 --kill-on-bad-exit=1"
COMMANDS = [
    ("openmpi", ONE, "mpirun -n 4 --bind-to none"),
    ("openmpi", TWO, "mpirun -n 2 --host a:1,b:1 --bind-to none"),
    ("mpich", ONE, "mpiexec.mpich -n 4 -bind-to none"),
    ("mpich", MPICH, "mpiexec.mpich -n 8 -hosts a,b -ppn 4 -bind-to none"),
    (
        *("slurm", ONE, "srun --nodes=1 --ntasks=4 --ntasks-per-node=4 --cpus-per-task=1 --nodelist=n7 "),
        f"{SRUN} --mpi=pmix",
    ),
    (
        *("slurm", TWO, "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=8 --nodelist=a,b "),
        f"{SRUN} --mpi=pmix",
    ),
    (
        *("slurm", MPICH, "srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=1 --nodelist=a,b "),
        f"{SRUN} --mpi=pmi2",
    ),
    (
        *("flux", ONE, f"flux run --nodes=1 --ntasks=4 --cores-per-task=1 --requires=host:{HERE} "),
        "--setopt=cpu-affinity=off --input=0 --setopt=pmi=pmix",
    ),
    (
        *("flux", MPICH, "flux run --nodes=2 --ntasks=8 --cores-per-task=1 --requires=host:a,b "),
        "--setopt=cpu-affinity=off --input=0",
    ),
    ("pbs", ONE, f"mpiexec -n 4 --ppn 4 --depth 1 --hosts {HERE} --cpu-bind none"),
    ("pbs", TWO, "mpiexec -n 2 --ppn 1 --depth 8 --hosts a,b --cpu-bind none"),
    ("lsf", ONE, "jsrun --nrs=4 --rs_per_host=4 --tasks_per_rs=1 --cpu_per_rs=1 --bind=none"),
    ("lsf", TWO, "jsrun --nrs=2 --rs_per_host=1 --tasks_per_rs=1 --cpu_per_rs=8 --bind=none"),
]
JOBS = {"slurm": "SLURM_JOB_ID", "flux": "FLUX_URI", "pbs": "PBS_JOBID", "lsf": "LSB_JOBID"}
"""Launchers that need a job, and the variable that tells of it."""


def started(launcher: Launcher, ranks: Ranks) -> str:
    return " ".join(launcher.start(ranks, ("/it/driver",))[0])


@pytest.mark.parametrize(
    ("name", "ranks", "words"), [(one, two, "".join(rest)) for one, two, *rest in COMMANDS]
)
def test_commands(name: str, ranks: Ranks, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv("PATH", "")  # whatever is installed here
    assert started(LAUNCHERS[name], ranks) == f"{words} /it/driver"


def test_outside_of_a_node_of_its_job_srun_is_told_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm refuses a host that is not of the job: better than ranks where nothing else is measured."""
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    monkeypatch.setattr("socket.gethostname", lambda: "login1.cluster")
    assert " --nodelist=login1 " in started(LAUNCHERS["slurm"], Ranks(2, 2, 1))


def test_every_launcher_has_its_commands_and_may_be_asked_for() -> None:
    assert {name for name, *_ in COMMANDS} == LAUNCHERS.keys()
    assert SETTINGS["launcher"].choices == ("auto", *LAUNCHERS)
    assert {*MPIS} == LAUNCHERS.keys() - JOBS.keys()


def programs(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("name", JOBS)
def test_a_scheduler_starts_ranks_only_in_a_job(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = LAUNCHERS[name]
    monkeypatch.setenv("PATH", programs(tmp_path, "mpiexec.hydra"))
    for variable in launcher.allocation:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError) as caught:
        present(name, "--launcher")
    assert str(caught.value) == (
        f"--launcher: {name} cannot start ranks here: no program {launcher.program}, "
        f"no job of {name} ({JOBS[name]} is not set); allowed: mpich"
    )
    programs(tmp_path, launcher.program)
    with pytest.raises(UsageError, match=f"here: no job of {name}"):
        present(name, "--launcher")
    monkeypatch.setenv(JOBS[name], "7")
    assert present(name, "--launcher") is launcher
    _, variables = launcher.start(ONE, ("/it/driver",))
    assert variables == {JOBS[name]: "7"}, "all else of the job stays withheld"


def test_open_mpi_keeps_the_domains_of_hosts() -> None:
    _, whole = LAUNCHERS["openmpi"].start(Ranks(2, 1, 1, hosts=("n1.cluster", "n2.cluster")), ("/it/driver",))
    _, short = LAUNCHERS["openmpi"].start(Ranks(2, 1, 1, hosts=("n1", "n2")), ("/it/driver",))
    assert {*whole} - {*short} == {"OMPI_MCA_orte_keep_fqdn_hostnames", "PRTE_MCA_prte_keep_fqdn_hostnames"}


def test_mpich_has_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path, "mpiexec.hydra"))
    assert started(LAUNCHERS["mpich"], ONE).startswith("mpiexec.hydra -n 4 ")
    monkeypatch.setenv("PATH", programs(tmp_path, "mpiexec.mpich"))
    assert started(LAUNCHERS["mpich"], ONE).startswith("mpiexec.mpich -n 4 ")


def test_ranks_for_cores_and_for_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")  # which alone changes nothing
    variants = '[variants.nodes]\nranks = "node"\n[variants.mpich]\nmpi = "mpich"\n'
    ranks = '[launch]\ncommand = ["{dir}/driver", "{cores}"]\nranks = "core"\n'
    system = read(make(tmp_path / "it", ranks + variants))
    nodes, mpich = system.variants
    driver = f"{tmp_path}/it/driver"
    found = [one.launch((4, 5, 6)) for one in (system, nodes, mpich)]
    assert [(" ".join(one.command), one.ranks) for one in found] == [
        (f"mpirun -n 3 --bind-to none {driver} 3", 3),
        (f"mpirun -n 1 --bind-to none {driver} 3", 1),
        (f"mpiexec.mpich -n 3 -bind-to none {driver} 3", 3),
    ]
    assert found[0].env == mpirun.variables("mpirun") and "SLURM_JOB_ID" not in found[0].env
    assert found[2].env == mpirun.variables("mpiexec.mpich")
    assert read(make(tmp_path / "alone", LEAST)).launch((4, 5)).ranks is None


def test_a_process_with_workers_elsewhere_gets_the_command_that_starts_them(tmp_path: Path) -> None:
    text = 'distributed = true\n[launch]\ncommand = ["{dir}/driver"]\nworkers = true\n'
    system = read(make(tmp_path / "it", text))
    on = (Node("n1.x", "n1", (0, 1)), Node("n2.x", "n2", (0, 1)), Node("n3.x", "n3", (4, 5)))
    assert "TASKGRAIN_NODES" not in system.launch((0, 1)).env and system.started_by is None
    launch = system.launch((0, 1), on)
    assert (launch.command, launch.refused) == ((f"{tmp_path}/it/driver",), "")
    given = json.loads(launch.env["TASKGRAIN_NODES"])
    assert given["nodes"] == [["n1.x", "n1", [0, 1]], ["n2.x", "n2", [0, 1]], ["n3.x", "n3", [4, 5]]]
    words = " ".join(given["start"])
    assert words.startswith("mpirun -n 2 --host n2.x:1,n3.x:1 -x ") and " -x TASKGRAIN_DRIVER " in words
    assert "n3) export TASKGRAIN_CORES=4,5;;" in words


def test_a_launcher_that_is_missing_is_missing_to_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = read(make(tmp_path / "it", LEAST + 'ranks = "core"\n[variants.mpich]\nmpi = "mpich"\n'))
    monkeypatch.setenv("PATH", programs(tmp_path, "mpirun"))
    assert system.probe().available
    assert system.variants[0].probe().missing == ("program mpiexec.mpich or mpiexec.hydra",)


FILES = sorted(REPOSITORY.glob("*/*/system.toml"))


# That of task_bench starts a driver which starts Task Bench's programs as their authors do.
@pytest.mark.parametrize("name", [one.parent.name for one in FILES if one.parent.name != "task_bench"])
def test_no_system_of_the_repository_says_how_its_ranks_are_started(name: str) -> None:
    (file,) = (one for one in FILES if one.parent.name == name)
    table = tomllib.loads(file.read_text())
    for one in (table.get("launch", {}), *table.get("variants", {}).values()):
        words = {Path(word).name for word in one.get("command", ())}
        assert not words & {program for each in LAUNCHERS.values() for program in each.programs}
