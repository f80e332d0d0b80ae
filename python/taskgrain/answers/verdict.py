"""Says in one to three sentences how far a study can be trusted, from the results of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from taskgrain.results import ranking
from taskgrain.results.cell import Cell
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.origin import Origin

Place = Literal["ties", "slower", "apart", "unknown"]
"""The place of a system beside the best; nothing tells the ratio of one that is `apart`."""
_BUSY = 1.1
"""The kernel alone at its best over the kernel alone beside the runs, from which on a machine was busy."""
_DISTURBED = 0.1
"""The same for the share of the cores' time that others used, and of runs that they disturbed all along."""
_MOSTLY = 0.5
"""The share of disturbed runs from which on disturbances may explain the order."""
_FACTOR = 1.5
"""The factor from which on a half-width is shown as a factor, and not in per cent."""
_SIMULATED = "These cells are simulated: no machine was measured."


def verdict(cells: Sequence[Cell]) -> list[str]:
    """The sentences; none where nothing was measured on a machine that seemed quiet."""
    return [first, *orders(cells)] if (first := state_of_the_machine(cells)) else []


def state_of_the_machine(cells: Sequence[Cell]) -> str:
    """Says how busy the machine was, and how well METG and ratios are known.

    Empty where there is nothing to say of either.
    """
    if cells and all(cell.origin.simulated for cell in cells):
        origin = Origin.of(cell.origin for cell in cells)
        without = " Ratios do not hold this error." * (origin.error > 1.0)
        return f"{_SIMULATED} {origin.note}{without}"
    busy = how_busy(cells)
    machine = busy or "The machine seemed quiet."
    if _median(cell.disturbed for cell in cells) > _MOSTLY:
        machine += " Measure again before you rely on an order of systems."
    if resting := sum(any(one.code == "crossing_disturbed" for one in cell.warnings) for cell in cells):
        machine += (
            f" In {resting} of {quantity.counted(len(cells), 'cell')} METG rests on disturbed runs, and may "
            "be too large."
        )
    known = [cell for cell in cells if cell.metg.value]
    if not known:
        return machine if busy else ""
    said = f"METG is known {_within(cell.metg.reach for cell in known)}"
    best = {name: ranking.best(here) for name, here in ranking.by_workload(cells).items()}
    ratios = [one for cell in known if (top := best[cell.workload]) and (one := cell.ratio_to(top.name))]
    if ratios:
        said += f", and its ratio to the best system {_within(math.sqrt(one.factor) for one in ratios)}"
    return f"{machine} {said} (medians over the cells)."


def how_busy(measured: Sequence[Cell]) -> str:
    """A sentence on how busy the machine was; empty if it seemed quiet."""
    others, disturbed = _median(one.others for one in measured), _median(one.disturbed for one in measured)
    slowdown = _median(one.slowdown for one in measured)
    busy = []
    if others > _DISTURBED:
        busy.append(f"others used {quantity.percent(others)} of the cores' time during the runs")
    if slowdown > _BUSY:
        busy.append(
            f"beside the runs the kernel alone reached {quantity.percent(1.0 / slowdown)} of its best"
        )
    if disturbed > _DISTURBED:
        busy.append(f"other programs disturbed {quantity.percent(disturbed)} of the runs")
    return f"The machine was busy: {', and '.join(busy)}." if busy else ""


def _median(found: Iterable[float | None]) -> float:
    return median([one for one in found if one is not None] or [0.0])


def _within(factors: Iterable[float]) -> str:
    factor = median(list(factors))
    if math.isinf(factor):
        return "with one bound at most"
    if factor < _FACTOR:
        return f"within ±{max(1, round(100.0 * (factor - 1.0)))} %"
    return f"within a factor of {float(f'{factor:.2g}'):g}"


def orders(cells: Sequence[Cell]) -> Iterable[str]:
    """Names the best of each workload, as far as ratios tell."""
    for workload, every in ranking.by_workload(cells).items():
        here = [cell for cell in ranking.contest(every) if cell.ending is not Ending.FAILED]
        best = ranking.best(here)
        if best is not None and len(here) > 1:
            others: dict[Place, list[str]] = {"ties": [], "slower": [], "apart": [], "unknown": []}
            for cell in here:
                if cell is not best:
                    others[_place(cell, best)].append(cell.system)
            yield f"{workload}: {_order(best.system, others)}{_beside_bounds(best, every)}."


def _place(cell: Cell, best: Cell) -> Place:
    """The place of a cell beside the best. One round gives a ratio without bounds, which compares nothing."""
    ratio = cell.ratio_to(best.name)
    if ratio and (ratio.low or ratio.high):
        return "ties" if ranking.ties(ratio) else "slower"
    return "apart" if cell.metg.value else "unknown"


def _order(best: str, others: Mapping[Place, Sequence[str]]) -> str:
    """Says of the best system how the others stand to it."""
    ties, slower, apart, unknown = others.values()
    without = f"; without a number: {quantity.listed(unknown)}" if unknown else ""
    if apart and not ties and not slower:
        return f"no system could be compared; {best} has the smallest value{without}"
    if not ties and not apart:
        return f"{best} {f'is the best of {len(slower) + 1}' if slower else 'has the only METG'}{without}"
    said = f"{best} has the smallest METG"
    if ties:
        said += f", but no difference to {quantity.listed(ties)} is shown"
    if slower:
        said += f"; {quantity.counted(len(slower), 'other')} {'is' if len(slower) == 1 else 'are'} slower"
    if apart:
        said += f"; not compared: {quantity.listed(apart)}"
    return said + without


def _beside_bounds(best: Cell, cells: Sequence[Cell]) -> str:
    """Says how near the best system comes to what could be reached."""
    known = [one for one in ranking.bounds(cells) if best.ratio_to(one.name)]
    ratios = [(one.system, ranking.ratio(best, one)) for one in known]
    each = [(system, quantity.ratio_interval(found).removesuffix(" ×")) for system, found in ratios if found]
    said = [f"{times} times the bound {system}" for system, times in each]
    return f"; {best.system} is at {quantity.listed(said)}" if said else ""
