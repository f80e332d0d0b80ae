"""`taskgrain run`: one configuration, without any search."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import (
    DryRun,
    Env,
    GraphOptions,
    Json,
    Launcher,
    Names,
    Systems,
    Text,
    equipped,
    found_systems,
    graph_options,
    setting,
    split_names,
    valued,
)
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import EXIT_FAILED, UsageError
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin

if TYPE_CHECKING:
    from taskgrain.cli.printer import Printer
    from taskgrain.study.workload import Workload


_STEPS = 1000


@graph_options(steps=_STEPS)
def run(
    graph: GraphOptions,
    names: Names = None,
    repeats: Annotated[Text, valued("--repeats", "N", "Timed repeats (default 5).", "Measuring")] = None,
    warmup: Annotated[
        Text, valued("--warmup", "N", "Repeats before the timed ones (default 1).", "Measuring")
    ] = None,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="Count instructions, cycles and cache misses, where the processors show them. "
            "This costs time where threads sleep and wake.",
            rich_help_panel="Measuring",
        ),
    ] = False,
    folders: Systems = None,
    env: Env = None,
    launcher: Launcher = None,
    hosts: Annotated[Text, setting("hosts")] = None,
    hostfile: Annotated[Text, setting("hostfile")] = None,
    as_json: Json = False,
    dry_run: DryRun = False,
) -> None:
    """Runs one configuration, and prints every sample."""
    from taskgrain.cli.dry_run import show_plan
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.machine import facts as machine
    from taskgrain.measure import call, progress, single
    from taskgrain.measure import dry_run as dry
    from taskgrain.results.hosts import differences
    from taskgrain.study.field import flag
    from taskgrain.study.settings import Settings
    from taskgrain.study.study import Study
    from taskgrain.study.workload import EMPTY, Cell

    chosen = equipped(catalogue.select(found_systems(folders, launcher), split_names(names)), env)
    graph = graph.on(chosen)
    given = graph.given.get("iterations")
    task = numbers.duration(given, "--iterations") if numbers.is_duration(given) else None
    if task is not None and graph.workload["kernel"] == EMPTY:
        raise UsageError("--iterations: a time needs tasks that work; give another --kernel than empty")
    wanted = single.Wanted(
        workload=graph.workload,
        steps=graph.count("steps", _steps(graph.workload), low=1),
        iterations=0 if task is not None else graph.count("iterations", 0, or_time=True),
        task_seconds=task,
        repeats=numbers.integer(5 if repeats is None else repeats, "--repeats", low=1, high=100_000),
        warmup=numbers.integer(1 if warmup is None else warmup, "--warmup", high=100_000),
        validate=graph.validate,
        isa=graph.isa,
        counters=counters,
    )
    settings = Settings(hosts=hosts or "", hostfile=hostfile or "")
    study = Study((), (graph.workload,), settings, named={graph.workload: flag}, settings_named=flag)
    names_of = call.hosts_for(study, [Cell(one.name, graph.workload) for one in chosen], chosen)
    if dry_run:
        of_run = wanted.steps, wanted.iterations, wanted.isa
        show_plan(dry.run(chosen, wanted.workload, graph.cores, names_of, *of_run), as_json)
        return
    dry.check(wanted.workload, wanted.steps, wanted.iterations, wanted.isa)
    outcomes: list[dict[str, Any]] = []
    refused = []  # by a system; what others did is shown all the same
    with (
        call.agents(names_of, chosen, graph.cores) as there,
        single.ReferenceRuns(graph.cores, wanted.isa, there) as reference,
    ):
        for one in differences(call.facts_of(there, machine.of_host(machine.facts()))):
            note(f"note: {one}")
        with contextlib.closing(progress.through(chosen, not sys.stderr.isatty())) as systems:
            for system in systems:
                try:
                    outcomes.append(single.run(system, graph.cores, wanted, reference))
                except UsageError as error:
                    refused.append(str(error))
    if refused and not outcomes:
        raise UsageError("; ".join(refused))
    if as_json:
        print_json({"schema": 1, "runs": outcomes})
    else:
        _show(printer(), outcomes, wanted.validate)
    if refused:
        raise UsageError("; ".join(refused))
    if any("error" in outcome for outcome in outcomes):
        raise typer.Exit(EXIT_FAILED)


def _steps(workload: Workload) -> int:
    """The default number of steps: that of the file, if the graph is from one."""
    from taskgrain._core import InvalidSpec, Unsupported
    from taskgrain.study.shape import shape_of

    try:
        return (shape_of(workload).steps if workload["dag"] else 0) or _STEPS
    except (InvalidSpec, Unsupported):  # is refused where its graph is made
        return _STEPS


def _efficiency(one: dict[str, Any]) -> str:
    """The efficiency with its interval, or why it is not known."""
    from taskgrain.estimate.metg import ABOVE_ONE

    if one["efficiency"] is None:
        return f"not known: {one['efficiency_unknown']}"
    share = Interval(one["efficiency"], one["efficiency_low"], one["efficiency_high"])
    told = f"{quantity.about_percent(share)} of the kernel alone, over the repeats of this one run"
    beyond = one["efficiency"] <= 1.0 and (share.high or 0.0) > ABOVE_ONE
    return f"{told}; they differ too much for an upper bound" if beyond else told


_MANY = 1000
"""Tasks of a step that make up for the memory that a runtime takes once, at its start."""


def _memory(one: dict[str, Any]) -> str:
    """The memory of the largest process, and by how much all have grown."""
    held, grown, tasks = one["peak_rss_bytes"], one["growth_bytes"], one["tasks_in_flight"]
    if grown is None:
        return quantity.size(held)
    came = f"{quantity.size(held)}; {quantity.size(grown)} came with the run"
    if tasks < _MANY:
        return came
    return f"{came}, {quantity.size(grown // tasks)} for each of the {tasks} tasks of a step"


def _counters(one: dict[str, Any]) -> str:
    """The counters for each task; those of preparation and warm-up are included."""
    found = one["counters"]
    tasks = one["tasks"] * (len(one["seconds"]) + one["warmup"])
    each = ", ".join(f"{quantity.mean(found[name] / tasks)} {name.replace('_', ' ')}" for name in found)
    return f"{each} a task, preparation and warm-up included"


def _show(out: Printer, outcomes: Sequence[dict[str, Any]], validate: str) -> None:
    """Prints every sample and a summary."""
    counted = quantity.counted
    for one in outcomes:
        # The file of a DAG says its steps.
        steps = "" if one.get("tasks_in_flight") == 0 else f", {counted(one['steps'], 'step')}"
        mark = Origin(one["simulated"]).mark
        title = f"{one['system']}{mark}  {one['workload']}{steps}, {counted(one['iterations'], 'iteration')}"
        out.text(title, "bold")
        if "error" in one:
            out.text(f"{one['error']}: {one['message']}", "red")
            if one["log"]:
                out.whole(one["log"])
            continue
        out.text("  " + "  ".join(quantity.seconds(value) for value in one["seconds"]))
        out.text(f"  median      {quantity.seconds(one['median_seconds'])}")
        out.text(f"  tasks       {one['tasks']} (all executed), {counted(one['dependencies'], 'dependence')}")
        checked = "inputs were not checked" if validate == "off" else "the driver found nothing wrong"
        out.text(f"  validation  {validate}: {checked}")
        each = quantity.seconds(one["granularity"])
        out.text(f"  granularity {each} per task on {counted(one['cores'], 'core')}")
        if one["asked_seconds"] is not None:
            asked, took = quantity.seconds(one["asked_seconds"]), quantity.seconds(one["task_seconds"])
            out.text(
                f"  work        {asked} asked for: {counted(one['iterations'], 'iteration')}, {took} alone"
            )
        out.text(f"  efficiency  {_efficiency(one)}")
        done, unit = one["rate"], one["work_unit"]
        if not done:  # without work: what the system alone can do
            done, unit = one["tasks"] / one["median_seconds"], "task"
        out.text(f"  rate        {quantity.rate(done, unit)}")
        if any(one["prepare_seconds"]):
            ahead = quantity.seconds(statistics.median(one["prepare_seconds"]))
            out.text(f"  prepared    in {ahead}, before the clock of a repeat")
        out.text(f"  memory      {_memory(one)}")
        if one["joules"] is not None:
            out.text(
                f"  energy      {one['joules']:.3g} J of all processors, preparation and warm-up included"
            )
        if one["counters"] is not None:
            out.text(f"  counters    {_counters(one)}")
        elif one["counters_unknown"]:
            out.text(f"  counters    not known: {one['counters_unknown']}")
        for warning in one["warnings"]:
            out.text(f"  warning: {warning['text']}", "yellow")
