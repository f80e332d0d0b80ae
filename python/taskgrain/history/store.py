"""The store of a history: a file that grows by one line for each results folder.

Nothing in it is ever changed, so that it can be kept in a repository and merged like a log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taskgrain.history.log import Log, from_json
from taskgrain.results import reader
from taskgrain.results.log_file import LogFile
from taskgrain.words import quantity
from taskgrain.words.errors import InputError, OutputError, UsageError, unwritable

_WHAT = "a history's store: a file to which taskgrain history has added sessions"


@dataclass(frozen=True)
class Stored:
    logs: tuple[Log, ...]
    """The logs in the order of the file; those that come twice, as in two stores joined, count once."""
    again: int
    """Logs that were there already."""
    contents: reader.Contents

    def warnings(self) -> list[str]:
        """Warnings of all that is odd, in words."""
        again = [f"{quantity.counted(self.again, 'session')} once more, skipped"] if self.again else []
        return [*self.contents.warnings(), *again]


def read(path: Path) -> Stored:
    """Reads a store. Raises `InputError` if it is none, and `UsageError` if it cannot be read."""
    if not path.is_file():
        raise InputError("STORE", str(path), _WHAT)
    try:
        return _stored(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _stored(path: Path) -> Stored:
    contents = reader.contents(path, path.read_bytes(), parse=from_json, deepest=2 * reader.DEEPEST)
    every = [line for line in contents.stored if isinstance(line, Log)]
    foreign = contents.damaged or contents.unknown or (contents.torn and not contents.torn.startswith(b"{"))
    if foreign and not every and not contents.newer:
        raise InputError("STORE", str(path), _WHAT)
    seen: set[str] = set()
    logs = []
    for log in every:
        if not log.names or not seen.issuperset(log.names):
            logs.append(log)
            seen.update(log.names)
    return Stored(tuple(logs), len(every) - len(logs), contents)


def add(path: Path, logs: Sequence[Log]) -> tuple[list[Log], list[Log]]:
    """Adds the logs that the store does not have, all of them or none, and brings them to the disk.

    Returns those that were added, and those that were known, as the store has them. The file is made if
    need be. Raises `InputError` if it is no store, `UsageError` if a newer taskgrain wrote it, another one
    holds it, or it has a part of a log, and `OutputError` if it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise InputError("STORE", str(path), "a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = LogFile(path)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        stored = _stored(path)
        if stored.contents.newer:
            raise UsageError(f"{path}: {stored.contents.newer_line()}: upgrade taskgrain to add to it")
        new, known = _told_apart(path, stored.logs, logs)
        if new:
            _append(file, stored.contents.torn, new)
    finally:
        file.close()
    return new, known


def _told_apart(path: Path, stored: Sequence[Log], logs: Sequence[Log]) -> tuple[list[Log], list[Log]]:
    """The new logs, and those that are there; of each the store knows all names, or none."""
    there = {name for one in stored for name in one.names}
    new: list[Log] = []
    known: list[Log] = []
    for one in logs:
        if there.isdisjoint(one.names):
            new.append(one)
            there |= one.names
        elif there.issuperset(one.names):
            known.append(next(old for old in (*stored, *new) if not old.names.isdisjoint(one.names)))
        else:
            raise UsageError(
                f"{path}: has a part of {one.label} already: its results folder went on after it was added; "
                "measure into a new folder for each session"
            )
    return new, known


def _append(file: LogFile, torn: bytes, logs: Sequence[Log]) -> None:
    try:
        file.mend(torn)
        lines = (json.dumps(one.to_json(), allow_nan=False).encode() + b"\n" for one in logs)
        file.append(b"".join(lines), sync=True)
    except OSError as error:
        raise OutputError(f"{file.path}: cannot be written: {error.strerror}; nothing was added") from None
