"""Tests of the variables of a shell that a driver gets, and of what a session stores of them."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from system_folder import LEAST, make

import taskgrain
from taskgrain.drive.environment import FAMILIES, by_family, of_session, passed, withheld
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.drive.system_file import read
from taskgrain.study.variables import stored
from taskgrain.words.errors import InputError

NEEDED = {
    "PATH": "/bin",
    "HOME": "/h",
    "LD_LIBRARY_PATH": "/l",
    "JAVA_HOME": "/j",
    "GOROOT": "/g",
    "TMPDIR": "/t",
}
READ = dict.fromkeys(
    """
    OMP_THREAD_LIMIT GOMP_CPU_AFFINITY PMIX_RANK SLURM_JOB_ID LD_PRELOAD _JAVA_OPTIONS GOMAXPROCS PYTHONPATH
    GLIBC_TUNABLES MALLOC_ARENA_MAX HWLOC_SYNTHETIC TASKGRAIN_GRAPH_POLICY DASK_DISTRIBUTED__WORKER__DAEMON
    """.split(),  # noqa: SIM905
    "1",
)


def test_what_runtimes_read_is_withheld_and_what_programs_need_is_not() -> None:
    places = {"I_MPI_ROOT": "/i", "SLURM_CONF": "/s", "TF_CLI_CONFIG_FILE": "terraform"}
    assert passed(NEEDED | READ | places) == NEEDED | places
    assert withheld(NEEDED | READ | places) == READ


def test_a_system_says_what_else_it_reads_and_what_it_needs(tmp_path: Path) -> None:
    text = LEAST.replace("[launch]", '[launch]\nreads = ["MINE_"]\npasses = ["SLURM_"]')
    families = read(make(tmp_path / "it", text)).launch([0]).withholds
    shell = {"MINE_SIZE": "1", "SLURM_JOB_ID": "1", "OMP_X": "1"}
    assert passed(shell, families) == {"SLURM_JOB_ID": "1"}
    with pytest.raises(InputError, match=r"passes\[0\]: HOME is not allowed; allowed: OMP_"):
        read(make(tmp_path / "other", text.replace("SLURM_", "HOME")))


def test_a_python_path_on_which_taskgrain_lies_stays() -> None:
    shell = {"PYTHONPATH": f"/old:{Path(taskgrain.__file__).parents[1]}"}
    assert passed(shell) == shell


def test_a_session_stores_no_secrets() -> None:
    shell = {
        "SLURM_JWT": "s3cret",
        "RAY_AUTH_TOKEN": "s3cret",
        "OMP_X": "é\udc80" * 2000,
        "LD_LIBRARY_PATH": "/l",
    }
    said, libraries = of_session(shell, [FAMILIES])
    assert said["OMP_X"] == ("é?" * 2000)[:1000]
    assert said.keys() == {"SLURM_JWT", "RAY_AUTH_TOKEN", "OMP_X"} and "s3cret" not in json.dumps(said)
    assert libraries == {"LD_LIBRARY_PATH": "/l"}
    assert stored({"SPARK_AUTH_SECRET": "x"}) == {"SPARK_AUTH_SECRET": "(secret)"}


DRIVER = """
import json, os, sys
for line in sys.stdin:
    if json.loads(line)["op"] == "hello":
        names = sorted(name for name in os.environ if name.startswith(("OMP_", "COLOUR", "PYTHONPATH")))
        answer = {"event": "ready", "protocol": 1, "system": " ".join(names), "cores": 1}
        print("@taskgrain " + json.dumps(answer), flush=True)
"""


def test_a_driver_starts_from_the_rulers_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise ImportError\n")
    for name, value in {"OMP_THREAD_LIMIT": "1", "COLOUR": "red", "PYTHONPATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    launch = Launch((sys.executable, "-c", DRIVER), {"OMP_PLACES": "{0}"}, (0,))
    with Session("it", launch) as session:
        assert session.start().system == "COLOUR OMP_PLACES"
    with Session("it", replace(launch, withholds=("COLOUR", "PYTHON"))) as session:
        assert session.start().system == "OMP_PLACES OMP_THREAD_LIMIT"


def test_what_a_user_passes_wins_and_makes_another_build(tmp_path: Path) -> None:
    system = read(make(tmp_path / "it", LEAST + '\nenv = { OMP_PLACES = "{places}" }\n'))
    given = system.with_variables({"OMP_PLACES": "{cores}"})
    assert given.launch([0]).env == {"OMP_PLACES": "{cores}"}
    assert "s3cret" not in system.with_variables({"A_TOKEN": "s3cret"}).options
    assert given.options.endswith("--system it --env 'OMP_PLACES={cores}'")
    named = given.with_variables({"A": "1"}, "+A=1")
    assert (named.name, named.plain, named.given) == ("it+A=1", "it", {"OMP_PLACES": "{cores}", "A": "1"})


def test_a_line_names_few_variables_first_and_counts_families() -> None:
    shell = ["SLURM_A", "SLURM_B", "SLURM_C", "STARPU_SCHED", "LD_PRELOAD", "OMP_A", "OMP_B"]
    assert by_family(shell) == ["LD_PRELOAD", "OMP_A", "OMP_B", "STARPU_SCHED", "SLURM_* (3)"]
    for name in ("PBS_NODEFILE", "LSB_HOSTS", "COBALT_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE"):
        assert withheld({name: "nodes"}), "an MPI would start ranks elsewhere"
