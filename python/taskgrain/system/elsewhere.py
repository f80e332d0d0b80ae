"""The other nodes of a driver that runs on several, and commands that it starts on them.

As a program it is what begins such a command there: on the cores of that node, with a TMPDIR of its own, with
the node's own address in place of `{address}`, and so that no process of it is left.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from taskgrain import _core
from taskgrain.machine.processes import SUPERVISOR

_NODES = "TASKGRAIN_NODES"
"""Environment variable of a driver on several nodes: how to start a command on each of the others, and the
names and the processors of all."""


def nodes() -> list[tuple[str, str, list[int]]]:
    """The nodes, this one first: the name of each, what it calls itself, and the processors to use."""
    own = os.uname().nodename
    return _given().get("nodes") or [(own, own, _core.cores())]


def address() -> str:
    """The address of this node, for the others; empty where there are none."""
    return _address_towards(nodes()[1][0]) if len(nodes()) > 1 else ""


def start(command: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Starts a command on each of the other nodes, by the launcher; None where there are none."""
    if not (launcher := _given().get("start")):
        return None
    words = [*launcher, sys.executable, "-m", __name__, address(), *command]
    passed = {name: value for name, value in os.environ.items() if name != "TMPDIR"}  # Slurm would make it
    return subprocess.Popen(words, env=passed, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def scratch(mark: str) -> str:
    """The TMPDIR on another node of a driver whose processes have that mark: short, for sockets."""
    return f"/tmp/taskgrain-{mark}"


def _given() -> dict[str, Any]:
    given: dict[str, Any] = json.loads(os.environ.get(_NODES) or "{}")
    return given


def _address_towards(name: str) -> str:
    """The address of this node that another one of that name reaches. Nothing is sent."""
    family, _, _, _, there = socket.getaddrinfo(name, 1, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.connect(there)
        return str(one.getsockname()[0])


def _begin(driver: str, *command: str) -> None:
    """Becomes a supervisor, which nobody but the launcher ends: it alone holds both ends of its pipe."""
    folder = scratch(os.environ["TASKGRAIN_TREE"])
    os.makedirs(folder, 0o700, exist_ok=True)
    os.environ["TMPDIR"] = folder
    pipe = os.pipe()
    for end in pipe:
        os.set_inheritable(end, True)
    words = [word.replace("{address}", _address_towards(driver)) for word in command]
    os.execv(SUPERVISOR, [str(SUPERVISOR), str(pipe[0]), folder, os.environ["TASKGRAIN_CORES"], *words])


if __name__ == "__main__":
    _begin(*sys.argv[1:])
