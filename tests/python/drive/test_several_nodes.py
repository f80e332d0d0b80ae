"""Real ranks on several hosts, which this machine plays."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest
from on_hosts import on_hosts
from system_folder import make

from taskgrain.drive.catalogue import package_folder

pytestmark = [
    pytest.mark.submission,
    pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="there is no Open MPI"),
]


def taskgrain(verb: str, *words: str) -> str:
    return on_hosts(2, sys.executable, "-m", "taskgrain", verb, *words, options=("--cores", "1"))


@pytest.mark.parametrize("system", ["mpi", "mpi.mpich"])
def test_ranks_of_two_hosts_are_one_run(system: str) -> None:
    if system == "mpi.mpich" and not (package_folder() / "systems" / "mpi" / "driver-mpich").exists():
        pytest.skip("there is no MPICH")
    asked = ("--system", f"{system},serial", "--nodes", "2", "--hosts", "h1,h2", "--steps", "100", "--json")
    script = f"{sys.executable} -m taskgrain run {' '.join(asked)}; [ $? = 1 ]"  # of serial, which cannot
    printed = on_hosts(2, "sh", "-c", script, options=("--cores", "1"))
    one, serial = json.loads(printed)["runs"]
    assert (one["workload"], one["cores"]) == ("stencil_1d/width=2/nodes=2", 2)
    assert one["executed"] == one["tasks"] == 200
    assert serial["error"] == "unsupported"


@pytest.mark.parametrize("system", ["mpi", "mpi.mpich"])
def test_hosts_have_the_names_that_they_were_given(system: str) -> None:
    """No host answers to a name without its domain."""
    if system == "mpi.mpich" and not (package_folder() / "systems" / "mpi" / "driver-mpich").exists():
        pytest.skip("there is no MPICH")
    names = ("h1.cluster.local", "h2.cluster.local")
    words = ("run", "--system", system, "--nodes", "2", "--hosts", ",".join(names), "--steps", "10", "--json")
    options = ("--cores", "1", "--domain", "cluster.local")
    printed = on_hosts(2, sys.executable, "-m", "taskgrain", *words, options=options)
    assert json.loads(printed)["runs"][0]["driver"]["nodes"] == 2


METG = f"{sys.executable} -m taskgrain metg --system mpi --nodes 2 -q --json"


def test_a_host_that_is_lost_is_an_error_with_its_name_and_leaves_nothing(tmp_path: Path) -> None:
    """The agent of the second host dies while runs are made."""
    script = f"""
        {METG} --hosts h1,h2 --budget 60 --output results > printed 2> said & measuring=$!
        timeout 60 sh -c "until grep -q 'kind.: .run' results/runs.jsonl; do sleep 0.1; done" 2> /dev/null
        # Again and again: while a further process starts, its loss is no failure of the cell.
        while kill -0 $measuring 2> /dev/null; do ssh h2 "pkill -9 -f drive.host_agen[t]"; sleep 0.2; done
        wait $measuring; echo ended $?
        # They see it soon.
        timeout 30 sh -c "while ssh h2 pgrep -f '[o]rted|systems/[m]pi'; do sleep 0.2; done" > left
        for host in h1 h2; do ssh $host "pgrep -f '[h]ost_agent|[m]pirun|[o]rted|systems/[m]pi'"; done
        ls /dev/shm; ssh h2 ls /dev/shm
    """
    printed = on_hosts(2, "bash", "-c", script, options=("--cores", "1"), folder=tmp_path)
    assert printed.splitlines() == ["ended 1"], "no process and no segment is left"
    # Whatever it was asked for, that ends the cell.
    files = ("printed", "said", "results/runs.jsonl")
    assert "host h2: " in "".join((tmp_path / file).read_text("utf-8") for file in files)


@pytest.mark.parametrize("end", ["budget", "interrupt"])
def test_a_frozen_host_holds_up_neither_the_budget_nor_an_interrupt(end: str, tmp_path: Path) -> None:
    budget = 8 if end == "budget" else 600  # a driver has 10 s to answer
    script = f"""
        {METG} --hosts h1,h2 --budget {budget} --output results > printed 2> said & measuring=$!
        timeout 60 sh -c "until grep -q 'kind.: .run' results/runs.jsonl; do sleep 0.1; done" 2> /dev/null
        ssh h2 "kill -STOP -1" &
        sleep 1; SECONDS=0
        {"kill -TERM $measuring" if end == "interrupt" else ""}
        wait $measuring; echo $? $(( SECONDS < 60 ))
    """
    printed = on_hosts(2, "bash", "-c", script, options=("--cores", "1"), folder=tmp_path)
    assert printed == {"budget": "0 1\n", "interrupt": "130 1\n"}[end], (tmp_path / "said").read_text()


def test_a_host_that_cannot_be_reached_is_one_line_that_names_it(tmp_path: Path) -> None:
    script = f"{METG} --hosts h1,h9 2>&1 > printed; [ $? = 2 ]"
    printed = on_hosts(2, "sh", "-c", script, options=("--cores", "1"), folder=tmp_path)
    (line,) = printed.splitlines()
    assert line.startswith("taskgrain: host h9: ") and "hostname h9: there is no such host (all that " in line


def test_advice_may_be_measured_on_several_nodes() -> None:
    words = ("--at", "1ms", "--measure", "--budget", "10", "--json", "-q")
    printed = taskgrain("advise", "--system", "mpi", "--nodes", "2", "--hosts", "h1,h2", *words)
    (answer,) = json.loads(printed)["answers"]
    assert answer["efficiency"]["value"] > 0.0


def test_each_number_of_nodes_may_be_measured_by_a_call_of_its_own(tmp_path: Path) -> None:
    """As jobs do that `taskgrain submit` makes."""
    (tmp_path / "s.toml").write_text(
        'systems = ["mpi"]\npatterns = ["fft"]\nnodes = [1, 2]\nhosts = ["h1", "h2"]\nbudget = 5\n'
    )
    study = f"{sys.executable} -m taskgrain study s.toml -o results --json"
    script = f"{study} --nodes 1 > one; {study} --nodes 2 > two; {study} 2>&1 > both; {study} --nodes 3 2>&1"
    said = on_hosts(2, "sh", "-c", f"{script}; [ $? = 2 ]", folder=tmp_path)
    assert "do not fit" not in said and "--nodes: 3 is not allowed; allowed: of the study: 1, 2" in said
    found = [json.loads((tmp_path / name).read_text())["cells"] for name in ("one", "two", "both")]
    names = [[one["cell"] for one in cells] for cells in found]
    assert names == [names[2][:1], names[2][1:], ["mpi/fft/width=2", "mpi/fft/width=4/nodes=2"]]
    assert all(one["ending"] != "failed" for cells in found for one in cells)


def test_a_study_goes_on_with_other_hosts_of_the_same_kind(tmp_path: Path) -> None:
    script = f"{METG} --hosts h1,h2 --budget 5 --output results > first; "
    script += f"{METG} --hosts h1,h3 --budget 10 --output results; "
    (cell,) = json.loads(on_hosts(3, "bash", "-c", script, folder=tmp_path))["cells"]
    assert cell["ending"] != "failed"
    lines = [json.loads(line) for line in (tmp_path / "results" / "runs.jsonl").read_text().splitlines()]
    sessions = [[host["host"] for host in one["hosts"]] for one in lines if one["kind"] == "session"]
    assert sessions == [["h1", "h2"], ["h1", "h3"]]


def test_ranks_of_all_hosts_get_what_env_names(tmp_path: Path) -> None:
    """The ranks are those of `mpi`, which say first what they got."""
    driver = package_folder() / "systems" / "mpi" / "driver"
    told = tmp_path / "told"
    make(
        tmp_path / "telling",
        'title = "T"\ndistributed = true\n[launch]\nranks = "core"\ncommand = ["{dir}/driver"]\n',
    )
    script = tmp_path / "telling" / "driver"
    script.write_text(f"#!/bin/sh\necho $(hostname) $COLOUR >> {told}\nexec {driver}\n")
    script.chmod(0o755)
    asked = ("--system", "telling", "--systems", str(tmp_path), "--nodes", "2", "--hosts", "h1,h2")
    on_hosts(
        *(2, sys.executable, "-m", "taskgrain", "run", *asked, "--steps", "10", "--env", "COLOUR=red"),
        options=("--cores", "1"),
        folder=tmp_path,
    )
    assert sorted(told.read_text().splitlines()) == ["h1 red", "h2 red"]


WORKERS = """
import subprocess, sys, threading, time
from taskgrain.system import drive, processes
from taskgrain.system.processes import ProcessSystem, join

processes._JOIN_SECONDS = 5

class Joining(ProcessSystem):
    name, version = "joining", "1"

    def __init__(self):
        super().__init__()
        self.start_elsewhere([*ELSEWHERE])
        subprocess.Popen([sys.executable, __file__, "join"], stdin=subprocess.DEVNULL)
        self.assemble()

    def recruit(self):
        time.sleep(0.1)

    def execute(self, run):
        raise RuntimeError("nothing is executed")

if sys.argv[1:]:
    join()
    threading.Event().wait()
else:
    drive(Joining)
"""


@pytest.mark.parametrize(
    ("elsewhere", "message"),
    [
        ("sys.executable, __file__, 'join'", "nothing is executed"),
        ("'sleep', '100'", "worker processes have not joined: 1 on h2"),
        ("'false'", "worker processes did not start (exit code 1): 1 on h2"),
    ],
)
def test_worker_processes_of_all_nodes_join_or_the_error_says_where_they_are_missing(
    elsewhere: str, message: str, tmp_path: Path
) -> None:
    toml = (
        'title = "T"\ndistributed = true\n[launch]\nworkers = true\ncommand = ["{python}", "{dir}/driver"]\n'
    )
    make(tmp_path / "joining", toml)
    (tmp_path / "joining" / "driver").write_text(WORKERS.replace("*ELSEWHERE", elsewhere))
    asked = f"--system joining --systems {tmp_path} --nodes 2 --hosts h1,h2 --steps 10 --json"
    script = f"{sys.executable} -m taskgrain run {asked}"
    script += "; for host in h1 h2; do ssh $host 'pgrep -f joining/drive[r]'; done; true"
    printed = on_hosts(2, "sh", "-c", script, options=("--cores", "1"), folder=tmp_path)
    (run,) = json.loads(printed)["runs"]  # and nothing else: no process is left
    assert run["error"] == "system" and message in run["message"]


WITH_WORKERS = {"dask": "distributed", "ray_tasks": "ray", "ray_actors": "ray", "spark.cluster": "pyspark"}
"""Systems, and the Python modules that they need."""


def test_systems_that_start_their_own_workers_have_them_on_all_nodes() -> None:
    here = [name for name, module in WITH_WORKERS.items() if importlib.util.find_spec(module)]
    if not here:
        pytest.skip(f"there is none of {', '.join(WITH_WORKERS)}")
    words = ("--system", ",".join(here), "--nodes", "2", "--hosts", "h1,h2", "--steps", "10")
    script = f"{sys.executable} -m taskgrain run {' '.join(words)} --pattern spread --validate full"
    script += " --output-bytes 65536 --repeats 1 --json; for host in h1 h2; do ssh $host '"
    script += "pgrep -f workers[.]p[y]; pgrep ray; pgrep java; ls -d /dev/shm/* /tmp/taskgrain*'"
    script += "; done 2> /dev/null; true"
    runs = json.loads(on_hosts(2, "sh", "-c", script, options=("--cores", "1")))["runs"]
    # And nothing else is printed: no process, no segment and no file is left.
    assert [(run["system"], run.get("error"), run["driver"]["nodes"], run["cores"]) for run in runs] == [
        (name, None, 2, 2) for name in here
    ]
    assert all(run["executed"] == run["tasks"] == 20 for run in runs)
