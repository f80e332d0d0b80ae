"""The sessions of a store as series: of one cell, under conditions that can be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from taskgrain.estimate.quantities import LogEstimate, Quantity
from taskgrain.estimate.segments import Observation
from taskgrain.history.log import Log
from taskgrain.results.compare.conditions import differences
from taskgrain.results.measurements import Measurement
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

UNITS: Mapping[Quantity, str] = {"metg": "s", "overhead": "s", "floor": "s", "rate": "1/s"}
"""Units of the quantities of a history. A rate is in tasks a second."""


@dataclass(frozen=True)
class Entry:
    """A cell in one session."""

    log: Log
    measurement: Measurement

    @property
    def failed(self) -> bool:
        """True if the cell failed there."""
        return self.measurement.cell.ending is Ending.FAILED

    @property
    def rates(self) -> dict[int, Interval]:
        """Tasks a second, by the iterations of a task."""
        return {
            round(one.iterations): Interval(
                one.granularity, one.granularity_low, one.granularity_high
            ).inverse(self.measurement.cores)
            for one in self.measurement.cell.curve
            if one.iterations and one.granularity and self.measurement.cores
        }

    def number(self, quantity: Quantity) -> Interval | None:
        """METG, overhead or floor; None if nothing is known of it."""
        found = self.measurement.cell.number(quantity)
        return None if found == Interval() else found


@dataclass
class Series:
    """Sessions of one cell that can be compared, in the order of their times."""

    system: str
    workload: str
    entries: list[Entry] = field(default_factory=list)
    apart: str = ""
    """Why these sessions are no part of an earlier series of the cell; empty for the first series."""

    @property
    def name(self) -> str:
        return f"{self.system}/{self.workload}"

    def size(self) -> int | None:
        """Iterations of the tasks that rates are of: those that most sessions measured; None if none did."""
        counts = Counter(size for entry in self.entries for size in entry.rates)
        most = max(counts.values(), default=0)
        known = sorted(size for size, count in counts.items() if count == most)
        return known[len(known) // 2] if known else None

    def numbers(self, quantity: Quantity) -> list[Interval | None]:
        """One for each session; None where it has none."""
        if quantity != "rate":
            return [entry.number(quantity) for entry in self.entries]
        size = self.size()
        return [None if size is None else entry.rates.get(size) for entry in self.entries]


def series(logs: Iterable[Log]) -> list[Series]:
    """All series of the logs, those of a cell one after the other."""
    found: dict[tuple[str, str], list[Series]] = {}
    for log in sorted(logs, key=lambda one: one.time):
        for measurement in log.measurements:
            known = found.setdefault((measurement.system, measurement.workload), [])
            why = [next(differences(one.entries[0].measurement, measurement), "") for one in known]
            if all(why):
                known.append(Series(measurement.system, measurement.workload, apart=why[-1] if why else ""))
                why.append("")
            known[why.index("")].entries.append(Entry(log, measurement))
    return [one for each in found.values() for one in each]


def observations(numbers: Sequence[Interval | None]) -> dict[int, Observation]:
    """The numbers that sessions have, by their places; sessions without one are left out."""
    found = {}
    for place, one in enumerate(numbers):
        if one is None:
            continue
        logs = one.log()
        if logs.value is not None:
            found[place] = Observation.of(LogEstimate.within(logs))
        elif logs != Interval():
            low = -math.inf if logs.low is None else logs.low
            found[place] = Observation(low, math.inf if logs.high is None else logs.high)
    return found
