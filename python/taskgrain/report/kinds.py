"""The kind of each system of a report: its results say it, or else the catalogue of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taskgrain.drive import catalogue
from taskgrain.drive.system import System
from taskgrain.results.builds import plain
from taskgrain.results.lines import Build, Line, SessionLine
from taskgrain.words.errors import InputError, UsageError

OTHER = "Not in the catalogue"


@dataclass(frozen=True)
class Kind:
    """The words of the report on a system besides its name."""

    title: str
    kind: str
    """The kind: where it runs, and who says what depends on what."""


def kinds(systems: Iterable[str], lines: Sequence[Line] = ()) -> dict[str, Kind]:
    """The kind of each system, as it was when it was measured: the sessions among the lines tell. Older ones
    only name systems, and then the catalogue of this taskgrain counts."""
    try:
        known: dict[str, Build | System] = {**catalogue.discover()}
    except (InputError, UsageError):  # a system.toml that is just being written must not cost a report
        known = {}
    for line in lines:
        if isinstance(line, SessionLine):
            known |= {one.name: one for one in line.systems if one.name and one.title}
    return {name: _kind(name, _found(name, known)) for name in systems}


def _found(name: str, known: Mapping[str, Build | System]) -> Build | System | None:
    """Builds are called `mpi@ab12cd34`, or `mpi.old` and `mpi.new`, and a system with variables of its own
    `mpi+NAME=value`: they are of the kind of their system."""
    name = plain(name)
    return known.get(name) or known.get(name.partition("+")[0]) or known.get(name.rpartition(".")[0])


def _kind(name: str, system: Build | System | None) -> Kind:
    if system is None:
        return Kind(name, OTHER)
    where = "Several nodes" if system.distributed else "One node"
    return Kind(
        system.title or name, f"{where}, {system.parallelism} parallelism" if system.parallelism else where
    )
