"""A study with drivers that misbehave in every way: each is marked, and the good ones are measured."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
from driver_process import CORES
from killable_study import DRIVERS, FAKE, finish, lines, size, write_system

from taskgrain._core import descendants
from taskgrain.drive.answers import DriverError
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session
from taskgrain.machine import memory

HOSTILE = str(DRIVERS / "hostile.py")
pytestmark = pytest.mark.usefixtures("no_own_systems")

# Mode of the driver: the failure's kind, and words of its message.
MARKED = {
    "exits_at_once": ("crash", "exit code 7"),
    "protocol2": ("protocol", "speaks protocol 2"),
    "fewer_cores": ("system", "it was asked for 2 cores and has 1 core"),
    "smaller_team": ("system", "it was asked for 2 cores and has 1 in this run"),
    "exits": ("crash", "exit code 3"),
    "closes_stdout": ("crash", "closed its standard streams"),
    "rubbish": ("protocol", "not JSON"),
    "long": ("protocol", "not JSON"),
    "too_fast": ("protocol", "the kernel alone reaches"),
    "more_tasks": ("validation", "the graphs hold"),
    "violation": ("validation", "too early (kind 'early', graph 0, step 12, point 3)"),
    "unsupported": ("unsupported", "unsupported it is"),
    "escapes": ("system", "gone"),
    "eats": ("memory", "where 400 MiB are allowed (TASKGRAIN_MEMORY sets another limit)"),
    "child_eats": ("memory", "where 400 MiB are allowed"),
}
SLOW = dict.fromkeys(("hangs", "endless"), ("timeout", "no answer to run within 1"))


def study_of(folder: Path, modes: Mapping[str, object], good_runs: int) -> list[str]:
    write_system(folder, "good", str(FAKE), "1e-6", "0.02", "=")
    for mode in modes:
        write_system(folder, mode, HOSTILE, mode, str(good_runs))
    (folder / "s.toml").write_text('patterns = ["stencil_1d"]\nwidths = [4]\n')
    return ["study", str(folder / "s.toml"), "-o", str(folder / "out"), "--systems", str(folder / "systems")]


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    ("modes", "good_runs"),
    [
        pytest.param(MARKED, 0, marks=pytest.mark.slow),
        pytest.param(MARKED, 10, marks=pytest.mark.deep),
        pytest.param(SLOW, 10, marks=pytest.mark.submission),
    ],
)
def test_every_failure_is_contained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    modes: Mapping[str, tuple[str, str]],
    good_runs: int,
) -> None:
    monkeypatch.setenv("TASKGRAIN_MEMORY", "400M")
    before = set(descendants([psutil.Process().pid]))
    found = finish(study_of(tmp_path, modes, good_runs), 1)
    assert set(descendants([psutil.Process().pid])) <= before

    failures = {line["cell"].split("/")[0]: line for line in lines(tmp_path / "out", "failure")}
    assert failures.keys() == modes.keys()
    for mode, (kind, words) in modes.items():
        assert (failures[mode]["error"], words in failures[mode]["message"]) == (kind, True), failures[mode]
        last = "no licence found" if mode == "exits_at_once" else f"last words of {mode}"
        if mode not in ("protocol2", "fewer_cores", "endless"):
            assert last in failures[mode]["log"]
        texts = failures[mode]["message"] + failures[mode]["log"].replace("\n", "")
        assert texts.isprintable()
    endings = {cell["system"]: cell["ending"] for cell in found["cells"]}
    assert endings == dict.fromkeys(modes, "failed") | {"good": "precise"}
    assert all(size(log) < 5 * 2**20 for log in (tmp_path / "out" / "logs").iterdir())
    crashed = [line["cell"].split("/")[0] for line in lines(tmp_path / "out", "crash")]
    for mode, (kind, _) in modes.items():
        assert crashed.count(mode) == (2 if kind == "crash" else 0)


# -- time -------------------------------------------------------------------------------------------------


def started(mode: str, **rest: float | int | None) -> Session:
    session = Session(mode, Launch((sys.executable, HOSTILE, mode), {}, CORES), None, **rest)  # type: ignore[arg-type]
    session.start()
    return session


GRAPH = {"pattern": "trivial", "steps": 4, "width": 2}


@pytest.mark.submission
def test_the_time_limit_follows_what_is_known() -> None:
    for known, least, most in ((0.001, 10.0, 10.1), (1.0, 30.0, 30.0), (1000.0, 3000.0, 3000.0)):
        session = Session("x", Launch((), {}, CORES))
        assert least <= session._patience(known) <= most
    simulated = Session("x", Launch((), {}, CORES, simulated=2))
    assert simulated._patience(0.001) == 120.0  # whose time may pass at any pace
    simulated._simulated_seconds, simulated._passed_seconds = 0.01, 10.0
    assert [simulated._patience(known) for known in (0.001, 1.0)] == [30.0, 3000.0]
    late = pytest.raises(DriverError, match=r"no answer to run within 0\.5 s")
    with started("hangs", run_seconds=0.5) as session, late:
        session.run([GRAPH], repeats=1)


@pytest.mark.parametrize("repeats", [False, True])
def test_what_a_simulation_has_answered_is_not_asked_again(repeats: bool) -> None:
    launch = Launch((sys.executable, HOSTILE, "exits", "2"), {}, CORES, simulated=1, repeats=repeats)
    one, other = ([GRAPH | {"steps": steps}] for steps in (4, 8))
    with Session("x", launch) as session:
        session.start()
        first = session.run(one, repeats=1)
        assert (session.run(one, repeats=1) is first) == repeats
        if repeats:  # the second that it answers
            assert session.run(other, repeats=1) is not first
        with pytest.raises(DriverError, match="exit code 3"):
            session.run([GRAPH | {"steps": 16}], repeats=1)


STOPPED = """
import os, sys
from taskgrain.drive.session import Session
from taskgrain.drive.launch.launch import Launch
launch = Launch((sys.executable, *sys.argv[1:3]), {"HARNESS": str(os.getpid())}, (int(sys.argv[3]),))
session = Session("x", launch, run_seconds=2.5)
session.start()
print(session.run([{"pattern": "trivial", "steps": 4, "width": 2}], repeats=1).tasks, flush=True)
session.close()
"""


@pytest.mark.submission
def test_a_harness_that_was_stopped_has_not_waited() -> None:
    """Its driver stops it for longer than a run may take."""
    words = [sys.executable, "-c", STOPPED, HOSTILE, "stops_harness", str(CORES[0])]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "8\n"


# -- memory -----------------------------------------------------------------------------------------------


@pytest.mark.submission
@pytest.mark.parametrize("mode", ["eats", "child_eats"])
def test_a_driver_that_eats_memory_is_stopped_in_time(mode: str) -> None:
    with started(mode, memory_bytes=300 * 2**20) as session:
        least = memory.available_bytes()
        with pytest.raises(DriverError, match="where 300 MiB are allowed") as caught:
            session.run([GRAPH], repeats=1)
        assert caught.value.kind == "memory"
        assert not session.alive
        assert memory.available_bytes() > least - 2**30
        session.start()
