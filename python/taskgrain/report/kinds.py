"""Which kind of system each system of a report is, as the catalogue of systems describes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from taskgrain.drive import catalogue
from taskgrain.drive.system import System
from taskgrain.results.builds import plain
from taskgrain.words.errors import InputError, UsageError

OTHER = "Not in the catalogue"


@dataclass(frozen=True)
class Kind:
    """What the report says of a system besides its name."""

    title: str
    kind: str
    """Where it runs, and who says what depends on what."""


def kinds(systems: Iterable[str]) -> dict[str, Kind]:
    """The kind of each system. Results only name systems, so that the catalogue of this taskgrain counts."""
    try:
        known = catalogue.discover()
    except (InputError, UsageError):  # a system.toml that is just being written must not cost a report
        known = {}
    return {name: _kind(name, _found(name, known)) for name in systems}


def _found(name: str, known: dict[str, System]) -> System | None:
    """Builds are called `mpi@ab12cd34`, or `mpi.old` and `mpi.new`, and a system with variables of its own
    `mpi+NAME=value`: they are of the kind of their system."""
    name = plain(name)
    return known.get(name) or known.get(name.partition("+")[0]) or known.get(name.rpartition(".")[0])


def _kind(name: str, system: System | None) -> Kind:
    if system is None:
        return Kind(name, OTHER)
    where = "Several nodes" if system.distributed else "One node"
    return Kind(system.title, f"{where}, {system.parallelism} parallelism")
