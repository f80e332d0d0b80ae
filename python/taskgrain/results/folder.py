"""A results folder for programs of yours (docs/reference/python-api.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskgrain.results import ranking, reader
from taskgrain.results.cell import Cell
from taskgrain.results.tables import TABLES, Tables
from taskgrain.words import numbers


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
        return list(self._tables.records(numbers.text(name, "table", tuple(TABLES))))


def opened(folder: Path) -> Folder:
    """Reads a folder. Raises `UsageError` if there is nothing to be read."""
    contents = reader.read(folder)
    reader.refuse_garbage(contents)
    machine, odd = reader.machine(folder)
    tables = Tables(contents.shown)
    ranking.mark_best(tables.cells)
    return Folder(tables.cells, machine, (*contents.notes(), *odd), tables)
