"""Tests of the processes below one, and of the processor time that one has used."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from taskgrain._core import descendants
from taskgrain.machine.processes import cpu_seconds, runs

TREE = """
import os, sys, time
def below(depth):
    if depth and os.fork() == 0:
        os.setsid()
        below(depth - 1)
        time.sleep(100)
for _ in range(2):
    below(2)
print("ready", flush=True)
time.sleep(100)
"""
THREAD = """
import subprocess, sys, threading, time
def start():
    subprocess.Popen(["sleep", "100"])
    print("ready", flush=True)
    time.sleep(100)
threading.Thread(target=start).start()
"""


@contextmanager
def running(program: str) -> Iterator[int]:
    """A Python program that has printed a line; ended with all below it."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline()
            yield one.pid
        finally:
            for process in [*psutil.Process(one.pid).children(recursive=True), psutil.Process(one.pid)]:
                process.kill()


def count(root: int, wanted: int) -> list[int]:
    """The descendants as soon as there are so many: a child is there a moment after its fork."""
    wait_until(lambda: len(descendants([root])) >= wanted)
    return descendants([root])


def test_descendants_in_sessions_of_their_own_nearest_first() -> None:
    with running(TREE) as root:
        found = count(root, 4)
        assert sorted(found) == sorted(one.pid for one in psutil.Process(root).children(recursive=True))
        assert len(found) == len(set(found)) == 4
        parents = [psutil.Process(pid).ppid() for pid in found]
        assert parents[:2] == [root, root]
        assert sorted(parents[2:]) == sorted(found[:2])


def test_children_of_another_thread_than_the_first() -> None:
    with running(THREAD) as root:
        (child,) = count(root, 1)
        assert psutil.Process(child).name() == "sleep"


def test_the_table_of_all_processes_says_the_same() -> None:
    with running(TREE) as root:
        found = count(root, 4)
        assert sorted(descendants([root], listed=False)) == sorted(found)
        assert sorted(descendants(found[:2])) == sorted(found[2:])


@pytest.mark.parametrize("listed", [True, False])
def test_descendants_have_any_name(tmp_path: Path, listed: bool) -> None:
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sh")
    script = "sleep 1000 & sleep 1000 & echo ready; wait"
    with subprocess.Popen([str(program), "-c", script], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
            below = descendants([one.pid], listed)
            assert len(below) == 2
            assert {one.pid, *below} <= set(descendants([os.getpid()], listed))
            assert descendants(below[-1:], listed) == []
        finally:
            for process in psutil.Process(one.pid).children():
                process.kill()
            one.kill()


def test_a_process_that_is_gone_has_nothing() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    assert descendants([gone.pid]) == descendants([gone.pid], listed=False) == []
    assert cpu_seconds(gone.pid) == 0.0


def test_processor_time_of_all_threads_the_ended_ones_too() -> None:
    assert cpu_seconds(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)
    program = """
import threading, time
def spin():
    while time.thread_time() < 0.1: pass
thread = threading.Thread(target=spin); thread.start(); thread.join()
print("ready", flush=True); time.sleep(100)
"""
    with running(program) as pid:
        used = cpu_seconds(pid)
        assert used >= 0.1
        ticks = sum(psutil.Process(pid).cpu_times()[:2])
        assert used == pytest.approx(ticks, abs=0.1)


def test_a_process_runs_until_it_ends_not_until_it_is_collected() -> None:
    with subprocess.Popen(["sleep", "100"]) as one:
        assert runs(one.pid)
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert psutil.Process(one.pid).status() == psutil.STATUS_ZOMBIE
        assert not runs(one.pid)
    assert not runs(one.pid)
