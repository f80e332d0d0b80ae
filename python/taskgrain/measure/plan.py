"""What a runner is given: the cells, how to measure them, and what makes the drivers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from taskgrain.drive.answers import Peak, Ready, RunResult
from taskgrain.drive.system import System
from taskgrain.machine.busy import Busy
from taskgrain.measure.progress import Reporter
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Cell


class Driver(Protocol):
    """What the runner needs of a `Session`."""

    busy: Busy
    time_left: Callable[[], float]

    @property
    def alive(self) -> bool: ...
    def start(self) -> Ready: ...
    def run(
        self,
        graphs: Sequence[Mapping[str, object]],
        *,
        repeats: int,
        warmup: int,
        validate: str,
        isa: str,
        expected_seconds: float | None,
        most_seconds: float,
    ) -> RunResult: ...
    def peak(self, kernel: Mapping[str, object], seconds: float, isa: str) -> Peak: ...
    def log_tail(self) -> str: ...
    def park(self) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> int | None: ...


@dataclass
class Plan:
    """What to measure, and with what."""

    cells: Sequence[Cell]
    systems: Mapping[str, System]
    settings: Settings
    make_driver: Callable[[str], Driver]
    """Makes the driver of a system, or of a reference, not yet started."""
    retry: bool = False
    """Whether cells that failed in an earlier call get another try."""
    clock: Callable[[], float] = time.monotonic
    reporter: Reporter = field(default_factory=Reporter)
