"""What one command alone needs is an extra of the package, and is there only where somebody installed it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from taskgrain.words.errors import UsageError


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Surrounds imports of what `extra` of pyproject.toml brings; raises `UsageError` if it is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("taskgrain"):  # no extra would bring it
            raise
        install = f"{sys.executable} -m pip install 'taskgrain[{extra}]'"
        raise UsageError(f"{extra} needs {error.name}, which is not installed: {install}") from None
