"""One configuration on one system, without any search: the work of `taskgrain run`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Self

from taskgrain.drive.answers import DriverError, Ready, RunResult
from taskgrain.drive.hosts import Hosts, ReferenceOnHosts
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.estimate.efficiency import of_repeats
from taskgrain.estimate.metg import ABOVE_ONE
from taskgrain.machine.busy import Busy, left_alone
from taskgrain.machine.counters import Counters, Unreadable
from taskgrain.machine.memory import Growth
from taskgrain.machine.topology import notices
from taskgrain.measure import uneven
from taskgrain.measure.call import launch_on, reference_launch
from taskgrain.measure.experiments.fixed_granularity import TASK_TIME_OFF
from taskgrain.study.variables import stored
from taskgrain.study.workload import EMPTY, REFERENCE, Workload
from taskgrain.words.errors import TaskgrainError, UsageError
from taskgrain.words.warnings import Notice, notice

_SECONDS = 0.01
"""Seconds of a measurement of the kernel alone."""
_LOOKS = 3
"""The measurements of the kernel alone; the best one says how long an iteration takes on quiet cores."""
_LOOK_ITERATIONS, _LOOK_STEPS = 64, 4
"""The size of the run that tells how much work an iteration is."""


@dataclass(frozen=True)
class Wanted:
    workload: Workload
    steps: int
    iterations: int
    """Iterations of the kernel in each task, unless there are `task_seconds`."""
    repeats: int
    warmup: int
    validate: str
    isa: str
    task_seconds: float | None = None
    """Seconds that the work of a task shall take alone on one core."""
    counters: bool = False
    """Reads the processors' counters, which costs time where threads sleep and wake."""


class ReferenceRuns:
    """Runs of the kernel without tasks, beside a configuration. A context manager: it starts each reference
    when it is first asked, and ends all."""

    def __init__(self, cores: Sequence[int], isa: str, hosts: Hosts | None = None) -> None:
        """Measures on each of several `hosts` at once."""
        self._cores, self._isa, self.hosts = cores, isa, hosts
        self.rates: list[tuple[float, ...]] = []
        """The rates of each core that were measured since a caller has cleared it."""
        self._sessions: dict[str, Session] = {}
        self._iterations: dict[tuple[str, Workload, float], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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
            self.rates.append(rates)
        except DriverError as error:
            raise TaskgrainError(f"{name}: {error.message}") from None
        return statistics.fmean(rates[:cores])

    def iterations(self, system: System, session: Session, workload: Workload, seconds: float) -> int:
        """Returns those with which the work of a task takes so long alone on one core, at least 1.

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
            several = self.hosts if self.hosts and len(self.hosts.names) > 1 else None
            self._sessions[name] = (
                ReferenceOnHosts(name, launch, None, several, len(several.names))
                if several
                else Session(name, launch)
            )
        session = self._sessions[name]
        if not session.alive:
            session.start()
        return session


def run(system: System, cores: Sequence[int], wanted: Wanted, reference: ReferenceRuns) -> dict[str, Any]:
    """Runs it, with the kernel alone before and after. Raises `UsageError` if the system calls it invalid, or
    if a task time is wanted and the reference does not work; other failures are in the answer."""
    outcome: dict[str, Any] = {"system": system.name, "simulated": system.simulated}
    outcome |= {"workload": wanted.workload.name}
    outcome |= {"steps": wanted.steps, "iterations": wanted.iterations, "warmup": wanted.warmup}
    outcome |= {"asked_seconds": wanted.task_seconds}
    outcome |= {"env": stored(system.given)} if system.given else {}
    hosts = reference.hosts
    launch = launch_on(system, cores, hosts, wanted.workload.nodes)
    try:
        with Session(system.name, launch, hosts=hosts) as session:
            ready = session.start()
            iterations, seconds = wanted.iterations, wanted.task_seconds
            if seconds is not None:
                iterations = reference.iterations(system, session, wanted.workload, seconds)
                outcome |= {"iterations": iterations}
                ready = session.start()  # memory of an earlier run would not come with this one
            reference.rates.clear()
            before = _reference_rate(system, session, ready, wanted, reference, iterations)
            growth = Growth(session.pids())
            with _counters(system, session, wanted) as counters:
                result = session.run(
                    wanted.workload.request(iterations, wanted.steps),
                    repeats=wanted.repeats,
                    warmup=wanted.warmup,
                    validate=wanted.validate,
                    isa=wanted.isa,
                )
                counted = counters.read() if isinstance(counters, Counters) else None
            grown = None if system.simulated else growth.bytes(session.pids())
            busy = Busy() if system.simulated else session.busy
            after = _reference_rate(system, session, ready, wanted, reference, iterations)
    except DriverError as error:
        if error.kind == "invalid":
            raise UsageError(f"{system.name}: {error.message}") from None
        return outcome | {"error": error.kind, "message": error.message, "log": error.log_tail}
    median = statistics.median(result.seconds)
    efficiency = _efficiency(result, ready.cores, before, after)
    said = [*notices(cores), *_notices(result, busy, efficiency, wanted, iterations)]
    if hosts and busy.hosts:
        said += uneven.notices([uneven.at_hosts(hosts.names, busy.hosts, reference.rates)])
    return (
        outcome
        | asdict(result)
        | {
            "cores": ready.cores,
            "busy": busy.share,
            "steal": busy.steal,
            "throttled": busy.throttled,
            "switches": busy.switches,
            "joules": busy.joules,
            "growth_bytes": grown,
            "tasks_in_flight": wanted.workload.tasks_in_flight,
            "counters": counted,
            "counters_unknown": counters if isinstance(counters, str) else "",
            "median_seconds": median,
            "granularity": median * ready.cores / result.tasks if result.tasks else None,
            "rate": result.work / median,
            **efficiency,
            "driver": dict(ready.raw),
            "warnings": [one.shown() for one in said],
        }
    )


def _counters(system: System, session: Session, wanted: Wanted) -> Counters | nullcontext[str]:
    """The processors' counters from now on; or the reason why there are none, empty if nobody wants them."""
    if not wanted.counters or system.simulated:
        return nullcontext("the system is a simulation" if wanted.counters else "")
    try:
        return Counters(session.pids())
    except Unreadable as error:
        return nullcontext(str(error))


def _reference_rate(
    system: System, session: Session, ready: Ready, wanted: Wanted, reference: ReferenceRuns, iterations: int
) -> float | str:
    """Work per second and core of the kernel alone now, or why it is not known."""
    if not iterations or wanted.workload["kernel"] == EMPTY:
        return "tasks without work have none"
    try:
        return reference.peak(system, wanted.workload, ready.cores)
    except TaskgrainError as error:
        return str(error)


def _efficiency(result: RunResult, cores: int, before: float | str, after: float | str) -> dict[str, Any]:
    """The efficiency with its interval over the repeats, or why it is not known."""
    names = ("task_seconds", "efficiency", "efficiency_low", "efficiency_high")
    fields: dict[str, Any] = dict.fromkeys(names)
    why = next((one for one in (before, after) if isinstance(one, str)), "")
    if isinstance(before, str) or isinstance(after, str) or not result.work:
        return fields | {"efficiency_unknown": why or "the tasks did no work"}
    rates = [result.work / seconds / cores for seconds in result.seconds]
    found = of_repeats(rates, before, after)
    work = result.work / result.tasks / (before * after) ** 0.5
    return dict(zip(names, (work, found.value, found.low, found.high), strict=True))


def _notices(
    result: RunResult, busy: Busy, found: Mapping[str, Any], wanted: Wanted, iterations: int
) -> list[Notice]:
    alone = left_alone(result.seconds, result.waited, busy.share, busy.steal)
    said = [notice("run_disturbed", share=busy.share)] if len(alone) < len(result.seconds) else []
    if busy.throttled:
        said.append(notice("run_throttled", seconds=busy.throttled))
    efficiency, asked, took = found["efficiency"], wanted.task_seconds, found["task_seconds"]
    if efficiency is not None and efficiency > ABOVE_ONE:
        said.append(notice("efficiency_above_one", efficiency=efficiency, iterations=iterations))
    if asked is not None and took is not None and abs(took / asked - 1.0) > TASK_TIME_OFF:
        said.append(notice("task_time_off", asked=asked, took=took, iterations=iterations))
    return [*said, *result.warnings]
