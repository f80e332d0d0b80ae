"""The driver as the runner sees it, and its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from taskgrain.drive.answers import Peak, Ready, RunResult
from taskgrain.machine.busy import Busy
from taskgrain.words.quantity import counted


class DriverName(NamedTuple):
    """Names the driver of a system, or a reference, on so many nodes, and cores of each; 0: on all of the
    study's."""

    system: str
    cores: int = 0
    nodes: int = 1

    @property
    def places(self) -> tuple[str, ...]:
        """The settings that are not as for others, in words."""
        nodes = (counted(self.nodes, "node"),) if self.nodes > 1 else ()
        return (*nodes, *((counted(self.cores, "core"),) if self.cores else ()))

    def __str__(self) -> str:
        return f"{self.system} on {', '.join(self.places)}" if self.places else self.system


class Driver(Protocol):
    """The part of a `Session` that the runner needs."""

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
    def quit(self) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> int | None: ...
