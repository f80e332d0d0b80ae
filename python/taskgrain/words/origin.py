"""The origin of numbers, and what follows: their mark, their intervals, and what may stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True)
class Origin:
    """The machine of the last session, another one, or a simulation."""

    simulated: bool = False
    error: float = 1.0
    """The factor within which a simulation's overhead is a machine's; 1 if measured, or unknown."""
    elsewhere: bool = False
    """True if another machine was measured: no number from here is held against it."""

    @classmethod
    def of(cls, every: Iterable[Origin]) -> Origin:
        """The origin of numbers that stand together: simulated if some are, with the largest error."""
        errors = [one.error for one in every if one.simulated]
        return cls(True, max(errors)) if errors else cls()

    @property
    def mark(self) -> str:
        """A mark behind the name of a simulated system."""
        return " (simulated)" * self.simulated

    @property
    def adjective(self) -> str:
        """A word before the name of a simulated system."""
        return "simulated " * self.simulated

    @property
    def how(self) -> str:
        """The word for how the numbers came about."""
        return "simulated" if self.simulated else "measured"

    @property
    def interval(self) -> str:
        """The name of a bar around METG: a simulation's is its error, and has no confidence."""
        return "interval" if self.simulated else "95 % interval"

    @property
    def fields(self) -> dict[str, bool]:
        """The mark for programs."""
        return {"simulated": True} if self.simulated else {}

    @property
    def note(self) -> str:
        """A sentence on what the intervals of a simulation are."""
        if self.error == 1.0:
            return "The results do not say how far the simulation is from a machine."
        return (
            "Intervals of what is simulated are the simulation's own error, a factor of "
            f"{self.error:g} for two ranks, and no confidence intervals."
        )


MEASURED = Origin()
ELSEWHERE = "measured on another machine than the others"
"""The note on items from elsewhere, before the names. Its mark is the machine's hash in its own name."""


class Placed(Protocol):
    """Anything of a system that has an origin; None if nothing is known of it."""

    @property
    def system(self) -> str: ...
    @property
    def origin(self) -> Origin | None: ...


P = TypeVar("P", bound=Placed)


def together(found: Sequence[P]) -> tuple[list[P], list[str]]:
    """Returns items that may stand in one table, none simulated beside measured ones, and a note."""
    simulated = [one for one in found if one.origin and one.origin.simulated]
    if not simulated or not any(one.origin and not one.origin.simulated for one in found):
        return list(found), []
    names = ", ".join(dict.fromkeys(one.system for one in simulated))
    said = f"{names}: left out, as simulated and not measured like the others; ask for it by --system"
    return [one for one in found if not (one.origin and one.origin.simulated)], [said]
