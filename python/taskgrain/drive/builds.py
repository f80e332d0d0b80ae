"""The build of a system: a short hash of what its driver is made of.

A driver has another hash after it was compiled from other sources or with other flags, or after a line of its
Python was changed: its runs do not belong with the earlier ones. Shared libraries, which the operating system
loads, are not part of the hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import taskgrain.system
from taskgrain import _core
from taskgrain.drive.launch.launch import fill
from taskgrain.drive.system import System
from taskgrain.machine.facts import version_of

LENGTH = 16
"""Hexadecimal digits of a hash."""

_OF_THE_COMMIT = re.compile(
    rb"@\(#\)taskgrain commit [^\0]*\0+|(?<=\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}", re.DOTALL
)
"""The bytes that differ in programs and libraries where only the commit differs that they were built from:
its name, which src/driver/protocol.cpp marks, and the hash of the whole that the linker writes."""


class Builds:
    """Hashes of systems and references; each file is read once."""

    def __init__(self, references: Mapping[str, Sequence[str]]) -> None:
        """`references` are the commands of the references, by name."""
        self._references = references
        self._digests: dict[Path, str] = {}

    def of(self, system: System) -> str:
        """Returns the build of a system: of its driver, and of the reference for its efficiency."""
        return _hash([*self._parts(system), self.of_reference(system.reference_name)])

    def of_reference(self, name: str) -> str:
        return _hash(list(self._words(self._references[name])))

    def _parts(self, system: System) -> Iterator[str]:
        if launcher := system.started_by:
            yield from (launcher.name, system.ranks, self._digest(Path(shutil.which(launcher.program) or "")))
        yield from self._words(system.command, system.folder)
        yield from (f"{name}={word}" for name, word in sorted(system.env.items()))
        yield from (f"given {name}={word}" for name, word in sorted(system.given.items()))
        files = [Path(fill(word, system.folder, ())) for word in system.files]
        if "{python}" in system.command:
            files += sorted(system.folder.glob("*.py"))
            files += sorted(Path(taskgrain.system.__file__).parent.glob("*.py"))
            files.append(Path(_core.__file__))
        yield from map(self._digest, files)
        yield from (f"{name} {version_of(name) or ''}" for name in system.versions)

    def _words(self, command: Sequence[str], folder: Path = Path()) -> Iterator[str]:
        """The words of a command, with a file's content for its path: its place does not matter."""
        for position, word in enumerate(command):
            filled = fill(word, folder, ())
            path = Path((shutil.which(filled) or filled) if position == 0 else filled)
            yield (self._digest(path) if path.is_absolute() else "") or word

    def _digest(self, file: Path) -> str:
        """The hash of a file; nothing for a device, a folder, or what cannot be read."""
        if file not in self._digests:
            self._digests[file] = ""
            with contextlib.suppress(OSError):
                if file.is_file():
                    content = file.read_bytes()
                    if content.startswith(b"\x7fELF"):
                        content = _OF_THE_COMMIT.sub(b"", content)
                    self._digests[file] = hashlib.sha256(content).hexdigest()
        return self._digests[file]


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:LENGTH]
