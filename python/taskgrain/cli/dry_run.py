"""Shows what `--dry-run` found out."""

from __future__ import annotations

import shlex

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
    times = [cell["seconds"] for cell in plan["cells"]]
    shown = [NOTHING if time is None else duration(time) for time in times]
    out.table(["cell", "about"], [[c["cell"], time] for c, time in zip(plan["cells"], shown, strict=True)])
    for name, command in plan["commands"].items():
        out.text(f"{name}: TASKGRAIN_CORES={','.join(map(str, plan['cores']))} {shlex.join(command)}")
    if plan["seconds"] is not None:
        cells, time = counted(len(times), "cell"), duration(plan["seconds"])
        out.text(f"{cells}, about {time} on a quiet machine{_limit(plan)}")


def _limit(plan: Plan) -> str:
    return "" if plan["budget"] is None else f"; the budget ends it after {duration(plan['budget'])}"
