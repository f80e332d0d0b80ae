"""Checks whether the numbers can be trusted: each check with its finding, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from taskgrain.answers.data import Results
from taskgrain.answers.verdict import state_of_the_machine
from taskgrain.results import outcome
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.origin import Origin
from taskgrain.words.warnings import Group, Weight, grouped

LEVELS = ("bad", "look", "good")
"""The levels of a check. A bad one needs another measurement; of one to look at, the reader decides."""
_BUSY, _MOSTLY = 0.1, 0.5
"""Shares of disturbed runs."""
_WIDE = 1.25
"""An interval that reaches farther than this factor to one side is wide."""
_SHOWN = 12
"""Lines of details."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; texts are ready to be shown, but not escaped."""

    title: str
    level: str
    said: str
    details: tuple[str, ...] = ()


def checks(results: Results) -> list[Check]:
    """All of them, the worst first."""
    found = [
        _disturbances(results), *_intervals(results), _endings(results), _validation(results),
        *_warnings(results), *(Check("Results folder", "look", said) for said in results.warnings),
    ]  # fmt: skip
    return sorted(found, key=lambda one: LEVELS.index(one.level))


def _disturbances(results: Results) -> Check:
    said = state_of_the_machine(results.cells) or "The machine seemed quiet."
    said = "None was measured: the cells are simulated." if results.origin.simulated else said
    every = {cell.name: share for cell in results.cells if (share := cell.disturbed) is not None}
    shares = {name: share for name, share in every.items() if share}
    typical = median(every.values()) if every else 0.0
    level = "bad" if typical > _MOSTLY else "look" if "busy" in said or typical > _BUSY else "good"
    level = "look" if results.origin.simulated else level
    worst = sorted(shares, key=lambda name: -shares[name])
    details = [f"{name}: {quantity.percent(shares[name])} of the runs disturbed" for name in worst]
    return Check("Machine", level, said, _few(details))


def _intervals(results: Results) -> Iterator[Check]:
    known = [cell for cell in results.cells if cell.metg.value]
    if not known:
        return
    if results.origin.simulated:
        yield Check("Intervals", "look", Origin.of(one.origin for one in known).note)
        return
    wide = sorted(
        (cell for cell in known if cell.metg.reach > _WIDE), key=lambda one: one.metg.reach, reverse=True
    )
    said = f"{len(known) - len(wide)} of {quantity.counted(len(known), 'METG')} are known within ±25 %"
    open_ends = sum(math.isinf(cell.metg.reach) for cell in wide)
    said += f"; {quantity.counted(open_ends, 'interval')} without a bound." if open_ends else "."
    level = "good" if not wide else "bad" if len(wide) > len(known) / 2 else "look"
    details = [f"{cell.name}: {outcome.long(cell)}" for cell in wide]
    yield Check("Intervals", level, said, _few(details))


def _endings(results: Results) -> Check:
    every = quantity.counted(len(results.cells), "cell")
    without = [
        cell
        for cell in results.cells
        if cell.ending is Ending.UNFINISHED or (cell.metg.value is None and not cell.at)
    ]
    if not without:
        return Check("Cells", "good", f"{every}, each with a number.")
    refused = [cell for cell in without if cell.error == "unsupported"]
    counts = Counter("unsupported" if cell in refused else cell.ending.shown for cell in without)
    lost = {cell.ending for cell in without if cell not in refused}
    level = "bad" if lost & {Ending.FAILED, Ending.UNFINISHED} else "look"
    each = ", ".join(f"{count} {ending}" for ending, count in counts.most_common())
    details = [f"{cell.name}: {outcome.short(cell)}" for cell in without]
    return Check("Cells", level, f"Of {every}, {each}.", _few(details))


def _validation(results: Results) -> Check:
    wrong = [one for one in results.failures if one.kind_of == "validation"]
    mode = results.study.table.get("validate", "sample")
    if wrong:
        said = f"{quantity.counted(len(wrong), 'run')} computed wrong results; the cells failed."
        return Check("Validation", "bad", said, _few([f"{one.cell}: {one.message}" for one in wrong]))
    if mode == "off":
        return Check("Validation", "look", "Nobody checked what the tasks computed: validation was off.")
    how = "every byte" if mode == "full" else "a sample"
    return Check("Validation", "good", f"Each run counted its tasks and checked {how} of their inputs.")


def _warnings(results: Results) -> Iterator[Check]:
    found = warnings(results)
    if not found:
        return
    warned = sum(bool(cell.warnings) for cell in results.cells)
    cells = quantity.counted(len(results.cells), "cell")
    of = f"{quantity.counted(len(found), 'kind')}, on {warned} of {cells}"
    details = [f"{_where(one)}: {one.text}" for one in found]
    if found[0].weight is Weight.HARMLESS:
        yield Check("Warnings", "good", f"{of}; none casts doubt on a number.", _few(details))
    else:
        yield Check("Warnings", "look", f"{of}. First of all, {details[0]}", _few(details))


def _where(one: Group) -> str:
    """The cells of warnings."""
    return one.cells[0] if len(one.cells) == 1 else quantity.counted(len(one.cells), "cell")


def warnings(results: Results) -> list[Group]:
    """Every kind of warning of cells once: first what decides, and of that the most frequent."""
    found = grouped((cell.name, warning) for cell in results.cells for warning in cell.warnings)
    return sorted(found, key=lambda one: (one.weight, -len(one.cells)))


def _few(details: Sequence[str]) -> tuple[str, ...]:
    more = len(details) - _SHOWN
    return (*details[:_SHOWN], *([f"and {quantity.counted(more, 'other')}"] if more > 0 else ()))
