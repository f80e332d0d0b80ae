"""One configuration, run once, with a driver as a process."""

import sys
from pathlib import Path
from typing import Any

import pytest

from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.machine import counters
from taskgrain.measure.single import ReferenceRuns, Wanted, run
from taskgrain.study.workload import Workload
from taskgrain.words.errors import TaskgrainError, UsageError

DRIVERS = Path(__file__).parents[1] / "drivers"
FAKE, RETRYING = DRIVERS / "fake.py", DRIVERS / "retrying.py"


pytestmark = pytest.mark.usefixtures("simulated")


def outcome(
    folder: Path, fault: str = "=", iterations: int = 100, task: float | None = None, overhead: str = "1e-6"
) -> Any:
    command = (sys.executable, str(FAKE), overhead, "0.0", fault)
    system = System("fast", folder, "Fast", command=command, simulated=True)
    wanted = Wanted(Workload("stencil_1d", 4), 10, iterations, 3, 1, "sample", "auto", task)
    with ReferenceRuns((0,), "auto") as reference:
        return run(system, (0,), wanted, reference)


def test_what_a_run_came_to(tmp_path: Path) -> None:
    found = outcome(tmp_path)
    assert (found["system"], found["workload"]) == ("fast", "stencil_1d/width=4")
    assert (found["steps"], found["iterations"], found["tasks"]) == (10, 100, 40)
    seconds = sorted(found["seconds"])
    assert found["median_seconds"] == seconds[1] and len(seconds) == 3
    cores, median = found["cores"], found["median_seconds"]
    assert found["granularity"] == pytest.approx(median * cores / 40)
    assert found["rate"] == pytest.approx(found["work"] / median)
    truth = 6.4 / 7.4  # 100 iterations of 64 ns, and 1 µs beside them
    assert found["efficiency"] == pytest.approx(truth, rel=0.03)
    assert found["efficiency_low"] <= found["efficiency"] <= found["efficiency_high"]
    assert found["task_seconds"] == pytest.approx(6.4e-6, rel=0.03)
    assert found["asked_seconds"] is None


def test_the_measured_run_is_the_first_of_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or memory that an earlier run took would not come with it."""
    asked: list[str] = []
    original = Session.ask

    def ask(session: Session, request: Any, *words: Any, **named: Any) -> Any:
        if session.name == "fast":
            asked.append(request["op"])
        return original(session, request, *words, **named)

    monkeypatch.setattr(Session, "ask", ask)
    outcome(tmp_path)
    assert asked.count("hello") == 1 and asked.count("run") == 1
    asked.clear()
    outcome(tmp_path, task=20e-6)
    assert asked == ["hello", "run", "hello", "run"]


def real(folder: Path, counters: bool = True, tasks: int = 4) -> Any:
    command = (sys.executable, str(RETRYING), "3")
    system = System("real", folder, "Real", command=command)
    wanted = Wanted(Workload("stencil_1d", tasks, graphs=2), 2, 0, 1, 1, "full", "auto", counters=counters)
    with ReferenceRuns((0,), "auto") as reference:
        return run(system, (0,), wanted, reference)


def test_counters_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "EVENTS", {"page_faults": (1, 2), "task_clock": (1, 1)})
    found = real(tmp_path)
    if found["counters"] is None:
        pytest.skip(found["counters_unknown"])
    assert 0 < found["counters"]["page_faults"] < 1e6
    assert 1e5 < found["counters"]["task_clock"] < 1e11  # nanoseconds
    assert (found["counters_unknown"], found["warmup"]) == ("", 1)


def test_why_there_are_no_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "EVENTS", {"none": (12345, 0)})
    found = real(tmp_path)
    assert found["counters"] is None and found["counters_unknown"]
    found = real(tmp_path, counters=False)
    assert (found["counters"], found["counters_unknown"]) == (None, "")


def test_memory_that_came_with_the_run(tmp_path: Path) -> None:
    few, many = (real(tmp_path, tasks=tasks) for tasks in (4, 2000))
    assert (few["tasks_in_flight"], many["tasks_in_flight"]) == (8, 4000)
    # Each task has at least an output of 16 bytes and something to call it by.
    assert many["growth_bytes"] - few["growth_bytes"] > 32 * 4000
    assert outcome(tmp_path)["growth_bytes"] is None  # a simulation


def test_a_failure_is_an_outcome_with_its_log(tmp_path: Path) -> None:
    found = outcome(tmp_path, "stencil_1d=validation")
    assert found["error"] == "validation" and found["message"] and "seconds" not in found


def test_an_invalid_request_is_the_users(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fast: "):
        outcome(tmp_path, "stencil_1d=invalid")


def test_a_task_time_is_turned_into_iterations(tmp_path: Path) -> None:
    found = outcome(tmp_path, iterations=0, task=64e-6)
    assert found["iterations"] == pytest.approx(1000, rel=0.03)
    assert found["task_seconds"] == pytest.approx(64e-6, rel=0.03)
    assert found["efficiency"] == pytest.approx(64 / 65, rel=0.03)


def test_the_iterations_are_known_where_the_driver_does_not_start_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[str] = []
    original = Session.start

    def start(session: Session) -> Any:
        if session.name == "fast" and starts:
            raise DriverError("crash", "did not start")
        starts.extend([session.name] * (session.name == "fast"))
        return original(session)

    monkeypatch.setattr(Session, "start", start)
    found = outcome(tmp_path, iterations=0, task=64e-6)
    assert (found["error"], found["iterations"]) == ("crash", pytest.approx(1000, rel=0.03))


def test_why_there_is_no_efficiency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = outcome(tmp_path, iterations=0)
    assert idle["efficiency"] is None and idle["efficiency_unknown"] == "tasks without work have none"
    monkeypatch.setenv("TASKGRAIN_REFERENCE", "/bin/true")
    unknown = outcome(tmp_path)
    assert unknown["efficiency"] is None and "taskgrain-reference: ended" in unknown["efficiency_unknown"]
    assert len(unknown["seconds"]) == 3, "the run counts all the same"


def test_what_cannot_be_is_warned_of(tmp_path: Path) -> None:
    assert not outcome(tmp_path, iterations=0, task=64e-6)["warnings"]
    (off,) = outcome(tmp_path, iterations=0, task=10e-9)["warnings"]  # an iteration takes 64 ns
    assert (off["code"], off["asked"], off["iterations"]) == ("task_time_off", 10e-9, 1)
    assert off["text"].startswith("The work of a task of 1 iteration took 6")
    (fast,) = outcome(tmp_path, overhead="-3.2e-6")["warnings"]
    assert fast["code"] == "efficiency_above_one" and fast["efficiency"] == pytest.approx(2.0, rel=0.05)


WORKLOAD = Workload("stencil_1d", 4)


def system(folder: Path) -> System:
    return System("fast", folder, "Fast", command=(sys.executable, str(FAKE), "1e-6", "0.0"), simulated=True)


def test_the_peak_and_the_iterations_of_a_time(tmp_path: Path) -> None:
    one = system(tmp_path)
    with ReferenceRuns((0,), "auto") as reference, Session(one.name, one.launch((0,))) as session:
        session.start()
        assert reference.peak(one, WORKLOAD, 1) == pytest.approx(2e9, rel=0.1)  # 128 FLOP in 64 ns
        found = reference.iterations(one, session, WORKLOAD, 64e-6)
        assert found == pytest.approx(1000, rel=0.1)
        assert reference.iterations(one, session, WORKLOAD, 64e-6) == found, "all systems get the same"
        assert reference.iterations(one, session, WORKLOAD, 1e-9) == 1


def test_a_reference_that_does_not_work_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", "/bin/true")
    with (
        ReferenceRuns((0,), "auto") as reference,
        pytest.raises(TaskgrainError, match="taskgrain-reference: ended"),
    ):
        reference.peak(system(tmp_path), WORKLOAD, 1)
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(tmp_path / "nothing"))
    with (
        ReferenceRuns((0,), "auto") as reference,
        pytest.raises(TaskgrainError, match="is missing or no program"),
    ):
        reference.peak(system(tmp_path), WORKLOAD, 1)
