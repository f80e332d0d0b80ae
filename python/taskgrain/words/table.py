"""A table of texts, which a terminal, a page and Markdown show each in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The title above it, the heads of its columns, and its rows."""

    title: str
    """The title, which may be empty."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    """Columns that are aligned to the left; the others are numbers."""
