"""The processes of a command: started, stopped and killed together, wherever they have gone."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from waiting import HANG, wait_until

from taskgrain._core import descendants
from taskgrain.drive.process_tree import Tree, spawn
from taskgrain.machine.processes import runs
from taskgrain.words.errors import InputError

CORES = tuple(sorted(os.sched_getaffinity(0)))
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = b"x" * 2**26  # takes the kernel a moment to give back
        os.write(1, b"daemon\\n")
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)
"""
FORKS = """
import os, sys, time
os.write(1, b"ready\\n")
while True:
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    time.sleep(0.01)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


class Trees:
    """Starts trees, and ends them after the test."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._started: list[Tree] = []

    def __call__(self, *command: str, cores: tuple[int, ...] = (), **env: str) -> Tree:
        tree = spawn(command, {**os.environ, "TMPDIR": str(self.scratch), **env}, cores)
        self._started.append(tree)
        return tree

    def python(self, program: str, cores: tuple[int, ...] = ()) -> Tree:
        return self(sys.executable, "-c", program, cores=cores)

    def end(self) -> None:
        for tree in self._started:
            tree.kill()
            for stream in tree.streams():
                stream.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Trees]:
    made = Trees(tmp_path / "scratch")
    made.scratch.mkdir()
    yield made
    made.end()
    assert not list(made.scratch.iterdir())


def test_streams_and_exit_code(start: Trees) -> None:
    tree = start("sh", "-c", "read line; echo got $line; echo wrong >&2; exit 3")
    stdin, stdout, stderr = tree.streams()
    stdin.write(b"this\n")
    assert (stdout.read(), stderr.read()) == (b"got this\n", b"wrong\n")
    assert tree.wait(HANG) == 3
    assert tree.kill() == 3
    assert tree.pids() == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGSEGV, 139), (signal.SIGKILL, 137)])
def test_a_command_that_a_signal_ended(start: Trees, number: int, code: int) -> None:
    assert start("sh", "-c", f"kill -{int(number)} $$").wait(HANG) == code


def test_a_command_that_cannot_be_started(start: Trees, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no program")
    for name, why in (
        ("/nowhere/it", "No such file or directory"),
        (os.fsdecode(b"/nowhere/\xff"), "No such file or directory"),
        (str(tmp_path / "file"), "Permission denied"),
    ):
        tree = start(name)
        assert tree.streams()[2].read() == os.fsencode(f"taskgrain: cannot start {name}: {why}\n")
        assert tree.wait(HANG) == 127


def test_it_runs_where_it_is_told(start: Trees) -> None:
    program = "import os; print(sorted(os.sched_getaffinity(0)))"
    assert start.python(program, CORES[-1:]).streams()[1].read() == f"[{CORES[-1]}]\n".encode()
    assert start.python(program).streams()[1].read() == f"{list(CORES)}\n".encode()
    nowhere = start("true", cores=(10_000,))
    assert b"cannot start true: Invalid argument" in nowhere.streams()[2].read()


def test_its_temporary_files_go_with_it(start: Trees) -> None:
    tree = start("sh", "-c", 'echo $TMPDIR; mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; sleep 1000')
    folder = Path(tree.streams()[1].readline().decode().strip())
    assert folder.parent == start.scratch
    wait_until((folder / "a/b/c").exists)
    tree.kill()
    assert not folder.exists()


@pytest.mark.parametrize("home", ["", "/nonexistent", "/dev/null"])
def test_who_has_no_home_gets_that_folder(start: Trees, home: str, tmp_path: Path) -> None:
    said = start("sh", "-c", "echo $TMPDIR; echo $HOME; touch $HOME/x", HOME=home).streams()
    temporary, its_home = said[1].read().split()
    assert (its_home, said[2].read()) == (temporary, b"")
    _, other, _ = start("sh", "-c", "echo $HOME", HOME=str(tmp_path)).streams()
    assert other.read().decode() == f"{tmp_path}\n", "who has one keeps it"


def test_without_a_place_for_them_nothing_is_left(start: Trees, tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(InputError, match=r"TMPDIR: .*nowhere is not allowed; allowed: a folder that can be"):
        start("true", TMPDIR=str(tmp_path / "nowhere"))
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_no_descriptor_stays_open(start: Trees) -> None:
    before = len(os.listdir("/proc/self/fd"))
    tree = start("cat")
    tree.kill()
    for stream in tree.streams():
        stream.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_daemon_is_stopped_goes_on_and_is_killed(start: Trees) -> None:
    tree = start.python(DAEMON)
    assert tree.streams()[1].readline() == b"daemon\n"
    wait_until(lambda: len(tree.pids()) == 2)
    pids = tree.pids()
    tree.stop()
    wait_until(lambda: all(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in pids))
    tree.go_on()
    wait_until(lambda: all(psutil.Process(pid).status() != psutil.STATUS_STOPPED for pid in pids))
    tree.stop()
    assert tree.kill() == 137
    assert not any(map(runs, pids))


def test_none_that_is_started_meanwhile_escapes(start: Trees) -> None:
    tree = start.python(FORKS)
    assert tree.streams()[1].readline() == b"ready\n"
    tree.stop()
    held_up = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)  # one that had ended is not collected meanwhile

    def below() -> list[int]:
        return descendants([tree.process.pid])

    wait_until(lambda: all(psutil.Process(pid).status() in held_up for pid in below()))
    held = below()
    time.sleep(0.1)  # ten times what it takes to start one more
    assert below() == held and set(held) <= set(tree.pids())
    tree.go_on()
    wait_until(lambda: tree.pids() != held)
    tree.kill()
    assert not any(map(runs, held))


def test_what_a_killed_supervisor_leaves_is_killed(start: Trees) -> None:
    tree = start.python(DAEMON)
    assert tree.streams()[1].readline() == b"daemon\n"
    wait_until(lambda: len(tree.pids()) == 2)
    pids = tree.pids()
    os.kill(tree.process.pid, signal.SIGKILL)
    assert tree.wait(HANG) == -signal.SIGKILL
    tree.kill()
    assert not any(map(runs, pids)), "they are gone, not only about to go"


def test_a_stopped_supervisor_cannot_keep_its_processes(start: Trees) -> None:
    tree = start("sleep", "1000")
    wait_until(lambda: len(tree.pids()) == 1)
    pids = tree.pids()
    os.kill(tree.process.pid, signal.SIGSTOP)
    assert tree.kill(timeout=2.0) == -signal.SIGKILL
    assert not any(map(runs, pids))


def test_a_wait_that_is_over_says_so(start: Trees) -> None:
    tree = start("sleep", "1000")
    assert tree.wait(0.05) is None
    assert tree.kill() == 137
    assert tree.kill() == 137, "again"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no shared memory")
def test_shared_memory_that_was_noted_goes_with_what_ends_by_itself(start: Trees) -> None:
    """As Ray's semaphores, which it does not remove."""
    code = """if True:
        import mmap, os, sys
        name = f"/dev/shm/taskgrain-test-{os.getpid()}"
        with open(name, "w+b") as file:
            file.truncate(4096)
            shared = mmap.mmap(file.fileno(), 4096)
        print(name, flush=True)
        sys.stdin.read()
    """
    tree = start(sys.executable, "-c", code)
    stdin, stdout, _ = tree.streams()
    name = stdout.readline().decode().strip()
    tree.note_shared_memory()
    stdin.close()
    assert tree.wait(HANG) == 0 and os.path.exists(name)
    tree.kill()
    assert not os.path.exists(name)
