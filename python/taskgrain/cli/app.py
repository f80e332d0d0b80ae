"""The command `taskgrain`. Each verb is in a file of its own, which is imported when somebody calls it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import taskgrain
from taskgrain.words.errors import EXIT_INPUT

EXAMPLES = {
    "doctor": "taskgrain doctor --json",
    "systems": "taskgrain systems --systems ./my-runtimes",
    "presets": "taskgrain presets halo-2d",
    "run": "taskgrain run --system mpi --pattern nearest --radix 5 --steps 1000 --iterations 1e3",
    "faults": "taskgrain faults --system dask,mpi --kill 50 --iterations 1e4",
    "metg": "taskgrain metg --system mpi,openmp_task --pattern stencil_1d --width 16 --budget 60",
    "advise": "taskgrain advise --at 20us --neighbours 5 --output-bytes 4K --system starpu,mpi --measure",
    "study": "taskgrain study studies/default.toml --output results/default",
    "submit": "taskgrain submit study.toml --nodes 1,2,4 --time 30m --dry-run",
    "predict": "taskgrain predict results/default --workload stencil_1d/width=16 --work 10m --steps 1000",
    "productivity": "taskgrain productivity results/default --workload stencil_1d/width=16 --figures figures",
    "graph": "taskgrain graph --pattern fft --width 8 --format png -o fft.png",
    "record": "taskgrain record --output graph.json -- ./program --size 1000",
    "report": "taskgrain report results/patterns --figures paper/figures --format pdf",
    "open": "taskgrain open results/patterns",
    "compare": "taskgrain compare results/old results/new --margin 5% --fail-on-regression",
    "history": "taskgrain history perf/history.jsonl --add results/today --fail-on-regression",
    "export": "taskgrain export results/patterns --table runs -o runs.csv",
}
"""Each verb with an example of its use. It is the function of its name in the module of its name."""

# The help is plain text up to 120 columns wide: to import rich would double the time that it takes.
_HELP: dict[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 120},
}


class _Command(TyperCommand):
    """Its help has a section for each kind of option."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            kind = "Arguments" if one.param_type_name == "argument" else "Options"
            if record := one.get_help_record(ctx):
                sections.setdefault(getattr(one, "rich_help_panel", None) or kind, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


RUNS_A_PROGRAM = ("record",)
"""Commands whose first argument is a program: the options after it are the program's."""


class _Verbs(Mapping[str, TyperCommand]):
    """The commands by name. A command is made, and its module imported, when somebody asks for it."""

    def __iter__(self) -> Iterator[str]:
        return iter(EXAMPLES)

    def __len__(self) -> int:
        return len(EXAMPLES)

    def __getitem__(self, name: str) -> Any:
        example = EXAMPLES[name]
        verb = getattr(import_module(f"taskgrain.cli.{name}"), name)
        alone = typer.Typer(add_completion=False, **_HELP)
        alone.command(name, cls=_Command, epilog=f"Example: {example}")(verb)
        command = typer.main.get_command(alone)
        command.allow_interspersed_args = name not in RUNS_A_PROGRAM
        return command


class _Group(TyperGroup):
    """Its help has the whole first paragraph about each verb."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"commands": _Verbs()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.help) for name, one in self.commands.items()])


app = typer.Typer(
    name="taskgrain",
    cls=_Group,
    help="Measures how small tasks may get before a runtime system costs more than it gains.",
    invoke_without_command=True,
    **_HELP,
)


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
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    prefix: Annotated[bool, typer.Option("--prefix", callback=_prefix, is_eager=True, help=_PREFIX)] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        sys.stdout.write(ctx.get_help() + "\n")
        raise typer.Exit(EXIT_INPUT)
