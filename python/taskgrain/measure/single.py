"""One configuration on one system, without any search: what `taskgrain run` does."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from taskgrain.drive.answers import DriverError, Ready, RunResult
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.estimate.efficiency import of_repeats
from taskgrain.estimate.metg import ABOVE_ONE
from taskgrain.machine.busy import BUSY_SHARE, Busy
from taskgrain.machine.counters import Counters, Unreadable
from taskgrain.machine.memory import Growth
from taskgrain.measure.alone import Alone
from taskgrain.measure.experiments.at import TASK_TIME_OFF
from taskgrain.study.workload import EMPTY, Workload
from taskgrain.words.errors import TaskgrainError, UsageError
from taskgrain.words.warnings import Notice, notice


@dataclass(frozen=True)
class Wanted:
    """The configuration."""

    workload: Workload
    steps: int
    iterations: int
    """Of the kernel in each task, unless there are `task_seconds`."""
    repeats: int
    warmup: int
    validate: str
    isa: str
    task_seconds: float | None = None
    """What the work of a task shall take alone on one core."""
    counters: bool = False
    """Whether to read the processors' counters, which costs time where threads sleep and wake."""


def run(system: System, cores: Sequence[int], wanted: Wanted, alone: Alone) -> dict[str, Any]:
    """Runs it, with the kernel alone before and after. Raises `UsageError` if the system calls it invalid, or
    if a task time is wanted and the reference does not work; other failures are in the answer."""
    outcome: dict[str, Any] = {"system": system.name, "workload": wanted.workload.name}
    outcome |= {"steps": wanted.steps, "iterations": wanted.iterations, "warmup": wanted.warmup}
    outcome |= {"asked_seconds": wanted.task_seconds}
    try:
        with Session(system.name, system.launch(cores)) as session:
            ready = session.start()
            iterations = _iterations(system, session, wanted, alone)
            outcome |= {"iterations": iterations}
            if wanted.task_seconds is not None:  # what a run took before would not come with this one
                ready = session.start()
            before = _alone(system, session, ready, wanted, alone, iterations)
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
            after = _alone(system, session, ready, wanted, alone, iterations)
    except DriverError as error:
        if error.kind == "invalid":
            raise UsageError(f"{system.name}: {error.message}") from None
        return outcome | {"error": error.kind, "message": error.message, "log": error.log_tail}
    median = statistics.median(result.seconds)
    return (
        outcome
        | asdict(result)
        | {
            "cores": ready.cores,
            "busy": busy.share,
            "steal": busy.steal,
            "switches": busy.switches,
            "joules": busy.joules,
            "growth_bytes": grown,
            "tasks_in_flight": wanted.workload.tasks_in_flight,
            "counters": counted,
            "counters_unknown": counters if isinstance(counters, str) else "",
            "median_seconds": median,
            "granularity": median * ready.cores / result.tasks if result.tasks else None,
            "rate": result.work / median,
            **(efficiency := _efficiency(result, ready.cores, before, after)),
            "driver": dict(ready.raw),
            "warnings": [one.shown() for one in _notices(result, busy, efficiency, wanted, iterations)],
        }
    )


def _counters(system: System, session: Session, wanted: Wanted) -> Counters | nullcontext[str]:
    """The processors' counters from now on; or why there are none, empty if nobody wants them."""
    if not wanted.counters or system.simulated:
        return nullcontext("the system is a simulation" if wanted.counters else "")
    try:
        return Counters(session.pids())
    except Unreadable as error:
        return nullcontext(str(error))


def _iterations(system: System, session: Session, wanted: Wanted, alone: Alone) -> int:
    """Those that were asked for, or that make the work of a task take as long as asked."""
    if wanted.task_seconds is None:
        return wanted.iterations
    return alone.iterations(system, session, wanted.workload, wanted.task_seconds)


def _alone(
    system: System, session: Session, ready: Ready, wanted: Wanted, alone: Alone, iterations: int
) -> float | str:
    """Work per second and core of the kernel alone now, or why it is not known."""
    if not iterations or wanted.workload["kernel"] == EMPTY:
        return "tasks without work have none"
    session.park()  # idle ranks and threads spin
    try:
        return alone.peak(system, wanted.workload, ready.cores)
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
    said = [notice("run_disturbed", share=busy.share)] if busy.share > BUSY_SHARE else []
    efficiency, asked, took = found["efficiency"], wanted.task_seconds, found["task_seconds"]
    if efficiency is not None and efficiency > ABOVE_ONE:
        said.append(notice("efficiency_above_one", efficiency=efficiency, iterations=iterations))
    if asked is not None and took is not None and abs(took / asked - 1.0) > TASK_TIME_OFF:
        said.append(notice("task_time_off", asked=asked, took=took, iterations=iterations))
    return [*said, *result.warnings]
