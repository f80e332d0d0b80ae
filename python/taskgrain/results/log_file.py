"""A file of lines that only grows: one writer at a time, and whole lines or nothing."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from taskgrain.words.errors import UsageError


def bring_to_disk(file: int) -> None:
    """Calls `fsync`; accepts file systems without it (some of FUSE), which keep the file all the same."""
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise


class LogFile:
    """A file open for appending."""

    def __init__(self, path: Path, owner: Path | None = None) -> None:
        """Makes the file, or opens the one that is there; messages name the `owner`, its folder perhaps.

        Raises `OSError` if it cannot be opened, and `UsageError` if another process writes to it.
        """
        owner = owner or path
        self.path = path
        self.warnings: list[str] = []
        """The oddities of the file."""
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise UsageError(f"{owner}: another taskgrain is writing here; wait for it or stop it") from None
        except OSError as error:  # some network file systems have no locks
            self.warnings.append(
                f"{owner}: cannot be locked ({error.strerror}): let no other taskgrain write here"
            )

    @property
    def removed(self) -> bool:
        """True if somebody has deleted the file since."""
        return not os.fstat(self._file).st_nlink

    def mend(self, torn: bytes) -> None:
        """Moves a torn tail out of the way, to a file beside it whose name ends in `.torn`."""
        length = os.fstat(self._file).st_size
        if torn:
            name = self.path.name.removesuffix(".jsonl") + ".torn"
            with self.path.with_name(name).open("ab") as kept:
                kept.write(torn + b"\n")
            os.ftruncate(self._file, length - len(torn))
        elif length and os.pread(self._file, 1, length - 1) != b"\n":
            os.write(self._file, b"\n")  # a whole line that only lacks its end

    def append(self, raw: bytes, *, sync: bool = False) -> None:
        """Writes all of it, to the disk if asked, or nothing. Raises `OSError`."""
        length = os.fstat(self._file).st_size
        try:
            while raw:
                raw = raw[os.write(self._file, raw) :]
            if sync:
                self.sync()
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, length)  # half a line is of no use
            raise

    def sync(self) -> None:
        """Makes appended lines survive a power cut. Raises `OSError`."""
        bring_to_disk(self._file)

    def close(self) -> None:
        """Gives the file free."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
