"""The books of a run with a fault, which a driver's processes share: how often the fault has struck."""

from __future__ import annotations

import contextlib
import os
from typing import Self


class Books:
    """A context manager: the file is there from its beginning on, and goes with it. It can be read even when
    the driver's folder has gone with the driver."""

    def __init__(self, file: str) -> None:
        self._file, self._descriptor = file, -1

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # then the driver cannot have books, and says so
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._file)
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def strikes(self) -> int:
        """The first number of the books; 0 before a driver has begun them."""
        head = os.pread(self._descriptor, 8, 0) if self._descriptor >= 0 else b""
        return int.from_bytes(head, "little")
