"""What a study can be trusted for, in one to three sentences, from the results of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from taskgrain.words import quantity

_BUSY = 1.1
"""The kernel alone at its best over the kernel alone beside the runs, from which on a machine was busy."""
_DISTURBED = 0.1
"""Likewise, the share of runs that other programs disturbed."""
_MOSTLY = 0.5
"""The share of disturbed runs from which on orders may be those of the disturbances."""
_FACTOR = 1.5
"""What is known worse than within this factor is said as a factor."""


@dataclass(frozen=True)
class Judged:
    """One cell, as far as a verdict goes; the fields are those of its `metg` and `ratio` lines."""

    system: str
    workload: str
    cores: int | None
    metg: float | None
    low: float | None
    high: float | None
    best: bool
    """Whether it has the smallest METG of its workload, so that the others are compared with it."""
    ratio: tuple[float | None, float | None] | None
    """The interval of its ratio to the best; None without a ratio, two None of a single round."""
    slowdown: float | None
    """Its best rate over its peak rate."""
    disturbed: float | None
    """The share of its runs that others disturbed."""

    @property
    def surely_slower(self) -> bool:
        """Whether the ratio's interval lies above 1."""
        return self.ratio is not None and (self.ratio[0] or 0.0) > 1.0


def verdict(cells: Sequence[Judged]) -> list[str]:
    """The sentences; none where nothing was measured on a machine that seemed quiet."""
    return [first, *_orders(cells)] if (first := state_of_the_machine(cells)) else []


def state_of_the_machine(cells: Sequence[Judged]) -> str:
    """How busy the machine was, and how well METG and ratios are known.

    Empty where there is nothing to say of either.
    """
    slowdown = median([cell.slowdown for cell in cells if cell.slowdown] or [1.0])
    disturbed = median([cell.disturbed for cell in cells if cell.disturbed is not None] or [0.0])
    busy = []
    if slowdown > _BUSY:
        busy.append(
            f"beside the runs the kernel alone reached {quantity.percent(1.0 / slowdown)} of its best"
        )
    if disturbed > _DISTURBED:
        busy.append(f"other programs disturbed {quantity.percent(disturbed)} of the runs")
    machine = f"The machine was busy: {', and '.join(busy)}." if busy else "The machine seemed quiet."
    if disturbed > _MOSTLY:
        machine += " Measure again before you rely on an order of systems."
    known = [cell for cell in cells if cell.metg]
    if not known:
        return machine if busy else ""
    said = f"METG is known {_within(_factor(cell) for cell in known)}"
    ratios = [_spread(*cell.ratio) for cell in known if cell.ratio]
    if ratios:
        said += f", and its ratio to the best system {_within(ratios)}"
    return f"{machine} {said} (medians over the cells)."


def _factor(cell: Judged) -> float:
    """By what factor METG's interval reaches further on its longer side; infinite without a bound."""
    if not (cell.metg and cell.low and cell.high):
        return math.inf
    return max(cell.high / cell.metg, cell.metg / cell.low)


def _spread(low: float | None, high: float | None) -> float:
    """How far an interval reaches to either side of its middle, as a factor; infinite without a bound."""
    return math.sqrt(high / low) if low and high else math.inf


def _within(factors: Iterable[float]) -> str:
    factor = median(list(factors))
    if math.isinf(factor):
        return "with one bound at most"
    if factor < _FACTOR:
        return f"within ±{max(1, round(100.0 * (factor - 1.0)))} %"
    return f"within a factor of {float(f'{factor:.2g}'):g}"


def _orders(cells: Sequence[Judged]) -> Iterable[str]:
    """Who is the best on each workload, as far as ratios tell."""
    for workload in dict.fromkeys(cell.workload for cell in cells):
        here = [cell for cell in cells if cell.workload == workload]
        most = max((cell.cores for cell in here if cell.cores), default=None)
        here = [cell for cell in here if cell.cores == most]
        best = next((cell for cell in here if cell.best), None)
        if best is None or len(here) < 2:
            continue
        # One round gives a ratio without bounds, which compares nothing.
        others = [cell for cell in here if cell is not best and cell.ratio in (None, (None, None))]
        known = [cell for cell in here if cell is not best and cell not in others]
        ties = [cell.system for cell in known if not cell.surely_slower]
        unknown = [cell.system for cell in others if not cell.metg]
        apart = [cell.system for cell in others if cell.metg]
        slower = len(known) - len(ties)
        said = f"{workload}: {best.system}"
        if ties:
            said += f" has the smallest METG, but no difference to {_listed(ties)} is shown"
        elif apart and not slower:
            said = f"{workload}: no system could be compared; {best.system} has the smallest value"
            apart = []
        elif apart:
            said += " has the smallest METG"
        else:
            said += f" is the best of {slower + 1}" if slower else " has the only METG"
        if (ties or apart) and slower:
            said += f"; {quantity.counted(slower, 'other')} {'is' if slower == 1 else 'are'} slower"
        if apart:
            said += f"; not compared: {_listed(apart)}"
        if unknown:
            said += f"; without a number: {_listed(unknown)}"
        yield f"{said}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
