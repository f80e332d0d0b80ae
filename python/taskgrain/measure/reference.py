"""The reference: the rates of each kernel alone, measured all along, which efficiencies are relative to."""

from __future__ import annotations

import os
from typing import Any

from taskgrain.drive.answers import DriverError, Peak
from taskgrain.drive.session import Session
from taskgrain.machine.busy import Busy
from taskgrain.machine.topology import frequency
from taskgrain.measure.crew import DriverName
from taskgrain.measure.drivers import Drivers
from taskgrain.measure.journal import Journal
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import Record
from taskgrain.results.lines import OF_A_REFERENCE, ReferenceKey, ReferenceLine

_SECONDS = 0.01
_EVERY = 0.25
"""Seconds of measuring after which the reference is measured again within a round."""


class References:
    """Measures the references of a study."""

    def __init__(self, plan: Plan, record: Record, drivers: Drivers, journal: Journal) -> None:
        self._plan, self._record, self._drivers, self._journal = plan, record, drivers, journal
        self._measured_at: dict[object, float] = {}

    def due(self, key: ReferenceKey) -> bool:
        """Tells whether its last measurement is too long ago."""
        return self._plan.clock() - self._measured_at.get(key, -1e9) >= _EVERY

    def measure(self, key: ReferenceKey, kernel: dict[str, Any]) -> None:
        """Measures the kernel alone, and writes its rates. Raises what `Drivers.ask_reference` does."""
        with self._plan.timing.part("references"):
            peak, busy = self._drivers.ask_reference(lambda one: self._peak(one, key, kernel), _name(key))
        hertz = frequency().get("cur_hertz")
        line = ReferenceLine(
            program=str(key[0]),
            workload=dict(zip(OF_A_REFERENCE, key[1:], strict=True)),
            rates=peak.rates,
            work_unit=peak.work_unit,
            busy=round(busy.share, 4),
            steal=round(busy.steal, 4),
            load=os.getloadavg()[0],
            hertz=hertz if hertz and isinstance(hertz, int) else None,
        )
        self._journal.append(line)
        self._measured_at[key] = self._plan.clock()

    def _peak(self, driver: Session, key: ReferenceKey, kernel: dict[str, Any]) -> tuple[Peak, Busy]:
        """One measurement of the kernel alone, and what disturbed it."""
        known = self._record.processors(key)
        peak = driver.peak(kernel, _SECONDS, self._plan.settings.isa)
        if known not in (None, len(peak.rates)):
            raise DriverError("protocol", f"gives {len(peak.rates)} rates for {known} processors")
        return peak, driver.busy


def _name(key: ReferenceKey) -> DriverName:
    return DriverName(str(key[0]), key[-1], key[-2])
