"""What the reader should know first, in plain words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from taskgrain.report.cells import Cell, Results
from taskgrain.report.rows import short_result
from taskgrain.words import quantity


@dataclass(frozen=True)
class Best:
    """The best system on one workload; texts are ready to be shown, but not escaped."""

    workload: str
    systems: tuple[str, ...]
    """More than one if their intervals overlap: then nobody can say which is better."""
    perhaps: tuple[str, ...]
    """Systems of which only an upper bound is known, with it: they may be better than the best."""
    limit: str
    """How long a task must last with the first of them."""
    at_most: bool
    """Whether even the smallest task was long enough, so that `limit` is only an upper bound."""
    lost: str
    """The share of the machine that shorter tasks lose: `half`, `30 %`."""
    measured: int
    """Systems with a METG, or with a bound of it, on this workload."""
    runner_up: str
    runner_up_times: str
    worst: str
    worst_limit: str
    worst_times: str


def best(results: Results) -> tuple[Best, ...]:
    """One entry for every workload on which any system has a METG, in the study's order."""
    found = (_best(workload, results) for workload in results.workloads)
    return tuple(one for one in found if one is not None)


def troubles(results: Results) -> str:
    """What did not come to a number: `3 cells failed, 2 are unfinished`; empty if all did."""
    endings = Counter(cell.ending for cell in results.cells if cell.metg is None)
    words = {
        "failed": ("failed", "failed"),
        "unfinished": ("is unfinished", "are unfinished"),
        "never_reached": ("never reached the threshold", "never reached the threshold"),
        "always_reached": ("gave only an upper bound", "gave only an upper bound"),
        "several_crossings": ("crossed the threshold more than once", "crossed the threshold more than once"),
    }
    parts = []
    for ending, count in endings.most_common():
        one, many = words.get(ending, ("gave no number", "gave no number"))
        parts.append(f"{count} {one if count == 1 else many}")
    return f"Of {quantity.counted(len(results.cells), 'cell')}, {', '.join(parts)}." if parts else ""


def _bound(cell: Cell) -> float | None:
    return cell.metg if cell.metg is not None else cell.at_most


def _best(workload: str, results: Results) -> Best | None:
    here = [cell for cell in results.cells if cell.workload == workload]
    # A system that leaves cores unused wastes these whatever its METG is: it is no match for the others.
    most = max((cell.cores for cell in here if cell.cores), default=None)
    here = [cell for cell in here if most is None or cell.cores == most]
    bounds = [(bound, cell) for cell in here if (bound := _bound(cell))]
    if not bounds:
        return None
    bounds.sort(key=lambda pair: pair[0])
    least, first = bounds[0]
    ties = [cell for _, cell in bounds if cell is first or _overlap(first, cell)]
    open_below = [cell for _, cell in bounds if cell is not first and cell.metg is None]
    rest = [(bound, cell) for bound, cell in bounds if cell not in ties and cell not in open_below]
    lost = "half" if first.threshold == 0.5 else quantity.percent(1 - first.threshold)
    return Best(
        workload=workload,
        systems=tuple(cell.system for cell in ties),
        perhaps=tuple(f"{cell.system} {short_result(cell)}" for cell in open_below),
        limit=_result(first).removeprefix("≤ "),
        at_most=first.metg is None,
        lost=lost,
        measured=len(bounds),
        runner_up=rest[0][1].system if rest else "",
        runner_up_times=quantity.ratio(rest[0][0] / least) if rest else "",
        worst=rest[-1][1].system if rest else "",
        worst_limit=_result(rest[-1][1]) if rest else "",
        worst_times=quantity.ratio(rest[-1][0] / least) if rest else "",
    )


def _result(cell: Cell) -> str:
    """One round, of which the search's last steps are all that is known, tells METG about."""
    rough = cell.metg is not None and cell.rounds is not None and cell.rounds < 2
    return ("about " if rough else "") + short_result(cell)


def _overlap(first: Cell, other: Cell) -> bool:
    """Whether the interval of `other`, which has no smaller METG, begins before the one of `first` ends."""
    return first.high is not None and other.low is not None and other.low <= first.high
