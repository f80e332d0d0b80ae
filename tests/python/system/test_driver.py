"""`taskgrain.driver`: a driver in Python, as a real process."""

import hashlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskgrain._core import Run, Waiting
from taskgrain.drive.answers import DriverError
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.session import Session

DRIVER = """
import os
from taskgrain.system import Run, System, drive

class Loop(System):
    name, version, cores = "loop", "1", 1

    def execute(self, run: Run) -> None:
        os.write(1, b"a runtime's own print\\n")
        for g in range(run.graphs):
            before = {}
            for step in range(run.steps(g)):
                first, last = run.points(g, step)
                now = {}
                for point in range(first, last + 1):
                    now[point] = bytearray(run.output_bytes(g))
                    inputs = [before[j] for j in run.deps(g, step, point)]
                    MUTATION
                    run.execute_point(0, g, step, point, now[point], inputs)
                before = now

drive(Loop())
"""
PATTERNS = (
    "trivial",
    "stencil_1d_periodic",
    "dom",
    "tree",
    "fft",
    "spread",
    "random",
    "v_cycle",
    "fork_join",
)


def graph(pattern: str) -> dict[str, object]:
    kernel = {"name": "compute_bound", "iterations": 2}
    return {"pattern": pattern, "steps": 6, "width": 5, "output_bytes": 40, "kernel": kernel}


def session(tmp_path: Path, mutation: str = "pass") -> Session:
    file = tmp_path / "driver.py"
    file.write_text(DRIVER.replace("MUTATION", mutation))
    made = Session("loop", Launch((sys.executable, str(file)), {}, (0,)), tmp_path / "log")
    made.start()
    return made


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Session]:
    made = session(tmp_path)
    yield made
    made.close()


def test_every_pattern_with_full_validation(loop: Session) -> None:
    for pattern in PATTERNS:
        result = loop.run([graph(pattern), graph("nearest")], repeats=2, warmup=1, validate="full")
        assert len(result.seconds) == 2
        assert result.work == 256 * result.tasks


def test_how_long_its_threads_waited_for_a_processor(loop: Session) -> None:
    """Beside a process that never pauses, on the same core."""
    quick = {
        "pattern": "no_comm",
        "width": 1,
        "steps": 4,
        "kernel": {"name": "compute_bound", "iterations": 8},
    }
    long = quick | {"kernel": {"name": "busy_wait", "iterations": 10_000_000}}
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            os.sched_setaffinity(other.pid, [0])
            (seconds,) = (result := loop.run([long], repeats=1)).seconds
            assert 0.1 * seconds < result.waited[0] < seconds
            many = loop.run([quick], repeats=200)
        finally:
            other.kill()
    alone = [lost <= 0.03 * each for each, lost in zip(many.seconds, many.waited, strict=True)]
    assert sum(alone) > 150, "what is short falls between two turns of the other"


def test_a_thread_that_sleeps_does_not_wait() -> None:
    waiting, begin = Waiting(), time.perf_counter()
    threads = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(3)]
    for one in threads:
        one.start()
    time.sleep(0.2)
    # They have ended, but did not run.
    assert waiting.seconds(2, time.perf_counter() - begin) < 0.1


def test_what_a_thread_waited_that_has_ended_is_not_known() -> None:
    waiting, begin = Waiting(), time.perf_counter()
    thread = threading.Thread(target=hashlib.sha256, args=(bytes(2**26),))  # without the interpreter's lock
    thread.start()
    thread.join()
    while Path(f"/proc/self/task/{thread.native_id}").exists():  # joined is not yet ended
        time.sleep(0.001)
    assert math.isnan(waiting.seconds(2, time.perf_counter() - begin))


def test_what_it_prints_is_log(loop: Session, tmp_path: Path) -> None:
    loop.run([graph("trivial")], repeats=1)
    loop.close()  # the answer may come before the print is in the log
    assert "a runtime's own print" in (tmp_path / "log").read_text()


def test_an_error_does_not_end_it(loop: Session) -> None:
    with pytest.raises(DriverError) as error:
        loop.run([graph("nope")], repeats=1)
    assert (error.value.kind, "pattern: 'nope'" in error.value.message) == ("invalid", True)
    assert loop.run([graph("fft")], repeats=1).tasks == 30


@pytest.mark.parametrize(
    ("mutation", "kind"),
    [
        ("inputs = inputs[::-1]", "wrong_producer"),
        (
            "inputs = inputs[:-1]",
            "missing_input: graph 0, step 1, point 0, input 1: expected (0, 1), got none",
        ),
        ("if (step, point) == (5, 2): continue", "skipped"),
        ("raise OSError('out of luck')", "out of luck"),
        ("raise KeyError('lost')", "KeyError: 'lost'"),
    ],
)
def test_a_wrong_execution_is_named(tmp_path: Path, mutation: str, kind: str) -> None:
    broken = session(tmp_path, mutation)
    with pytest.raises(DriverError) as error:
        broken.run([graph("no_comm" if kind == "skipped" else "stencil_1d")], repeats=1)
    broken.close()
    assert kind in error.value.message


def test_every_run_lies_at_an_address_of_its_own() -> None:
    request = json.dumps({"op": "run", "graphs": [graph("tree")]})
    runs = [Run(request), Run(request)]
    assert 0 < runs[0].address != runs[1].address > 0


def test_a_fault_strikes_once_and_only_where_it_is_asked_for(tmp_path: Path) -> None:
    fault = {"kind": "fail", "step": 3, "point": 2}
    with session(tmp_path) as driver:
        if not driver.alive:
            driver.start()
        with pytest.raises(DriverError, match=r"task \(3, 2\) fails, time 1 of 1") as caught:
            driver.disturbed([graph("fft")], fault)
        assert caught.value.kind == "system"
        assert driver.run([graph("fft")], repeats=2, validate="full").executed == 30
        found = driver.disturbed([graph("fft")], fault | {"kind": "note"})
        assert (found.strikes, found.result.executed) == (1, 30)
        assert found.result.work == driver.run([graph("fft")], repeats=1).work
        with pytest.raises(DriverError, match=r"fault\.step: '6' is not allowed; allowed: 0 to 5") as caught:
            driver.disturbed([graph("fft")], fault | {"step": 6})
        assert caught.value.kind == "invalid"


def test_a_wrong_execution_is_found_beside_a_fault(tmp_path: Path) -> None:
    note = {"kind": "note", "step": 1, "point": 0}
    with session(tmp_path, "inputs = inputs[::-1]") as driver, pytest.raises(DriverError, match="wrong_pro"):
        driver.disturbed([graph("fft")], note)
