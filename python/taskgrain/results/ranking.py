"""Ranks the systems on a workload: the one place where they are compared by their METG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic

from taskgrain.results.cell import C, Cell
from taskgrain.words.interval import Interval

MARGIN = 1.05
"""The factor by which a METG is surely larger if its system is called slower. Processes and sessions of one
build differ by up to as much, and an interval knows only of those that were measured."""


@dataclass(frozen=True)
class Standing(Generic[C]):
    """Cells of one workload by METG, the smallest first."""

    ties: tuple[C, ...]
    """The cells that may be the best, as far as the intervals tell. A winner stands here alone."""
    behind: tuple[C, ...]
    """The cells that are slower: than the first of `ties` by their ratio to it, or than all of them as no
    intervals overlap."""
    unknown: tuple[C, ...]
    """The cells that have neither a METG nor a bound of it."""


def by_workload(cells: Iterable[C]) -> dict[str, list[C]]:
    """The cells of each workload, in order."""
    found: dict[str, list[C]] = {}
    for cell in cells:
        found.setdefault(cell.workload, []).append(cell)
    return found


def contest(cells: Sequence[C]) -> list[C]:
    """Returns the cells of a workload that a user may choose from: no bounds, none of another machine, and
    none that leaves cores unused. A system that does so wastes them, whatever its METG is."""
    return _on_all_cores([cell for cell in cells if not cell.bound])


def bounds(cells: Sequence[C]) -> list[C]:
    """Returns the cells of a workload that show what could be reached on all of its cores."""
    return [cell for cell in _on_all_cores(cells) if cell.bound and cell.metg.value is not None]


def _on_all_cores(cells: Sequence[C]) -> list[C]:
    cells = [cell for cell in cells if not cell.origin.elsewhere]
    most = max((cell.cores for cell in cells if cell.cores and cell.metg.about is not None), default=None)
    return [cell for cell in cells if most is None or cell.cores == most or cell.metg.about is None]


def best(cells: Sequence[C]) -> C | None:
    """The cell of a workload that the others are compared with: the smallest METG that a user may choose. One
    look, which has no interval, makes none the best."""
    known = [cell for cell in contest(cells) if cell.metg.value is not None and cell.metg.bounded]
    return min(known, key=lambda cell: cell.metg.value or math.inf, default=None)


def mark_best(cells: Iterable[Cell]) -> None:
    """Tells each cell the best one of its workload."""
    for here in by_workload(cells).values():
        top = best(here)
        for cell in here:
            cell.best = top


def systems(cells: Iterable[Cell]) -> list[str]:
    """The systems by METG (geometric mean over a system's cells), those without one at the end; then those
    that are bounds."""
    logs: dict[tuple[bool, str], list[float]] = {}
    for cell in cells:
        known = [math.log(cell.metg.about)] if cell.metg.about else []
        logs.setdefault((cell.bound, cell.system), []).extend(known)
    by_metg = sorted(logs, key=lambda one: (one[0], fmean(logs[one]) if logs[one] else math.inf))
    return list(dict.fromkeys(system for _, system in by_metg))


def standing(cells: Sequence[C]) -> Standing[C]:
    """Compares the cells of one workload with the first of them: by ratios from common rounds where there are
    any, else by intervals. A bound that is missing is infinite."""
    known = sorted((cell for cell in cells if cell.metg.about is not None), key=_middle)
    # Who begins below the smallest upper bound may be the best. The first is there even if it has no bounds.
    least = min((cell.metg.ends[1] for cell in known), default=math.inf)

    def ties_with_first(cell: C) -> bool:
        ratio = cell.ratio_to(known[0].name)
        return cell is known[0] or (cell.metg.ends[0] <= MARGIN * least if ratio is None else ties(ratio))

    level = tuple(filter(ties_with_first, known))
    end = MARGIN * max((cell.metg.ends[1] for cell in level), default=math.inf)

    def behind_all_ties(cell: C) -> bool:
        compared = cell.ratio_to(known[0].name) is not None
        return cell not in level and (compared or cell.metg.ends[0] > end)

    return Standing(
        ties=level,
        behind=tuple(filter(behind_all_ties, known)),
        unknown=tuple(cell for cell in cells if cell.metg.about is None),
    )


def ties(ratio: Interval) -> bool:
    """Tells whether a METG that is so many times the best one may be as good."""
    return ratio.ends[0] <= MARGIN


def ratio(cell: Cell, to: Cell) -> Interval | None:
    """The ratio from common rounds if these bound it, else of the two METGs, without an interval. If one of
    the two is only bounded, so is the ratio.

    The rounds that both have may tell another order than the two METGs, which rest on all rounds, or bounds
    that shut their quotient out. The ratio then has no value, as it would contradict them; its interval holds
    both answers.
    """
    own, other = cell.metg, to.metg
    if own.about is None or other.about is None or not (own.bounded and other.bounded):
        return None  # nothing is known, or what one look tells
    found = cell.ratio_to(to.name)
    back = to.ratio_to(cell.name)  # of two that are equal, either may have been the first
    if found is None and back and back.known:
        found = back.inverse()
    quotient = _ratio_of_numbers(own, other)
    if found is None or (found.low is None and found.high is None):
        return quotient
    value, less = found.value, own.about < other.about
    contrary = value is not None and value != 1.0 and (value < 1.0) != less
    at = quotient.value
    if not contrary and (at is None or found.contains(at)):
        return found
    low, high = (
        end if end is None or at is None else of(end, at) for end, of in ((found.low, min), (found.high, max))
    )
    return Interval(None, low, high)


def _ratio_of_numbers(own: Interval, other: Interval) -> Interval:
    if own.value and other.value:
        return Interval(own.value / other.value)
    low, under = own.value or own.low, other.value or other.high
    high, over = own.value or own.high, other.value or other.low
    return Interval(None, low / under if low and under else None, high / over if high and over else None)


def _middle(cell: Cell) -> float:
    """A METG, or an upper bound, comes before a lower bound."""
    return cell.metg.value or cell.metg.high or math.inf
