"""The results folder: its lines, the store that appends them, exported tables.

Your own programs open one by `read` (docs/reference/python-api.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskgrain.results.cell import Cell
    from taskgrain.results.tables import Tables


@dataclass(frozen=True)
class Folder:
    """The contents of a results folder."""

    cells: tuple[Cell, ...]
    """The cells in the order in which they began."""
    machine: Mapping[str, Any]
    """The contents of `machine.json`: `machine["cpu"]["model"]`."""
    warnings: tuple[str, ...]
    """The oddities of the folder, in words."""
    _tables: Tables = field(repr=False)

    def __repr__(self) -> str:
        return f"<results of {len(self.cells)} cells>"

    def table(self, name: str = "cells") -> list[dict[str, Any]]:
        """The rows of a table that `taskgrain export --table` writes; what is missing is None.

        Raises `InputError`.
        """
        from taskgrain.results.tables import TABLES
        from taskgrain.words import numbers

        return list(self._tables.records(numbers.text(name, "table", tuple(TABLES))))


def read(folder: str | Path) -> Folder:
    """Reads a results folder, also while its study is running.

    What cannot be read is left out, and `warnings` names it. Raises `UsageError` if there is nothing to be
    read.
    """
    from taskgrain.results import ranking, reader
    from taskgrain.results.tables import Tables

    contents = reader.read(Path(folder))
    reader.refuse_garbage(contents)
    machine, odd = reader.machine(Path(folder))
    tables = Tables(contents.shown)
    ranking.mark_best(tables.cells)
    return Folder(tables.cells, machine, (*contents.notes(), *odd), tables)
