"""`taskgrain advise`: which systems run tasks of a given time efficiently, and by what margin."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
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
    Systems,
    Text,
    equipped,
    found_systems,
    graph_options,
    setting,
    split_names,
)
from taskgrain.study.fields import rivals
from taskgrain.words import numbers
from taskgrain.words.errors import EXIT_FAILED, InputError, Interrupted, UsageError

if TYPE_CHECKING:
    from taskgrain.answers.advise import Answer, Question
    from taskgrain.drive.system import System
    from taskgrain.results.curves import Curve

_TASKS_PER_CORE = "8"
"""Where nothing is said: with one, no task has a neighbour on its own core, and few have two."""
_BUDGET = "90s"
_SHOWN = 5
"""Other workloads of a folder that are named."""


@graph_options()
def advise(
    graph: GraphOptions,
    at: Annotated[
        Text,
        typer.Option(
            "--at",
            metavar="TIME",
            help="What the work of a task takes alone on one core, such as 20us. It must be given.",
            show_default=False,
        ),
    ] = None,
    names: Names = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="DIR", help="A results folder to answer from. You can repeat it."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure on this machine what the folders do not tell.")
    ] = False,
    budget: Annotated[
        Text,
        typer.Option(
            "--budget", metavar="TIME", help=f"Time for --measure (default {_BUDGET}).", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder to keep what --measure measures, for a later --from.",
        ),
    ] = None,
    folders: Systems = None,
    env: Env = None,
    launcher: Launcher = None,
    hosts: Annotated[Text, setting("hosts")] = None,
    hostfile: Annotated[Text, setting("hostfile")] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
) -> None:
    """Says which system takes the least time for tasks of a given time, and which reach 50, 80 and 90 %
    efficiency, by what margin.

    It answers from results folders (--from), and with --measure it measures what is missing. Without --width,
    --tasks-per-core or --like, a step has 8 tasks for each core.
    """
    if "iterations" in graph.given:
        raise UsageError("--iterations: --at says how long the tasks are; give only that")
    if at is None:
        raise UsageError("--at: is missing; give the time of a task, such as 20us")
    work = numbers.duration(at, "--at")
    if env and sources:
        raise UsageError("--env: results of --from have an environment of their own; give one of the two")
    if not measure:
        own = {"--budget": budget, "--output": output, "--env": env or None, "--launcher": launcher}
        own |= {"--hosts": hosts, "--hostfile": hostfile}
        for option, given in own.items():
            if given is not None:
                raise UsageError(f"{option} is for --measure: give that too")
        for name in ("steps", "validate", "isa"):
            if name in graph.given:
                raise UsageError(f"--{name} is for --measure: give that too")
        if not sources:
            raise UsageError("--from: give a results folder to answer from, or --measure")
    seconds = numbers.seconds(_BUDGET if budget is None else budget, "--budget")

    from taskgrain.answers import advise as advice
    from taskgrain.cli.advice_table import as_dict, show
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.results import curves

    graph = GraphOptions(
        with_defaults(graph.given), simulated=not measure
    )  # folders may be of larger machines
    question = advice.Question(work, graph.workload, len(graph.cores), graph.count("steps", 0))
    known = found_systems(folders, launcher)
    found: list[Curve] = []
    notes: list[str] = []
    for folder in dict.fromkeys(sources or []):
        new, odd = curves.opened(folder)
        found += new
        notes += [f"{folder}: {one}" for one in odd]
    if measure:
        found, left_out = _of_this_machine(found)
        notes += left_out
    wished = _systems(names, known, found, question, measure)
    newest = advice.newest(found, question)
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
        there = {"hosts": hosts or "", "hostfile": hostfile or ""}
        known |= {one.name: one for one in equipped([known[name] for name in lacking if name in known], env)}
        with contextlib.ExitStack() as stack:
            into = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taskgrain-")))
            more, interrupted = _measured(
                question, lacking, known, graph, seconds, there, into, quiet, notes, kept=output is not None
            )
        answers |= more
    else:
        notes += _others(found, question, answers)
    titles = {name: one.title for name, one in known.items()}
    ordered = _of_one_kind(list(answers.values()), notes)
    if as_json:
        print_json(as_dict(question, ordered, titles) | {"notes": notes, "interrupted": bool(interrupted)})
    else:
        show(printer(), question, ordered)
        for one in notes:
            note(one)
    if interrupted:
        raise Interrupted(interrupted)
    if not any(one.curve and one.efficiency.how != "unknown" for one in ordered):
        raise typer.Exit(EXIT_FAILED)


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """The graph options with what they leave open."""
    found = dict(given)
    free = not rivals("width", found) and "width" not in found
    if free and "like" not in found and found.get("pattern") != "dag" and "dag" not in found:
        found["tasks_per_core"] = _TASKS_PER_CORE
    return found


def _of_this_machine(found: Sequence[Curve]) -> tuple[list[Curve], list[str]]:
    """The curves that what is measured now may stand beside, and which are left out."""
    if not found:
        return [], []
    from taskgrain.machine import facts

    here = facts.fingerprint(facts.facts())
    own = [one for one in found if one.fingerprint == here]
    left = dict.fromkeys(str(one.folder) for one in found if one.fingerprint != here)
    return own, [f"{folder}: is of another machine, and not used beside what is measured" for folder in left]


def _of_one_kind(answers: Sequence[Answer], notes: list[str]) -> list[Answer]:
    """The answers without those that are simulated where others are measured; a note says so."""
    simulated = [one for one in answers if one.curve and one.curve.simulated]
    if not simulated or not any(one.curve and not one.curve.simulated for one in answers):
        return list(answers)
    names = ", ".join(one.system for one in simulated)
    notes.append(f"{names}: left out, as simulated and not measured like the others; ask for it by --system")
    return [one for one in answers if one not in simulated]


def _systems(
    names: list[str] | None,
    known: Mapping[str, System],
    found: Sequence[Curve],
    question: Question,
    measure: bool,
) -> list[str]:
    """The systems to answer for. Raises `InputError` for a name that nothing is known of."""
    from taskgrain.answers.advise import newest
    from taskgrain.drive import catalogue

    measured = list(newest(found, question))
    if names is None and not measure:
        return measured
    chosen: list[str] = []
    for name in split_names(names):
        if name in ("all", "default"):
            chosen += [one.name for one in catalogue.select(known, name)]
        elif name in known or any(one.system == name for one in found):
            chosen.append(name)
        else:
            raise InputError("--system", name, [*known, "all", "default"], "taskgrain systems")
    return list(dict.fromkeys([*chosen, *(measured if names is None else [])]))


def _measured(
    question: Question,
    lacking: Sequence[str],
    known: Mapping[str, System],
    graph: GraphOptions,
    budget: float,
    hosts: Mapping[str, str],
    folder: Path,
    quiet: bool,
    notes: list[str],
    *,
    kept: bool,
) -> tuple[dict[str, Any], str]:
    """The answers for systems that are measured now, and why it was interrupted, if it was."""
    from taskgrain.answers import advise as advice
    from taskgrain.measure import call
    from taskgrain.measure.until_known import study, until_known
    from taskgrain.results import curves
    from taskgrain.study.settings import take_settings
    from taskgrain.words.quantity import counted
    from taskgrain.words.warnings import grouped

    problems: dict[str, str] = {}
    for name in lacking:
        probe = known[name].probe() if name in known else None
        if probe is None or not probe.available:
            missing = f"no {', no '.join(probe.missing)}" if probe else "it is not among the systems here"
            problems[name] = f"it cannot run here: {missing}"
    able = [known[name] for name in lacking if name not in problems]
    interrupted = ""
    found: Sequence[Curve] = ()
    if able:
        table = {"budget": budget, "validate": graph.validate, "isa": graph.isa, **hosts}
        table |= {"launcher": able[0].launcher or "auto"}  # all have the same
        table |= {"steps": graph.given["steps"]} if "steps" in graph.given else {}
        able.sort(key=lambda one: one.bound)  # nobody can choose a bound, so that its number can wait
        fit = question.fit(budget)
        short = (
            f"a budget of {budget:g} s is too short for more than {counted(fit, 'system')} with such tasks"
        )
        problems |= {one.name: f"{short}; raise --budget, or choose by --system" for one in able[fit:]}
        able = able[:fit]
        asked = study(question, [one.name for one in able], take_settings(table, "--{}".format))
        measured = call.measure(
            asked,
            able,
            graph.cores,
            folder,
            retry=False,
            quiet=quiet,
            kept=kept,
            experiment=until_known(question.work),
        )
        interrupted = measured.interrupted
        found = curves.read(folder, interrupted=bool(interrupted))
        problems |= {one.cell.partition("/")[0]: f"{one.kind_of}: {one.message}" for one in measured.failures}
        # The answer is for the time that was asked for, whatever exactly was measured.
        said = [(cell.name, one) for cell in measured.cells for one in cell.warnings]
        said = [(cell, one) for cell, one in said if one.code != "task_time_off"]
        notes += [
            f"{group.cells[0].partition('/')[0]}{' and others' if len(group.cells) > 1 else ''}: {group.text}"
            for group in grouped(said)
        ]
    newest = advice.newest(found, question)
    ended = "it was interrupted" if interrupted else "the budget ended"
    default = f"{ended} before it was measured"
    answers = {}
    for name in lacking:
        curve = newest.get(name)
        problem = "" if curve and curve.points else problems.get(name, default)
        answers[name] = advice.answer(
            question, name, curve if curve and curve.points else None, problem, now=True
        )
    return answers, interrupted


def _others(found: Sequence[Curve], question: Question, answers: Mapping[str, Any]) -> list[str]:
    """What the folders have of other workloads, so that nobody takes these for the answer."""
    from taskgrain.answers.advise import differences

    if any(one.curve for one in answers.values()):
        return []
    notes: dict[str, None] = {}
    for one in found:
        if differs := differences(one, question):
            notes[f"{one.folder}: has {one.workload.name}: {', '.join(differs)}; not what was asked"] = None
    listed = list(notes)
    more = [f"and {len(listed) - _SHOWN} other workloads"] if len(listed) > _SHOWN else []
    return listed[:_SHOWN] + more
