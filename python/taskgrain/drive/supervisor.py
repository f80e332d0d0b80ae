"""Runs one command and leaves nothing of it behind; started by `tree.spawn`, not imported by the harness.

    python -I -S supervisor.py FD SCRATCH CORES COMMAND …

The harness holds the other end of the pipe FD. When that closes, by the harness's wish or because it was
killed with SIGKILL, or when the supervisor is told to terminate, every descendant of the command is killed:
also ranks in process groups of their own, daemons, and stopped processes, none of which would see a closed
standard input. That they all stay descendants is the work of PR_SET_CHILD_SUBREAPER. The folder SCRATCH, with
what they left there, goes last.

It ends with the command's exit code, 128 + n if signal n killed it.

It imports nothing of the package, so that it starts in milliseconds. So it walks the processes itself, with
`descendants`, where the harness has `machine.processes`.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def descendants(*roots: int) -> list[int]:
    """All processes below the `roots`, nearest first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The program's name is in brackets and may hold anything, brackets too.
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    front = list(roots)
    while front:
        front = [child for pid in front for child in children.get(pid, [])]
        found += front
    return found


def shared_memory(pids: list[int], since: float) -> list[bytes]:
    """Files of /dev/shm that are younger than `since` and that these processes share: MPI, Python and
    OpenMP remove theirs at the end, but not if they are killed, and Ray leaves its semaphores."""
    found: set[bytes] = set()
    for pid in pids:
        found.add(b"/dev/shm/__KMP_REGISTERED_LIB_%d_%d" % (pid, os.getuid()))  # LLVM's does not stay mapped
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as file:
            shared = (line.partition(b"/dev/shm/")[1:] for line in file if b" rw-s " in line)
            found |= {b"".join(path).rstrip() for path in shared if path[0]}
    young = []
    for path in found:
        with contextlib.suppress(OSError):
            if os.stat(path, follow_symlinks=False).st_ctime >= since:
                young.append(path)
    return young


def _reap(main: int, code: int | None) -> tuple[int | None, bool]:
    """Collects the dead. Returns the command's exit code, if it has one, and whether any child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        if pid == main:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def _kill_all(main: int, code: int | None) -> int:
    end = time.monotonic() + 30.0  # a process in uninterruptible sleep cannot be waited for any longer
    while time.monotonic() < end:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        code, left = _reap(main, code)
        if not left:
            break
        time.sleep(0.002)
    return 137 if code is None else code


def _execute(libc: ctypes.CDLL, cores: str, command: list[str]) -> None:
    """In the child: never returns."""
    try:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # if the supervisor itself is killed
        # Should the kernel run out of memory, it shall end a driver and not the harness or the user's shell.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:
            file.write(b"1000")
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if cores:
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, os.fsencode(f"taskgrain: cannot start {command[0]}: {error.strerror}\n"))
    os._exit(127)


def main() -> int:
    harness, scratch, cores, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    os.set_inheritable(harness, False)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    told = list[int]()  # to end, by the launcher that started it on another host
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))

    child = os.fork()
    if child == 0:
        _execute(libc, cores, command)
    # The pipes belong to the driver alone: the harness must see them close when the driver closes them.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)

    code: int | None = None
    begin = time.time()
    while code is None:
        ready, _, _ = select.select([harness, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
        code, _ = _reap(child, code)
        if harness in ready or told:
            break
    left = shared_memory(descendants(os.getpid()), begin - 1.0)  # ahead of the kernel's coarse clock
    code = _kill_all(child, code)
    for path in left:
        with contextlib.suppress(OSError):
            os.unlink(path)
    shutil.rmtree(scratch, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
