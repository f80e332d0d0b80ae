"""A comparison in words, for `taskgrain compare` and for the report of later results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import geometric_mean

from taskgrain.answers.compare.cells import Compared, Comparison, Verdict
from taskgrain.estimate.quantities import Quantity
from taskgrain.estimate.ratio import Ratio
from taskgrain.results import hosts
from taskgrain.words import quantity

_BESIDE: tuple[Quantity, ...] = ("metg", "floor", "rate", "efficiency")
"""The ratios that the table shows beside the one that decides."""
_VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "undecided", "not comparable")
_SHOWN = 3
"""Cells that a reason names."""
_MOVED = 1.02
"""The difference of clocks from which on a note names it."""


def remarks(found: Comparison) -> list[str]:
    """Says why some cells have no verdict, and what else to know of them."""
    return [*_reasons(found.cells), *_again(found), *_notes(found)]


def summary(found: Comparison) -> list[str]:
    """The comparison in two sentences."""
    lacks = f"; {quantity.counted(found.missing, 'cell')} of the first side missing" if found.missing else ""
    if not found.cells:
        return [f"The sides share no cell{lacks}."]
    counts = Counter(cell.verdict for cell in found.cells)
    margin = quantity.percent(found.question.margin, 0 if found.question.margin * 100 % 1 < 1e-9 else 1)
    each = ", ".join(f"{counts[one]} {one}" for one in _VERDICTS if counts[one])
    by = called(found.question.by)
    first = f"{quantity.counted(len(found.cells), 'cell')} by {by}: {each}{lacks}. The margin is {margin}."
    if counts["not comparable"] == len(found.cells):
        return [first, *_hosts(found)]
    return [first, *_hosts(found), *_confidence(found), *_the_same(found)]


def _confidence(found: Comparison) -> list[str]:
    """Says what the intervals contain, and how surely."""
    if all(cell.origin.simulated for cell in found.cells):
        return [
            "Simulated numbers repeat to the digit: an interval is what the search left open, and does not "
            "hold the simulation's own error."
        ]
    by, sure = called(found.question.by), quantity.percent(found.question.confidence)
    each = quantity.percent(found.confidence, 2)
    if found.confidence == found.question.confidence:
        first = f"The interval of {by} holds with {sure}"
    elif sum(cell.verdict != "not comparable" for cell in found.cells) == 1:
        first = f"The interval of {by} holds with {sure} at all looks ({each} at each)"
    else:
        first = f"All intervals of {by} hold at once with {sure} (each with {each})"
    some = any(cell.origin.simulated for cell in found.cells)
    return [
        f"{first}; the others hold with 95 % each.",
        *["Those of simulated cells do not hold the simulation's own error."] * some,
    ]


def _hosts(found: Comparison) -> list[str]:
    """Says where sides were measured, if they were on several hosts."""
    sides: dict[str, list[str]] = defaultdict(list)
    for label, some in found.hosts:
        sides[hosts.where(some)].append(label)
    return [f"{' and '.join(labels)}: measured {where}." for where, labels in sides.items()]


def _the_same(found: Comparison) -> list[str]:
    """Says what `same` means of sides that were measured apart, where it means another thing."""
    apart = any(cell.between and not cell.together and cell.verdict == "same" for cell in found.cells)
    if not apart or found.question.apart == found.question.margin:
        return []
    return [
        f"The sides were measured apart: cells are called the same that differ by less than "
        f"{quantity.percent(found.question.apart)}, each with 95 %. --margin asks for less."
    ]


def called(one: Quantity) -> str:
    """The quantity in words."""
    return "METG" if one == "metg" else one


def ratios_beside(found: Comparison, cells: Sequence[Compared]) -> list[Quantity]:
    """The quantities with ratios beside the one that decides."""
    shown = [one for one in _BESIDE if one != found.question.by]
    if all(cell.clock for cell in cells):  # at one clock, a rate is an efficiency
        shown = [one for one in shown if one != "rate"]
    return [one for one in shown if any(one in cell.ratios for cell in cells)]


def shown(found: Ratio | None) -> str:
    return quantity.ratio_interval(found) if found else quantity.NOTHING


def _reasons(cells: Sequence[Compared]) -> list[str]:
    """The reasons why cells are not comparable, each once."""
    found: dict[str, list[str]] = defaultdict(list)
    for cell in cells:
        if cell.verdict == "not comparable":
            found[cell.why].append(f"{cell.system}/{cell.workload}")
    return [f"Not comparable: {why}: {_listed(names)}." for why, names in found.items()]


def _again(found: Comparison) -> list[str]:
    """Tells the result of each cell that was measured once more."""

    def outcome(cell: Compared) -> str:
        ratio = cell.ratios.get(found.question.by)
        return f"{cell.verdict}{f', {shown(ratio)}' if ratio else ''}{f' ({cell.why})' if cell.why else ''}"

    said = {True: "It stays a regression.", False: "It is no regression."}
    return [
        f"Measured again: {cell.system}/{cell.workload}: at first {outcome(cell)}; "
        f"now {outcome(cell.again)}. {said[cell.regression]}"
        for cell in found.cells
        if cell.again
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {quantity.counted(more, 'other')}" if more > 0 else "")


def _notes(found: Comparison) -> list[str]:
    notes = [
        f"{label} has {quantity.counted(number, 'cell')} that the other side lacks."
        for label, number in found.unmatched
    ]
    notes += list(dict.fromkeys(f"Note: {note}." for cell in found.cells for note in cell.notes))
    notes += [*_clocks(found.cells), *_assumed(found)]
    for together, what in ((False, "Sessions of one build"), (True, "Ratios of single sessions")):
        every = [one.between for one in found.cells if one.between and one.together == together]
        across = [one for one in every if one.own]
        if not across:
            continue
        known = [one.deviation for one in across if one.deviation is not None]
        if not known:
            continue
        low, high = (quantity.percent(end(known), 1) for end in (min, max))
        freedom, own = min(one.freedom for one in across), min(one.own for one in across)
        filled = f", of which {freedom - own} are what is usual" if own < freedom else ""
        span = low if low == high else f"{low} to {high}"
        notes.append(
            f"{what} scatter by {span} (standard deviation), known with "
            f"{quantity.counted(freedom, 'degree')} of freedom at least{filled}."
        )
    return notes


def _assumed(found: Comparison) -> list[str]:
    """Says which scatter counts if nobody has measured it, and which change can then be seen."""
    by = found.question.by
    told = [
        (ratio.high / ratio.value, cell.between.deviation)
        for cell in found.cells
        if cell.between and not cell.between.own and (ratio := cell.ratios.get(by))
        if ratio.value and ratio.high
    ]
    if not told:
        return []
    least = quantity.percent(min(width for width, _ in told) * (1.0 + found.question.margin) - 1.0)
    usual = " or ".join(quantity.percent(one) for one in sorted({one for _, one in told if one}))
    return [
        f"How much sessions of one build scatter here was not measured; {usual} (standard deviation) is "
        f"usual, and was taken. So the comparison can show changes of {least} and more. Measure several "
        f"sessions of each side to see smaller ones."
    ]


def _clocks(cells: Sequence[Compared]) -> list[str]:
    """Says how the clock differed between sides that were measured apart."""
    sides: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell in cells:
        if cell.clock and cell.ratios:
            sides[cell.contender, cell.baseline].append(cell.clock)
    return [
        f"Beside {contender} the kernel alone reached {times:.2f} times what it reached beside {baseline}. "
        f"The ratios are at one clock; for those of times in seconds, multiply by {1.0 / times:.2f}."
        for (contender, baseline), found in sides.items()
        if not 1.0 / _MOVED < (times := geometric_mean(found)) < _MOVED
    ]
