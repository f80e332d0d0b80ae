"""The processes of this machine: whether one runs, its threads, and the processor time that it has used.

`taskgrain._core.descendants` has what is below one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from taskgrain import _core

SUPERVISOR = Path(_core.__file__).parent / "bin" / "taskgrain-supervisor"
"""The program under which each driver runs."""


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used, all its threads, the ended ones too; 0 if it is gone.

    /proc counts this in ticks of 10 ms; the process's own clock (see clock_getcpuclockid(3)) in nanoseconds.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def runs(pid: int) -> bool:
    """Tells whether a process is there, and more than a zombie that its parent has not yet collected."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def threads(pids: Iterable[int]) -> Iterator[int]:
    """The threads of processes, without those of one that has ended."""
    for pid in pids:
        with contextlib.suppress(OSError):
            yield from map(int, os.listdir(f"/proc/{pid}/task"))
