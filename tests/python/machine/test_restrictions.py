"""Tests of limits that are short: a driver that fails by one names it."""

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from killable_study import program

SAY = [
    sys.executable,
    "-c",
    "from taskgrain.machine import restrictions as r; print('; '.join(r.restrictions()))",
]
RUN = program(["run", "--system", "serial", "--steps", "10", "--repeats", "1"])


def said(command: list[str], before: Callable[[], None] | None = None) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, preexec_fn=before, text=True, check=False)
    return done.stdout


def within(setting_up: str, command: list[str], *kinds: str) -> str:
    """The output of a command in namespaces of its own."""
    alone = ["unshare", *kinds, "sh", "-c"]
    if subprocess.run([*alone, setting_up], capture_output=True, check=False).returncode:
        pytest.skip("may not make namespaces")
    return said([*alone, f'{setting_up}; exec "$0" "$@"', *command])


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        (resource.RLIMIT_AS, 2**31, "ulimit -v (address space: 2 GiB)"),
        (resource.RLIMIT_STACK, 2**19, "ulimit -s (stack: 512 KiB)"),
        (resource.RLIMIT_MEMLOCK, 0, "ulimit -l (locked memory: 0 B)"),
        (resource.RLIMIT_FSIZE, 8192, "ulimit -f (size of a file: 8 KiB)"),
        (resource.RLIMIT_NOFILE, 64, "ulimit -n (open files: 64)"),
        (resource.RLIMIT_NPROC, 40, "ulimit -u (processes and threads: 40)"),
    ],
)
def test_a_low_limit_is_named_with_its_option(limit: int, most: int, words: str) -> None:
    assert words in said(SAY, lambda: resource.setrlimit(limit, (most, resource.getrlimit(limit)[1])))


def test_a_common_limit_is_not_named() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < 1024:
        pytest.skip("has a lower limit")
    assert "open files" not in said(SAY, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, most)))


@pytest.mark.parametrize(
    ("setting_up", "words"),
    [
        (
            "mount -t tmpfs -o size=1m none /dev/shm",
            "/dev/shm (room for 1 MiB; mount a larger one, with docker run ",
        ),
        ("mount -t tmpfs -o ro none /dev/shm", "/dev/shm (cannot be written)"),
        ("mount -t tmpfs none /dev", "/dev/shm (is not there)"),
        (
            "mount -t tmpfs -o noexec,size=1m none /mnt; export TMPDIR=/mnt",
            "TMPDIR (/mnt is mounted noexec); TMPDIR (/mnt has room for",
        ),
    ],
)
def test_what_is_mounted_small_or_not_to_be_written(setting_up: str, words: str) -> None:
    assert words in within(setting_up, SAY, "-m")


def test_a_machine_without_a_network_to_itself() -> None:
    assert "network to itself, 127.0.0.1 (Network is unreachable" in within("true", SAY, "-n")


@pytest.fixture
def in_a_small_group() -> Iterator[Callable[[], None]]:
    """Puts a process into a control group of two processes and threads."""
    with contextlib.ExitStack() as stack:
        groups = Path("/sys/fs/cgroup")
        group = (groups / "pids" if (groups / "pids").is_dir() else groups) / f"taskgrain-test-{os.getpid()}"
        try:
            group.mkdir()
            stack.callback(group.rmdir)
            (group / "pids.max").write_text("2")
        except OSError:
            pytest.skip("may not make control groups")

        def join() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

        yield join


def test_the_control_group_s_number_of_processes(in_a_small_group: Callable[[], None]) -> None:
    words = "the control group's processes and threads (2; docker run --pids-limit)"
    assert words in said(SAY, in_a_small_group)
    failed = said(RUN, in_a_small_group)
    assert "crash: cannot be started: can't start new thread; short here: " in failed and words in failed


def test_a_driver_that_cannot_be_started_says_what_is_short() -> None:
    failed = said(RUN, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
    assert (
        "crash: cannot be started: [Errno 24] Too many open files; short here: ulimit -n (open files: 8)"
        in failed
    )
