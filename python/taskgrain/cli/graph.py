"""`taskgrain graph`: shows a task graph as JSON lines, as a drawing, or counted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from taskgrain._core import InvalidSpec, Run, Unsupported
from taskgrain.cli.options import GraphOptions, Text, graph_options, valued
from taskgrain.study.fields import rivals
from taskgrain.study.workload import core_run
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

FORMATS = ("json", "svg", "png")
_DEFAULT_STEPS, _DEFAULT_WIDTH = 8, 8
_MOST_COUNTED = 2**32
"""Tasks that --stats visits one by one."""
_MOST_NODES = 10**9
MOST_DRAWN = 4096
"""Tasks of a drawing."""
_MOST_WIDE = 2**22
"""Points of a step that are written as one line, which is made in memory."""


def _sized(graph: GraphOptions) -> GraphOptions:
    """The graph with a width."""
    if {"width", "dag"} & graph.given.keys() or rivals("width", graph.given):
        return graph
    return GraphOptions({"width": str(_DEFAULT_WIDTH), **graph.given})


def _run(graph: GraphOptions) -> Run:
    """The graph's queries. Raises InputError for what the core refuses."""
    _ = graph.validate, graph.isa, graph.count("iterations", 0)  # not needed here, but a bad value is refused
    graphs = graph.workload.request(0, graph.count("steps", _DEFAULT_STEPS, low=1))
    try:
        return core_run(graphs[:1])
    except (InvalidSpec, Unsupported) as error:
        raise UsageError(str(error)) from error


def steps_of(run: Run) -> Iterator[dict[str, Any]]:
    """One object a step: the points that exist, what each depends on, and what depends on it."""
    for step in range(run.steps()):
        first, last = run.points(0, step)
        points = range(first, last + 1)
        told: dict[str, Any] = {
            "step": step,
            "first_point": first,
            "width": len(points),
            "dependence_set": run.dependence_set(0, step),
            "dependences": [run.deps(0, step, point) for point in points],
            "reverse_dependences": [run.reverse_deps(0, step, point) for point in points],
        }
        weights = run.weights(0, step)
        yield told | ({"weights": weights} if weights else {})


def _refuse_too_many(tasks: int) -> None:
    if tasks > _MOST_COUNTED:
        raise InputError("--steps x --width", str(tasks), f"at most {_MOST_COUNTED} tasks to count")


def _stats(run: Run, nodes: int) -> dict[str, int]:
    _refuse_too_many(run.tasks)
    return run.stats(0, nodes)


def _stats_table(stats: dict[str, int], nodes: int, as_json: bool) -> None:
    if as_json:
        from taskgrain.cli.printer import print_json

        print_json(stats | {"nodes": nodes})
        return
    from taskgrain.words import quantity

    tasks, dependences = stats["tasks"], stats["dependences"]
    rows = {
        "tasks": f"{tasks}",
        "dependences": f"{dependences}",
        "a task has": f"{quantity.mean(dependences / tasks)} on average, at most {stats['most_dependences']}",
        f"local of {nodes} node{'' if nodes == 1 else 's'}": f"{stats['local']}",
        "remote": f"{stats['remote']}",
    }
    print_rows(rows)


def print_rows(rows: dict[str, str]) -> None:
    wide = max(map(len, rows))
    sys.stdout.writelines(f"{name:<{wide}}  {value}\n" for name, value in rows.items())


def _summary(graph: GraphOptions, as_json: bool) -> None:
    """Says what the shape of the graph allows, with as many steps as the shortest run of a METG, unless the
    user gave some."""
    from taskgrain.study.shape import best_efficiency, bound_of, shape_of
    from taskgrain.study.steps import Steps, with_steps
    from taskgrain.words import quantity

    given, workload = graph.count("steps", 0), graph.workload
    cores = workload.cores_of_all(len(graph.cores))
    try:
        asked = with_steps(Steps(steps=given or None), workload)
        steps = asked.least
        _refuse_too_many(workload.tasks(steps))
        shape, bound = shape_of(workload), bound_of(workload, steps, cores)
        best = best_efficiency(workload, steps, cores, longer=not asked.steps)
    except (InvalidSpec, Unsupported) as error:
        raise UsageError(str(error)) from error
    if as_json:
        from taskgrain.cli.printer import print_json

        told = {"ramp": shape.ramp, "period": shape.period, "whole": shape.whole, "steps": steps}
        print_json(told | vars(bound) | {"cores": cores, "best_efficiency": best})
        return
    repeats, mean = "the number of steps decides the shape", quantity.mean(bound.tasks / steps)
    if not shape.whole:
        again = "stays as it is" if shape.period == 1 else f"repeats every {shape.period} steps"
        repeats = f"after {quantity.counted(shape.ramp, 'step')} it {again}"
    print_rows(
        {
            "shape": repeats,
            "steps": f"{steps}{'' if given else ', as in the shortest run of a METG'}",
            "tasks": f"{bound.tasks}",
            "critical path": quantity.counted(bound.critical_path, "task"),
            "a step has": f"{bound.narrowest} to {bound.widest} tasks, {mean} on average",
            "narrow steps": f"{quantity.percent(bound.narrow_steps / steps)} have fewer tasks than cores",
            "best efficiency": f"at most {quantity.percent(best)} on {quantity.counted(cores, 'core')}",
        }
    )


def write_drawing(kind: str, drawn: str, output: Path | None) -> None:
    if kind == "svg":
        data = drawn.encode()
    else:
        import vl_convert  # slow to load, and nothing else here needs it

        data = vl_convert.svg_to_png(drawn, scale=2)
    from taskgrain.results import whole_file

    whole_file.put_out(output, data)


@graph_options(without=["nodes"])
def graph(
    graph: GraphOptions,
    kind: Annotated[str, valued("--format", "NAME", f"{', '.join(FORMATS)} (default json).")] = "json",
    stats: Annotated[bool, typer.Option("--stats", help="Count tasks and dependences instead.")] = False,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="Show the critical path, and the efficiency that the shape allows, instead."
        ),
    ] = False,
    nodes: Annotated[
        Text,
        valued("--nodes", "N", "Number of nodes over which --stats divides the width (default 1)."),
    ] = None,
    output: Annotated[
        Path | None,
        valued(
            "--output -o",
            "FILE",
            "File for a drawing (default: standard output). With --from, a drawing if it ends in .svg "
            "or .png, and else the graph in steps.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers of --stats, --summary or --from as JSON.")
    ] = False,
    file: Annotated[
        Path | None,
        valued(
            "--from",
            "FILE",
            "Show what the graph of a program allows: a file of taskgrain record, a trace of "
            "taskgrain::rt, WfCommons, DOT, the Standard Task Graph Set, StarPU's tasks.rec, Chakra's JSON, "
            "a timeline of Ray, or a task stream of Dask; compressed by gzip or not. --output writes it for "
            "--dag, or draws it.",
        ),
    ] = None,
) -> None:
    """Shows a task graph: its dependences, a drawing, or its size."""
    if output is not None and output.suffix.lower() == ".gz":
        allowed = "a name without .gz: drawings and graphs in steps are not compressed"
        raise InputError("--output", str(output), allowed)
    if file is not None:
        if stats or summary or nodes is not None:
            raise UsageError("--from: give --cores, --format, --output and --json with it, and nothing else")
        from taskgrain.cli.graph_of_file import show

        drawn = numbers.text(kind, "--format", FORMATS)
        return show(file, replace(graph, simulated=True), drawn, output, as_json)
    chosen = numbers.text(kind, "--format", FORMATS)
    _refuse_what_would_be_ignored(chosen != "json", stats, nodes, output)
    if summary and (stats or chosen != "json"):
        raise UsageError("--summary: give this, --stats, or a --format of drawings; not several")
    graph = _sized(graph)
    if summary:
        return _summary(replace(graph, simulated=True), as_json)  # of any number of cores
    run = _run(graph)
    if stats:
        count = numbers.integer(1 if nodes is None else nodes, "--nodes", low=1, high=_MOST_NODES)
        _stats_table(_stats(run, count), count, as_json)
    elif chosen == "json":
        if run.width() > _MOST_WIDE:
            raise InputError(
                "--width", str(run.width()), f"at most {_MOST_WIDE}: a step is one line; --stats counts"
            )
        for step in steps_of(run):
            sys.stdout.write(json.dumps(step, separators=(",", ":")) + "\n")
    else:
        from taskgrain.report.drawings import of_pattern

        write_drawing(chosen, of_pattern(list(_drawable(run)), run.width(), graph.workload.pattern), output)


def _refuse_what_would_be_ignored(drawing: bool, stats: bool, nodes: str | None, output: Path | None) -> None:
    if stats and drawing:
        raise UsageError("--stats: give this or a --format of drawings, not both")
    if nodes is not None and not stats:
        raise UsageError("--nodes is for --stats: give that too")
    if output is not None and not drawing:
        raise UsageError("--output is for a drawing: give --format svg or --format png too")


def _drawable(run: Run) -> Iterator[dict[str, Any]]:
    if run.tasks > MOST_DRAWN:
        raise InputError("--steps x --width", str(run.tasks), f"at most {MOST_DRAWN} tasks in a drawing")
    return steps_of(run)
