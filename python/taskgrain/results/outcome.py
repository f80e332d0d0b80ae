"""The outcome of a cell, in the words that all commands and the page share."""

from __future__ import annotations

from taskgrain.results.cell import Cell
from taskgrain.results.lines import CurvePoint
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

_FAILED = {
    "crash": "crash",
    "memory": "out of memory",
    "timeout": "timeout",
    "unsupported": "unsupported",
    "validation": "wrong result",
}
_WITHOUT_NUMBER = {
    Ending.SEVERAL_CROSSINGS: "no one value",
    Ending.NEVER_REACHED: "never",
    Ending.ALWAYS_REACHED: "always",
    Ending.UNFINISHED: "unfinished",
    Ending.BUDGET: "out of time",
}


def short(cell: Cell) -> str:
    """A word or two: `0.41 µs`, `≤ 12.0 ns`, `> 5.00 ms`, `no one value`, `crash`; or `62 % at 20 µs`, where
    the efficiency at a task time was asked for."""
    if cell.metg.about is not None:
        return middle(cell.metg)
    if points := asked(cell):
        more = f" and {len(points) - 1} more" if len(points) > 1 else ""
        first, at = points[0], quantity.seconds(points[0].asked, 2)
        return f"{efficiency(cell, first, interval=False)} at {at}{more}"
    if cell.ending is Ending.FAILED:
        return _FAILED.get(cell.error, "failed")
    return _WITHOUT_NUMBER.get(cell.ending, "none")


def long(cell: Cell) -> str:
    """The same with intervals, and the fields that METG's outcome lacks."""
    if cell.metg.value is None:
        points = (f"{efficiency(cell, one)} at {quantity.seconds(one.asked, 2)}" for one in asked(cell))
        return "; ".join(points) or short(cell)
    return quantity.interval(cell.metg) + missing(cell.metg)


def middle(number: Interval) -> str:
    """A duration without its interval, or the bound that is known of it."""
    if number.value is not None or number.about is None:
        return quantity.around(number)[0]
    return f"{'>' if number.high is None else '≤'} {quantity.seconds(number.about)}"


def missing(number: Interval) -> str:
    """Names an interval's missing ends, to stand behind it."""
    if number.low is None:
        return ", no lower bound" if number.high is not None else ", no interval"
    return ", no upper bound" if number.high is None else ""


def asked(cell: Cell) -> list[CurvePoint]:
    """The points at the task times that were asked for."""
    return [one for one in cell.curve if one.asked and one.iterations and one.granularity and one.efficiency]


def at_task_times(cell: Cell) -> list[dict[str, float | None]]:
    """The same for programs; `work` is what the work of a task took alone, in seconds."""
    return [
        {
            "asked": one.asked,
            "iterations": one.iterations,
            "work": (one.granularity or 0.0) * (one.efficiency or 0.0),
            "granularity": one.granularity,
            "efficiency": one.efficiency,
            "low": one.efficiency_low,
            "high": one.efficiency_high,
        }
        for one in asked(cell)
    ]


def all_start(cell: Cell) -> bool:
    """Tells whether its runs were mostly start and end, so that their efficiencies mean nothing."""
    return any(one.code == "start_dominates" for one in cell.warnings)


def efficiency(cell: Cell, point: CurvePoint | None, interval: bool = True) -> str:
    """Returns the efficiency at a task time; that of one round has no interval."""
    if point is None:
        return "failed" if cell.ending is Ending.FAILED else "not measured"
    share = point.share.up_to(1.0)
    if share.low is None and share.high is None and all_start(cell):
        return "not known"
    text = quantity.about_percent(share)
    return text if interval else text.partition(" (")[0]
