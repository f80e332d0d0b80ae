"""The sentences that the reader should know first, in plain words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from taskgrain.answers import task_times
from taskgrain.answers.advice_words import sentences
from taskgrain.answers.data import Cell, Results
from taskgrain.results import ranking
from taskgrain.results.outcome import short
from taskgrain.words import quantity
from taskgrain.words.endings import Ending

_MUCH = 10.0
"""The factor by which a system may look slower and still be named among those that may be the best."""


@dataclass(frozen=True)
class Best:
    """The best system on one workload; texts are ready to be shown, but not escaped."""

    workload: str
    systems: tuple[str, ...]
    """More than one if no difference is shown between them: nobody can say which is better."""
    perhaps: tuple[str, ...]
    """Systems of which only a bound is known, with it: they may be better than the best."""
    unsure: tuple[str, ...]
    """Systems that look much slower, and of which too little is known to rule out that they are not."""
    limit: str
    """The time that a task must last with the first of them."""
    interval: str
    """The interval of that, in brackets; empty if `limit` is only a bound."""
    at_most: bool
    """True if even the smallest task was long enough, so that `limit` is only an upper bound."""
    lost: str
    """The share of the machine that shorter tasks lose: `half`, `30 %`."""
    measured: int
    """Systems with a METG, or with a bound of it, on this workload."""
    worst: str
    worst_limit: str
    worst_times: str

    @property
    def contenders(self) -> tuple[str, ...]:
        """The systems that may be the best; a winner stands alone."""
        return *self.systems, *self.perhaps


def best(results: Results) -> tuple[Best, ...]:
    """One entry for every workload on which any system has a METG, in the study's order."""
    found = (_best(workload, results) for workload in results.workloads)
    return tuple(one for one in found if one is not None)


def at_task_times(results: Results) -> list[tuple[str, list[str]]]:
    """The answers for each workload that was measured at task times, or for a program's graph: what
    `advise` says of them."""
    found = []
    for one in task_times.of_the_study(results):
        program, cores = one.question.program, quantity.counted(one.question.cores, "core")
        name = f"{program.name}, {cores}" if program else one.workload
        found.append((name, [*sentences(one.question, one.answers)]))
    return found


def troubled(results: Results) -> list[Cell]:
    """The cells that have no number, or not yet their last one."""
    return [
        cell
        for cell in results.cells
        if cell.ending is Ending.UNFINISHED or (cell.metg.value is None and not cell.at)
    ]


def troubles(results: Results) -> str:
    """Says what did not come to a number: `3 cells failed, 2 are unfinished`; empty if all did."""
    endings = Counter(
        cell.error if cell.error == "unsupported" else str(cell.ending) for cell in troubled(results)
    )
    words = {
        "unsupported": ("is not supported by its system", "are not supported by their systems"),
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
    here = ranking.contest([cell for cell in results.cells if cell.workload == workload])
    found = ranking.standing(here)
    if not found.ties or not (found.ties[0].metg.value or found.ties[0].metg.high):
        return None
    first, behind = found.ties[0], found.behind
    bounds_only = [cell for cell in found.ties[1:] if cell.metg.value is None]
    unsure = [
        cell for cell in found.ties[1:] if (cell.metg.value or 0.0) > _MUCH * (first.metg.about or math.inf)
    ]
    span = quantity.around(first.metg)[1] if first.metg.value else quantity.NOTHING
    interval = "(no interval)" if span == quantity.NOTHING else f"({span})"
    return Best(
        workload=workload,
        systems=tuple(cell.system for cell in found.ties if cell not in (*bounds_only, *unsure)),
        perhaps=tuple(f"{cell.system} {short(cell)}" for cell in bounds_only),
        unsure=tuple(cell.system for cell in unsure),
        limit=_result(first).removeprefix("≤ "),
        interval="" if first.metg.value is None else interval,
        at_most=first.metg.value is None,
        lost="half" if first.threshold == 0.5 else quantity.percent(1 - first.threshold),
        measured=len(here) - len(found.unknown),
        worst=behind[-1].system if behind else "",
        worst_limit=_result(behind[-1]) if behind else "",
        worst_times=_times(behind[-1], first) if behind else "",
    )


def _times(cell: Cell, first: Cell) -> str:
    """The factor by which a task must last longer than with the first."""
    found = ranking.ratio(cell, first)
    return quantity.ratio(found.about) if found else ""


def _result(cell: Cell) -> str:
    """One round, of which the search's last steps are all that is known, tells METG about."""
    rough = cell.metg.value is not None and cell.rounds is not None and cell.rounds < 2
    return ("about " if rough else "") + short(cell)
