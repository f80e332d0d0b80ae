"""Measures the cost of a fault (`taskgrain faults`): a system runs a workload with and without it in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from taskgrain.drive.answers import Disturbed, DriverError
from taskgrain.drive.fault import MovedCore
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError

WORKS = "works"
WORKS_ANEW = "works in a new driver"


@dataclass(frozen=True)
class Fault:
    """A fault that happens to one task."""

    kind: str
    """`kill`: the process that executes it is killed. `fail`: it fails. `take_core`: as soon as it is begun,
    the system has a core less. `give_core`: until it is begun, the system has a core less."""
    step: int
    point: int
    times: int = 1
    """The number of first executions of the task that the fault strikes."""

    @property
    def moves_core(self) -> bool:
        return self.kind in ("take_core", "give_core")


@dataclass(frozen=True)
class Wanted:
    """The configuration, and the fault."""

    workload: Workload
    steps: int
    iterations: int
    fault: Fault
    repeats: int
    isa: str = "auto"

    @property
    def graphs(self) -> list[dict[str, object]]:
        return self.workload.request(self.iterations, self.steps)


@dataclass(frozen=True)
class Measurement:
    """One run with the fault, and the time of the runs without it around it."""

    plain_seconds: float
    """The mean of one just before and, unless the driver had to be started again, one some time after: so a
    driver that gets faster, or a machine that gets slower, is no loss or gain."""
    struck: bool
    survived: bool
    """The run came to its end."""
    correct: bool | None = None
    """Each task was executed with the right inputs; None if the run did not come to its end."""
    ended: str = ""
    """The end, if it did not survive or was not correct."""
    seconds: float | None = None
    """The time of the run with the fault."""
    again: int | None = None
    """Executions that were begun beyond one for each task; None: not known."""
    log: str = ""
    """The end of the driver's log, if it did not survive."""
    next_run: str = ""
    """The run after the fault: `works`, `works in a new driver`, or what went wrong."""
    busy: float = 0.0
    """The largest share of the cores that others took during the runs without the fault: what a process took
    that the fault ended cannot be told from what others took."""


def run(system: System, cores: Sequence[int], wanted: Wanted) -> dict[str, Any]:
    """Measures one system. Raises `UsageError` if the system calls the request invalid; if it fails
    without any fault, or cannot have one, that is in the answer."""
    outcome: dict[str, Any] = {"system": system.name, "workload": wanted.workload.name}
    outcome |= {"steps": wanted.steps, "iterations": wanted.iterations, "fault": asdict(wanted.fault)}
    measured: list[Measurement] = []
    plain = []
    try:
        with Session(system.name, system.launch(cores)) as session:
            if wanted.fault.moves_core and len(session.launch.cores) < 2:
                raise DriverError("unsupported", "this system uses one core, which stays")
            plain.append(_plain(session, wanted))
            for _ in range(wanted.repeats):
                measured.append(_measurement(session, wanted, plain[-1]))
                started_anew = not session.alive or measured[-1].next_run != WORKS
                plain.append(_plain(session, wanted))
                if not started_anew:
                    measured[-1] = _between(measured[-1], plain[-1])
    except DriverError as error:
        if error.kind == "invalid":
            raise UsageError(f"{system.name}: {error.message}") from None
        outcome |= {"error": error.kind, "message": error.message, "log": error.log_tail}
    seconds = [one.seconds for one in plain]
    return outcome | summary(measured, seconds) | {"takes": [asdict(one) for one in measured]}


def summary(measured: Sequence[Measurement], plain: Sequence[float]) -> dict[str, Any]:
    """Counts the measurements, the struck ones, and how many of these survived and were correct. `plain` are
    the seconds of the runs without a fault."""
    struck = [one for one in measured if one.struck]
    right = [one for one in struck if one.correct]
    lost = [one.seconds - one.plain_seconds for one in right if one.seconds is not None]
    again = [one.again for one in right if one.again is not None]
    return {
        "runs": len(measured),
        "struck": len(struck),
        "survived": sum(one.survived for one in struck),
        "correct": len(right),
        "busy": max((one.busy for one in measured), default=0.0),
        "plain_seconds": statistics.median(plain) if plain else None,
        "again": _spread(again),
        "lost_seconds": _spread(lost),
        "ended": list(dict.fromkeys(one.ended for one in measured if one.ended)),
        "next_run": list(dict.fromkeys(one.next_run for one in measured)),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    """Median, least and most."""
    if not values:
        return None
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


@dataclass(frozen=True)
class _Plain:
    """A run without the fault."""

    seconds: float
    busy: float
    """Share of the cores that others took."""


def _plain(session: Session, wanted: Wanted) -> _Plain:
    """One with the same counts and checks as a run with the fault."""
    none = asdict(wanted.fault) | {"kind": "note"}

    tasks = wanted.workload.exact_tasks(wanted.steps)
    for _ in range(1 if session.alive else 2):  # what is slow the first time is not what the fault costs
        if not session.alive:
            session.start()
        result = session.disturbed(wanted.graphs, none, isa=wanted.isa).result
        if tasks not in (None, result.tasks):
            raise DriverError("validation", f"counts {result.tasks} tasks; the graphs hold {tasks}")
    return _Plain(result.seconds[0], 0.0 if session.launch.simulated else session.busy.share)


def _between(one: Measurement, after: _Plain) -> Measurement:
    plain = (one.plain_seconds + after.seconds) / 2.0
    return replace(one, plain_seconds=plain, busy=max(one.busy, after.busy))


def _disturbed(session: Session, wanted: Wanted, plain: float) -> tuple[Disturbed, bool]:
    """A run with the fault, which takes `plain` seconds without it; and whether the driver should not be used
    again."""
    fault = asdict(wanted.fault)
    if not wanted.fault.moves_core:
        return session.disturbed(wanted.graphs, fault, isa=wanted.isa, expected_seconds=plain), False
    counts = Path(session.scratch, f"moved-{time.monotonic_ns()}")
    fault |= {"kind": "note", "file": str(counts)}
    given = wanted.fault.kind == "give_core"
    with MovedCore(session.pids, session.launch.cores, counts, given) as core:
        found = session.disturbed(wanted.graphs, fault, isa=wanted.isa, expected_seconds=plain)
    return replace(found, strikes=int(core.moved)), core.guessed


def _measurement(session: Session, wanted: Wanted, before: _Plain) -> Measurement:
    plain = before.seconds
    try:
        found, spoilt = _disturbed(session, wanted, plain)
        again = found.result.executed - found.result.tasks
        if not wanted.fault.moves_core and again < found.strikes:
            how = f"{found.strikes} executions have not ended, and {again} were begun again"
            wrong = DriverError("protocol", how)
            wrong.strikes = found.strikes
            raise wrong
    except DriverError as error:
        if error.kind in ("invalid", "unsupported"):
            raise
        ended = error.kind == "validation"
        return Measurement(
            plain,
            struck=error.strikes > 0,
            survived=ended,
            correct=False if ended else None,
            ended=f"{error.kind}: {error.message}",
            log=error.log_tail,
            next_run=_next(session, wanted, plain),
        )
    result = found.result
    measured = Measurement(
        plain,
        struck=found.strikes > 0,
        survived=True,
        correct=True,
        seconds=result.seconds[0],
        again=again,
        next_run=_next(session, wanted, plain),
        busy=before.busy,
    )
    if spoilt:
        session.kill()
    return measured


def _next(session: Session, wanted: Wanted, plain: float) -> str:
    """Tells how an ordinary run goes after one with the fault; it takes about `plain` seconds."""
    for works in (WORKS, WORKS_ANEW):
        try:
            if not session.alive:
                works = WORKS_ANEW
                session.start()
            session.run(wanted.graphs, repeats=1, validate="full", isa=wanted.isa, expected_seconds=plain)
            return works
        except DriverError as error:
            how = f"{error.kind}: {error.message}"
            session.kill()
    return how
