"""The contents of the report, in a terminal and for programs."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from taskgrain.answers import scaling, task_times
from taskgrain.answers.advise import LEVELS
from taskgrain.answers.data import Cell, Results
from taskgrain.answers.verdict import state_of_the_machine
from taskgrain.cli import advice_table
from taskgrain.cli.printer import Printer
from taskgrain.report import matrix, trust
from taskgrain.report.matrix import Entry
from taskgrain.results import columns, hosts, outcome
from taskgrain.words import quantity


def show(out: Printer, results: Results, at: float | None = None) -> None:
    """The table of systems and workloads, whether tasks of `at` seconds are long enough, and the checks."""
    found = matrix.of(results)
    workloads = [column.workload for column in found.columns]
    if state := state_of_the_machine(results.cells):
        out.text(state)
    if where := hosts.where(hosts.of_lines(results.lines)):
        out.text(f"Measured {where}.")
    for workload, sentences in task_times.said(results):
        out.text(f"{workload}: {' '.join(sentences)}")
    out.text("\nTimes the best system, and METG", "bold")
    lines: list[list[str]] = []
    for kind, group in found.groups:
        lines += [[f"{kind}:", *[""] * len(workloads)]]
        lines += [[f"  {row.system}", *map(_shown, row.entries)] for row in group]
    out.table(["system", *workloads], lines)
    if at is not None:
        out.text(f"\nEfficiency of tasks of {quantity.seconds(at, 2)}", "bold")
        head = ["system", "workload", "efficiency", *map(quantity.percent, LEVELS)]
        out.table(head, [_at_time(cell, at) for cell in results.cells], texts=2)
    for table in scaling.tables(results):
        out.show(replace(table, title=f"\n{table.title}"))
    for sentence in scaling.left_out(results):
        out.text(sentence)
    out.text("\nCan I trust it?", "bold")
    for check in trust.checks(results):
        out.text(f"{check.level}: {check.title}: {check.said}")


def _shown(entry: Entry | None) -> str:
    if entry is None:
        return quantity.NOTHING
    return f"{entry.text}, {outcome.short(entry.cell)}" if entry.ratio else entry.text


def _at_time(cell: Cell, at: float) -> list[str]:
    found = task_times.at(cell, at)
    if found is None:
        return [cell.system, cell.workload, "no curve", *[quantity.NOTHING] * len(LEVELS)]
    return [cell.system, cell.workload, found.text, *found.words]


def as_json(results: Results, at: float | None = None) -> dict[str, Any]:
    """The same for programs: times in seconds, null for what is not known."""
    found: dict[str, Any] = {
        "title": results.title,
        "state": state_of_the_machine(results.cells),
        "cells": [_cell(entry) for entry in matrix.of(results).entries],
        "checks": [asdict(check) for check in trust.checks(results)],
    }
    found["scaling"] = scaling.as_json(results)
    if asked := [*task_times.of_the_study(results)]:
        found["advice"] = [advice_table.as_dict(one.question, one.answers, {}) for one in asked]
    if at is not None:
        found["at"] = {"seconds": at, "cells": [_answer(cell, at) for cell in results.cells]}
    return found


def _cell(entry: Entry) -> dict[str, Any]:
    cell, ratio = entry.cell, entry.ratio
    return columns.plain(cell) | {
        "workload": cell.workload,
        "warnings": [one.shown() for one in cell.warnings],
        "text": outcome.long(cell),
        "place": entry.place,
        "times_the_best": ratio and asdict(ratio),
        "at": outcome.at_task_times(cell),
    }


def _answer(cell: Cell, at: float) -> dict[str, Any]:
    found = task_times.at(cell, at)
    answer: dict[str, Any] = {"cell": cell.name, "efficiency": None, "levels": []}
    if found:
        verdicts = zip(LEVELS, found.verdicts, strict=True)
        answer["efficiency"] = {"how": found.efficiency.how, **asdict(found.efficiency.found)}
        answer["levels"] = [{"level": level, "verdict": verdict} for level, verdict in verdicts]
    return answer
