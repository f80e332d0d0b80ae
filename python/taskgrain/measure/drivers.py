"""The drivers of a study: started when needed, ended all together, started again after a crash. Several
processes of each take turns."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Any, TypeVar

from taskgrain.drive.answers import DriverError, OutOfTime, Peak, Ready
from taskgrain.drive.launch.launch import fill
from taskgrain.drive.session import Session
from taskgrain.machine.busy import Busy
from taskgrain.machine.restrictions import restrictions
from taskgrain.machine.topology import frequency
from taskgrain.measure.crew import Crew, DriverName
from taskgrain.measure.plan import Plan
from taskgrain.measure.record import Journal, Record
from taskgrain.results.lines import OF_A_REFERENCE, ReferenceKey, ReferenceLine
from taskgrain.study.workload import REFERENCE
from taskgrain.words import quantity
from taskgrain.words.errors import TaskgrainError, UsageError

T = TypeVar("T")
_MOST_RESTARTS = 2
"""The restarts of a crashed driver for a cell in a call: one that crashes more often does so by itself."""
_SLOWER = 10.0
"""The factor by which a fresh start may last longer than the one before it."""


class Drivers:
    """The drivers of a call. Those without work are parked: one that spins idly would disturb the others."""

    def __init__(self, plan: Plan, time_left: Callable[[], float]) -> None:
        """`time_left` until whatever a driver does has to stop."""
        self._plan, self._time_left = plan, time_left
        self._crews: dict[DriverName, Crew[Session]] = {}
        self._restarts: Counter[str] = Counter()
        self._files: dict[DriverName, list[tuple[int, int, int]]] = {}
        """The files of each driver, when it was first started."""
        self.ready: dict[DriverName, Ready] = {}
        """The answers with which drivers started."""

    def get(self, name: DriverName) -> Session:
        """A driver that runs; started if it does not. Raises `DriverError`, or `OutOfTime`."""
        crew = self._crews.get(name)
        if crew is None:
            system = self._plan.systems.get(name.system)
            crew = self._crews[name] = Crew(system is None or (system.fresh and system.park))
            self._files[name] = self._files_of(name)
        if (driver := crew.serving) is not None:
            return driver
        begin, first = self._plan.clock(), name not in self.ready
        try:
            self._start(name, crew, self._time_left)
        except DriverError as error:
            error.at_start = True
            raise
        except OutOfTime:  # all cells of its workload end with it
            short = "".join(f"; short here: {one}" for one in restrictions())
            after = quantity.seconds(self._plan.clock() - begin)
            said = f"had not answered {after} after its start; the budget ended{short}"
            self._plan.reporter.note(f"{name}: {said}")
            raise
        crew.took(begin, self._plan.clock())
        for warning in self.ready[name].warnings if first else ():
            self._plan.reporter.note(f"{name}: {warning.text}")
        started = crew.serving
        assert started is not None
        return started

    def _start(self, name: DriverName, crew: Crew[Session], time_left: Callable[[], float]) -> Session | None:
        """Starts a process, which then serves. Returns one that there is no room for any more."""
        driver = self._plan.make_driver(name)
        driver.time_left = time_left
        try:
            with self._plan.timing.part("processes"):
                self.ready[name] = driver.start()
            driver.time_left = self._time_left
            return crew.join(driver)
        except BaseException:
            driver.kill()
            raise

    def number(self, name: DriverName) -> int:
        """The number of the process that serves among those that were started, from 1."""
        return self._crews[name].number

    def turn(self, names: Collection[DriverName], of: Hashable = None) -> None:
        """Lets the next process of each driver serve a round, or a fresh one, if it is time for another. `of`
        names the round.
        """
        for name in names:
            crew = self._crews.get(name)
            if crew is None or crew.serving is None:
                continue
            if crew.due(self._plan.clock(), self._time_left(), len(names)):
                with self._plan.timing.part("processes"):
                    self._renew(name, crew)
            crew.turn(of)

    def _renew(self, name: DriverName, crew: Crew[Session]) -> None:
        """Lets a fresh process serve, once it can; the others go on if it cannot."""
        clock = self._plan.clock
        begin, cost = clock(), crew.cost
        if self._files.get(name) != self._files_of(name):
            self._keep(name, "its files have changed")
            return
        try:
            leaves = self._start(name, crew, lambda: min(self._time_left(), begin + _SLOWER * cost - clock()))
        except (DriverError, OutOfTime) as error:
            if self._time_left() > 0.0:
                self._keep(name, str(error) or "that took too long")
            return
        if leaves is not None:
            try:
                leaves.close()
            except BaseException:
                leaves.kill()
                raise
        crew.took(begin, clock())

    def _keep(self, name: DriverName, why: str) -> None:
        """Lets the processes that there are go on for good."""
        self._crews[name].keep()
        self._plan.reporter.note(f"{name}: could not be started afresh, and goes on as it is: {why}")

    def _files_of(self, name: DriverName) -> list[tuple[int, int, int]]:
        """Place, size and time of each file of a driver: another build has others."""
        system = self._plan.systems.get(name.system)
        if system is None:
            return []
        found = []
        for word in (*system.command, *system.files):
            with contextlib.suppress(OSError):
                facts = os.stat(fill(word, system.folder, ()))
                found.append((facts.st_ino, facts.st_size, facts.st_mtime_ns))
        return found

    def may_restart(self, what: str, error: DriverError) -> bool:
        """Tells whether what crashed is tried again, as others may have killed it; counts that it is."""
        if error.kind != "crash" or self._restarts[what] == _MOST_RESTARTS:
            return False
        self._restarts[what] += 1
        self._plan.reporter.note(f"{what}: crash: {error.message}; it is tried again")
        return True

    def ask_reference(self, ask: Callable[[Session], T], name: DriverName) -> T:
        """An answer of a reference.

        Raises `UsageError` for a kernel that it does not know; `TaskgrainError` if that of this host's cores
        has no answer, without which nothing goes on; `DriverError` for another, which only some cells need.
        """
        while True:
            try:
                return ask(self.get(name))
            except DriverError as error:
                if error.kind == "invalid":
                    raise UsageError(f"{name}: {error.message}") from None
                if not self.may_restart(str(name), error):
                    if name.system != REFERENCE or name.nodes > 1:
                        raise DriverError(error.kind, f"{name}: {error.message}", error.log_tail) from None
                    raise TaskgrainError(
                        f"{REFERENCE}: {error.message}; nothing can be measured without it"
                    ) from None

    def close(self) -> None:
        """Asks all to quit, and then waits: some take their time."""
        for crew in self._crews.values():
            crew.quit()
        for crew in self._crews.values():
            crew.close()

    def kill(self) -> None:
        for crew in self._crews.values():
            crew.kill()


_REFERENCE_SECONDS, _REFERENCE_EVERY = 0.01, 0.25
"""Seconds of a measurement of the reference, and after how many seconds of measuring it is measured again
within a round."""


class References:
    """Measures the references: the rates of each kernel alone, which efficiencies are relative to."""

    def __init__(self, plan: Plan, record: Record, drivers: Drivers, journal: Journal) -> None:
        self._plan, self._record, self._drivers, self._journal = plan, record, drivers, journal
        self._measured_at: dict[object, float] = {}

    def due(self, key: ReferenceKey) -> bool:
        """Tells whether its last measurement is too long ago."""
        return self._plan.clock() - self._measured_at.get(key, -1e9) >= _REFERENCE_EVERY

    def measure(self, key: ReferenceKey, kernel: dict[str, Any]) -> None:
        """Measures the kernel alone, and writes its rates. Raises what `Drivers.ask_reference` does."""
        with self._plan.timing.part("references"):
            name = DriverName(str(key[0]), key[-1], key[-2])
            peak, busy = self._drivers.ask_reference(lambda one: self._peak(one, key, kernel), name)
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
        peak = driver.peak(kernel, _REFERENCE_SECONDS, self._plan.settings.isa)
        if known not in (None, len(peak.rates)):
            raise DriverError("protocol", f"gives {len(peak.rates)} rates for {known} processors")
        return peak, driver.busy
