"""The reasons why a cell of a study ended."""

from __future__ import annotations

from enum import StrEnum


class Ending(StrEnum):
    """Each as the results folder spells it."""

    PRECISE = "precise"
    RANKED = "ranked"
    BUDGET = "budget"
    NEVER_REACHED = "never_reached"
    ALWAYS_REACHED = "always_reached"
    SEVERAL_CROSSINGS = "several_crossings"
    AT = "at"
    FAILED = "failed"
    UNFINISHED = "unfinished"

    @property
    def final(self) -> bool:
        """True if the cell came to its end; with a larger budget, it may go on."""
        return self is not Ending.UNFINISHED

    @property
    def shown(self) -> str:
        """The ending as a column of a table names it."""
        return _TEXTS[self][0]

    def meaning(self, simulated: bool = False) -> str:
        """The ending in a sentence without its capital and its stop."""
        if simulated and self in (Ending.PRECISE, Ending.BUDGET):
            exact = "as exact as" if self is Ending.PRECISE else "less exact than"
            return f"the search is {exact} was asked; the interval is the simulation's own error"
        return _TEXTS[self][1]


_TEXTS = {
    Ending.PRECISE: ("precise", "the interval is as narrow as was asked"),
    Ending.RANKED: (
        "rank sure",
        "less precise than was asked, but surely apart from every other system of the workload",
    ),
    Ending.BUDGET: (
        "out of time",
        "the time or the rounds were used up first; the interval says how well the number is known",
    ),
    Ending.NEVER_REACHED: (
        "never reached",
        "even the largest task tried is below the threshold, or the graph allows no more",
    ),
    Ending.ALWAYS_REACHED: ("always reached", "even the smallest task tried is above the threshold"),
    Ending.SEVERAL_CROSSINGS: (
        "several crossings",
        "the curve crosses the threshold more than once: no one METG",
    ),
    Ending.AT: ("task times", "the efficiency at given task times was asked for, and no METG searched for"),
    Ending.FAILED: ("failed", "the cell failed; see the failures"),
    Ending.UNFINISHED: ("unfinished", "the measurement stopped before the cell came to an end"),
}
