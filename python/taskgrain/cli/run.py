"""`taskgrain run`: one configuration, without any search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli.options import (
    DryRun,
    GraphOptions,
    Json,
    Names,
    Systems,
    Text,
    graph_options,
    split_names,
)
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import EXIT_FAILED

if TYPE_CHECKING:
    from taskgrain.cli.printer import Printer


def _run_option(name: str, text: str) -> Any:
    return typer.Option(name, metavar="N", help=text, rich_help_panel="Measuring", show_default=False)


@graph_options
def run(
    graph: GraphOptions,
    names: Names = None,
    repeats: Annotated[Text, _run_option("--repeats", "Timed repeats (default 5).")] = None,
    warmup: Annotated[Text, _run_option("--warmup", "Repeats before the timed ones (default 1).")] = None,
    folders: Systems = None,
    as_json: Json = False,
    dry_run: DryRun = False,
) -> None:
    """Runs one configuration, and prints every sample."""
    from taskgrain.cli.dry_run import show_plan
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.drive import catalogue
    from taskgrain.measure import dry_run as dry
    from taskgrain.measure import single

    chosen = catalogue.select(catalogue.discover(folders or []), split_names(names))
    wanted = single.Wanted(
        workload=graph.workload,
        steps=graph.count("steps", 1000, low=1),
        iterations=graph.count("iterations", 0),
        repeats=numbers.integer(5 if repeats is None else repeats, "--repeats", low=1, high=100_000),
        warmup=numbers.integer(1 if warmup is None else warmup, "--warmup", high=100_000),
        validate=graph.validate,
        isa=graph.isa,
    )
    if dry_run:
        show_plan(dry.run(chosen, wanted.workload, graph.cores), as_json)
        return
    outcomes = [single.run(system, graph.cores, wanted) for system in chosen]
    if as_json:
        print_json({"schema": 1, "runs": outcomes})
    else:
        _show(printer(), outcomes)
    if any("error" in outcome for outcome in outcomes):
        raise typer.Exit(EXIT_FAILED)


def _show(out: Printer, outcomes: Sequence[dict[str, Any]]) -> None:
    """Prints every sample and a summary."""
    for one in outcomes:
        out.text(
            f"{one['system']}  {one['workload']}, {one['steps']} steps, {one['iterations']} iterations",
            "bold",
        )
        if "error" in one:
            out.text(f"{one['error']}: {one['message']}", "red")
            if one["log"]:
                out.text(one["log"])
            continue
        out.text("  " + "  ".join(quantity.seconds(value) for value in one["seconds"]))
        out.text(f"  median      {quantity.seconds(one['median_seconds'])}")
        out.text(f"  tasks       {one['tasks']} (all executed), {one['dependencies']} dependences")
        out.text(f"  granularity {quantity.seconds(one['granularity'])} per task on {one['cores']} cores")
        out.text(f"  rate        {quantity.rate(one['rate'], one['work_unit'])}")
        out.text(f"  memory      {quantity.size(one['peak_rss_bytes'])}")
        for warning in one["warnings"]:
            out.text(f"  warning: {warning['text']}", "yellow")
