"""The errors that a person can mend; the command line prints them as one line, without a trace."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from taskgrain.words.nearest import question

EXIT_INPUT = 2
"""Exit code of a bad option, file or study."""
EXIT_FAILED = 1
"""The exit code of a measurement without a result."""
EXIT_INTERRUPTED = 130
_LONGEST = 200
"""Characters of a value that a message shows."""
_LONGEST_LIST = 120
"""Characters of a list of names that a message shows if a command shows it, too."""


class TaskgrainError(Exception):
    """An error that ends the command with one line of explanation. The command exits with `exit_code`."""

    exit_code = EXIT_FAILED


class InputError(TaskgrainError, ValueError):
    """A bad input: names the field, the value and what is allowed. Exit code 2.

    Where names are allowed, it first asks whether one that is near to the value was meant.
    """

    exit_code = EXIT_INPUT

    def __init__(
        self, field: str, value: object, allowed: str | Sequence[str], lister: str = "", asked: str = ""
    ) -> None:
        """`allowed` says it in words, or is the names that are allowed; the command `lister` lists them.
        `asked` is asked in the place of the names that are near."""
        asked = asked or ("" if isinstance(allowed, str) else question(value, allowed))
        allowed = allowed if isinstance(allowed, str) else ", ".join(allowed)
        said = f". {asked} Allowed: {allowed}" if asked else f"; allowed: {allowed}"
        if lister and len(allowed) > _LONGEST_LIST:
            said = f". {asked} `{lister}` lists all" if asked else f"; `{lister}` lists what is allowed"
        shown = value if isinstance(value, str) and value.strip() and value.isprintable() else repr(value)
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}..."
        super().__init__(f"{field}: {shown} is not allowed{said}")
        self.field = field
        self.value = value
        self.allowed = allowed


class UsageError(TaskgrainError):
    """An input that is bad for a reason that needs its own words. Exit code 2."""

    exit_code = EXIT_INPUT


class OutputError(TaskgrainError):
    """An error for results that could not be written: a full disk, say. Exit code 1."""


_LIMITS = {errno.EFBIG: "ulimit -f", errno.EMFILE: "ulimit -n"}


def reason(error: OSError) -> str:
    """Returns what the operating system says, with the limit that this process has then met."""
    limit = _LIMITS.get(error.errno or 0)
    return (error.strerror or str(error)) + (f" ({limit})" if limit else "")


def unwritable(path: object, error: OSError) -> TaskgrainError:
    """Returns the error for an unwritable file: the fault is the user's unless there is no room."""
    kind = OutputError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO) else UsageError
    return kind(f"{path}: cannot be written: {reason(error)}")


def check_writable(field: str, path: Path) -> None:
    """Raises `InputError` for a file that could not be written later."""
    try:
        place = path if path.exists() else path.parent
        writable = not path.is_dir() and os.access(place, os.W_OK)
    except OSError:  # a name that is too long, or a folder that may not be searched
        writable = False
    if not writable:
        raise InputError(field, str(path), "a file that can be written")


class Interrupted(TaskgrainError):
    """A person, or a batch system's SIGTERM, ended it in good order. Exit code 130."""

    exit_code = EXIT_INTERRUPTED
