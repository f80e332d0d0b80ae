"""Finds the systems that no other beats both in METG and in what their drivers take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from taskgrain.answers.data import Cell
from taskgrain.productivity.count import Count

Effort = Literal["lines", "constructs"]
EFFORTS: tuple[Effort, ...] = ("lines", "constructs")


@dataclass(frozen=True)
class Measured:
    """A driver, and its METG on a workload."""

    count: Count
    cell: Cell

    @property
    def system(self) -> str:
        return self.cell.system

    def effort(self, kind: Effort) -> int | None:
        """Lines of code or constructs; None if its `system.toml` does not say which names are constructs."""
        return self.count.total if kind == "lines" else len(self.count.constructs) or None

    def is_surely_below(self, other: Measured) -> bool:
        """Tells whether its METG is smaller, whatever both are within their intervals."""
        high, low = self.cell.metg.high, other.cell.metg.low
        return high is not None and low is not None and high < low


def by_workload(cells: Iterable[Cell], counts: Mapping[str, Count]) -> dict[str, list[Measured]]:
    """The cells of the systems that were counted, by workload and METG; those without METG come last."""
    found: dict[str, list[Measured]] = {}
    for cell in sorted(cells, key=lambda one: (one.metg.value is None, one.metg.value or 0.0, one.system)):
        if cell.system in counts:
            found.setdefault(cell.workload, []).append(Measured(counts[cell.system], cell))
    return found


def frontier(rows: Sequence[Measured], kind: Effort) -> dict[str, bool]:
    """The systems of a workload that no other surely beats in both, each with whether surely none does.

    One beats another that takes no less and has a larger METG. A system that uses fewer cores than others can
    is not compared with them.
    """
    most = max((row.cell.cores or 0 for row in rows), default=0)
    able = [
        (row, effort)
        for row in rows
        if row.cell.metg.value is not None and (row.cell.cores or 0) == most and (effort := row.effort(kind))
    ]
    found = {}
    for row, effort in able:
        rivals = [other for other, less in able if other is not row and less <= effort]
        if not any(other.is_surely_below(row) for other in rivals):
            found[row.system] = all(row.is_surely_below(other) for other in rivals)
    return found
