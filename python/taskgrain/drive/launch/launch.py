"""The result of a launcher: the command that starts one driver, with what its `system.toml` leaves open."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from taskgrain.drive.environment import FAMILIES
from taskgrain.drive.launch.launcher import Node


@dataclass(frozen=True)
class Launch:
    """A command that starts one driver."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    """The variables that are set, on top of those that pass from the harness's environment."""
    cores: tuple[int, ...]
    """The processors that the driver shall use on each node, worker by worker."""
    park: bool = True
    """True if the idle driver may be stopped (SIGSTOP)."""
    simulated: int = 0
    """The nodes that it simulates: its seconds may be more than have passed. None of them if it is real."""
    repeats: bool = False
    """True if the same request has the same answer again."""
    patience: int = 1
    """The factor by which the harness waits longer for an answer than of others."""
    withholds: tuple[str, ...] = FAMILIES
    """The families of variables that it does not get from the harness's environment."""
    ranks: int | None = None
    """The ranks that are started; None if it is one process, or nobody knows."""
    on: tuple[Node, ...] = ()
    """The nodes that the driver is started on, this host first; none for this host alone."""
    refused: str = ""
    """The reason why the driver cannot be started so, if it cannot."""
    other_cores: bool = False
    """True if it may have more or fewer cores than `cores`."""
    by: str = ""
    """The name of the launcher that starts its ranks, if one does."""

    @property
    def nodes(self) -> int:
        """The number of nodes that the driver is started on, or simulates."""
        return self.simulated or len(self.on) or 1

    @property
    def asked(self) -> int:
        """The cores of all nodes that the driver shall use."""
        return self.nodes * len(self.cores)

    @property
    def launcher(self) -> str:
        """Its name, the program that PATH gives for the first word of the command, and what that links to."""
        found = shutil.which(self.command[0], path=self.env.get("PATH")) or self.command[0]
        real = os.path.realpath(found)
        program = found if real == found else f"{found} ({real})"
        return f"launcher {self.by}, {program}," if self.by else program


# Only words are placeholders, so that a command may hold JSON and other braces.
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
PLACEHOLDERS = ("dir", "cores", "nodes", "places", "python")
"""`nodes` is for what simulates several."""


def names_in(word: str) -> list[str]:
    """The names of the placeholders that stand in a word, known or not."""
    return _PLACEHOLDER.findall(word)


def fill(word: str, folder: Path, cores: Sequence[int], nodes: int = 1) -> str:
    """The word with `{dir}`, the driver's `folder`, and what says which processors `cores` of how many nodes
    it uses."""
    values = {
        "dir": str(folder),
        "cores": str(len(cores)),
        "nodes": str(nodes),
        "places": ",".join(f"{{{core}}}" for core in cores),
        "python": sys.executable,
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], word)
