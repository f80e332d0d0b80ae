"""The limits of a machine that are too low for runtimes, for the message of a driver that has failed.

Runtimes die of it by a bus error, or wait for minutes, and seldom say why. Batch systems and login nodes
limit processes (`ulimit`), containers have little shared memory, and some have no network to themselves.
"""

from __future__ import annotations

import os
import resource
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from taskgrain.machine import cgroups
from taskgrain.machine.kernel_files import read_text
from taskgrain.words import quantity

_UNLIMITED = 2**63
_LIMITS = (
    (resource.RLIMIT_AS, "v", "address space", 2**36, "B"),  # runtimes reserve far more than they use
    (resource.RLIMIT_DATA, "d", "data segment", 2**36, "B"),
    (resource.RLIMIT_STACK, "s", "stack", 2**20, "B"),
    (resource.RLIMIT_MEMLOCK, "l", "locked memory", 2**16, "B"),
    (resource.RLIMIT_FSIZE, "f", "size of a file", _UNLIMITED, "B"),
    (resource.RLIMIT_NOFILE, "n", "open files", 1024, ""),
    (resource.RLIMIT_NPROC, "u", "processes and threads", 4096, ""),
    (resource.RLIMIT_CPU, "t", "seconds of CPU time", _UNLIMITED, ""),
)
"""Each limit with the letter of `ulimit`, its name, and from where on it is none to speak of."""
SHARED_MEMORY = Path("/dev/shm")
_ENOUGH_SHARED = 2**28
"""Bytes. Docker gives 64 MiB."""
_ENOUGH_TEMPORARY = 2**26


def restrictions() -> list[str]:
    """A few words on each limit that is low here, with what lifts it."""
    return [*_limits(), *_shared_memory(), *_temporary(), *filter(None, [network_fault()])]


def _limits() -> Iterator[str]:
    for kind, letter, name, enough, unit in _LIMITS:
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY and limit < enough:
            yield f"ulimit -{letter} ({name}: {quantity.size(limit) if unit else limit})"
    most = _processes()
    if most is not None and most < 4096:
        yield f"the control group's processes and threads ({most}; docker run --pids-limit)"


def _processes() -> int | None:
    """Returns the limit of the control group, or of one above it."""
    folders = [one for version_2 in (True, False) for one in cgroups.folders("pids", version_2)]
    found = [read_text(one / "pids.max") for one in folders]
    return min((int(one) for one in found if one.isdigit()), default=None)


def _shared_memory() -> Iterator[str]:
    remedy = "mount a larger one, with docker run --shm-size=1g"
    if not os.access(SHARED_MEMORY, os.W_OK):
        yield f"{SHARED_MEMORY} ({'cannot be written' if SHARED_MEMORY.exists() else 'is not there'})"
    elif (room := _room(SHARED_MEMORY)) < _ENOUGH_SHARED:
        yield f"{SHARED_MEMORY} (room for {quantity.size(room)}; {remedy})"


def _room(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _temporary() -> Iterator[str]:
    name = tempfile.gettempdir()
    if os.statvfs(name).f_flag & os.ST_NOEXEC:
        yield f"TMPDIR ({name} is mounted noexec)"
    if (room := _room(Path(name))) < _ENOUGH_TEMPORARY:
        yield f"TMPDIR ({name} has room for {quantity.size(room)})"


def network_fault() -> str:
    """Says what is wrong with the network of the machine to itself; empty if nothing is."""
    with socket.socket() as listener, socket.socket() as caller:
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            caller.settimeout(1.0)
            caller.connect(listener.getsockname())
        except OSError as error:
            return f"network to itself, 127.0.0.1 ({error.strerror or 'no answer'}; ip link set lo up)"
    return ""
