"""What changed since other results, as the report shows it; `taskgrain compare` says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taskgrain.report.data import Results


@dataclass(frozen=True)
class Change:
    """A cell of these results against the same of others; texts are not escaped."""

    system: str
    workload: str
    verdict: str
    ratio: str
    """The one that the verdict is given by, with its interval."""
    value: float | None
    """The same as a number."""
    beside: tuple[str, ...]
    """Other ratios."""
    why: str = ""
    """Why it is not comparable."""


@dataclass(frozen=True)
class Changes:
    """All cells against those of one baseline."""

    baseline: str
    by: str
    """What the verdicts are given by."""
    also: tuple[str, ...]
    """What the ratios beside it are of."""
    cells: tuple[Change, ...]
    sentences: tuple[str, ...]
    """What came of it."""
    notes: tuple[str, ...]


def number(results: Results, change: Change) -> int | None:
    """The number of the cell that a change is about."""
    names: Sequence[tuple[str, str]] = [(cell.system, cell.workload) for cell in results.cells]
    key = (change.system, change.workload)
    return names.index(key) if key in names else None
