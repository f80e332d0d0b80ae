"""How the systems on a workload stand: the one place of the report where they are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from taskgrain.report.cells import Cell, Ratio
from taskgrain.report.rows import bound, span


@dataclass(frozen=True)
class Standing:
    """Each by METG, the smallest first."""

    ties: tuple[Cell, ...]
    """Those that may be the best, as far as the intervals tell. A winner stands here alone."""
    behind: tuple[Cell, ...]
    """Those that are slower: than the first of `ties` by their ratio to it, or than all of them as no
    intervals overlap."""
    unknown: tuple[Cell, ...]
    """Those that have neither a METG nor a bound of it."""


def contest(cells: Sequence[Cell]) -> list[Cell]:
    """Those cells of a workload that use all of its cores: a system that leaves cores unused wastes these
    whatever its METG is, and is no match for the others."""
    most = max((cell.cores for cell in cells if cell.cores), default=None)
    return [cell for cell in cells if most is None or cell.cores == most]


def of(cells: Sequence[Cell]) -> Standing:
    """Compares the cells of one workload with the first of them: by ratios from common rounds where there are
    any, else by intervals. A bound that is missing is infinite."""
    known = sorted((cell for cell in cells if bound(cell) is not None), key=_middle)
    # Who begins below the smallest upper bound may be the best. The first is there even if it has no bounds.
    least = min((span(cell)[1] for cell in known), default=math.inf)

    def ties_with_first(cell: Cell) -> bool:
        ratio = next((one for one in cell.ratios if one.to == known[0].name), None)
        return cell is known[0] or (span(cell)[0] <= least if ratio is None else not ratio.surely_larger)

    ties = tuple(filter(ties_with_first, known))
    end = max((span(cell)[1] for cell in ties), default=math.inf)

    def behind_all_ties(cell: Cell) -> bool:
        compared = any(one.to == known[0].name for one in cell.ratios)
        return cell not in ties and (compared or span(cell)[0] > end)

    return Standing(
        ties=ties,
        behind=tuple(filter(behind_all_ties, known)),
        unknown=tuple(cell for cell in cells if bound(cell) is None),
    )


def ratio(cell: Cell, to: Cell) -> Ratio | None:
    """From common rounds if there are any, else of the two METGs or bounds, and then without an interval."""
    own, other = bound(cell), bound(to)
    if own is None or other is None:
        return None
    shared = next((one for one in cell.ratios if one.to == to.name), None)
    return shared or Ratio(to.name, own / other, None, None)


def _middle(cell: Cell) -> float:
    """A METG, or an upper bound, comes before a lower bound."""
    return cell.metg or cell.at_most or math.inf
