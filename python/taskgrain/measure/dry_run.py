"""A dry run tells what a study would do, and about how long it would take, without measuring anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from taskgrain._core import InvalidSpec, Unsupported
from taskgrain.drive.launch.launcher import Node
from taskgrain.drive.system import System
from taskgrain.measure.call import checked_cells, foretold, hosts_for
from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.experiments.rounds import LONGER, LONGER_ROUNDS
from taskgrain.measure.experiments.table import experiment_named
from taskgrain.measure.plan import BRACKET_RUNS, cell_settings, simulated_seconds
from taskgrain.results.builds import Choice
from taskgrain.study.shape import shape_of
from taskgrain.study.study import Study
from taskgrain.study.variables import stored
from taskgrain.study.workload import Workload, core_run
from taskgrain.words.errors import UsageError

_TASK = 1e-6
"""Seconds of a core that a task at the crossing is taken to last, between the 0.1 µs of a fast system and the
10 µs of a slow one: where a study's steps or width leave no choice of how long a run lasts."""
_USUAL = 0.03
"""The half-width of METG after the least number of rounds on a quiet machine."""
_OVERHEAD = 1.3
"""A study's time as a multiple of its runs': start-up, the reference, parking."""


Plan = dict[str, Any]
"""`cells`, `commands`, `cores`, `seconds` in all or null, and the `budget` or null: what `--json` prints."""


def study(
    study: Study,
    systems: Sequence[System],
    cores: Sequence[int],
    output: Path | None = None,
    other_builds: Choice = "refuse",
    note: Callable[[str], object] = str,
) -> Plan:
    """Foretells a study. Raises the errors that the study itself raises for its cells and its `output`;
    `note` gets its notes."""
    experiment = experiment_named(study.settings.experiment, study.settings_named("experiment"))
    cells = checked_cells(study, systems, len(cores))
    hosts = hosts_for(study, cells, systems)
    for said in foretold(study, systems, cores, output, other_builds, hosts) if output else ():
        note(said)
    plan = _plan(systems, cores, hosts, (cell.workload for cell in cells))
    by_name = {one.name: one for one in systems}
    for cell in cells:
        system = by_name[cell.system]
        settings = cell_settings(study.settings, cell.workload, system.simulates_nodes)
        count = cell.workload.cores_of_all(len(cores))
        seconds = (
            simulated_seconds(cell.workload, experiment, settings)
            if system.simulates_nodes
            else cell_seconds(cell.workload, experiment, settings, count)
        )
        plan["cells"].append(_cell(system, cell.workload, seconds))
    return plan | {
        "seconds": sum(cell["seconds"] for cell in plan["cells"]),
        "budget": study.settings.budget or None,
    }


def run(
    systems: Sequence[System],
    workload: Workload,
    cores: Sequence[int],
    hosts: Sequence[str],
    steps: int,
    iterations: int,
    isa: str,
) -> Plan:
    """Foretells a single run of each system; nobody knows how long it takes. Raises what `check` does."""
    check(workload, steps, iterations, isa)
    cells = [_cell(system, workload, None) for system in systems]
    return _plan(systems, cores, hosts, [workload]) | {"cells": cells}


def _cell(system: System, workload: Workload, seconds: float | None) -> dict[str, Any]:
    found = {"cell": f"{system.name}/{workload.name}", "seconds": seconds}
    unsupported = (system.kernels and workload.kernel()["name"] not in system.kernels) or (
        system.nested and not shape_of(workload).nested
    )
    return found | ({"seconds": 0.0, "unsupported": True} if unsupported else {})


def check(workload: Workload, steps: int, iterations: int, isa: str) -> None:
    """Raises `UsageError` for graphs that every system would refuse."""
    try:
        core_run(workload.request(iterations, steps), isa)
    except InvalidSpec as error:
        raise UsageError(str(error)) from None
    except Unsupported:  # the run says so, and is no error of the user's
        pass


def _plan(
    systems: Sequence[System], cores: Sequence[int], hosts: Sequence[str], workloads: Iterable[Workload]
) -> Plan:
    commands = {}
    for nodes, count in dict.fromkeys((one.nodes, one.cores) for one in workloads):
        used = cores[: count or None]
        on = [Node(one, one, tuple(used)) for one in hosts[:nodes] if nodes > 1]
        for system in systems:
            if system.simulates_nodes or not on or not system.one_node:
                name = system.name + f"/nodes={nodes}" * (nodes > 1) + f"/cores={count}" * (count > 0)
                commands[name] = _command(system, used, on, nodes)
    return {"cells": [], "commands": commands, "cores": list(cores), "seconds": None, "budget": None}


def _command(system: System, cores: Sequence[int], on: Sequence[Node], nodes: int) -> list[str]:
    """The command of a driver, with the variables that the user passes to it."""
    given = [f"{name}={value}" for name, value in stored(system.given).items()]
    return [*(("env", *given) if given else ()), *system.launch(cores, on, nodes).command]


def cell_seconds(
    workload: Workload, experiment: type[Experiment], settings: CellSettings, cores: int
) -> float:
    """A guess of a cell's time, if it ends by being precise or by its rounds."""
    step = workload.tasks(1) * _TASK / cores
    steps = settings.steps or settings.min_steps
    free = not settings.steps and settings.run_seconds > steps * step
    run = min(settings.run_seconds, settings.max_tasks * _TASK / cores) if free else steps * step
    most = settings.max_rounds / settings.min_rounds  # an interval shrinks with the square root of the rounds
    rounds = settings.min_rounds * min(max((_USUAL / settings.precision) ** 2, 1.0), most)
    rounds *= experiment.ROUND_RUNS if free else experiment.ROUND_WORK
    if settings.slow(run) and not settings.steps:
        rounds += LONGER * len(LONGER_ROUNDS)
    again = max(1.0, math.sqrt(settings.run_seconds / run)) if settings.steps else 1.0
    repeats = 1 if settings.slow(run) else settings.repeats * again
    return (BRACKET_RUNS + rounds) * run * (repeats + settings.warmup) * _OVERHEAD
