"""The processes of this machine: what is below one, and the processor time that one has used."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

import psutil


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


def _children(pid: int) -> list[int] | None:
    """The direct children of a process; None where the kernel does not list them."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
        except FileNotFoundError:
            if os.path.isdir(f"/proc/{pid}/task/{thread}"):
                return None
        except OSError:
            continue
    return found


def descendants(root: int) -> list[int]:
    """All processes below `root`."""
    found: list[int] = []
    front = [root]
    while front:
        below: list[int] = []
        for pid in front:
            children = _children(pid)
            if children is None:
                return _all_below(root)
            below += children
        found += below
        front = below
    return found


def _all_below(root: int) -> list[int]:
    """The same from the table of all processes, which takes longer."""
    try:
        return [one.pid for one in psutil.Process(root).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
