"""The books of a fault, and the core that processes lose or get when these say so."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import wait_until

from taskgrain.drive.fault import Books, MovedCore

CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="there is one core")
THREADS = """
import os, threading, sys
stop, ready = threading.Event(), threading.Barrier(3)
def work(cores):
    os.sched_setaffinity(0, cores)
    ready.wait()
    stop.wait()
first, last = map(int, sys.argv[1:])
os.sched_setaffinity(0, {first, last})
for cores in ({first}, {last}):
    threading.Thread(target=work, args=(cores,)).start()
ready.wait()
print("ready", flush=True)
sys.stdin.readline()
stop.set()
"""


@pytest.fixture
def process() -> Iterator[int]:
    """One with three threads: on both cores, on the first, on the last."""
    command = [sys.executable, "-c", THREADS, *map(str, CORES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        assert one.stdin and one.stdout and one.stdout.readline() == b"ready\n"
        yield one.pid
        one.stdin.close()


def binding(process: int) -> list[set[int]]:
    return [os.sched_getaffinity(thread) for thread in sorted(map(int, os.listdir(f"/proc/{process}/task")))]


def wait_for(core: MovedCore) -> None:
    wait_until(lambda: core.moved)


def test_every_thread_loses_the_core_and_gets_back_what_it_had(process: int, tmp_path: Path) -> None:
    books = tmp_path / "books"
    before = [{*CORES}, {CORES[0]}, {CORES[1]}]
    with MovedCore(lambda: [process], CORES, books, given=False) as core:
        books.write_bytes(bytes(300))
        time.sleep(0.02)
        assert binding(process) == before and not core.moved
        books.write_bytes(b"\1" + bytes(300))
        wait_for(core)
        assert binding(process) == [{CORES[0]}] * 3
        os.sched_setaffinity(process, set(CORES))  # as a thread does that binds itself when it gets a task
        wait_until(lambda: binding(process) == [{CORES[0]}] * 3)
    assert binding(process) == before and not core.guessed


def test_a_thread_that_starts_meanwhile_may_use_all_in_the_end(process: int, tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.write_bytes(b"\1" + bytes(300))
    others: list[int] = []
    with MovedCore(lambda: [process, *others], CORES, books, given=False) as core:
        wait_for(core)
        bound = ["taskset", "--cpu-list", str(CORES[0]), "sleep", "1000"]
        with subprocess.Popen(bound) as other:
            wait_until(lambda: binding(other.pid) == [{CORES[0]}])
            others.append(other.pid)
            core.__exit__(None, None, None)
            assert binding(other.pid) == [{*CORES}] and core.guessed, "nobody knows what it may have had"
            other.kill()


def test_every_thread_is_without_the_core_until_it_is_given(process: int, tmp_path: Path) -> None:
    books = tmp_path / "books"
    before = [{*CORES}, {CORES[0]}, {CORES[1]}]
    with MovedCore(lambda: [process], CORES, books, given=True) as core:
        assert binding(process) == [{CORES[0]}] * 3
        os.sched_setaffinity(process, set(CORES))  # as a thread does that binds itself when the run begins
        wait_until(lambda: binding(process) == [{CORES[0]}] * 3)
        books.write_bytes(b"\1" + bytes(300))
        wait_for(core)
        assert binding(process) == before
    assert binding(process) == before


@pytest.mark.parametrize("given", [False, True])
def test_no_core_moves_if_the_run_is_over_before(process: int, tmp_path: Path, given: bool) -> None:
    before = binding(process)
    with MovedCore(lambda: [process], CORES, tmp_path / "none", given) as core:
        pass
    assert not core.moved and binding(process) == before


def test_processes_that_have_ended_do_no_harm(tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.write_bytes(b"\1" + bytes(7))
    with MovedCore(lambda: [2**22 + 1], CORES, books, given=False) as core:
        time.sleep(0.02)
    assert not core.moved, "nobody had it"


def test_strikes_are_read_even_when_the_folder_has_gone(tmp_path: Path) -> None:
    folder = tmp_path / "driver"
    folder.mkdir()
    file = folder / "books"
    with Books(str(file)) as books:
        assert file.exists() and books.strikes() == 0, "nobody has begun them"
        with file.open("r+b") as written:  # as a driver does, which maps it
            written.write((3).to_bytes(8, "little") + bytes(100))
        shutil.rmtree(folder)
        assert books.strikes() == 3
    with Books(str(tmp_path / "file")) as books:
        pass
    assert not (tmp_path / "file").exists()


def test_what_cannot_be_made_has_none(tmp_path: Path) -> None:
    with Books(str(tmp_path / "nowhere" / "books")) as books:
        assert books.strikes() == 0
