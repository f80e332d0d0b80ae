"""The store of a history: a file that grows by one line for each session.

Nothing in it is ever changed, so that it can be kept in a repository and merged like a log. A line that a
kill tore is skipped by the reader, and set aside before the next one is written.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskgrain.history.session import SCHEMA, Session, from_json
from taskgrain.results import values
from taskgrain.words import quantity
from taskgrain.words.errors import InputError, OutputError, UsageError, unwritable

_SHOWN = 5
"""Lines that a warning names."""
_WHAT = "a history's store: a file to which taskgrain history has added sessions"


@dataclass(frozen=True)
class Contents:
    """What a store holds."""

    sessions: tuple[Session, ...] = ()
    """In the order of the file."""
    torn: bytes = b""
    """The unfinished last line, which a kill left."""
    damaged: tuple[int, ...] = ()
    """Numbers of other lines that are no sessions, counted from 1."""
    newer: int | None = None
    """Number of the first line that a newer version wrote."""
    again: int = 0
    """Sessions that come twice, as where two stores with a common beginning were joined. Each counts once."""

    def warnings(self) -> list[str]:
        """All that is odd, in words."""
        found = []
        if self.torn:
            found.append(f"the last line is torn ({len(self.torn)} bytes); it is skipped")
        if self.damaged:
            more = ", …" if len(self.damaged) > _SHOWN else ""
            lines = ", ".join(map(str, self.damaged[:_SHOWN]))
            found.append(f"cannot be read in line {lines}{more}; skipped")
        if self.again:
            found.append(f"{quantity.counted(self.again, 'session')} once more, skipped")
        if self.newer:
            found.append(f"line {self.newer} was written by a newer taskgrain; parts may be missing")
        return found


def read(path: Path) -> Contents:
    """Reads a store. Raises `InputError` if it is none, and `UsageError` if it cannot be read."""
    if not path.is_file():
        raise InputError("STORE", str(path), _WHAT)
    try:
        return _contents(path, path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _contents(path: Path, raw: bytes) -> Contents:
    sessions: list[Session] = []
    damaged: list[int] = []
    torn, newer, again = b"", None, 0
    seen: set[str] = set()
    *whole, last = raw.split(b"\n")
    for number, text in enumerate([*whole, last], start=1):
        if not text.strip():
            continue
        table = _object(text)
        if table is None and number > len(whole):
            torn = text
            continue
        session = from_json(table or {})
        if (values.integer((table or {}).get("schema")) or 0) > SCHEMA:
            newer = newer or number
        if session is None:
            damaged.append(number)
        elif session.names and seen.issuperset(session.names):
            again += 1
        else:
            seen.update(session.names)
            sessions.append(session)
    if not sessions and not newer and (damaged or (torn and not torn.startswith(b"{"))):
        raise InputError("STORE", str(path), _WHAT)
    return Contents(tuple(sessions), torn, tuple(damaged), newer, again)


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Added:
    """What came of adding sessions."""

    added: tuple[Session, ...]
    known: tuple[Session, ...]
    """As the store has them already; they were not added again."""
    warnings: tuple[str, ...] = ()


def add(path: Path, sessions: Sequence[Session]) -> Added:
    """Adds the sessions that the store does not have, all of them or none, and brings them to the disk.

    The file is made if need be. Raises `InputError` if it is no store, `UsageError` if a newer taskgrain
    wrote it, another one holds it, or it has a part of a session, and `OutputError` if it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise InputError("STORE", str(path), "a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        _lock(path, file)
        contents = _contents(path, path.read_bytes())
        if contents.newer:
            raise UsageError(f"{path}: line {contents.newer} was written by a newer taskgrain; upgrade it")
        new, known = _told_apart(path, contents.sessions, sessions)
        _append(path, file, contents.torn, new)
    finally:
        os.close(file)
    return Added(tuple(new), tuple(known), tuple(contents.warnings()))


def _lock(path: Path, file: int) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"{path}: another taskgrain is writing here; wait for it or stop it") from None
    except OSError:
        return  # some network file systems have no locks


def _told_apart(
    path: Path, stored: Sequence[Session], sessions: Sequence[Session]
) -> tuple[list[Session], list[Session]]:
    """New ones, and those that are there; of each the store knows all names, or none."""
    there = {name for one in stored for name in one.names}
    new: list[Session] = []
    known: list[Session] = []
    for one in sessions:
        if there.isdisjoint(one.names):
            new.append(one)
            there.update(one.names)
        elif there.issuperset(one.names):
            known += [old for old in (*stored, *new) if not set(old.names).isdisjoint(one.names)][:1]
        else:
            raise UsageError(
                f"{path}: has a part of {one.label} already: its results folder went on after it was added; "
                "measure into a new folder for each session"
            )
    return new, known


def _append(path: Path, file: int, torn: bytes, sessions: Sequence[Session]) -> None:
    if not sessions:
        return
    raw = b"".join(json.dumps(one.to_json(), allow_nan=False).encode() + b"\n" for one in sessions)
    length = os.fstat(file).st_size
    try:
        if torn:
            with path.with_name(f"{path.name}.torn").open("ab") as kept:
                kept.write(torn + b"\n")
            length -= len(torn)
            os.ftruncate(file, length)
        elif length and os.pread(file, 1, length - 1) != b"\n":
            raw = b"\n" + raw  # a whole line that only lacks its end
        while raw:
            raw = raw[os.write(file, raw) :]
        os.fsync(file)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # or a power cut may lose the name of a new file
        finally:
            os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(file, length)  # half a session is of no use
        raise OutputError(f"{path}: cannot be written: {error.strerror}; nothing was added") from None
