"""Answers of `taskgrain advise`, in a terminal and for programs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from taskgrain.answers.advice_words import NOT_KNOWN, efficiency, level, saved, sentences
from taskgrain.answers.advise import LEVELS, Answer, Question, choice
from taskgrain.answers.program import Program
from taskgrain.answers.program_words import LEGEND, costs
from taskgrain.cli.printer import Printer
from taskgrain.words import quantity
from taskgrain.words.interval import Interval
from taskgrain.words.origin import MEASURED, Origin


def show(out: Printer, question: Question, answers: Sequence[Answer]) -> None:
    """Prints the sentences, and the table if something is known."""
    cores = quantity.counted(question.cores, "core")
    tasks = f"Tasks of {quantity.seconds(question.work, 2)} of work on {question.workload.name}"
    out.text(f"{question.program.name if question.program else tasks}, {cores}", "bold")
    for sentence in sentences(question, answers):
        out.text(sentence)
    shown = [one for one in answers if one.curve]
    if not shown:
        return
    how = Origin.of(one.origin for one in shown if one.origin).how
    chosen = choice(answers)
    ranked = sorted(shown, key=lambda one: (bool(one.curve and one.curve.cell.bound), -one.speed))
    columns = {"system": [one.name for one in ranked]}
    if question.program:
        columns |= costs(question.program, ranked)
    else:
        columns["efficiency"] = [efficiency(one.efficiency) for one in ranked]
    if chosen and (chosen.best.known or chosen.sure):
        columns["the best saves"] = [saved(one, chosen) for one in ranked]
    asked = () if question.program else LEVELS
    reached = {quantity.percent(at): [level(one.levels[k]) for one in ranked] for k, at in enumerate(asked)}
    unknown = [name for name, column in reached.items() if {*column} == {NOT_KNOWN}]
    columns |= {name: column for name, column in reached.items() if name not in unknown}
    sources = [source(one) for one in ranked]
    if len(set(sources)) > 1:
        columns[how] = sources
    rows = [*zip(*columns.values(), strict=True)]
    out.table([*columns], rows)
    # A column that says one thing has no room in the table.
    if unknown:
        out.text(f"Not known of any system: whether it reaches {', '.join(unknown)}.")
    if len(set(sources)) == 1:
        out.text(f"All was {how} {'' if sources[0] == 'now' else 'in '}{sources[0]}.")
    if question.program:
        out.text(LEGEND + " Intervals are of 95 %, each by itself." * (how == "measured"))
    elif len(unknown) < len(LEVELS):
        out.text(
            "Under 50, 80 and 90 %: whether the tasks reach this efficiency, and how many times as long as "
            "needed they are. A task's time is what its work takes alone on one core, without the overhead "
            "that METG contains." + " Intervals are of 95 %, each by itself." * (how == "measured")
        )
    if "the best saves" in columns:
        out.text("Under the best saves: the share of a system's time that you save with the best one.")
    if any("?" in cell for row in rows for cell in row[1:]):
        out.text("?: the runs set no bound on this side of the interval.")
    if any(one.efficiency.how == "between" for one in shown):
        out.text("≈: between two sizes that were measured.")


def source(one: Answer) -> str:
    """The source of a number: the folder, and the day."""
    if one.curve is None:
        return quantity.NOTHING
    if one.measured_now:
        return "now"
    day = (
        time.strftime("%Y-%m-%d", time.gmtime(one.curve.cell.time)) if one.curve.cell.time else "unknown day"
    )
    return f"{one.curve.folder.name or one.curve.folder}, {day}"


def as_dict(question: Question, answers: Sequence[Answer], titles: Mapping[str, str]) -> dict[str, Any]:
    """The same for programs: times in seconds, shares of one, null for what is not known."""
    chosen = choice(answers)
    asked = {"at": question.work, "workload": question.workload.name, "cores": question.cores}
    program = question.program
    return {
        "schema": 1,
        "question": asked | {"fields": question.workload.fields(), "levels": list(LEVELS)},
        **({"graph": _graph(program, question.cores)} if program else {}),
        "best": chosen.best.system if chosen and chosen.best.known else None,
        "answers": [
            _answer(one, titles, chosen.saved.get(one.system) if chosen else None)
            | ({"cost": asdict(program.cost(one.efficiency, one.occupied))} if program else {})
            for one in answers
        ],
    }


def _graph(program: Program, cores: int) -> dict[str, Any]:
    """The graph of a program: times in seconds."""
    told = {"file": program.name, "tasks": len(program.ranked), "work": program.total}
    told |= {"untimed": program.graph.untimed}
    told |= {"critical_path": program.bound.critical_path, "least_time": program.least(cores)}
    return told | {"steps": program.steps.number, "passed_on": program.steps.passed_on}


def _answer(one: Answer, titles: Mapping[str, str], saves: Interval | None) -> dict[str, Any]:
    curve = one.curve
    found = None
    if curve:
        found = {"folder": None if one.measured_now else str(curve.folder), "time": curve.cell.time}
        found |= {"machine": curve.machine, "now": one.measured_now, "disturbed": curve.cell.disturbed}
    return {
        "system": one.system,
        "bound": bool(curve and curve.cell.bound),
        "title": titles.get(one.system, one.system),
        "efficiency": {"how": one.efficiency.how, **asdict(one.efficiency.found), "at": one.efficiency.at},
        "best_saves": saves and asdict(saves),
        "levels": [asdict(each) for each in one.levels],
        "source": found,
        "problem": one.problem or None,
    } | (one.origin or MEASURED).fields
