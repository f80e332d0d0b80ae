"""Tests of the memory that a driver may hold, and of when it is stopped."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from made_cgroups import made_cgroups
from waiting import wait_until

from taskgrain._core import descendants
from taskgrain.machine import memory
from taskgrain.machine.memory import Growth, MemoryWatch
from taskgrain.words.errors import InputError


def test_the_limit_is_a_share_of_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.MEMORY_VARIABLE, raising=False)
    available, total = memory.available_bytes(), memory.total_bytes()
    assert 0 < available <= total
    assert MemoryWatch().limit == pytest.approx(0.8 * available, rel=0.2)
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "2G")
    assert MemoryWatch().limit == 2 * 2**30
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "plenty")
    with pytest.raises(InputError, match="TASKGRAIN_MEMORY: plenty is not allowed"):
        MemoryWatch()


def test_memory_that_is_shared_counts_once() -> None:
    code = (
        "import mmap, os, time\n"
        "held = mmap.mmap(-1, 2**26)\n"
        "held.write(b'x' * 2**26)\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: break\n"
        "sum(held[::4096]); os.write(1, b'now\\n'); time.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        for _ in range(4):
            assert one.stdout.readline() == b"now\n"
        pids = [one.pid, *descendants([one.pid])]
        assert len(pids) == 4
        assert MemoryWatch(2**27).excess(pids) is None
        assert "where 48 MiB are allowed" in str(MemoryWatch(48 * 2**20).excess(pids))
        for pid in pids:
            psutil.Process(pid).kill()


def test_a_kernel_that_shares_no_pages_out_says_what_is_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_smaps(name: str, mode: str) -> object:
        if "smaps" in name:
            raise FileNotFoundError(name)
        return open(name, mode)

    # psutil then has no such field.
    monkeypatch.delattr(psutil.Process, "memory_full_info")
    monkeypatch.setattr(memory, "open", without_smaps, raising=False)
    assert "where 1 B are allowed" in str(MemoryWatch(1).excess([os.getpid()]))


GROWING = """
import sys
held = bytearray(2**26)  # before
del held
print("ready", flush=True)
sys.stdin.readline()
held = bytearray(2**25)
del held
print("done", flush=True)
sys.stdin.readline()
"""


def test_growth_is_the_peak_since_then_and_no_earlier_one() -> None:
    command = [sys.executable, "-c", GROWING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        assert one.stdin and one.stdout and one.stdout.readline() == b"ready\n"
        growth = Growth([one.pid])
        assert growth.bytes([one.pid]) == pytest.approx(0, abs=2**22)
        one.stdin.write(b"\n")
        one.stdin.flush()
        assert one.stdout.readline() == b"done\n"
        assert growth.bytes([one.pid]) == pytest.approx(2**25, abs=2**22)
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as another:
            pids = [one.pid, another.pid]  # of a new process all counts
            wait_until(lambda: (growth.bytes(pids) or 0) > 2**25 + 2**22)
            another.kill()
        one.kill()
    assert growth.bytes([one.pid]) == 0
    assert Growth([]).bytes([os.getpid()]) is None


def test_a_machine_that_runs_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine itself cannot be brought there without harm to what else runs on it.
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    watch = MemoryWatch(2**50)
    monkeypatch.setattr(memory, "_resident", lambda pid: 2**31)
    assert watch.excess([1]) == "holds 2 GiB of memory, and only 1 MiB are left"
    monkeypatch.setattr(memory, "_resident", lambda pid: 2**20)
    assert watch.excess([1]) is None  # somebody else ate it


def test_control_groups_limit_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Both versions of control groups at once; a test may rarely make one of its own.
    files: dict[str, object] = {
        "v2/a/b/memory.max": "max",
        "v2/a/b/memory.current": 1000,
        "v2/a/memory.max": 100000,
        "v2/a/memory.current": 40000,
        "v2/a/memory.stat": "anon 30000\ninactive_file 5000",
        "v1/memory/c/memory.limit_in_bytes": 90000,
        "v1/memory/c/memory.usage_in_bytes": 10000,
    }
    made_cgroups(tmp_path, monkeypatch, "0::/a/b\n4:cpu,memory:/c", files)
    assert memory.available_bytes() == 65000
    assert memory.total_bytes() == 90000


def test_without_a_control_group_the_machine_alone_limits_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made_cgroups(tmp_path, monkeypatch, "", {})
    assert memory.total_bytes() == psutil.virtual_memory().total
    # Version 1 says a number where there is no limit.
    names = ("v1/memory/memory.limit_in_bytes", "v1/memory/memory.usage_in_bytes")
    files: dict[str, object] = dict(zip(names, (9223372036854771712, 10000), strict=True))
    made_cgroups(tmp_path, monkeypatch, "12:memory:/\n1:name=systemd:/", files)
    assert memory.total_bytes() == psutil.virtual_memory().total


def test_a_group_that_is_over_its_limit_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made_cgroups(tmp_path, monkeypatch, "0::/", {"v2/memory.max": 1000, "v2/memory.current": 1500})
    assert memory.available_bytes() == 0


def test_processes_that_are_gone_hold_nothing() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    assert MemoryWatch(1).excess([gone.pid]) is None
    assert MemoryWatch(1).excess([]) is None
    assert "where 1 B are allowed" in str(MemoryWatch(1).excess([gone.pid, os.getpid()]))
