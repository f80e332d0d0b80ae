"""The drivers of a study: started when needed, ended all together, started again after a crash and now and
then."""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Callable, Collection
from typing import TypeVar

from taskgrain.drive.answers import DriverError, OutOfTime, Ready
from taskgrain.drive.launch.local import fill
from taskgrain.drive.system import REFERENCE
from taskgrain.measure.driver import Driver, DriverName
from taskgrain.measure.plan import Plan
from taskgrain.words.errors import TaskgrainError, UsageError

T = TypeVar("T")
_MOST_RESTARTS = 2
"""A crashed driver is started again so often for one cell in one call: one that crashes more often does so by
itself."""
_SHARE = 1.0 / 8.0
"""The share of a study's time that starting fresh processes may take."""
_SLOWER = 10.0
"""A fresh start may take so many times as long as the one before it."""
_QUICK = 1.0
"""Seconds of the slowest start that is repeated: tasks of slower systems hardly depend on their place."""


class Drivers:
    """Whatever is not at work is parked: an idle driver that spins would disturb the others."""

    def __init__(self, plan: Plan, time_left: Callable[[], float]) -> None:
        """`time_left` until whatever a driver does has to stop."""
        self._plan, self._time_left = plan, time_left
        self._drivers: dict[DriverName, Driver] = {}
        self._restarts: Counter[str] = Counter()
        self._began: dict[DriverName, tuple[float, float]] = {}
        """When each last began to start, and the seconds that this took, with the end of the one before."""
        self._files: dict[DriverName, list[tuple[int, int, int]]] = {}
        """The files of each driver, when it was first started."""
        self.ready: dict[DriverName, Ready] = {}
        """The answers with which drivers started."""

    def get(self, name: DriverName) -> Driver:
        """A driver that runs; started if it does not. Raises `DriverError`, or `OutOfTime`."""
        driver = self._drivers.get(name)
        if driver is None:
            driver = self._drivers[name] = self._plan.make_driver(name)
            driver.time_left = self._time_left
        if not driver.alive:
            begin, first = self._plan.clock(), name not in self.ready
            if first:
                self._files[name] = self._files_of(name)
            try:
                self.ready[name] = driver.start()
            except DriverError as error:
                error.at_start = True
                raise
            driver.park()
            self._began[name] = begin, self._plan.clock() - begin
            for warning in self.ready[name].warnings if first else ():
                self._plan.reporter.note(f"{name}: {warning.text}")
        return driver

    def renew(self, names: Collection[DriverName]) -> None:
        """Lets drivers that take turns start afresh, now and then.

        Where a process happens to lie in memory makes its tasks some per cent slower or quicker as long as it
        lives. Several processes of each system turn that into scatter, which the intervals know of.
        """
        for name in names:
            driver, (began, cost) = self._drivers.get(name), self._began.get(name, (0.0, math.inf))
            old = self._plan.clock() - began >= cost * len(names) / _SHARE
            system = self._plan.systems.get(name.system)
            may = old and 0.0 < cost <= _QUICK and (system is None or system.fresh)
            if may and driver is not None and driver.alive:
                self._renew(name, driver, cost)

    def _renew(self, name: DriverName, driver: Driver, cost: float) -> None:
        """Puts a fresh process in the place of another, once it serves; the other goes on if it does not."""
        clock = self._plan.clock
        begin = clock()
        if self._files.get(name) != self._files_of(name):
            self._keep(name, "its files have changed")
            return
        fresh = self._plan.make_driver(name)
        fresh.time_left = lambda: min(self._time_left(), begin + _SLOWER * cost - clock())
        try:
            ready = fresh.start()
        except (DriverError, OutOfTime) as error:
            fresh.kill()
            if self._time_left() > 0.0:
                self._keep(name, str(error) or "that took too long")
            return
        except BaseException:  # an interrupt
            fresh.kill()
            raise
        fresh.park()
        fresh.time_left = self._time_left
        self._drivers[name], self.ready[name] = fresh, ready
        driver.close()
        self._began[name] = begin, clock() - begin

    def _keep(self, name: DriverName, why: str) -> None:
        """Lets a process go on for good."""
        self._began[name] = 0.0, math.inf
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

    def ask_reference(self, ask: Callable[[Driver], T], name: DriverName) -> T:
        """An answer of a reference.

        Raises `UsageError` for a kernel that it does not know; `TaskgrainError` if that of the cores has no
        answer, without which nothing goes on; `DriverError` for another, which only some systems need.
        """
        while True:
            try:
                driver = self.get(name)
                try:
                    return ask(driver)
                finally:
                    driver.park()
            except DriverError as error:
                if error.kind == "invalid":
                    raise UsageError(f"{name}: {error.message}") from None
                if not self.may_restart(str(name), error):
                    if name.system != REFERENCE:
                        raise DriverError(error.kind, f"{name}: {error.message}", error.log_tail) from None
                    raise TaskgrainError(
                        f"{REFERENCE}: {error.message}; nothing can be measured without it"
                    ) from None

    def close(self) -> None:
        """Asks all to quit."""
        for driver in self._drivers.values():
            driver.close()

    def kill(self) -> None:
        for driver in self._drivers.values():
            driver.kill()
