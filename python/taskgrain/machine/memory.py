"""The memory that a driver's processes hold, and when that is too much for the machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from taskgrain.machine import cgroups
from taskgrain.words import numbers, quantity

MEMORY_VARIABLE = "TASKGRAIN_MEMORY"
"""Bytes (`8G`) that one driver may hold; without it, a share of what was available when it started."""
_SHARE = 0.8
_RESERVE_SHARE = 0.05
_LARGEST_RESERVE = 2**30
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NO_LIMIT = 2**60
"""Version 1 of cgroups says about 2**63 where there is no limit."""


def _integer(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):  # no such file, or the word `max`
        return None


def _cgroup_rooms() -> Iterator[tuple[int, int]]:
    """The limit of each control group that limits this process, and the memory that it leaves."""
    for version_2, names, cache in (
        (True, ("memory.max", "memory.current"), "inactive_file"),
        (False, ("memory.limit_in_bytes", "memory.usage_in_bytes"), "total_inactive_file"),
    ):
        for folder in cgroups.folders("memory", version_2):
            limit, used = (_integer(folder / name) for name in names)
            if limit is not None and used is not None and limit < _NO_LIMIT:
                yield limit, max(0, limit - used + _cache(folder / "memory.stat", cache))


def _cache(file: Path, name: str) -> int:
    """File pages that the kernel gives up before it kills."""
    try:
        return int(dict(line.split() for line in file.read_text("ascii").splitlines())[name])
    except (OSError, ValueError, KeyError):
        return 0


def total_bytes() -> int:
    """Memory that this process may use at most: the machine's or its control group's."""
    return min([psutil.virtual_memory().total, *(limit for limit, _ in _cgroup_rooms())])


def available_bytes() -> int:
    """Memory that can be had without swapping or being killed."""
    return min([psutil.virtual_memory().available, *(room for _, room in _cgroup_rooms())])


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    """Resident memory with shared pages shared out; slower to find, and exact for ranks that share memory."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith(b"Pss:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return _resident(pid)


def _peak(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith(b"VmHWM:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return 0


class Growth:
    """The peak growth of the resident memory of processes since construction."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._before = {pid: _resident(pid) if _forget_peak(pid) else None for pid in pids}

    def bytes(self, pids: Iterable[int]) -> int | None:
        """The sum over the processes `pids`, which may have had their peaks at different times; None where
        the kernel keeps no peak from a moment on. What processes held that have ended is not in it."""
        if not self._before:
            return None
        grown = 0
        for pid in pids:
            before = self._before.get(pid, 0)
            if before is None:
                return None
            grown += max(0, _peak(pid) - before)
        return grown


def _forget_peak(pid: int) -> bool:
    """Lets the kernel's peak of a process begin anew; see proc_pid_clear_refs(5)."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


class MemoryWatch:
    """Decides whether a driver, started now, holds too much."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit` in bytes; None: what the environment says, or a share of what is available now.

        Raises `InputError` if the environment variable is no size.
        """
        if limit is None and (wished := os.environ.get(MEMORY_VARIABLE)):
            limit = numbers.size(wished, MEMORY_VARIABLE, low=1)
        self.limit = limit if limit is not None else int(_SHARE * available_bytes())
        """The limit; 0 where a full control group leaves nothing to share."""
        self._reserve = min(_LARGEST_RESERVE, int(_RESERVE_SHARE * total_bytes()))

    def excess(self, pids: Iterable[int]) -> str | None:
        """The reason why the processes `pids` must be stopped; None if they need not be."""
        pids = list(pids)
        held = sum(map(_resident, pids))
        if self.limit and held > self.limit:
            held = sum(map(_proportional, pids))
            if held > self.limit:
                most = quantity.size(self.limit)
                return (
                    f"holds {quantity.size(held)} of memory where {most} are allowed ({MEMORY_VARIABLE} sets "
                    "another limit)"
                )
        if held > self._reserve and (left := available_bytes()) < self._reserve:
            return f"holds {quantity.size(held)} of memory, and only {quantity.size(left)} are left"
        return None
