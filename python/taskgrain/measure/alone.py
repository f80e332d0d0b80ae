"""The kernel alone, beside one configuration: its rate now, and the iterations that take a given time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from types import TracebackType
from typing import Any, Self

from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session
from taskgrain.drive.system import REFERENCE, System
from taskgrain.measure.call import reference_launch
from taskgrain.study.workload import Workload
from taskgrain.words.errors import TaskgrainError

_SECONDS = 0.01
_LOOKS = 3
"""Measurements of the kernel alone, of which the best says how long an iteration takes on quiet cores."""
_LOOK_ITERATIONS, _LOOK_STEPS = 64, 4
"""Of the run that tells how much work an iteration is."""


class Alone:
    """The references, each started when it is first asked. A context manager: what was started is gone at the
    end."""

    def __init__(self, cores: Sequence[int], isa: str) -> None:
        self._cores, self._isa = cores, isa
        self._sessions: dict[str, Session] = {}
        self._iterations: dict[tuple[str, Workload, float], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions.values():
            session.__exit__(kind, error, trace)

    def peak(self, system: System, workload: Workload, cores: int) -> float:
        """Work per second and core of the kernel alone now, averaged over so many cores.

        Raises `TaskgrainError` if the reference cannot say.
        """
        name = system.reference_name
        try:
            session = self._session(system)
            rates = session.peak(workload.reference(), _SECONDS, self._isa).rates
            session.park()
        except DriverError as error:
            raise TaskgrainError(f"{name}: {error.message}") from None
        return fmean(rates[:cores])

    def iterations(self, system: System, session: Session, workload: Workload, seconds: float) -> int:
        """Those with which the work of a task takes so long alone on one core, at least 1.

        A short run of the driver in `session` tells how much work an iteration is. The answer is the same for
        all systems of one reference. Raises what `peak` does, and `DriverError` if the short run fails.
        """
        key = system.reference_name, workload, seconds
        if key not in self._iterations:
            kernel = workload.reference() | {"iterations": _LOOK_ITERATIONS}
            graphs: list[dict[str, Any]] = [
                graph | {"kernel": kernel} for graph in workload.request(_LOOK_ITERATIONS, _LOOK_STEPS)
            ]
            found = session.run(graphs, repeats=1, isa=self._isa)
            session.park()
            work = found.work / found.tasks / _LOOK_ITERATIONS
            cores = session.ready.cores if session.ready else 1
            best = max(self.peak(system, workload, cores) for _ in range(_LOOKS))
            self._iterations[key] = max(1, round(seconds * best / work))
        return self._iterations[key]

    def _session(self, system: System) -> Session:
        name = system.reference_name
        if name not in self._sessions:
            own = name != REFERENCE
            launch = system.reference_launch(self._cores) if own else reference_launch(self._cores)
            self._sessions[name] = Session(name, launch)
        session = self._sessions[name]
        if not session.alive:
            session.start()
        return session
