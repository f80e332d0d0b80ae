"""The file that `taskgrain export` writes: the whole of it, or nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from taskgrain.results import reader, whole_file
from taskgrain.words.errors import InputError


def write(output: Path | None, folder: Path, content: bytes) -> None:
    """Writes to a file, or to standard output. Raises `InputError` where the file is one of the results in
    `folder`."""
    if output is None:
        if b"\0" in content and sys.stdout.isatty():
            raise InputError("--output", "", "a file for Parquet, or standard output into one")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    ours = [folder / name for name in reader.FILES]
    if os.path.realpath(output) in map(os.path.realpath, ours):
        raise InputError("--output", str(output), "a file that is not the results' own")
    whole_file.write(output, content)
