"""Commands of a `system.toml` that begin with `mpirun` or `mpiexec`: the old way to ask for ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from taskgrain.drive.launch import openmpi

_NAMES = ("mpirun", "mpiexec")
"""Also with what tells several of them apart, as in `mpirun.openmpi`."""


def begins(command: Sequence[str]) -> bool:
    """Tells whether a command is one of these."""
    return Path(command[0]).name.partition(".")[0] in _NAMES


def ranks(command: Sequence[str]) -> int | None:
    """The ranks that a command asks for; None if it is none of `mpirun`, or does not say."""
    number = next((after for word, after in pairwise(command) if word in ("-n", "-np")), "")
    return int(number) if begins(command) and number.isdecimal() else None


def environment(command: Sequence[str]) -> Mapping[str, str]:
    """The variables to set for a command; those of its system come on top."""
    return openmpi.variables(command[0]) if begins(command) else {}
