"""The git commit of a folder."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path


def commit(folder: Path, digits: int) -> str:
    """The commit with `-dirty` after changes; empty where there is none.

    Git refuses checkouts of other users. Standard error then says so, and how to allow it.
    """
    command = [
        "git",
        "-C",
        str(folder),
        "describe",
        "--always",
        "--dirty",
        f"--abbrev={digits}",
        "--exclude=*",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    for line in done.stderr.splitlines():
        if "--add safe.directory" in line:
            _say_how_to_allow(folder.resolve(), line.strip())
    return done.stdout.strip() if done.returncode == 0 else ""


@cache  # once in a process
def _say_how_to_allow(folder: Path, command: str) -> None:
    sys.stderr.write(
        f"taskgrain: {folder} belongs to another user, so git does not tell its commit, and results "
        f"and labels go without; to allow it: {command}\n"
    )
