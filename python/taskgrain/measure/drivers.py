"""The drivers of a study: started when they are needed, started again after a crash, ended all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from taskgrain.drive.answers import DriverError, Ready
from taskgrain.drive.system import REFERENCE
from taskgrain.measure.plan import Driver, Plan
from taskgrain.words.errors import TaskgrainError, UsageError

T = TypeVar("T")
_MOST_RESTARTS = 2
"""Of crashed drivers, for one cell in one call: one that crashes more often does so by itself."""


class Drivers:
    """Whatever is not at work is parked: an idle driver that spins would disturb the others."""

    def __init__(self, plan: Plan, time_left: Callable[[], float]) -> None:
        """`time_left` until whatever a driver does has to stop."""
        self._plan, self._time_left = plan, time_left
        self._drivers: dict[str, Driver] = {}
        self._restarts: Counter[str] = Counter()
        self.ready: dict[str, Ready] = {}
        """What each that was started said of itself."""

    def get(self, name: str) -> Driver:
        """A driver that runs; started if it does not. Raises `DriverError`, or `OutOfTime`."""
        driver = self._drivers.get(name)
        if driver is None:
            driver = self._drivers[name] = self._plan.make_driver(name)
            driver.time_left = self._time_left
        if not driver.alive:
            try:
                self.ready[name] = driver.start()
            except DriverError as error:
                error.at_start = True
                raise
            driver.park()
            for warning in self.ready[name].warnings:
                self._plan.reporter.note(f"{name}: {warning.text}")
        return driver

    def may_restart(self, what: str, error: DriverError) -> bool:
        """Whether what crashed is tried again, as others may have killed it; says and counts that it is."""
        if error.kind != "crash" or self._restarts[what] == _MOST_RESTARTS:
            return False
        self._restarts[what] += 1
        self._plan.reporter.note(f"{what}: crash: {error.message}; it is tried again")
        return True

    def ask_reference(self, ask: Callable[[Driver], T], name: str = REFERENCE) -> T:
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
                if not self.may_restart(name, error):
                    if name != REFERENCE:
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
