"""The sessions of a store as series: of one cell, under conditions that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from taskgrain.answers.compare.pairing import differences
from taskgrain.estimate.quantities import Quantity
from taskgrain.history.log import Log
from taskgrain.results.measurements import Measurement
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin

UNITS: Mapping[Quantity, str] = {"metg": "s", "overhead": "s", "floor": "s", "rate": "1/s"}
"""Units of the quantities of a history. A rate is in tasks a second."""


@dataclass(frozen=True)
class Entry:
    """A cell in one session."""

    log: Log
    measurement: Measurement

    @property
    def failed(self) -> bool:
        return self.measurement.cell.ending is Ending.FAILED

    @property
    def rates(self) -> dict[int, Interval]:
        """Tasks a second, by the iterations of a task."""
        return {
            round(one.iterations): one.time.inverse(self.measurement.cores)
            for one in self.measurement.cell.curve
            if one.iterations and one.granularity and self.measurement.cores
        }

    @property
    def clock(self) -> float | None:
        """The kernel alone beside its runs: work a second and core."""
        line = self.measurement.cell.result
        return line.peak_rate if line else None

    def number(self, quantity: Quantity, iterations: int | None = None) -> Interval | None:
        """METG, overhead, floor, or the rate of tasks of so many iterations, as measured; None if unknown."""
        if quantity == "rate":
            return self.rates.get(iterations or 0)
        line = self.measurement.cell.result  # all sessions share the error of a simulation
        found = line.number(quantity) if line else Interval()
        return None if found == Interval() else found

    def at_clock(self, clock: float, quantity: Quantity, iterations: int | None = None) -> Interval | None:
        """The same at a clock at which the kernel alone does so much. A session that does not know its clock
        counts as it is."""
        found, line = self.number(quantity, iterations), self.measurement.cell.result
        if found is None or not line or not self.clock:
            return found
        if quantity == "metg" and line.threshold:  # better known than METG, where the clock moved meanwhile
            return line.number("work").times(1.0 / (line.threshold * clock))
        return found.times(clock / self.clock if quantity == "rate" else self.clock / clock)


@dataclass
class Series:
    """Sessions of one cell that can be compared, in the order of their times."""

    system: str
    workload: str
    entries: list[Entry] = field(default_factory=list)
    apart: str = ""
    """The reason why these sessions are no part of an earlier series of the cell; empty for the first."""

    @property
    def name(self) -> str:
        return f"{self.system}/{self.workload}"

    @property
    def origin(self) -> Origin:
        return Origin.of(entry.measurement.cell.origin for entry in self.entries)

    def size(self) -> int | None:
        """The iterations of the tasks of rates: those that most sessions measured; None if none did."""
        counts = Counter(size for entry in self.entries for size in entry.rates)
        most = max(counts.values(), default=0)
        known = sorted(size for size, count in counts.items() if count == most)
        return known[len(known) // 2] if known else None

    @property
    def clocks(self) -> list[float]:
        """Returns the clocks of the sessions that say one."""
        return [entry.clock for entry in self.entries if entry.clock]

    @property
    def clock(self) -> float:
        """The clock of a typical session, at which all are compared; 1 if none says it."""
        return median(self.clocks or [1.0])

    def numbers(self, quantity: Quantity) -> list[Interval | None]:
        """One for each session, at one clock; None where it has none."""
        clock, size = self.clock, self.size()
        return [entry.at_clock(clock, quantity, size) for entry in self.entries]


def series(logs: Iterable[Log]) -> list[Series]:
    """All series of the logs; series of one cell follow each other."""
    found: dict[tuple[str, str], list[Series]] = {}
    for log in sorted(logs, key=lambda one: one.time):
        for measurement in log.measurements:
            known = found.setdefault((measurement.system, measurement.workload), [])
            why = [
                next(differences(one.entries[0].measurement, measurement, across_hosts=True), "")
                for one in known
            ]
            if all(why):
                known.append(Series(measurement.system, measurement.workload, apart=why[-1] if why else ""))
                why.append("")
            known[why.index("")].entries.append(Entry(log, measurement))
    return [one for each in found.values() for one in each]
