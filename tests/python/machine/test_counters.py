"""Counters of processes, with events that the kernel itself counts: a virtual machine has no others."""

import errno
import os
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest

from taskgrain.machine import counters
from taskgrain.machine.counters import Counters, Unreadable

PAGES = 3000
TOUCHING = f"""
import mmap, os, sys, threading
def touch():
    memory = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range({PAGES}):
        memory[page * mmap.PAGESIZE] = 1
print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=touch)  # started when it is already counted
thread.start()
thread.join()
if os.fork() == 0:
    touch()
    os._exit(0)
os.wait()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def kernel_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "EVENTS", {"page_faults": (1, 2), "task_clock": (1, 1)})
    try:
        Counters([os.getpid()]).__exit__(None, None, None)
    except Unreadable as error:
        pytest.skip(str(error))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", TOUCHING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stdout and one.stdout.readline() == b"ready\n"
        yield one
        one.kill()


def test_threads_and_processes_that_start_later_count(
    kernel_events: None, process: subprocess.Popen[bytes]
) -> None:
    assert process.stdin and process.stdout
    files = len(os.listdir("/proc/self/fd"))
    with Counters([process.pid]) as found:
        before = found.read()
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"done\n"
        after = found.read()
    faults = after["page_faults"] - before["page_faults"]
    assert 2 * PAGES <= faults < 2 * PAGES + 2000
    assert after["task_clock"] > before["task_clock"]
    assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.parametrize(
    ("enabled", "counted", "value"), [(0, 0, 0.0), (8, 0, None), (8, 4, 20.0), (8, 8, 10.0)]
)
def test_what_had_no_counter_is_unknown_and_what_shared_one_is_scaled(
    enabled: int, counted: int, value: float | None
) -> None:
    reading, writing = os.pipe()
    os.write(writing, struct.pack("=QQQ", 10, enabled, counted))
    assert counters._value(reading) == value
    os.close(reading)
    os.close(writing)


def test_a_process_that_has_ended_counts_nothing(kernel_events: None) -> None:
    with Counters([2**22 + 1]) as found:
        assert found.read() == {"page_faults": 0, "task_clock": 0}


@pytest.mark.parametrize(
    ("code", "why"),
    [(errno.ENOENT, "this machine shows no such counters"), (errno.EACCES, "the kernel does not allow it"),
     (errno.EMFILE, "Too many open files")],
)  # fmt: skip
def test_why_nothing_can_be_counted(monkeypatch: pytest.MonkeyPatch, code: int, why: str) -> None:
    """By a system call that fails in this way: no such event, or no such file."""
    monkeypatch.setattr(counters.ctypes, "get_errno", lambda: code)
    monkeypatch.setattr(counters, "EVENTS", {"none": (12345, 0)})
    with pytest.raises(Unreadable, match=why):
        Counters([os.getpid()])


def test_an_unknown_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_SYSCALL", {})
    with pytest.raises(Unreadable, match="not known how on"):
        Counters([os.getpid()])
