"""A file that is written as a whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

from taskgrain.results.log_file import bring_to_disk
from taskgrain.words.errors import InputError, unwritable


def write(path: Path, content: bytes) -> None:
    """Writes the file, or leaves the one that is there as it is: a full disk or a kill leaves no half of it.

    A link stays a link, and its target is written. Raises `UsageError` if that cannot be, and `OutputError`
    if there is no room for it.
    """
    try:
        _write(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise unwritable(path, error) from None


def put_out(output: Path | None, content: bytes) -> None:
    """Writes the file of `--output`, or to standard output where there is none; a terminal gets only text.
    Raises as `write` does, and `InputError`."""
    if output is not None:
        write(output, content)
        return
    if b"\0" in content and sys.stdout.isatty():
        raise InputError("--output", "", "a file for what is no text, or standard output into one")
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _write(path: Path, content: bytes) -> None:
    if path.exists() and not path.is_file():  # a device or a pipe, which no file may replace
        path.write_bytes(content)
        return
    # Of this process and thread alone: of two that write one file at once, the last one stays, and is whole.
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            bring_to_disk(file.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):  # it is gone where all went well
            draft.unlink()
