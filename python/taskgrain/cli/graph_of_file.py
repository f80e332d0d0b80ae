"""`taskgrain graph --from`: what the graph of a program allows, which tasks have the work, and a drawing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from taskgrain.answers.program import output_bytes
from taskgrain.answers.program_words import without_size
from taskgrain.cli.graph import MOST_DRAWN, print_rows, write_drawing
from taskgrain.cli.options import GraphOptions
from taskgrain.cli.pictures import DRAWINGS, refuse_picture
from taskgrain.graphs.files import read
from taskgrain.graphs.kinds import Kind, kinds
from taskgrain.graphs.steps import Steps, in_steps
from taskgrain.graphs.task_graph import TaskGraph
from taskgrain.words import quantity
from taskgrain.words.errors import InputError, UsageError

_NAMED = 8
"""Kinds of tasks in the table."""
_MOST_NAMED = 1000
"""The same in JSON."""


def show(path: Path, graph: GraphOptions, drawn: str, output: Path | None, as_json: bool) -> None:
    """Says what a graph from a file allows, and writes or draws it if an output is named."""
    if ignored := [one for one in graph.given if one != "cores"]:
        raise UsageError(
            f"--{ignored[0].replace('_', '-')}: the graph is that of --from; give --cores alone with it"
        )
    if drawn == "json" and output is not None:
        if output.suffix.lower() in DRAWINGS:
            drawn = output.suffix[1:].lower()
        else:
            refuse_picture(
                output, f"a picture by {' or '.join(DRAWINGS)}, or a file for JSON by another name"
            )
    cores = len(graph.cores)
    found = read(path)
    bound, steps, heaviest = found.bound(), in_steps(found), kinds(found)
    told = _words(found)
    if drawn != "json":
        _draw(steps, heaviest, told, path, drawn, output)
        if output is None:
            return  # it is on standard output
    elif output is not None:
        _write(steps, path, output)
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
    print_rows(rows)
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


def _write(steps: Steps, path: Path, output: Path) -> None:
    from taskgrain.results import whole_file

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
    if steps.points > MOST_DRAWN:
        points = f"one of {steps.points} points: tasks, and those that pass outputs on"
        raise InputError("graph", points, f"at most {MOST_DRAWN} in a drawing")

    def words(task: int) -> str:
        name, label = graph.names[task], (graph.labels or graph.names)[task]
        return f"{label if label == name else f'{label} ({name})'}: {told(graph.durations[task])}"

    write_drawing(drawn, of_program(steps, path.name, heaviest, words), output)
