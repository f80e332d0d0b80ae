"""The sides of a comparison: what `FOLDER@NAME` names.

A side is one results folder or several, with commas between them, of which each is one repetition. Behind
each folder may stand the names of one of its systems, sessions and builds, each after an `@`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path

from taskgrain.results.measurements import Folder, Measurement, Measurements, opened
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

_SIGN, _COMMA = "@", ","
_LEAST = 4
"""Digits that a part of a build's or a session's name must have at least."""
_SHOWN = 8
"""The digits of a hash in a list of allowed names."""

Open = Callable[[Path], Folder]


@dataclass(frozen=True)
class Side:
    """One side: of each cell the measurements that count, one for each folder that has it."""

    label: str
    """The side as the user wrote it."""
    measurements: tuple[Measurement, ...]
    system: str | None = None
    """The only system, if the user named one: it may then be compared with another one."""
    warnings: tuple[str, ...] = ()

    def of(self, system: str, workload: str) -> list[Measurement]:
        return [one for one in self.measurements if (one.system, one.workload) == (system, workload)]

    @property
    def cells(self) -> list[tuple[str, str]]:
        """System and workload of all cells, in order."""
        return list(dict.fromkeys((one.system, one.workload) for one in self.measurements))


def sides(words: Sequence[str], systems: Sequence[str] = (), read: Open = opened) -> list[Side]:
    """The sides that the words name, two at least.

    `systems` are the only ones that count; beside one word they are the sides. Each folder is read once.
    Raises `InputError` or `UsageError`.
    """
    read = cache(read)
    if len(words) == 1 and systems:
        if len(systems) == 1:
            raise UsageError(f"--system: give two systems of {words[0]} at least, or a second results folder")
        return [
            side(_COMMA.join(f"{part}{_SIGN}{one}" for part in _parts(words[0])), read) for one in systems
        ]
    if len(words) < 2:
        found = [side(word, read) for word in words]
        names = sorted({one.system for each in found for one in each.measurements})
        more = f" (there are {', '.join(names)})" if names else ""
        raise UsageError(
            f"give two sides at least: FOLDER FOLDER, or FOLDER --system A,B to compare its systems{more}"
        )
    found = [side(word, read) for word in words]
    if systems:
        known = list(dict.fromkeys(one.system for each in found for one in each.measurements))
        for name in systems:
            numbers.text(name, "--system", known)
        found = [
            replace(each, measurements=tuple(one for one in each.measurements if one.system in systems))
            for each in found
        ]
    return found


def side(word: str, read: Open = opened) -> Side:
    """The side that a word names. Raises `InputError` or `UsageError`."""
    measurements: list[Measurement] = []
    warnings: list[str] = []
    named: set[str | None] = set()
    for part in _parts(word):
        if not part:
            raise InputError("SIDE", word, "results folders, several with one comma between two")
        path, picks = _parted(part)
        folder = read(path)
        system, session, build = _picked(part, folder, picks)
        chosen = [
            one
            for one in (folder.of(session) if session else folder.measurements)
            if (system is None or one.system == system)
            and (one.build == build if build else session is not None or not one.earlier)
        ]
        if not chosen:
            raise UsageError(f"{part}: has no cells")
        measurements += chosen
        warnings += [f"{path}: {said}" for said in folder.warnings]
        named.add(system)
    for number, last in enumerate(measurements):
        same = [
            one for one in measurements[:number] if (one.system, one.workload) == (last.system, last.workload)
        ]
        if repeats(same, [last]):
            raise UsageError(
                f"{word}: has a session of {last.system} twice; is one folder a copy of another?"
            )
    only = next(iter(named)) if len(named) == 1 else None
    return Side(word, tuple(measurements), only, tuple(warnings))


def refuse_the_same(found: Sequence[Side]) -> None:
    """Raises `UsageError` if two sides are the same results, also by another path, or as a copy."""
    for one, other in combinations(found, 2):
        pairs = [(each, other.of(each.system, each.workload)) for each in one.measurements]
        if one.cells == other.cells and all(any(_same(each, its) for its in same) for each, same in pairs):
            raise UsageError(
                f"{one.label} and {other.label} are the same results: there is nothing to compare; give two "
                "measurements, or sessions of one folder as FOLDER@SESSION"
            )


def _same(one: Measurement, other: Measurement) -> bool:
    """True if two measurements of one cell are the same data."""
    return repeats([one], [other]) and (one.build, set(one.sessions)) == (other.build, set(other.sessions))


def repeats(first: Measurements, second: Measurements) -> bool:
    """True if some of both are of one session: the same data, which must not count twice."""
    return any(
        not set(one.sessions).isdisjoint(other.sessions)
        if one.sessions and other.sessions
        else one.folder.resolve() == other.folder.resolve()
        for one in first
        for other in second
    )


def _parts(word: str) -> list[str]:
    return [word] if Path(word).is_dir() else word.split(_COMMA)


def _parted(part: str) -> tuple[Path, list[str]]:
    """The folder, which may have the sign in its name, and what stands behind it."""
    words = part.split(_SIGN)
    for count in range(len(words), 0, -1):
        path = Path(_SIGN.join(words[:count]))
        if path.is_dir():
            return path, words[count:]
    raise InputError("SIDE", part, "a results folder, or FOLDER@NAME with a system, session or build of it")


def _picked(part: str, folder: Folder, picks: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """System, session and build that the names stand for."""
    systems = list(dict.fromkeys(one.system for one in folder.measurements))
    found: dict[str, str] = {}
    for pick in picks:
        # A build is one of the system's, where that is named too: hashes of two systems may begin alike.
        builds = dict.fromkeys(
            one.build
            for one in folder.measurements
            if one.build and found.get("system") in (None, one.system)
        )
        meant = [("system", one) for one in systems if one == pick]
        meant += [("session", one) for one in _starting(folder.sessions, pick)]
        meant += [("build", one) for one in _starting(builds, pick)]
        if not meant:
            shown = [*systems, *folder.sessions, *(one[:_SHOWN] for one in builds)]
            raise InputError(part, pick, shown)
        if len(meant) > 1:
            which = ", ".join(f"{kind} {one}" for kind, one in meant)
            raise UsageError(f"{part}: {pick} may be {which}; give more digits")
        kind, name = meant[0]
        if kind in found:
            raise UsageError(f"{part}: names two of a kind, the {kind}s {found[kind]} and {name}; give one")
        found[kind] = name
    return found.get("system"), found.get("session"), found.get("build")


def _starting(names: Iterable[str], pick: str) -> list[str]:
    every = list(names)
    if pick in every:
        return [pick]
    return [one for one in every if len(pick) >= _LEAST and one.startswith(pick)]
