"""Shows what `--dry-run` found out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from taskgrain.cli.printer import print_json, printer
from taskgrain.measure.dry_run import Plan
from taskgrain.measure.progress import duration
from taskgrain.words.quantity import NOTHING, counted


def show_plan(plan: Plan, as_json: bool) -> None:
    """Prints a plan for a person, or as JSON."""
    if as_json:
        print_json(plan)
        return
    out = printer()
    out.table(["cell", "about"], [[one["cell"], _about(one)] for one in plan["cells"]])
    for name, command in plan["commands"].items():
        out.whole(f"{name}: TASKGRAIN_CORES={','.join(map(str, plan['cores']))} {shlex.join(command)}")
    if plan["seconds"] is not None:
        cells, time = counted(len(plan["cells"]), "cell"), duration(plan["seconds"])
        budget = plan["budget"]
        end = "" if budget is None else f"; the budget ends it after {duration(budget)}"
        out.text(f"{cells}, about {time} on a quiet machine{end}")


def _about(cell: Mapping[str, Any]) -> str:
    if cell.get("unsupported"):
        return "unsupported"
    return NOTHING if cell["seconds"] is None else duration(cell["seconds"])
