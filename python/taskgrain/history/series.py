"""The sessions of a store as series: of one cell, under conditions that can be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from taskgrain.estimate.course import Seen
from taskgrain.estimate.drawn import Alone, Quantity
from taskgrain.history.session import Cell, Session
from taskgrain.results.compare.conditions import differences
from taskgrain.words.interval import Interval


@dataclass(frozen=True)
class Point:
    """A cell in one session."""

    session: Session
    cell: Cell

    @property
    def failed(self) -> bool:
        return self.cell.error is not None


@dataclass
class Series:
    """Sessions of one cell that can be compared, in the order of their times."""

    system: str
    workload: str
    points: list[Point] = field(default_factory=list)
    apart: str = ""
    """Why these sessions are no part of an earlier series of the cell; empty for the first series."""

    @property
    def name(self) -> str:
        return f"{self.system}/{self.workload}"

    def size(self) -> int | None:
        """Iterations of the tasks that rates are of: those that most sessions measured; None if none did."""
        counts = Counter(size for point in self.points for size in point.cell.rates)
        most = max(counts.values(), default=0)
        known = sorted(size for size, count in counts.items() if count == most)
        return known[len(known) // 2] if known else None

    def numbers(self, quantity: Quantity) -> list[Interval | None]:
        """One for each session; None where it has none."""
        if quantity != "rate":
            return [point.cell.numbers.get(quantity) for point in self.points]
        size = self.size()
        return [None if size is None else point.cell.rates.get(size) for point in self.points]


def series(sessions: Iterable[Session]) -> list[Series]:
    """All series of the sessions, those of a cell one after the other."""
    found: dict[tuple[str, str], list[Series]] = {}
    for session in sorted(sessions, key=lambda one: one.time):
        for cell in session.cells:
            take = cell.take
            known = found.setdefault((take.system, take.workload), [])
            why = [next(differences(one.points[0].cell.take, take), "") for one in known]
            if all(why):
                known.append(Series(take.system, take.workload, apart=why[-1] if why else ""))
                why.append("")
            known[why.index("")].points.append(Point(session, cell))
    return [one for each in found.values() for one in each]


def seen(numbers: Sequence[Interval | None]) -> dict[int, Seen]:
    """What each session says of a quantity, by its place; those that say nothing are left out."""
    found = {}
    for place, one in enumerate(numbers):
        if one is None:
            continue
        low, high = (None if end is None else math.log(end) for end in (one.low, one.high))
        if one.value is not None:
            found[place] = Seen.of(Alone.within(math.log(one.value), low, high))
        elif low is not None or high is not None:
            found[place] = Seen(-math.inf if low is None else low, math.inf if high is None else high)
    return found
