"""One configuration on one system, without any search: what `taskgrain run` does."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from taskgrain.drive.answers import DriverError, RunResult
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.machine.busy import BUSY_SHARE, Busy
from taskgrain.study.workload import Workload
from taskgrain.words.errors import UsageError
from taskgrain.words.warnings import Notice, notice


@dataclass(frozen=True)
class Wanted:
    """The configuration."""

    workload: Workload
    steps: int
    iterations: int
    repeats: int
    warmup: int
    validate: str
    isa: str


def run(system: System, cores: Sequence[int], wanted: Wanted) -> dict[str, Any]:
    """Runs it. Raises `UsageError` if the system calls it invalid; other failures are in the answer."""
    outcome: dict[str, Any] = {"system": system.name, "workload": wanted.workload.name}
    outcome |= {"steps": wanted.steps, "iterations": wanted.iterations}
    try:
        with Session(system.name, system.launch(cores)) as session:
            ready = session.start()
            result = session.run(
                wanted.workload.request(wanted.iterations, wanted.steps),
                repeats=wanted.repeats,
                warmup=wanted.warmup,
                validate=wanted.validate,
                isa=wanted.isa,
            )
            busy = Busy() if system.simulated else session.busy
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
            "median_seconds": median,
            "granularity": median * ready.cores / result.tasks if result.tasks else None,
            "rate": result.work / median,
            "driver": dict(ready.raw),
            "warnings": [one.shown() for one in _notices(result, busy)],
        }
    )


def _notices(result: RunResult, busy: Busy) -> list[Notice]:
    disturbed = [notice("run_disturbed", share=busy.share)] if busy.share > BUSY_SHARE else []
    return [*disturbed, *result.warnings]
