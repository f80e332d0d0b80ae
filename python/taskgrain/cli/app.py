"""The command `taskgrain`: its verbs, each in a file of its own, which imports what it needs when it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import taskgrain
from taskgrain.cli.doctor import doctor
from taskgrain.cli.export import export
from taskgrain.cli.graph import graph
from taskgrain.cli.metg import metg
from taskgrain.cli.report import report
from taskgrain.cli.run import run
from taskgrain.cli.study import study
from taskgrain.cli.systems import systems

VERBS: dict[Callable[..., None], str] = {
    doctor: "taskgrain doctor --json",
    systems: "taskgrain systems --systems ./my-runtimes",
    run: "taskgrain run --system mpi --pattern nearest --radix 5 --steps 1000 --iterations 1e3",
    metg: "taskgrain metg --system mpi,openmp_task --pattern stencil_1d --width 16 --budget 60",
    study: "taskgrain study studies/default.toml --output results/default",
    graph: "taskgrain graph --pattern fft --width 8 --format png -o fft.png",
    report: "taskgrain report results/patterns --figures paper/figures --format pdf",
    export: "taskgrain export results/patterns --table runs -o runs.parquet",
}
"""Each verb with an example of its use."""


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
    help="Measures how small tasks may get before a runtime system costs more than it gains.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


for _verb, _example in VERBS.items():
    app.command(epilog=f"Example: {_example}")(_verb)


def _version(wished: bool) -> None:
    if wished:
        sys.stdout.write(f"taskgrain {taskgrain.__version__}\n")
        raise typer.Exit


def _prefix(wished: bool) -> None:
    if wished:
        from taskgrain.drive.catalogue import package_folder

        sys.stdout.write(f"{package_folder()}\n")
        raise typer.Exit


_PREFIX = "Print the folder of headers, libraries and CMake files: CMAKE_PREFIX_PATH of a driver's build."


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    prefix: Annotated[bool, typer.Option("--prefix", callback=_prefix, is_eager=True, help=_PREFIX)] = False,
) -> None:
    pass
