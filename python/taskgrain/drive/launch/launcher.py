"""The type of a launcher: it starts the ranks of a driver, on this host or on several."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One of several hosts that ranks run on."""

    name: str
    """The name by which launchers call the host."""
    host: str
    """The name by which the host calls itself."""
    cores: tuple[int, ...]
    """The processors that its ranks shall use."""


@dataclass(frozen=True)
class Ranks:
    """The ranks that a driver shall have."""

    count: int
    per_node: int
    cores: int
    """The cores of each rank."""
    mpi: str = "openmpi"
    """The MPI that the driver is built for, by the name of its launcher; empty for none."""
    hosts: tuple[str, ...] = ()
    """The hosts on which they run; empty for this host alone."""
    variables: tuple[str, ...] = ()
    """The names of environment variables that they need on other hosts, too."""


@dataclass(frozen=True)
class Launcher:
    """One way to start ranks.

    It binds no rank: drivers bind their own threads, to the processors that `TASKGRAIN_CORES` names.
    """

    name: str
    programs: tuple[str, ...]
    """Names of its program; the first that PATH has is called."""
    options: Callable[[Ranks], Sequence[str]]
    """The options between its program and the driver's."""
    variables: Callable[[str, Sequence[str]], Mapping[str, str]] = lambda program, hosts: {}
    """The environment variables that its `program` needs to start ranks on hosts."""
    allocation: tuple[str, ...] = ()
    """Variables of the shell in a job of its scheduler, which it gets. Without the first there is no job."""

    @property
    def program(self) -> str:
        """The program that it calls."""
        return next(filter(shutil.which, self.programs), self.programs[0])

    def missing(self) -> list[str]:
        """Says what the launcher lacks here."""
        lacking = [] if shutil.which(self.program) else [f"program {' or '.join(self.programs)}"]
        inside = all(name in os.environ for name in self.allocation[:1])
        return lacking if inside else [*lacking, f"job of {self.name} ({self.allocation[0]} is not set)"]

    def start(self, ranks: Ranks, driver: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Returns the command that starts the driver, and the variables to set for it."""
        job = {name: os.environ[name] for name in self.allocation if name in os.environ}
        program = self.program
        return (program, *self.options(ranks), *driver), {**self.variables(program, ranks.hosts), **job}
