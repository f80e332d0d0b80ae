"""`taskgrain advise`: which systems run tasks of a given time efficiently, and by what margin."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.notes import note
from taskgrain.cli.options import (
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
    setting,
    split_names,
    valued,
)
from taskgrain.study.fields import rivals
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import EXIT_FAILED, InputError, Interrupted, UsageError
from taskgrain.words.origin import together

if TYPE_CHECKING:
    from taskgrain.answers.advise import Question
    from taskgrain.answers.program import Program
    from taskgrain.drive.system import System
    from taskgrain.measure.advise import Measured
    from taskgrain.results.curves import Curve

_TASKS_PER_CORE = "8"
"""The default: with one, no task has a neighbour on its own core, and few have two."""
_BUDGET = "90s"
_FEW_RUNS = 20.0
"""Runs of a graph that a budget must have room for."""
_LONGEST_NAME = 100
_BESIDE_A_FILE = ("cores", "output_bytes", "kernel", "scratch_bytes", "samples", "validate", "isa")
"""The options of a graph that the file of a program does not set."""


@graph_options()
def advise(
    context: typer.Context,
    graph: GraphOptions,
    at: Annotated[
        Text,
        valued("--at", "TIME", "What the work of a task takes alone on one core, such as 20us."),
    ] = None,
    file: Annotated[
        Path | None,
        valued(
            "--graph",
            "FILE",
            "Answer for the tasks of a program instead: a file as graph --from and record have it. "
            "Without --from, it is measured.",
        ),
    ] = None,
    unit: Annotated[
        Text,
        valued("--unit", "TIME", "The time that 1 means in a --graph that does not say it, such as 1us."),
    ] = None,
    scale: Annotated[
        Text,
        valued("--scale", "X", "Ask for tasks of X times the time that --graph says (default 1)."),
    ] = None,
    names: Names = None,
    sources: Annotated[
        list[Path] | None,
        valued("--from", "DIR", "A results folder to answer from. You can repeat it."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure on this machine what the folders do not tell.")
    ] = False,
    budget: Annotated[Text, valued("--budget", "TIME", f"Time to measure (default {_BUDGET}).")] = None,
    output: Annotated[
        Path | None,
        valued("--output -o", "DIR", "Folder to keep what --measure measures, for a later --from."),
    ] = None,
    folders: Systems = None,
    env: Env = None,
    launcher: Launcher = None,
    hosts: Annotated[Text, setting("hosts")] = None,
    hostfile: Annotated[Text, setting("hostfile")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Says which system takes the least time for your program or for tasks of a given time.

    With the graph of a program (--graph), it measures how long that takes with each system, and says how many
    of its tasks are too short.

    With the time of a task (--at), it says which systems reach 50, 80 and 90 % efficiency, by what margin:
    from results folders (--from), or with --measure on this machine. Without --width, --tasks-per-core or
    --like, a step has 8 tasks for each core.
    """
    begun = time.monotonic()
    if "iterations" in graph.given and file is None:
        raise UsageError("--iterations: --at says how long the tasks are; give only that")
    program: Program | None = None
    if file is not None:
        measure = measure or not sources
        program = _program(file, unit, scale, graph, at)
        temporary = tempfile.TemporaryDirectory(prefix="taskgrain-", ignore_cleanup_errors=True)
        graph = _measured_graph(program, graph, Path(context.with_resource(temporary)))
    elif unit is not None or scale is not None:
        raise UsageError(f"{'--scale' if unit is None else '--unit'} is for --graph: give that too")
    elif at is None:
        raise UsageError("--at: is missing; give the time of a task, such as 20us, or --graph")
    work = program.mean if program else numbers.duration(at, "--at")
    if env and sources:
        raise UsageError("--env: results of --from have an environment of their own; give one of the two")
    if not measure:
        own = {"--budget": budget, "--output": output, "--env": env or None, "--launcher": launcher}
        own |= {"--hosts": hosts, "--hostfile": hostfile}
        own |= {f"--{name}": graph.given.get(name) for name in ("steps", "validate", "isa")}
        if given := [option for option, value in own.items() if value is not None]:
            raise UsageError(f"{given[0]} is for --measure: give that too")
        if not sources:
            raise UsageError("--from: give a results folder to answer from, or --measure")
    seconds = numbers.seconds(_BUDGET if budget is None else budget, "--budget")

    from taskgrain.answers import advise as advice
    from taskgrain.cli.advice_table import as_dict, show
    from taskgrain.cli.printer import print_json, printer

    # Folders may be of larger machines.
    graph = GraphOptions(with_defaults(graph.given), simulated=not measure)
    question = advice.Question(work, graph.workload, len(graph.cores), graph.count("steps", 0), program)
    known = found_systems(folders, launcher)
    found, notes = _stored(sources or [], only_here=measure)
    newest = advice.newest(found, question)
    wished = _systems(names, known, found, list(newest), measure)
    answers = {name: advice.answer(question, name, newest.get(name)) for name in wished}
    interrupted = ""
    if measure and (lacking := advice.missing(answers)):
        # Those that the user brought come first, where the budget is short.
        brought = {one.absolute() for one in folders or []}
        lacking.sort(
            key=lambda name: (
                name not in known or brought.isdisjoint((known[name].folder, *known[name].folder.parents))
            )
        )
        known |= {one.name: one for one in equipped([known[name] for name in lacking if name in known], env)}
        settings = {"budget": seconds, "hosts": hosts or "", "hostfile": hostfile or ""}
        more = _measured(question, lacking, known, graph, settings, output, quiet, begun)
        notes += more.notes
        answers |= more.answers
        interrupted = more.interrupted
    elif not any(one.curve for one in answers.values()):
        notes += advice.others(found, question)
    if program and measure and (least := program.least(question.cores)) > seconds / _FEW_RUNS:
        notes.append(
            f"a run takes {quantity.seconds(least, 2)} or more: give a longer --budget, or ask for shorter "
            "tasks by --scale"
        )
    ordered, left_out = together([*answers.values()])
    notes += left_out
    if as_json:
        titles = {name: one.title for name, one in known.items()}
        print_json(as_dict(question, ordered, titles) | {"notes": notes, "interrupted": bool(interrupted)})
    else:
        show(printer(), question, ordered)
        for one in notes:
            note(one)
    if interrupted:
        raise Interrupted(interrupted)
    if not any(one.known if program else one.efficiency.how != "unknown" for one in ordered if one.curve):
        raise typer.Exit(EXIT_FAILED)


def _stored(folders: Sequence[Path], *, only_here: bool) -> tuple[list[Curve], list[str]]:
    """The curves of results folders, and the notes about them; `only_here` leaves out other machines."""
    from taskgrain.answers.advise import of_machine
    from taskgrain.machine import facts
    from taskgrain.results import curves

    found: list[Curve] = []
    notes: list[str] = []
    for folder in dict.fromkeys(folders):
        new, odd = curves.opened(folder)
        found += new
        notes += [f"{folder}: {one}" for one in odd]
    if not only_here or not found:
        return found, notes
    found, left_out = of_machine(found, facts.fingerprint(facts.facts()))
    return found, notes + left_out


def _measured(
    question: Question,
    lacking: list[str],
    known: Mapping[str, System],
    graph: GraphOptions,
    settings: dict[str, Any],
    output: Path | None,
    quiet: bool,
    begun: float,
) -> Measured:
    from taskgrain.measure.advise import measured
    from taskgrain.measure.call import folder_for

    settings |= {"validate": graph.validate, "isa": graph.isa}
    settings |= {"steps": graph.given["steps"]} if "steps" in graph.given else {}
    if question.program and output:
        question = replace(question, workload=_kept_graph(question.program, graph, output).workload)
    kept = output is not None
    with folder_for(output) as into:
        return measured(
            question, lacking, known, graph.cores, settings, into, quiet=quiet, kept=kept, begun=begun
        )


def _program(file: Path, unit: str | None, scale: str | None, graph: GraphOptions, at: str | None) -> Program:
    """The program of a file. Refuses options that contradict it."""
    from taskgrain.answers.program import of_graph
    from taskgrain.graphs.files import read

    if at is not None:
        raise UsageError("--at: --graph says how long the tasks are; give one of the two")
    if ignored := [one for one in graph.given if one not in _BESIDE_A_FILE]:
        raise UsageError(f"--{ignored[0].replace('_', '-')}: the graph is that of --graph")
    factor = numbers.real(1.0 if scale is None else scale, "--scale", above=True, high=1e9)
    seconds = None if unit is None else numbers.duration(unit, "--unit")
    return of_graph(file.name, read(file, "--graph"), seconds, factor)


def _measured_graph(program: Program, graph: GraphOptions, folder: Path) -> GraphOptions:
    """The options with the program's graph in steps, in a folder. Cells, and so tables and reports, have the
    name of the file."""
    from taskgrain.results import store, whole_file

    name = re.sub(r"[^\w.+-]", "_", Path(program.name).stem, flags=re.ASCII)[:_LONGEST_NAME]
    steps = folder / f"{name}{store.STEPS}"
    whole_file.write(steps, program.steps.text(f"graph of {program.name}").encode("utf-8", "replace"))
    said = {"output_bytes": program.output_bytes} if program.output_bytes else {}
    return replace(graph, given={**said, **graph.given, "dag": str(steps)})


def _kept_graph(program: Program, graph: GraphOptions, output: Path) -> GraphOptions:
    """The same in the folder of the results, which has no other graph; the report reads the program's."""
    from taskgrain.graphs import graph_file
    from taskgrain.results import store, whole_file

    store.check_folder(output)
    here = Path(str(graph.given["dag"]))
    text = here.read_bytes()
    output = output.resolve()  # a study names one file alike, by whatever path the folder is given
    steps = next((one for one in output.glob(f"*{store.STEPS}") if one.read_bytes() == text), None)
    if steps is None and output.is_dir() and any(output.iterdir()):
        raise InputError("--output", str(output), "a new or empty folder, or one with results of this graph")
    store.make_folder(output)
    whole = graph_file.write(replace(program.graph, program=program.name))
    whole_file.write(output / store.GRAPH, whole.encode("utf-8", "replace"))
    if steps is None:
        whole_file.write(steps := output / here.name, text)
    return replace(graph, given={**graph.given, "dag": str(steps)})


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """The graph options, with defaults for the rest."""
    found = dict(given)
    free = not rivals("width", found) and "width" not in found
    if free and "like" not in found and found.get("pattern") != "dag" and "dag" not in found:
        found["tasks_per_core"] = _TASKS_PER_CORE
    return found


def _systems(
    names: list[str] | None,
    known: Mapping[str, System],
    found: Sequence[Curve],
    measured: list[str],
    measure: bool,
) -> list[str]:
    """The systems to answer for. Raises `InputError` for a name that nothing is known of."""
    from taskgrain.drive import catalogue

    if names is None and not measure:
        return measured
    chosen: list[str] = []
    for name in split_names(names):
        if name in ("all", "default"):
            chosen += [one.name for one in catalogue.select(known, name)]
        elif name in known or any(one.cell.system == name for one in found):
            chosen.append(name)
        else:
            raise InputError("--system", name, [*known, "all", "default"], "taskgrain systems")
    return list(dict.fromkeys([*chosen, *(measured if names is None else [])]))
