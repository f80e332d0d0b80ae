"""Lines of code and constructs of a system's driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from taskgrain.drive.system import System
from taskgrain.productivity import tokens
from taskgrain.productivity.constructs import find, pattern
from taskgrain.productivity.tokens import BRACKETS, Source


@dataclass(frozen=True)
class Count:
    """The cost of a driver."""

    system: System
    lines: Mapping[str, int]
    """Lines of code by source, as `sources` of the `system.toml` names them."""
    constructs: Mapping[str, int]
    """The number of lines in which each construct occurs, by its name."""
    lines_with_constructs: int

    @property
    def total(self) -> int:
        """Lines of code of all sources."""
        return sum(self.lines.values())


def count(system: System) -> Count:
    """Counts the sources of a system.

    Raises `InputError` or `UsageError`, which name the `system.toml` and its key, where a source cannot be
    read or a pattern is none.
    """
    file = system.folder / "system.toml"
    patterns = [
        pattern(text, f"{file}: constructs[{number}]") for number, text in enumerate(system.constructs)
    ]
    sources = {
        name: tokens.read(system.folder / name, f"{file}: sources[{number}]")
        for number, name in enumerate(system.sources)
    }
    places: dict[str, set[tuple[Path, int]]] = {}
    for source in sources.values():
        for name, line in find(source, patterns):
            places.setdefault(name, set()).add((source.file, line))
    return Count(
        system,
        {name: len(lines_of_code(source)) for name, source in sources.items()},
        {name: len(places[name]) for name in sorted(places, key=str.lower)},
        len(set().union(*places.values())),
    )


def lines_of_code(source: Source) -> set[int]:
    """The lines that have more than comments, docstrings and brackets."""
    found = set(source.import_lines)
    for token in source.tokens:
        if token.text not in BRACKETS:
            found.update(range(token.first, token.last + 1))
    return found


def drivers(systems: Sequence[System]) -> Iterator[System]:
    """Returns the systems with sources; only variants with other sources stand beside their system."""
    seen = set()
    for system in systems:
        sources = tuple((system.folder / name).resolve() for name in system.sources)
        if sources and sources not in seen:
            seen.add(sources)
            yield system
