"""`taskgrain graph`: shows a task graph as JSON lines, as a drawing, or counted, or that of a program."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain._core import InvalidSpec, Run, Unsupported
from taskgrain.cli.options import GraphOptions, Text, graph_options, valued
from taskgrain.study.fields import rivals
from taskgrain.study.workload import core_run
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError, UsageError, check_writable

if TYPE_CHECKING:
    from taskgrain.graphs.kinds import Kind
    from taskgrain.graphs.steps import Steps
    from taskgrain.graphs.task_graph import TaskGraph

FORMATS = ("json", "svg", "png")
_DEFAULT_STEPS, _DEFAULT_WIDTH = 8, 8
_MOST_COUNTED = 2**32
"""Tasks that --stats visits one by one."""
_MOST_NODES = 10**9
_MOST_DRAWN = 4096
"""Tasks of a drawing."""
_NAMED = 8
"""Kinds of tasks in the table."""
_MOST_NAMED = 1000
"""The same in JSON."""
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


def _stats_table(stats: dict[str, int], nodes: int, as_json: bool) -> None:
    if as_json:
        from taskgrain.cli.printer import print_json

        print_json(stats | {"nodes": nodes})
        return
    tasks, dependences = stats["tasks"], stats["dependences"]
    rows = {
        "tasks": f"{tasks}",
        "dependences": f"{dependences}",
        "a task has": f"{quantity.mean(dependences / tasks)} on average, at most {stats['most_dependences']}",
        f"local of {nodes} node{'' if nodes == 1 else 's'}": f"{stats['local']}",
        "remote": f"{stats['remote']}",
    }
    _print_rows(rows)


def _print_rows(rows: dict[str, str]) -> None:
    wide = max(map(len, rows))
    sys.stdout.writelines(f"{name:<{wide}}  {value}\n" for name, value in rows.items())


def _summary(graph: GraphOptions, as_json: bool) -> None:
    """Says what the shape of the graph allows, with as many steps as the shortest run of a METG, unless the
    user gave some."""
    from taskgrain.study.shape import best_efficiency, bound_of, shape_of
    from taskgrain.study.steps import Steps, with_steps

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
    _print_rows(
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


def _write_drawing(kind: str, drawn: str, output: Path | None) -> None:
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
        drawn = numbers.text(kind, "--format", FORMATS)
        return _show_file(file, replace(graph, simulated=True), drawn, output, as_json)
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
        _refuse_too_many(run.tasks)
        _stats_table(run.stats(0, count), count, as_json)
    elif chosen == "json":
        if run.width() > _MOST_WIDE:
            raise InputError(
                "--width", str(run.width()), f"at most {_MOST_WIDE}: a step is one line; --stats counts"
            )
        for step in steps_of(run):
            sys.stdout.write(json.dumps(step, separators=(",", ":")) + "\n")
    else:
        from taskgrain.report.drawings import of_pattern

        if run.tasks > _MOST_DRAWN:
            raise InputError("--steps x --width", str(run.tasks), f"at most {_MOST_DRAWN} tasks in a drawing")
        drawing = of_pattern(list(steps_of(run)), run.width(), graph.workload.pattern)
        _write_drawing(chosen, drawing, output)


def _refuse_what_would_be_ignored(drawing: bool, stats: bool, nodes: str | None, output: Path | None) -> None:
    if stats and drawing:
        raise UsageError("--stats: give this or a --format of drawings, not both")
    if nodes is not None and not stats:
        raise UsageError("--nodes is for --stats: give that too")
    if output is not None and not drawing:
        raise UsageError("--output is for a drawing: give --format svg or --format png")


def _show_file(path: Path, graph: GraphOptions, drawn: str, output: Path | None, as_json: bool) -> None:
    """Says what a graph from a file allows, and writes or draws it if an output is named."""
    from taskgrain.answers.program import output_bytes
    from taskgrain.answers.program_words import without_size
    from taskgrain.graphs.files import read
    from taskgrain.graphs.kinds import kinds
    from taskgrain.graphs.steps import in_steps

    if ignored := [one for one in graph.given if one != "cores"]:
        raise UsageError(
            f"--{ignored[0].replace('_', '-')}: the graph is that of --from; give --cores alone with it"
        )
    ending = output.suffix.lower() if output is not None and drawn == "json" else ""
    if ending in (".svg", ".png"):
        drawn = ending[1:]
    elif ending in (".pdf", ".jpg", ".jpeg"):
        raise InputError("--output", str(output), "a drawing by .svg or .png, or JSON by another name")
    cores = len(graph.cores)
    found = read(path)
    bound, steps, heaviest = found.bound(), in_steps(found), kinds(found)
    told = _words(found)
    if drawn != "json":
        _draw(steps, heaviest, told, path, drawn, output)
        if output is None:
            return  # it is on standard output
    elif output is not None:
        _write_steps(steps, path, output)
    if as_json:
        from taskgrain.cli.printer import print_json

        facts = {"kind": found.kind, "tasks": len(found.names), "untimed": found.untimed}
        facts |= {"dependences": found.dependences, "unit": found.unit} | vars(bound)
        facts |= {"cores": cores, "least_time": bound.time(cores), "most_busy": bound.busy(cores)}
        facts |= {"output_bytes": found.handed_on}
        facts |= {"steps": steps.number, "widest": steps.widest, "passed_on": steps.passed_on}
        whole = bound.work or 1.0
        facts |= {"kinds": [vars(one) | {"share": one.work / whole} for one in heaviest[:_MOST_NAMED]]}
        print_json(facts | {"output": output and str(output)})
        return
    rows = {"file": found.kind, "tasks": f"{len(found.names)}", "dependences": f"{found.dependences}"}
    if found.no_order:
        rows["dependences"] += f": {found.no_order}; the critical path may be longer"
    rows |= {"left out": found.left_out} if found.left_out else {}
    if found.unit != "task":
        ranked = sorted(found.durations)
        least, half, most = (told(ranked[k]) for k in (0, len(ranked) // 2, -1))
        rows["a task takes"] = f"{least} to {most}, median {half}"
        if found.untimed:
            rows["without a time"] = f"{quantity.counted(found.untimed, 'task')}, as if of no time"
    else:
        rows["without a time"] = f"all, and each counts as 1: {found.no_times}"
    if found.handed_on is not None:
        median = quantity.size(round(found.handed_on))
        rows["outputs"] = f"{median} in the median, each as often as it is read{without_size(found)}"
    rows |= {
        "work": told(bound.work),
        "critical path": told(bound.critical_path),
        "at once": f"{quantity.counted(bound.most_at_once, 'task')} at most, if each begins when it can",
        "cores": f"at most {quantity.mean(bound.busy(cores))} of {cores} can be busy: "
        f"it takes {told(bound.time(cores))} or more",
        "in steps": f"{steps.number} with up to {quantity.counted(steps.widest, 'task')}; "
        f"{quantity.counted(steps.passed_on, 'point')} would pass outputs on",
    }
    _print_rows(rows)
    _show_kinds(heaviest, bound.work, told)
    if output is not None:
        size = output_bytes(steps)
        more = "" if size is None else f" --output-bytes {size}"
        then = f": taskgrain metg --dag {shlex.quote(str(output))}{more}" if drawn == "json" else ""
        print(f"{output} is written{then}")


def _words(graph: TaskGraph) -> Callable[[float], str]:
    """Returns what shows a time of the graph."""

    def told(time: float) -> str:
        if graph.unit == "s":
            return quantity.seconds(time)
        number = quantity.mean(time) if time < 1e9 else f"{time:.3g}"
        return f"{number} task{'' if time == 1 else 's'}" if graph.unit else number

    return told


def _show_kinds(heaviest: list[Kind], work: float, told: Callable[[float], str]) -> None:
    """The table of the kinds with most work; none where all tasks are of one kind."""
    if len(heaviest) < 2:
        return
    from taskgrain.cli.printer import printer

    def share(part: float) -> str:
        return quantity.part(part / work) if work else quantity.NOTHING

    rows = [(one.name, f"{one.tasks}", told(one.work), share(one.work)) for one in heaviest[:_NAMED]]
    if rest := heaviest[_NAMED:]:
        left = sum(one.work for one in rest)
        number = sum(one.tasks for one in rest)
        rows.append((quantity.counted(len(rest), "other"), f"{number}", told(left), share(left)))
    printer().table(["most work", "tasks", "work", "share"], rows)


def _write_steps(steps: Steps, path: Path, output: Path) -> None:
    from taskgrain.results import whole_file

    check_writable("--output", output)
    if output.exists() and output.samefile(path):
        raise InputError("--output", str(output), "another file than that of --from")
    whole_file.write(output, steps.text(f"graph of {path}").encode())


def _draw(
    steps: Steps,
    heaviest: list[Kind],
    told: Callable[[float], str],
    path: Path,
    drawn: str,
    output: Path | None,
) -> None:
    from taskgrain.report.drawings import of_program

    graph = steps.graph
    if steps.points > _MOST_DRAWN:
        points = f"one of {steps.points} points: tasks, and those that pass outputs on"
        raise InputError("graph", points, f"at most {_MOST_DRAWN} in a drawing")

    def words(task: int) -> str:
        name, label = graph.names[task], (graph.labels or graph.names)[task]
        return f"{label if label == name else f'{label} ({name})'}: {told(graph.durations[task])}"

    _write_drawing(drawn, of_program(steps, path.name, heaviest, words), output)
