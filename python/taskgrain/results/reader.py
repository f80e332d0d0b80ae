"""The reader of results folders (docs/reference/results.md): whoever opens one, opens it here.

It is lenient. What is torn, damaged, foreign, newer or makes no sense is left out and counted, because the
results of a study that was killed are the ones that are needed most. Only a folder that cannot be read is an
error.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from taskgrain.results.builds import elsewhere, placed
from taskgrain.results.lines import SCHEMA, CellLine, FailureLine, Line, MetgLine, OfCell, UnknownLine
from taskgrain.results.parse import Odd, from_json
from taskgrain.words.errors import UsageError
from taskgrain.words.origin import ELSEWHERE
from taskgrain.words.plain import finite

RUNS = "runs.jsonl"
COMPRESSED = "runs.jsonl.zst"
STUDY = "study.toml"
MACHINE = "machine.json"
FILES = (RUNS, COMPRESSED, STUDY, MACHINE)
_SHOWN = 5
"""Places that a warning names."""
_CHUNK = 2**16
DEEPEST = 100
"""Levels of lists and tables in a line. Those of taskgrain have few; others could not be walked through."""


@dataclass(frozen=True)
class Contents:
    """The lines of a results folder, in order."""

    file: Path
    raw: bytes
    """The lines as they stand, decompressed."""
    stored: tuple[Line, ...] = ()
    """The lines of known kinds."""
    lines: tuple[Line, ...] = ()
    """The lines that can be used, under the names of their builds."""
    unknown: tuple[UnknownLine, ...] = ()
    """The lines of kinds that this version does not know, or of another program."""
    torn: bytes = b""
    """The unfinished last line, which a killed harness left."""
    damaged: tuple[int, ...] = ()
    """Numbers of other lines that cannot be read, counted from 1."""
    newer: tuple[int, int] | None = None
    """Number and schema of the first line that a newer version wrote."""
    odd: Mapping[str, int] = field(default_factory=dict)
    """The number of values that make no sense, by `kind.field`; they count as missing."""
    remarks: tuple[str, ...] = ()
    """Oddities of the file itself."""

    @cached_property
    def shown(self) -> tuple[Line, ...]:
        """The lines for reports and tables: without cells that neither begin nor end."""
        return tuple(one for one in self.lines if not isinstance(one, OfCell) or one.cell in self._known)

    @cached_property
    def _known(self) -> frozenset[str]:
        ends = (CellLine, FailureLine, MetgLine)
        return frozenset(line.cell for line in self.lines if isinstance(line, ends))

    def warnings(self) -> list[str]:
        """Warnings of all that is odd, in words."""
        name, found = self.file.name, []
        if self.torn:
            found.append(f"the last line of {name} is torn ({len(self.torn)} bytes); it is skipped")
        found += self.remarks
        if self.damaged:
            found.append(f"{name} cannot be read in line {_listed(map(str, self.damaged))}; skipped")
        if self.newer:
            found.append(f"{name}: {self.newer_line()}: parts may be missing")
        if self.unknown:
            found.append(f"{name}: lines of no known kind, left out: {len(self.unknown)}")
        if self.odd:
            which = _listed(f"{name} ({count})" for name, count in self.odd.items())
            found.append(f"{name}: values that make no sense, taken as missing: {which}")
        return found

    def notes(self) -> list[str]:
        """The notes for a reader of `shown`: oddities, lines left out, and numbers from elsewhere."""
        name, cells = self.file.name, [line.cell for line in self.lines if isinstance(line, OfCell)]
        found = self.warnings()
        if strays := Counter(cell for cell in cells if cell not in self._known):
            which = _listed(f"{cell} ({count})" for cell, count in strays.items())
            found.append(f"{name}: lines of unknown cells, left out: {which}")
        systems = dict.fromkeys(cell.partition("/")[0] for cell in cells if cell in self._known)
        if away := [one for one in systems if elsewhere(one)]:
            found.append(f"{ELSEWHERE}: {_listed(away)}")
        return found

    def newer_line(self) -> str:
        """The line that a newer version wrote, if one did."""
        number, schema = self.newer or (0, 0)
        return (
            f"line {number} was written by a newer taskgrain (schema {schema}; this one knows up to {SCHEMA})"
        )


@dataclass(frozen=True)
class Study:
    """A `study.toml`."""

    text: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """The reasons why the table is empty, if it could not be read."""


def read(folder: Path) -> Contents:
    """Reads the lines of a results folder. Raises `UsageError` if there are none to be read."""
    file, compressed = folder / RUNS, folder / COMPRESSED
    remarks: tuple[str, ...] = ()
    try:
        if file.exists():
            raw = _bytes(file)
            if compressed.exists():
                remarks = (f"{COMPRESSED} is there too; {RUNS} alone is read",)
        elif compressed.exists():
            file = compressed
            raw, remarks = _decompressed(_bytes(compressed))
        else:
            raise UsageError(f"{file}: there is no such file; is {folder} a results folder?")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return contents(file, raw, remarks)


def _bytes(file: Path) -> bytes:
    """Returns the bytes of a file. Raises `OSError`, also for a pipe or a device, which might never end."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise OSError(errno.EINVAL, "it is not a plain file")
    return file.read_bytes()


def study(folder: Path) -> Study:
    """Reads `study.toml`; what cannot be read is empty, with a warning."""
    try:
        text = _bytes(folder / STUDY).decode("utf-8", "replace")
    except OSError as error:
        return Study(warnings=(f"{STUDY}: cannot be read: {error.strerror}",))
    try:
        return Study(text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Study(text, warnings=(f"{STUDY}: is not TOML: {error}",))


def machine(folder: Path) -> tuple[Mapping[str, Any], list[str]]:
    """The table of `machine.json`, and warnings about it: then it is empty."""
    try:
        table = _object(_bytes(folder / MACHINE))
    except OSError as error:
        return {}, [f"{MACHINE}: cannot be read: {error.strerror}; the machine is not known"]
    if table is None:
        return {}, [f"{MACHINE}: is not a JSON object; the machine is not known"]
    found = finite(table)
    assert isinstance(found, dict)
    return found, []


def refuse_garbage(contents: Contents) -> None:
    """Raises `UsageError` if there is something in the file, and not one line of it can be read."""
    if (contents.damaged or contents.torn) and not contents.stored and not contents.unknown:
        raise UsageError(
            f"{contents.file}: not one line can be read; is {contents.file.parent} a results folder?"
        )


def contents(
    file: Path,
    raw: bytes,
    remarks: tuple[str, ...] = (),
    parse: Callable[[Mapping[str, Any], Odd], Line] = from_json,
    deepest: int = DEEPEST,
) -> Contents:
    """Reads the lines of a file. `parse` makes a line of an object of JSON, which may hold anything."""
    lines: list[Line] = []
    unknown: list[UnknownLine] = []
    damaged: list[int] = []
    torn = b""
    newer: tuple[int, int] | None = None
    odd = Odd()
    *whole, last = raw.split(b"\n")
    for number, text in enumerate([*whole, last], start=1):
        if not text.strip():
            continue
        table = _object(text, deepest)
        if table is None:
            if number > len(whole):
                torn = text
            else:
                damaged.append(number)
            continue
        line = parse(table, odd)
        if line.schema > SCHEMA and newer is None:
            newer = number, line.schema
        if isinstance(line, UnknownLine):
            unknown.append(line)
        else:
            lines.append(line)
    used = tuple(one.line for one in placed(lines) if one.used)
    return Contents(
        file, raw, tuple(lines), used, tuple(unknown), torn, tuple(damaged), newer, dict(+odd), remarks
    )


def _object(raw: bytes, deepest: int = DEEPEST) -> Mapping[str, Any] | None:
    """The object of JSON that is written there, if one is; no part of it lies deeper than `deepest`."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _deeper(value, deepest, raw) else None


def _deeper(value: object, deepest: int, raw: bytes) -> bool:
    """Tells whether a value has more levels; `raw` is how it is written."""
    if raw.count(b"[") + raw.count(b"{") <= deepest:
        return False
    level = [value]
    for _ in range(deepest):
        each = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        )
        level = [part for parts in each for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _decompressed(raw: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The content of a Zstandard file as far as it can be read, and warnings about it."""
    import zstandard  # here, because most folders need none

    source, found = io.BytesIO(raw), io.BytesIO()
    frame = zstandard.ZstdDecompressor().decompressobj()
    whole = True
    with contextlib.suppress(zstandard.ZstdError):
        while chunk := source.read(_CHUNK):  # bit by bit, so that all before some damage comes out
            while chunk:
                found.write(frame.decompress(chunk))
                whole, chunk = frame.eof, frame.unused_data
                if frame.eof:  # others may follow, as where files were appended to each other
                    frame = zstandard.ZstdDecompressor().decompressobj()
        if whole:
            return found.getvalue(), ()
    return found.getvalue(), (f"{COMPRESSED} is damaged: what follows {found.tell()} bytes of lines is lost",)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_SHOWN]) + (", …" if len(every) > _SHOWN else "")
