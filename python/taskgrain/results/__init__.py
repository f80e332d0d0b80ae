"""The results folder: its lines, the store that appends them, exported tables.

Your own programs open one by `read` (docs/reference/python-api.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskgrain.results.folder import Folder


def read(folder: str | Path) -> Folder:
    """Reads a results folder, also while its study is running.

    What cannot be read is left out, and `warnings` names it. Raises `UsageError` if there is nothing to be
    read.
    """
    from taskgrain.results.folder import opened

    return opened(Path(folder))
