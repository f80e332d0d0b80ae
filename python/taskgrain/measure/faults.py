"""What comes of a fault: a workload on one system with and without it in turn, as `taskgrain faults` does."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from taskgrain.drive.answers import Disturbed, DriverError
from taskgrain.drive.moved_core import MovedCore
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError


@dataclass(frozen=True)
class Fault:
    """What happens to one task."""

    kind: str
    """`kill`: the process that executes it is killed. `fail`: it fails. `take_core`: as soon as it is begun,
    the system has a core less. `give_core`: until it is begun, the system has a core less."""
    step: int
    point: int
    times: int = 1
    """So often, the first times that the task is executed."""


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

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
class Take:
    """One run without the fault, one with it, and another one without."""

    plain_seconds: float
    struck: bool | None
    """Whether the fault came; None: nobody could say, because the run ended without an answer."""
    survived: bool
    """Whether the run came to its end."""
    correct: bool | None = None
    """Whether each task was executed with the right inputs; None if the run did not come to its end."""
    ended: str = ""
    """How it ended, if it did not survive or was not correct."""
    seconds: float | None = None
    """With the fault."""
    again: int | None = None
    """Executions that were begun beyond one for each task; None: not known."""
    next_run: str = ""
    """The run after the fault: `works`, `works in a new driver`, or what went wrong."""


def run(
    system: System, cores: Sequence[int], wanted: Wanted, done: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Measures one system, and tells `done` how many takes there are. Raises `UsageError` if the system calls
    the request invalid; if it fails without any fault, that is in the answer."""
    outcome: dict[str, Any] = {"system": system.name, "workload": wanted.workload.name}
    outcome |= {"steps": wanted.steps, "iterations": wanted.iterations, "fault": asdict(wanted.fault)}
    takes: list[Take] = []
    try:
        with Session(system.name, system.launch(cores)) as session:
            session.start()
            _plain(session, wanted)  # what is slow the first time is not what the fault costs
            for _ in range(wanted.repeats):
                takes.append(_take(session, wanted))
                done(len(takes))
    except DriverError as error:
        if error.kind == "invalid":
            raise UsageError(f"{system.name}: {error.message}") from None
        outcome |= {"error": error.kind, "message": error.message, "log": error.log_tail}
    return outcome | summary(takes) | {"takes": [asdict(one) for one in takes]}


def summary(takes: Sequence[Take]) -> dict[str, Any]:
    """How many takes there are, how many survived, were correct, and what that took."""
    struck = [one for one in takes if one.struck and one.correct]
    lost = [one.seconds - one.plain_seconds for one in struck if one.seconds is not None]
    again = [one.again for one in struck if one.again is not None]
    return {
        "runs": len(takes),
        "struck": sum(one.struck is not False for one in takes),
        "survived": sum(one.survived for one in takes),
        "correct": sum(bool(one.correct) for one in takes),
        "plain_seconds": statistics.median(one.plain_seconds for one in takes) if takes else None,
        "again": _spread(again),
        "lost_seconds": _spread(lost),
        "ended": list(dict.fromkeys(one.ended for one in takes if one.ended)),
        "next_run": list(dict.fromkeys(one.next_run for one in takes)),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    """Median, least and most."""
    if not values:
        return None
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def _plain(session: Session, wanted: Wanted) -> float:
    """Seconds of a run without the fault, with the same books and checks as one with it."""
    none = asdict(wanted.fault) | {"kind": "note"}
    return session.disturbed(wanted.graphs, none, isa=wanted.isa).result.seconds[0]


def _disturbed(session: Session, wanted: Wanted, plain: float) -> Disturbed:
    """A run with the fault, which takes `plain` seconds without it."""
    fault = asdict(wanted.fault)
    if wanted.fault.kind not in ("take_core", "give_core"):
        return session.disturbed(wanted.graphs, fault, isa=wanted.isa, expected_seconds=plain)
    books = Path(session.scratch, f"moved-{time.monotonic_ns()}")
    fault |= {"kind": "note", "file": str(books)}
    given = wanted.fault.kind == "give_core"
    with MovedCore(session.pids, session.launch.cores, books, given) as core:
        found = session.disturbed(wanted.graphs, fault, isa=wanted.isa, expected_seconds=plain)
        return replace(found, strikes=int(core.moved))


def _take(session: Session, wanted: Wanted) -> Take:
    if not session.alive:
        session.start()
    plain = _plain(session, wanted)
    try:
        found = _disturbed(session, wanted, plain)
    except DriverError as error:
        if error.kind in ("invalid", "unsupported"):
            raise
        wrong = error.kind == "validation"
        how = f"{error.kind}: {error.message}"
        return Take(plain, None, wrong, False if wrong else None, how, next_run=_next(session, wanted, plain))
    result = found.result
    return Take(
        plain,
        struck=found.strikes > 0,
        survived=True,
        correct=True,
        seconds=result.seconds[0],
        again=result.executed - result.tasks,
        next_run=_next(session, wanted, plain),
    )


def _next(session: Session, wanted: Wanted, plain: float) -> str:
    """What comes of an ordinary run after one with the fault; it takes about `plain` seconds."""
    for works in ("works", "works in a new driver"):
        try:
            if not session.alive:
                works = "works in a new driver"
                session.start()
            session.run(wanted.graphs, repeats=1, validate="full", isa=wanted.isa, expected_seconds=plain)
            return works
        except DriverError as error:
            how = f"{error.kind}: {error.message}"
            session.kill()
    return how
