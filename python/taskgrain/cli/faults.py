"""`taskgrain faults`: what systems make of a killed process, a failing task, or a core less or more."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.options import (
    DryRun,
    Env,
    GraphOptions,
    Json,
    Launcher,
    Names,
    Quiet,
    Systems,
    Text,
    equipped,
    found_systems,
    graph_options,
    split_names,
    valued,
)
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import EXIT_FAILED, InputError, Interrupted, UsageError
from taskgrain.words.interrupts import interruptible

if TYPE_CHECKING:
    from taskgrain.measure.faults import Fault

_STEPS = 100
_ITERATIONS = 10_000
"""Tens of microseconds of work a task, beside which a loss can be seen."""
_REPEATS = 3


def _option(name: str, metavar: str, text: str) -> Any:
    return valued(name, metavar, text, "Fault")


@graph_options(without=["validate", "nodes"], steps=_STEPS, iterations=_ITERATIONS)
def faults(
    graph: GraphOptions,
    names: Names = None,
    kill: Annotated[
        Text,
        _option(
            "--kill",
            "STEP",
            "Kill the process that executes a task of this step (default: of the step in the middle).",
        ),
    ] = None,
    fail: Annotated[Text, _option("--fail", "STEP", "Let a task of this step fail.")] = None,
    take_core: Annotated[
        Text,
        _option("--take-core", "STEP", "Take a core from the system as soon as a task of this step begins."),
    ] = None,
    give_core: Annotated[
        Text,
        _option("--give-core", "STEP", "Give the system a core only as soon as a task of this step begins."),
    ] = None,
    point: Annotated[
        Text, _option("--point", "POINT", "The task's point (default: the last one of the step).")
    ] = None,
    times: Annotated[
        Text, _option("--times", "N", "How often, the first times that the task is executed (default 1).")
    ] = None,
    repeats: Annotated[
        Text, _option("--repeats", "N", f"Runs with the fault, and as many without (default {_REPEATS}).")
    ] = None,
    folders: Systems = None,
    env: Env = None,
    launcher: Launcher = None,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Runs a workload with and without a fault in turn, and shows which systems survive it, and at what cost.

    That a system does not survive is a result: the exit code is 0. By default the graph has 100 steps.
    """
    from taskgrain.cli.dry_run import show_plan
    from taskgrain.cli.faults_table import heading, show
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.measure import dry_run as dry
    from taskgrain.measure import faults as measured
    from taskgrain.measure import progress
    from taskgrain.measure.call import simulated_alone

    chosen = equipped(catalogue.select(found_systems(folders, launcher), split_names(names)), env)
    simulated_alone(chosen)
    given = {"--kill": kill, "--fail": fail, "--take-core": take_core, "--give-core": give_core}
    fault, steps = _fault(graph, graph.count("steps", _STEPS, low=1), given, point, times)
    wanted = measured.Wanted(
        workload=graph.workload,
        steps=steps,
        iterations=graph.count("iterations", _ITERATIONS),
        fault=fault,
        repeats=numbers.integer(_REPEATS if repeats is None else repeats, "--repeats", low=1, high=1000),
        isa=graph.isa,
    )
    if dry_run:
        plan = dry.run(chosen, wanted.workload, graph.cores, (), steps, wanted.iterations, wanted.isa)
        details = {"fault": asdict(fault), "steps": steps, "repeats": wanted.repeats}
        if not as_json:
            runs = f"{quantity.counted(wanted.repeats, 'run')} with it, and as many without"
            printer().text(f"{heading(wanted.workload.name, steps, asdict(fault))}; {runs}")
        show_plan(plan | details, as_json)
        return
    outcomes = []
    interrupted = False
    refused = []  # by a system; what others did is shown all the same
    try:
        with interruptible(), contextlib.closing(progress.through(chosen, quiet)) as systems:
            for one in systems:
                try:
                    outcomes.append(measured.run(one, graph.cores, wanted))
                except UsageError as error:
                    refused.append(str(error))
    except KeyboardInterrupt:
        interrupted = True
    if refused and not outcomes:
        raise UsageError("; ".join(refused))
    if as_json:
        print_json({"schema": 1, "interrupted": interrupted, "faults": outcomes})
    elif outcomes:
        show(printer(), outcomes)
    if interrupted:
        raise Interrupted("interrupted; systems that had not ended are left out")
    if refused:
        raise UsageError("; ".join(refused))
    if any(outcome.get("error", "unsupported") != "unsupported" for outcome in outcomes):
        raise typer.Exit(EXIT_FAILED)


def _fault(
    graph: GraphOptions, steps: int, faults: Mapping[str, Text], point: Text, times: Text
) -> tuple[Fault, int]:
    """The fault that the options describe, and the steps that the graph really has: `faults` has the step of
    each. Raises `InputError` and `UsageError`."""
    from taskgrain._core import MOST_TASKS_WITH_FAULT, InvalidSpec, Unsupported
    from taskgrain.measure.faults import Fault
    from taskgrain.study.workload import core_run

    given = [option for option, step in faults.items() if step is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]}: give this or {given[1]}, not both")
    option = given[0] if given else "--kill"
    moves_core = option in ("--take-core", "--give-core")
    if moves_core and len(graph.cores) < 2:
        raise InputError("--cores", str(len(graph.cores)), f"2 or more, for {option}")
    if moves_core and times is not None:
        raise UsageError(f"--times: {option} moves a core only once; leave it out")
    try:
        run = core_run(graph.workload.request(0, steps))
    except (InvalidSpec, Unsupported) as error:
        raise UsageError(str(error)) from error
    if run.tasks > MOST_TASKS_WITH_FAULT:
        size, most = "--steps, --width, --tasks-per-core, --graphs", MOST_TASKS_WITH_FAULT
        raise UsageError(f"{size}: a graph of {run.tasks} tasks; a run with a fault has at most {most}")
    steps = run.steps()  # a file gives its own
    step = numbers.integer(faults[option] if given else steps // 2, option, high=steps - 1)
    first, last = run.points(0, step)
    if last < first:
        raise InputError(option, str(step), "a step that has tasks")
    chosen = last if point is None else numbers.integer(point, "--point", low=first, high=last)
    kind = option.removeprefix("--").replace("-", "_")
    return Fault(kind, step, chosen, numbers.integer(1 if times is None else times, "--times", low=1)), steps
