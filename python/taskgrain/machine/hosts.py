"""The hosts of the nodes: those that a user names, or those of a job of the batch system."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from taskgrain.words.errors import InputError, UsageError, reason

_LISTS = {
    "FLUX_URI": ("flux", "hostlist", "--expand", "local"),
    "SLURM_JOB_NODELIST": ("scontrol", "show", "hostnames"),
}
"""Variables of a job, the innermost first, and the command of the batch system that prints its hosts."""
_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE")
"""Variables that name a file of hosts, with a line for each of their cores or slots."""
_SECONDS = 30.0
_NAME = re.compile(r"[\w:][\w.:-]*")


def hosts(listed: str = "", file: str = "", named: Callable[[str], str] = str) -> tuple[str, ...]:
    """The hosts of a list `a,b,c` or of a file; without either those of the job; else this host alone.

    This host, on which everything is started, comes first. Raises `InputError` or `UsageError` where it is
    none of them, or nobody knows them; `named` makes of `hosts` and `hostfile` what they are reported as.
    """
    if listed and file:
        raise UsageError(f"{named('hosts')}: give this or {named('hostfile')}, not both")
    if listed:
        origin, found = named("hosts"), listed.split(",")
    elif file:
        origin, found = named("hostfile"), _of_file(named("hostfile"), file)
    else:
        origin, found = _of_job()
    names = list(dict.fromkeys(_without_slots(one.strip()) for one in found if one.strip()))
    if wrong := [one for one in names if not _NAME.fullmatch(one)]:
        raise InputError(origin, wrong[0], "names or addresses of hosts, of letters, digits, and . _ -")
    if not names:
        return (socket.gethostname(),)
    here = _here(names)
    if not here:
        raise InputError(origin, ", ".join(names), f"hosts that include this one, {socket.gethostname()}")
    return (here, *(one for one in names if one != here))


def _without_slots(name: str) -> str:
    """A name without what launchers let follow it, as in `node1:4`; an address of IPv6 has more colons."""
    return name.partition(":")[0] if name.count(":") == 1 else name


def _here(names: Sequence[str]) -> str:
    """The one of them that is this host, empty if none is: by its whole name, by a name without a domain
    where the other has one, or by its address. `worker.1.net` is another host than `worker.2.net`."""
    known = {socket.gethostname(), os.environ.get("SLURMD_NODENAME", "")} - {""}
    own = {name.lower() for name in known}

    def alike(name: str) -> list[str]:
        label = name.lower().partition(".")[0]
        return [one for one in own if one.partition(".")[0] == label]

    for is_it in (
        lambda name: name.lower() in own | {"localhost"},
        lambda name: any(("." in name) != ("." in one) for one in alike(name)),
        # Do not look up a name that begins otherwise: each unknown one takes seconds.
        lambda name: _has_own_address(name, 0 if alike(name) else socket.AI_NUMERICHOST),
    ):
        if found := next(filter(is_it, names), None):
            return found
    return ""


def _has_own_address(name: str, flags: int) -> bool:
    """Tells whether the address, or one that the name has, is of a network card of this host."""
    try:
        found = {str(one[4][0]).partition("%")[0] for one in socket.getaddrinfo(name, None, flags=flags)}
    except (OSError, UnicodeError):
        return False
    cards = {card.address.partition("%")[0] for some in psutil.net_if_addrs().values() for card in some}
    return not found.isdisjoint(cards) or any(one.startswith("127.") for one in found)


def _of_job() -> tuple[str, list[str]]:
    """The variable that names the hosts of this job, and their names; none outside of a job."""
    for variable, command in _LISTS.items():
        if os.environ.get(variable):
            return variable, _said_by(variable, command)
    for variable in _FILES:
        if os.environ.get(variable):
            return variable, _of_file(variable, os.environ[variable])
    return "LSB_HOSTS", os.environ.get("LSB_HOSTS", "").split()


def _said_by(variable: str, command: tuple[str, ...]) -> list[str]:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True, text=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(
            f"{variable} is set, but `{' '.join(command)}` does not name its hosts ({error}); give --hosts"
        ) from None
    return done.stdout.split()


def _of_file(named: str, file: str) -> list[str]:
    """The first word of each line; what follows it are slots."""
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise InputError(named, file, "a file")
        text = Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no text"
        raise InputError(named, file, f"a file that can be read ({why})") from None
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [words[0] for words in lines if words]
