"""Drivers that misbehave: each ends in a named error, in bounded time, with nothing left over."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from waiting import HANG, wait_until

from taskgrain._core import descendants
from taskgrain.drive.answers import DriverError, OutOfTime
from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.machine.processes import cpu_seconds, runs
from taskgrain.study.workload import REFERENCE

HOSTILE = Path(__file__).parents[1] / "drivers" / "hostile.py"
CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
GRAPH = {"pattern": "trivial", "steps": 4, "width": 2}


def launch(mode: str, cores: tuple[int, ...] = CORES) -> Launch:
    return Launch((sys.executable, str(HOSTILE), mode), {}, cores)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which drivers have their temporary files."""
    found = tmp_path / "scratch"
    found.mkdir()
    monkeypatch.setenv("TMPDIR", str(found))
    return found


@pytest.fixture
def sessions(scratch: Path) -> Iterator[list[Session]]:
    """Sessions put here are closed, and must leave no process and no file."""
    before = set(descendants([os.getpid()]))
    opened: list[Session] = []
    yield opened
    for session in opened:
        session.close()
    assert set(descendants([os.getpid()])) <= before
    assert not list(scratch.iterdir())


def started(sessions: list[Session], mode: str, tmp_path: Path, **times: float) -> Session:
    session = Session(mode, launch(mode), tmp_path / "logs" / f"{mode}.log", **times)
    sessions.append(session)
    session.start()
    return session


def test_good_driver(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "good", tmp_path)
    assert session.ready is not None
    assert session.ready.system == "hostile"
    for _ in range(3):
        result = session.run([GRAPH], repeats=5, warmup=1)
        assert result.seconds == (1e-6,) * 5
        assert result.tasks == 8
        assert not result.warnings
    assert session.peak({"name": "compute_bound"}, 0.01).rates == (1e9,) * len(CORES)
    assert 0.0 <= session.busy.steal <= session.busy.share <= 1.0
    assert session.busy.switches >= 0
    pids = session.pids()
    assert all(psutil.Process(pid).cpu_affinity() == list(CORES) for pid in pids)
    session.close()
    assert not session.alive
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_parked_driver_gets_a_request_that_no_pipe_holds(sessions: list[Session], tmp_path: Path) -> None:
    """As much as fits is written before the driver goes on."""
    session = started(sessions, "good", tmp_path)
    assert session.parked
    assert session.run([GRAPH | {"file": "x" * 2**21}], repeats=1).tasks == 8


def test_the_reference_refuses_what_cannot_be_and_lives_on() -> None:
    program = package_folder() / "bin" / REFERENCE
    with Session("reference", Launch((str(program),), {}, CORES)) as reference:
        reference.start()
        with pytest.raises(DriverError, match="seconds"):
            reference.peak({"name": "compute_bound"}, 61.0)
        with pytest.raises(DriverError, match="kernel"):
            reference.peak({"name": "empty"}, 0.001)
        assert len(reference.peak({"name": "compute_bound"}, 0.001).rates) == len(CORES)


def test_the_reference_answers_what_is_wrong_with_its_cores() -> None:
    program = package_folder() / "bin" / REFERENCE
    env = os.environ | {"TASKGRAIN_CORES": "x"}
    hello = subprocess.run([program], input='{"op":"hello"}\n', env=env, capture_output=True, text=True)
    assert hello.returncode == 0
    assert '"kind":"invalid"' in hello.stdout and "TASKGRAIN_CORES: 'x' is not allowed" in hello.stdout


# What can be wrong in one answer alone is in test_answers.py.
FAILING = {
    "dies": ("crash", "signal 11"),
    "exits": ("crash", "exit code 3"),
    "rubbish": ("protocol", "not JSON"),
    "answers": ("protocol", "answer to run 0"),
    "closes_stdout": ("crash", "closed its standard streams"),
    "violation": ("validation", "too early (kind 'early', graph 0, step 12, point 3)"),
    "unsupported": ("unsupported", "unsupported it is"),
}


@pytest.mark.parametrize("mode", FAILING)
def test_failures_are_named(sessions: list[Session], tmp_path: Path, mode: str) -> None:
    kind, words = FAILING[mode]
    session = started(sessions, mode, tmp_path)
    with pytest.raises(DriverError) as caught:
        session.run([GRAPH], repeats=2)
    assert caught.value.kind == kind
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert session.alive == (kind not in ("crash", "protocol", "timeout"))
    if session.alive:  # it goes on serving
        with pytest.raises(DriverError, match=r"it is|too early"):
            session.run([GRAPH], repeats=2)
    else:
        assert session.start().system == "hostile"


@pytest.mark.parametrize("mode", ["hangs", "endless", "long"])
def test_timeouts(sessions: list[Session], tmp_path: Path, mode: str) -> None:
    session = started(sessions, mode, tmp_path, run_seconds=1.0)
    with pytest.raises(DriverError, match=r"no answer to run within 1 s|not JSON") as caught:
        session.run([GRAPH], repeats=1)
    assert caught.value.kind in ("timeout", "protocol")
    assert not session.alive
    assert (tmp_path / "logs" / f"{mode}.log").stat().st_size < 5 * 2**20


def test_what_is_under_way_when_its_time_is_up_is_stopped(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "hangs", tmp_path)
    pids = session.pids()
    with pytest.raises(OutOfTime):
        session.run([GRAPH], repeats=1, most_seconds=0.2)
    assert not session.alive and not any(runs(pid) for pid in pids)
    session.start()
    end = time.monotonic() + 0.3
    session.time_left = lambda: end - time.monotonic()
    with pytest.raises(OutOfTime):
        session.run([GRAPH], repeats=1)
    with pytest.raises(OutOfTime):
        session.start()
    assert not session.alive
    assert "stopped during run: its time was up" in session.log_tail()


def test_a_gigabyte_of_output_fills_neither_disk_nor_memory(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "gigabytes", tmp_path)
    before = psutil.Process().memory_info().rss
    assert session.run([GRAPH], repeats=1).tasks == 8
    assert psutil.Process().memory_info().rss - before < 100 * 2**20
    log = tmp_path / "logs" / "gigabytes.log"
    assert log.stat().st_size < 5 * 2**20


def test_start_failures(sessions: list[Session], tmp_path: Path) -> None:
    cases = {
        "exits_at_once": ("crash", "exit code 7", HANG),
        "hangs_at_start": ("timeout", "no answer to hello", 1.0),
        "protocol2": ("protocol", "speaks protocol 2; this harness speaks 1", HANG),
    }
    for mode, (kind, words, seconds) in cases.items():
        with pytest.raises(DriverError) as caught:
            started(sessions, mode, tmp_path, start_seconds=seconds)
        assert caught.value.kind == kind
        assert words in caught.value.message
        if mode == "exits_at_once":
            assert "no licence found" in caught.value.log_tail


def test_a_start_that_is_interrupted_leaves_nothing(
    sessions: list[Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupt)  # the moment itself is too short to be met
    with pytest.raises(KeyboardInterrupt):
        started(sessions, "good", tmp_path)
    assert sessions[0].kill() is not None


def test_binding_warnings(sessions: list[Session], tmp_path: Path) -> None:
    outside = started(sessions, "outside", tmp_path).run([GRAPH], repeats=1)
    assert outside.warnings[0].code == "binding_outside"
    overlap = started(sessions, "overlap", tmp_path).run([GRAPH], repeats=1)
    assert overlap.warnings[0].code == "binding_shared"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("fewer_cores", "it was asked for 2 cores and has 1 core. {python} started it; it has OpenMP 4.5"),
        ("more_cores", "it was asked for 2 cores and has 3 cores"),
        (
            "foreign_mpirun",
            "it has Open MPI v4.1.4. Processes that the launcher of another library starts do not",
        ),
        ("more_nodes", "it was asked for 1 node and has 2 nodes"),
        ("lost_worker", "it was asked for 2 cores and has 1 core"),
        ("no_worker", "it was asked for 2 cores and has 0 cores"),
    ],
)
def test_a_driver_that_has_not_what_it_was_asked_for_does_not_start(
    sessions: list[Session], tmp_path: Path, mode: str, words: str
) -> None:
    with pytest.raises(DriverError) as caught:
        started(sessions, mode, tmp_path)
    assert caught.value.kind == "system"
    assert words.format(python=launch(mode).launcher) in caught.value.message
    assert not sessions[0].alive


@pytest.mark.parametrize(("mode", "has"), [("smaller_team", 1), ("larger_team", 3), ("lost_in_run", 1)])
def test_a_run_on_other_cores_than_the_driver_started_with_is_no_result(
    sessions: list[Session], tmp_path: Path, mode: str, has: int
) -> None:
    session = started(sessions, mode, tmp_path)
    with pytest.raises(DriverError, match=f"it was asked for 2 cores and has {has} in this run") as caught:
        session.run([GRAPH], repeats=1)
    assert caught.value.kind == "system"


@pytest.mark.parametrize(("mode", "cores"), [("fewer_cores", 1), ("more_cores", 3), ("lost_worker", 1)])
def test_a_system_that_may_have_other_cores_is_warned_of(
    sessions: list[Session], tmp_path: Path, mode: str, cores: int
) -> None:
    session = Session(mode, replace(launch(mode), other_cores=True), tmp_path / "log")
    sessions.append(session)
    assert session.start().cores == cores
    (warning,) = (one for one in session.run([GRAPH], repeats=1).warnings if one.code == "other_cores")
    assert warning.values == {"cores": cores, "asked": 2}


def test_what_is_no_answer_is_log(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "noisy", tmp_path)
    session.run([GRAPH], repeats=1)
    session.close()
    text = (tmp_path / "logs" / "noisy.log").read_text()
    assert all(line in text for line in ("on stderr", "on stdout", "@taskgrainless", "  @taskgrain {}"))


def test_a_driver_that_ignores_quit_is_killed(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "ignores_quit", tmp_path)
    pids = session.pids()
    session.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_the_folder_for_what_a_driver_leaves_is_where_the_system_wants_it(
    sessions: list[Session], tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    session = Session("good", replace(launch("good"), env={"TMPDIR": str(place)}))
    sessions.append(session)
    session.start()
    assert len(list(place.glob("taskgrain-*/*/left"))) == 1
    session.close()
    assert not list(place.iterdir())


def test_a_supervisor_that_gets_no_core_is_waited_for(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "exits", tmp_path)
    (supervisor,) = psutil.Process().children()
    supervisor.suspend()
    later = threading.Timer(2.0, supervisor.resume)
    later.start()
    with pytest.raises(DriverError, match="exit code 3"):
        session.run([GRAPH], repeats=1)
    later.join()


def test_a_parked_driver_takes_no_cpu_and_goes_on(sessions: list[Session], tmp_path: Path) -> None:
    session = started(sessions, "spinning", tmp_path)
    pids = session.pids()
    wait_until(lambda: all(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in pids))
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(0.3)
    assert [cpu_seconds(pid) for pid in pids] == before
    assert session.run([GRAPH], repeats=1).tasks == 8
    assert session.parked
    session.resume()
    wait_until(lambda: sum(map(cpu_seconds, pids)) > sum(before) + 0.05)
    for _ in range(20):
        session.park()
        session.resume()
    session.park()


HARNESS = """
import sys, time
from pathlib import Path
from taskgrain.drive.session import Session
from taskgrain.study.workload import REFERENCE
from taskgrain.drive.launch.launch import Launch
session = Session("x", Launch((sys.executable, sys.argv[1], sys.argv[2]), {}, (int(sys.argv[4]),)))
session.start()
if sys.argv[3] == "running":
    session.resume()
print(session._tree.process.pid, *session.pids(), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("mode", ["good", "children", "spinning", "ignores_quit"])
@pytest.mark.parametrize("state", ["parked", "running"])
def test_nothing_outlives_a_killed_harness(mode: str, state: str, scratch: Path) -> None:
    arguments = [str(HOSTILE), mode, state, str(CORES[0])]
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HARNESS), *arguments], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        pids = [int(word) for word in harness.stdout.readline().split()]
        assert len(pids) >= 2
        assert list(scratch.iterdir())
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    wait_until(lambda: not any(map(runs, pids)) and not list(scratch.iterdir()))
