"""What the reader should know first, in plain words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from taskgrain.report import standing
from taskgrain.report.cells import Cell, Results
from taskgrain.report.rows import bound, short_result
from taskgrain.words import quantity
from taskgrain.words.verdict import Judged, state_of_the_machine


@dataclass(frozen=True)
class Best:
    """The best system on one workload; texts are ready to be shown, but not escaped."""

    workload: str
    systems: tuple[str, ...]
    """More than one if no difference is shown between them: nobody can say which is better."""
    perhaps: tuple[str, ...]
    """Systems of which only a bound is known, with it: they may be better than the best."""
    limit: str
    """How long a task must last with the first of them."""
    interval: str
    """Of that, in brackets; empty if `limit` is only a bound."""
    at_most: bool
    """Whether even the smallest task was long enough, so that `limit` is only an upper bound."""
    lost: str
    """The share of the machine that shorter tasks lose: `half`, `30 %`."""
    measured: int
    """Systems with a METG, or with a bound of it, on this workload."""
    runner_up: str
    """The best of the systems whose intervals lie above those of all these."""
    runner_up_times: str
    runner_up_ties: tuple[str, ...]
    """Those that cannot be told from it."""
    worst: str
    worst_limit: str
    worst_times: str
    unknown: tuple[str, ...]
    """Systems that have no number here, with the reason."""

    @property
    def contenders(self) -> tuple[str, ...]:
        """All that may be the best; a winner stands alone."""
        return *self.systems, *self.perhaps


def trust(results: Results) -> str:
    """How far the numbers can be trusted: how busy the machine was, and how well they are known."""
    judged = [
        Judged(
            system=cell.system,
            workload=cell.workload,
            cores=cell.cores,
            metg=cell.metg,
            low=cell.low,
            high=cell.high,
            best=cell.best,
            ratio=(cell.to_best.low, cell.to_best.high) if cell.to_best else None,
            slowdown=cell.best_rate / cell.peak_rate if cell.best_rate and cell.peak_rate else None,
            disturbed=cell.disturbed / cell.runs if cell.disturbed is not None and cell.runs else None,
        )
        for cell in results.cells
    ]
    return state_of_the_machine(judged)


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


def _best(workload: str, results: Results) -> Best | None:
    here = [cell for cell in results.cells if cell.workload == workload]
    # A system that leaves cores unused wastes these whatever its METG is: it is no match for the others.
    most = max((cell.cores for cell in here if cell.cores), default=None)
    here = [cell for cell in here if most is None or cell.cores == most]
    found = standing.of(here)
    if not found.ties or not (found.ties[0].metg or found.ties[0].at_most):
        return None
    first, behind = found.ties[0], found.behind
    bounds_only = [cell for cell in found.ties[1:] if cell.metg is None]
    next_ones = standing.of(behind).ties
    span = quantity.around(first.metg, first.low, first.high)[1] if first.metg else quantity.NOTHING
    return Best(
        workload=workload,
        systems=tuple(cell.system for cell in found.ties if cell not in bounds_only),
        perhaps=tuple(f"{cell.system} {short_result(cell)}" for cell in bounds_only),
        limit=_result(first).removeprefix("≤ "),
        interval="" if first.metg is None else "(no interval)" if span == quantity.NOTHING else f"({span})",
        at_most=first.metg is None,
        lost="half" if first.threshold == 0.5 else quantity.percent(1 - first.threshold),
        measured=len(here) - len(found.unknown),
        runner_up=behind[0].system if behind else "",
        runner_up_ties=tuple(cell.system for cell in next_ones[1:]),
        runner_up_times=_times(behind[0], first) if behind else "",
        worst=behind[-1].system if behind else "",
        worst_limit=_result(behind[-1]) if behind else "",
        worst_times=_times(behind[-1], first) if behind else "",
        unknown=tuple(f"{cell.system} ({short_result(cell)})" for cell in found.unknown),
    )


def _times(cell: Cell, first: Cell) -> str:
    """How many times as long as with the first a task must last."""
    longer, least = bound(cell), bound(first)
    return quantity.ratio(longer / least) if longer and least else ""


def _result(cell: Cell) -> str:
    """One round, of which the search's last steps are all that is known, tells METG about."""
    rough = cell.metg is not None and cell.rounds is not None and cell.rounds < 2
    return ("about " if rough else "") + short_result(cell)
