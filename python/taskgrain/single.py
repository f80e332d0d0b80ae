"""One configuration on one system, without any search: what `taskgrain run` does."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from taskgrain import quantity
from taskgrain.answers import DriverError
from taskgrain.busy import Busy
from taskgrain.errors import UsageError
from taskgrain.session import Session
from taskgrain.system import System
from taskgrain.table import Printer
from taskgrain.workload import Workload


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
        }
    )


def show(out: Printer, outcomes: Sequence[dict[str, Any]]) -> None:
    """Prints every sample and a summary."""
    for one in outcomes:
        out.text(
            f"{one['system']}  {one['workload']}, {one['steps']} steps, {one['iterations']} iterations",
            "bold",
        )
        if "error" in one:
            out.text(f"{one['error']}: {one['message']}", "red")
            if one["log"]:
                out.text(one["log"])
            continue
        out.text("  " + "  ".join(quantity.seconds(value) for value in one["seconds"]))
        out.text(f"  median      {quantity.seconds(one['median_seconds'])}")
        out.text(f"  tasks       {one['tasks']} (all executed), {one['dependencies']} dependences")
        out.text(f"  granularity {quantity.seconds(one['granularity'])} per task on {one['cores']} cores")
        out.text(f"  rate        {quantity.rate(one['rate'], one['work_unit'])}")
        out.text(f"  memory      {quantity.size(one['peak_rss_bytes'])}")
        if one["busy"] > 0.03:
            out.text(f"  warning: others took {quantity.percent(one['busy'])} of the cores", "yellow")
        for warning in one["warnings"]:
            out.text(f"  warning: {warning}", "yellow")
