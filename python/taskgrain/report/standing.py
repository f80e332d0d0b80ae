"""How the systems on a workload stand: the one place of the report where they are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from taskgrain.report.cells import Cell
from taskgrain.report.rows import bound, span


@dataclass(frozen=True)
class Standing:
    """Each by METG, the smallest first."""

    ties: tuple[Cell, ...]
    """Those that may be the best, as far as the intervals tell. A winner stands here alone."""
    behind: tuple[Cell, ...]
    """Those that are slower than all of `ties`, as no intervals overlap."""
    unknown: tuple[Cell, ...]
    """Those that have neither a METG nor a bound of it."""


def of(cells: Sequence[Cell]) -> Standing:
    """Compares the cells of one workload; a bound that is missing is infinite."""
    known = sorted((cell for cell in cells if bound(cell) is not None), key=_middle)
    # Who begins below the smallest upper bound may be the best. The first is there even if it has no bounds.
    least = min((span(cell)[1] for cell in known), default=math.inf)
    ties = tuple(cell for cell in known if cell is known[0] or span(cell)[0] <= least)
    end = max((span(cell)[1] for cell in ties), default=math.inf)
    return Standing(
        ties=ties,
        behind=tuple(cell for cell in known if span(cell)[0] > end),
        unknown=tuple(cell for cell in cells if bound(cell) is None),
    )


def _middle(cell: Cell) -> float:
    """A METG, or an upper bound, comes before a lower bound."""
    return cell.metg or cell.at_most or math.inf
