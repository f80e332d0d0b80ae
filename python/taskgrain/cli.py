"""The command `taskgrain`. What a command computes lies elsewhere; here is how it is called and answers."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup
from typer.exceptions import TyperException

import taskgrain
from taskgrain import dry_run as dry
from taskgrain import machine, measure, numbers, quantity, single
from taskgrain import study as studies
from taskgrain import system as systems_module
from taskgrain.errors import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, InputError, TaskgrainError, UsageError
from taskgrain.graph_command import graph
from taskgrain.options import (
    DryRun,
    GraphOptions,
    Json,
    Measuring,
    Names,
    Systems,
    Text,
    flag,
    graph_options,
    measuring_options,
    setting,
    split_names,
)
from taskgrain.study_file import schema_text
from taskgrain.table import Printer
from taskgrain.topology import choose_cores


class _Commands(TyperGroup):
    """Its help shows a switch as `--json`, not as `--json <bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _bare(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command:
            _bare(command.get_params(ctx))
        return command


def _bare(options: list[Any]) -> list[Any]:
    for one in options:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return options


app = typer.Typer(
    name="taskgrain",
    cls=_Commands,
    help="How small a task may get before a parallel runtime eats the gain.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _out() -> Printer:
    return Printer(Console())


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False, default=str) + "\n")


def _finish(measured: measure.Measured) -> None:
    if not measured.complete:
        raise typer.Exit(EXIT_FAILED)


@app.command(epilog="Example: taskgrain doctor --json")
def doctor(folders: Systems = None, as_json: Json = False) -> None:
    """Says what this machine is, how quiet it is, and which systems can run."""
    found = systems_module.discover(folders or [])
    facts, now = machine.facts(), machine.state()
    warnings = machine.warnings(facts, now)
    probes = {name: system.probe() for name, system in found.items()}
    groups = systems_module.groups(found.values())
    if as_json:
        listed = {
            name: {"available": one.available, "missing": list(one.missing)} for name, one in probes.items()
        }
        parts = {name: asdict(one) for name, one in groups.items()}
        said = {"machine": facts, "state": now.as_dict(), "systems": listed, "groups": parts}
        _print_json(said | {"warnings": warnings})
        return
    out, cpu = _out(), facts["cpu"]
    assert isinstance(cpu, dict)
    out.text(f"{cpu['model']}, {cpu['physical_cores']} cores, {len(cpu['available'])} hardware threads")
    out.text(f"{facts['os']}, kernel {facts['kernel']}")
    out.text(f"others take {quantity.percent(now.busy_share, 1)} of the cores")
    rows = [[str(n.core), quantity.percent(n.lost, 2), quantity.seconds(n.largest_gap, 2)] for n in now.noise]
    out.table(["core", "time lost", "largest gap"], rows)
    for name, probe in probes.items():
        missing = f"no {', no '.join(probe.missing)}"
        out.text(f"{'ok ' if probe.available else 'no '} {name}{'' if probe.available else ': ' + missing}")
        if probe.missing and probe.install:
            out.text(f"     install: {probe.install}")
    rows = [
        [name, f"{one.megabytes} MB", one.install, ", ".join(one.systems)] for name, one in groups.items()
    ]
    out.table(["group", "on disk", "set up by", "systems"], rows, texts=4)
    for warning in warnings:
        out.text(f"warning: {warning}", "yellow")


@app.command(epilog="Example: taskgrain systems --systems ./my-runtimes")
def systems(folders: Systems = None, as_json: Json = False) -> None:
    """Lists the systems, and what those that cannot run here lack."""
    found = systems_module.discover(folders or [])
    if as_json:
        _print_json([systems_module.as_dict(system) for system in found.values()])
        return
    rows = []
    for name, system in found.items():
        probe = system.probe()
        state = "yes" if probe.available else "no " + ", no ".join(probe.missing)
        rows.append([name, system.title, system.paradigm, system.language, state])
    _out().table(["name", "title", "paradigm", "language", "runs here"], rows, texts=5)


@app.command(
    epilog="Example: taskgrain run --system mpi --pattern nearest --radix 5 --steps 1000 --iterations 1e3"
)
@graph_options
def run(
    graph: GraphOptions,
    names: Names = None,
    repeats: Annotated[Text, setting("--repeats", "N", "Timed repeats (default 5).")] = None,
    warmup: Annotated[Text, setting("--warmup", "N", "Repeats before those (default 1).")] = None,
    folders: Systems = None,
    as_json: Json = False,
    dry_run: DryRun = False,
) -> None:
    """Runs one configuration, and prints every sample."""
    chosen = systems_module.select(systems_module.discover(folders or []), split_names(names))
    wanted = single.Wanted(
        workload=graph.workload,
        steps=graph.count("steps", 1000, low=1),
        iterations=graph.count("iterations", 0),
        repeats=numbers.integer(repeats or 5, "--repeats", low=1, high=100_000),
        warmup=numbers.integer(warmup or 1, "--warmup", high=100_000),
        validate=graph.validate,
        isa=graph.isa,
    )
    if dry_run:
        _show_plan(dry.run(chosen, wanted.workload, graph.cores), as_json)
        return
    outcomes = [single.run(system, graph.cores, wanted) for system in chosen]
    if as_json:
        _print_json({"schema": 1, "runs": outcomes})
    else:
        single.show(_out(), outcomes)
    if any("error" in outcome for outcome in outcomes):
        raise typer.Exit(EXIT_FAILED)


@app.command(
    epilog="Example: taskgrain metg --system mpi,openmp_task --pattern stencil_1d --width 16 --budget 60"
)
@graph_options
@measuring_options
def metg(
    graph: GraphOptions,
    how: Measuring,
    names: Names = None,
    threshold: Annotated[
        Text, setting("--threshold", "X", "The efficiency that METG is for (default 0.5).")
    ] = None,
    precision: Annotated[
        Text, setting("--precision", "X", "Wished half-width of the interval (default 0.1).")
    ] = None,
    repeats: Annotated[Text, setting("--repeats", "N", "Timed repeats of a run (default 3).")] = None,
    min_rounds: Annotated[
        Text, setting("--min-rounds", "N", "Rounds that every cell gets (default 8).")
    ] = None,
    max_rounds: Annotated[
        Text, setting("--max-rounds", "N", "Rounds that a cell gets at most (default 40).")
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Measure the whole curve.", rich_help_panel="Measuring")
    ] = False,
) -> None:
    """Finds METG of systems on one workload. (--iterations says where the search begins.)"""
    chosen = systems_module.select(systems_module.discover(how.folders or []), split_names(names))
    given = {"threshold": threshold, "precision": precision, "budget": how.budget, "repeats": repeats}
    given |= {"min_rounds": min_rounds, "max_rounds": max_rounds, "steps": graph.given.get("steps")}
    given |= {"first_iterations": graph.given.get("iterations")}
    table: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    settings = studies.take_settings(
        table | {"validate": graph.validate, "isa": graph.isa, "sweep": sweep}, flag
    )
    study = studies.Study(tuple(one.name for one in chosen), (graph.workload,), settings)
    _measure(study, chosen, graph.cores, how)


def _schema(wished: bool) -> None:
    if wished:
        sys.stdout.write(schema_text())
        raise typer.Exit


@app.command(epilog="Example: taskgrain study studies/default.toml --output results/default")
@measuring_options
def study(
    how: Measuring,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, a TOML file.")],
    schema: Annotated[
        bool,
        typer.Option("--schema", callback=_schema, is_eager=True, help="Print the JSON schema of studies."),
    ] = False,
    cores: Annotated[
        Text, typer.Option("--cores", metavar="N", help="Cores to use, if the study does not say.")
    ] = None,
) -> None:
    """Measures a study; goes on where an earlier call was stopped."""
    wished = numbers.integer(cores or 0, "--cores")
    made = studies.read(file, len(choose_cores(wished)))
    used = choose_cores(made.settings.cores or wished)
    if how.budget is not None:
        seconds = numbers.seconds(how.budget, "--budget", above=False)
        made = replace(made, settings=replace(made.settings, budget=seconds))
    chosen = systems_module.select(
        systems_module.discover(how.folders or []), made.systems, f"{file}: systems", made.systems_named
    )
    _measure(made, chosen, used, replace(how, output=how.output or Path("results") / file.stem))


def _measure(
    study: studies.Study,
    chosen: Sequence[systems_module.System],
    cores: Sequence[int],
    how: Measuring,
) -> None:
    if how.dry_run:
        _show_plan(dry.study(study, chosen, cores), how.as_json)
        return
    output = how.output
    measured = measure.measure(study, chosen, cores, output, retry=how.retry, quiet=how.quiet)
    if how.as_json:
        folder = str(output) if output else None
        _print_json({"schema": 1, "output": folder, "cells": measured.cells, "failures": measured.failures})
    else:
        out = _out()
        out.metg(measured.cells, {one.name: one.title for one in chosen}, study.settings.threshold)
        out.warnings(measured.cells)
        for failure in measured.failures:
            out.text(f"{failure['cell']}: {failure['error']}: {failure['message']}", "red")
        if output is not None:
            out.text(f"results: {output}; `taskgrain report {output}` makes the report")
    _finish(measured)


def _show_plan(plan: dry.Plan, as_json: bool) -> None:
    if as_json:
        _print_json(plan)
    else:
        dry.show(_out(), plan)


app.command(epilog="Example: taskgrain graph --pattern fft --width 8 --format png -o fft.png")(graph)


@app.command(epilog="Example: taskgrain report results/patterns --figures paper/figures --format pdf")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: report.html in DIR.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", metavar="DIR", help="Also draw each plot, in a size for two-column papers."
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="NAME", help="Of the figures: svg, png, pdf, or several (default all)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the report of a results folder: one HTML file; and its plots as figures if wished."""
    if not folder.is_dir():
        raise InputError("DIR", str(folder), "a results folder")
    if formats and figures is None:
        raise UsageError("--format is for figures: give --figures DIR too")
    from taskgrain.report import FORMATS, draw, write  # slow to load; no other command needs it

    target = write(folder, output)
    kinds = split_names(formats) if formats else FORMATS
    drawn = draw(folder, figures, kinds) if figures else []
    if as_json:
        _print_json({"report": str(target), "figures": [str(one) for one in drawn]})
        return
    out = _out()
    out.text(str(target))
    if drawn:
        out.text(f"{figures}: {len(drawn)} figures")


@app.command(epilog="Example: taskgrain export results/patterns --table runs -o runs.parquet")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    table: Annotated[
        str,
        typer.Option(
            "--table",
            metavar="NAME",
            help="runs, cells, curve, reference (default cells).",
            show_default=False,
        ),
    ] = "cells",
    kind: Annotated[
        Text, typer.Option("--format", metavar="NAME", help="csv, parquet (default: by FILE's name, or csv).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
) -> None:
    """Writes a table of a results folder for other programs (docs/reference/export.md)."""
    from taskgrain.export import write  # polars is slow to load; no other command needs it

    for warning in write(folder, table, kind, output):
        sys.stderr.write(f"taskgrain: {folder}: {warning}\n")


def _version(wished: bool) -> None:
    if wished:
        sys.stdout.write(f"taskgrain {taskgrain.__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _complain(text: str) -> None:
    sys.stderr.write("taskgrain: " + " ".join(text.split()) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The program: exit code 0, 1 (something failed), 2 (bad input) or 130 (interrupted)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(words, prog_name="taskgrain", standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer makes this of a KeyboardInterrupt
            raise KeyboardInterrupt
        sys.stdout.flush()  # here, where a full disk still finds words
        sys.exit(code if isinstance(code, int) else 0)
    except TaskgrainError as error:
        if error.exit_code == EXIT_INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be interrupted
        _complain(str(error))
        sys.exit(error.exit_code)
    except TyperException as error:
        message = getattr(error, "format_message", error.__str__)()
        if message:
            _complain(message)
        sys.exit(getattr(error, "exit_code", EXIT_INPUT))
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        _complain(f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what could not be printed would be tried, and complained about, again
        sys.exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
