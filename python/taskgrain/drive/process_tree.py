"""A driver's processes, wherever the runtime puts them: started, stopped, continued and killed together."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO

from taskgrain import _core
from taskgrain.machine.processes import SUPERVISOR, runs
from taskgrain.words.errors import InputError

MARK = "TASKGRAIN_TREE"
"""An environment variable by which the processes of a tree are found even if their supervisor was killed."""
_KILLED_SECONDS = 60.0
"""The time that killed processes have to be gone, on a busy machine."""


def send(number: signal.Signals, pids: Sequence[int]) -> None:
    """Sends a signal to the processes that are still there."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def marked(mark: str) -> list[int]:
    """The processes of the tree with this mark that did not write over their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(int(name))
    return found


class Tree:
    """The processes of one command, under a supervisor that kills them when the harness wishes or dies."""

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: socket.socket, mark: str, scratch: str
    ) -> None:
        self.process = process
        self.scratch = scratch
        """The folder that is TMPDIR for the command."""
        self.mark = mark
        """The value of `MARK` in the environment of its processes, on other hosts too."""
        self._lifeline = lifeline
        """The supervisor ends when this end closes, and the other end closes when it has ended."""
        self._stopped: list[int] = []
        self._begun, self._shared = time.time() - 1.0, list[bytes]()  # ahead of the kernel's coarse clock

    def streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """The command's standard input, output and error."""
        one = self.process
        assert one.stdin is not None
        assert one.stdout is not None
        assert one.stderr is not None
        return one.stdin, one.stdout, one.stderr

    def pids(self) -> list[int]:
        """All living processes of the command, without the supervisor; those that were stopped, while they
        are: they start no other."""
        return self._stopped or _core.descendants([self.process.pid])

    def stop(self) -> None:
        """Takes every process off the cores (SIGSTOP)."""
        # While some still run, they may start others: go on until no new one appears.
        for _ in range(50):
            new = [pid for pid in _core.descendants([self.process.pid]) if pid not in self._stopped]
            if not new:
                return
            send(signal.SIGSTOP, new[::-1])
            self._stopped += new

    def go_on(self) -> None:
        """Undoes `stop`."""
        send(signal.SIGCONT, self._stopped[::-1])
        self._stopped = []

    def wait(self, timeout: float) -> int | None:
        """The exit code, or None if it still runs after `timeout` seconds."""
        if self.process.poll() is None and select.select([self._lifeline], [], [], timeout)[0]:
            self.process.wait()
        return self.process.returncode

    def note_shared_memory(self) -> None:
        """Has `kill` remove what the processes share in /dev/shm now, also if they end by themselves."""
        self._shared = _core.shared_memory(self.pids(), self._begun)

    def kill(self, timeout: float = 10.0) -> int | None:
        """Kills every process, and returns when they are gone."""
        if self.process.poll() is None:
            self._lifeline.shutdown(socket.SHUT_WR)
        code = self.wait(timeout)
        if code is None:  # the supervisor itself is stuck or stopped
            send(signal.SIGKILL, [*_core.descendants([self.process.pid]), self.process.pid])
            code = self.wait(_KILLED_SECONDS)
        if code is None or code < 0:
            self._kill_orphans()
        shutil.rmtree(self.scratch, ignore_errors=True)  # also what the supervisor could not remove
        for path in self._shared:
            with contextlib.suppress(OSError):
                os.unlink(path)
        if code is not None:
            self._lifeline.close()
        return code

    def _kill_orphans(self) -> None:
        """Kills processes of a supervisor that was itself killed."""
        killed: set[int] = set()
        end = time.monotonic() + _KILLED_SECONDS
        while time.monotonic() < end:
            found = marked(self.mark)
            send(signal.SIGKILL, found)
            killed.update(found)
            # One that is about to end has no environment any more, but may still hold its files.
            if not found and not any(map(runs, killed)):
                return
            time.sleep(0.002)


def _scratch(folder: str) -> str:
    try:
        return tempfile.mkdtemp(prefix="taskgrain-", dir=folder or None)
    except OSError as error:
        if not folder or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
            raise
        raise InputError("TMPDIR", folder, f"a folder that can be written ({error.strerror})") from None


def spawn(command: Sequence[str], env: Mapping[str, str], cores: Sequence[int] = ()) -> Tree:
    """Starts `command` on the processors `cores` (empty: any), its standard streams as pipes.

    Its TMPDIR is a folder of its own, below that of `env`, which goes when its processes do. Raises
    `InputError` where that is no folder to write to, and `OSError` where there is no room. HOME is that
    folder, too, where that of `env` cannot be written. A command that cannot be started ends with code 127
    and a line on its standard error.
    """
    lifeline, lifeline_end = socket.socketpair()
    mark = secrets.token_hex(8)
    scratch = ""
    try:
        scratch = _scratch(env.get("TMPDIR", ""))
        home = env.get("HOME", "")
        if not os.path.isdir(home) or not os.access(home, os.W_OK | os.X_OK):
            home = scratch  # arbitrary users of containers have none
        words = [str(lifeline_end.fileno()), scratch, ",".join(map(str, cores)), *command]
        process = subprocess.Popen(
            [SUPERVISOR, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**env, MARK: mark, "TMPDIR": scratch, "HOME": home},
            bufsize=0,
            start_new_session=True,
            pass_fds=(lifeline_end.fileno(),),
        )
    except BaseException:
        lifeline.close()
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    finally:
        lifeline_end.close()
    return Tree(process, lifeline, mark, scratch)
