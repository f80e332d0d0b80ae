"""The counters of the processors while processes work, in user mode: instructions, cycles, cache misses. See
perf_event_open(2). Virtual machines often have no such counters, and some kernels let nobody read them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Self

from taskgrain.machine.processes import threads

EVENTS: Mapping[str, tuple[int, int]] = {"instructions": (0, 1), "cycles": (0, 0), "cache_misses": (0, 3)}
"""Type and number of each, as linux/perf_event.h has them."""
_SYSCALL = {"x86_64": 298, "aarch64": 241}
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_TIMES = 3
"""Asks for the times that an event was enabled and counted: there may be more events than counters."""
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"


class Unreadable(Exception):
    """The reason why nothing can be counted."""


class Counters:
    """A context manager that counts what the processes `pids` do, with the threads and processes that they
    start meanwhile. Raises `Unreadable`."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._open = ExitStack()
        self._files: dict[str, list[int]] = {name: [] for name in EVENTS}
        with self._open as opened:
            for thread in threads(pids):
                for name, (kind, number) in EVENTS.items():
                    if (file := _event(thread, kind, number)) is not None:
                        opened.callback(os.close, file)
                        self._files[name].append(file)
            self._open = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self) -> dict[str, float]:
        """Returns the counts so far, of the events that are known of every thread."""
        values = {name: [_value(file) for file in files] for name, files in self._files.items()}
        return {name: sum(filter(None, some)) for name, some in values.items() if None not in some}


def _event(thread: int, kind: int, number: int) -> int | None:
    """A file of the kernel; None if the thread has ended."""
    flags = _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attributes = struct.pack("=IIQQQQQIIQ", kind, 64, number, 0, 0, _TIMES, flags, 0, 0, 0)
    call = _SYSCALL.get(os.uname().machine)
    if call is None:
        raise Unreadable(f"not known how on {os.uname().machine}")
    library = ctypes.CDLL(None, use_errno=True)
    on_exec = 8  # close
    file = library.syscall(
        ctypes.c_long(call), attributes, ctypes.c_int(thread), ctypes.c_int(-1), ctypes.c_int(-1),
        ctypes.c_ulong(on_exec),
    )  # fmt: skip
    if file >= 0:
        return int(file)
    code = ctypes.get_errno()
    if code == errno.ESRCH:
        return None
    if code in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        raise Unreadable("this machine shows no such counters, as most virtual ones")
    if code in (errno.EACCES, errno.EPERM):
        raise Unreadable(f"the kernel does not allow it ({_PARANOID}, or a container's rules)")
    raise Unreadable(os.strerror(code))


def _value(file: int) -> float | None:
    """None if the thread ran, and the processor had no counter free all the time."""
    value, enabled, counted = struct.unpack("=QQQ", os.read(file, 24))
    if not counted:
        return None if enabled else 0.0
    return float(value * (enabled / counted))
