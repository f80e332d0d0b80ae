"""The program that runs one command and leaves nothing of it behind (see test_process_tree.py too)."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from taskgrain.drive.process_tree import spawn
from taskgrain.machine.processes import SUPERVISOR


class Supervised:
    """A supervisor, and the end of the pipe that the harness holds."""

    def __init__(self, scratch: Path, *command: str, cores: str = "") -> None:
        self.scratch = scratch
        scratch.mkdir()
        (scratch / "left").touch()
        end, self._lifeline = os.pipe()
        self.process = subprocess.Popen(
            [SUPERVISOR, str(end), str(scratch), cores, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(end,),
            start_new_session=True,
        )
        os.close(end)

    def let_go(self) -> None:
        """Closes the lifeline, as the harness does to end a driver, or the kernel when it is killed."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def finish(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate()
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    started: list[Supervised] = []

    def make(*command: str, cores: str = "") -> Supervised:
        started.append(Supervised(tmp_path / f"scratch{len(started)}", *command, cores=cores))
        return started[-1]

    yield make
    for one in started:
        one.let_go()
        one.finish()
        assert not one.scratch.exists()


def test_told_to_terminate_it_kills_every_descendant(start: Callable[..., Supervised]) -> None:
    one = start("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!; wait")
    assert one.process.stdout is not None
    daemon = int(one.process.stdout.readline())
    one.process.terminate()
    assert one.finish()[0] == 137
    assert not psutil.pid_exists(daemon) and not one.scratch.exists()


def test_what_the_command_leaves_is_killed_when_it_ends(start: Callable[..., Supervised]) -> None:
    one = start("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!; exit 4")
    code, out, _ = one.finish()
    assert code == 4
    assert not psutil.pid_exists(int(out))


def test_a_signal_from_the_terminal_reaches_the_command_alone(start: Callable[..., Supervised]) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        one = start(
            "sh", "-c", f"trap 'echo heard; exit 5' {int(number)}; echo ready; while :; do sleep 0.01; done"
        )
        assert one.process.stdout is not None
        assert one.process.stdout.readline() == b"ready\n"
        os.killpg(one.process.pid, number)
        assert one.finish()[:2] == (5, b"heard\n")


def test_the_kernel_ends_the_command_before_others_when_memory_is_short(
    start: Callable[..., Supervised],
) -> None:
    one = start("cat", "/proc/self/oom_score_adj")
    assert one.finish()[1] == b"1000\n"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no shared memory")
def test_shared_memory_goes_with_what_is_killed() -> None:
    """Also what LLVM's OpenMP names after the process; not what others made."""
    code = """if True:
        import mmap, os, sys, time
        names = [f"/dev/shm/taskgrain-test-{sys.argv[1]}"]
        names += [f"/dev/shm/__KMP_REGISTERED_LIB_{os.getpid()}_{os.getuid()}"]
        for name in names:
            open(name, "wb").write(bytes(4096))
        file = open(names[0], "r+b")
        shared = mmap.mmap(file.fileno(), 4096)
        print(*names, flush=True)
        time.sleep(1000)
    """
    mark = secrets.token_hex(8)
    mine = Path(f"/dev/shm/taskgrain-test-of-mine-{mark}")
    mine.write_bytes(b"")
    try:
        tree = spawn([sys.executable, "-c", code, mark], os.environ)
        names = tree.streams()[1].readline().split()
        assert len(names) == 2 and all(map(os.path.exists, names))
        tree.kill()
        assert not any(map(os.path.exists, names)) and mine.exists()
    finally:
        mine.unlink()


def test_the_end_of_the_command_is_seen_where_the_caller_ignores_that_of_its_children(
    start: Callable[..., Supervised],
) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # which the child inherits, over its exec
    try:
        one = start("sh", "-c", "exit 7")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert one.process.wait(10) == 7
