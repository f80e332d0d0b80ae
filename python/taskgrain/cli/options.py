"""The options that several commands share. A command takes those of a graph with `@graph_options`, those of a
measurement with `@measuring_options`:

    @app.command()
    @graph_options
    @measuring_options
    def metg(graph: GraphOptions, how: Measuring, …) -> None:

and finds what was given in `graph` and `how`; so they are the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from taskgrain.machine.topology import choose_cores
from taskgrain.study.settings import ISAS, VALIDATE
from taskgrain.study.workload import Workload
from taskgrain.words import numbers

_FLAGS: dict[str, tuple[str, str]] = {
    "pattern": ("NAME", "Dependence pattern, such as stencil_1d, nearest, fft (default stencil_1d)."),
    "steps": ("N", "Time steps of the graph (default: chosen)."),
    "width": ("N", "Points of a step (default: one per core)."),
    "radix": ("N", "Dependences per task of nearest, spread and the random patterns (default 3)."),
    "period": ("N", "Dependence sets of spread and the random patterns (default: the pattern's)."),
    "fraction": ("X", "Share of the candidates that a random pattern keeps, 0 to 1 (default 0.25)."),
    "seed": ("N", "Changes the random patterns and the load imbalance (default 0)."),
    "output_bytes": ("BYTES", "What a task hands to each successor, such as 16 or 64K (default 16)."),
    "kernel": ("NAME", "What a task computes, such as compute_bound, memory_bound (default compute_bound)."),
    "iterations": ("N", "How often the kernel's body runs in a task."),
    "imbalance": ("X", "Spread of load_imbalance, 0 to 2 (default 0)."),
    "scratch_bytes": ("BYTES", "Working set of a worker's kernel, such as 1M (default: the kernel's)."),
    "samples": ("N", "Parts of the working set of a memory kernel (default 16)."),
    "dag": ("FILE", "The graph of the pattern dag."),
    "graphs": ("N", "Copies of the graph that run at once (default 1)."),
    "cores": ("N", "Cores to use (default: all physical ones)."),
    "validate": ("HOW", f"Checks of every task's inputs: {', '.join(VALIDATE)} (default sample)."),
    "isa": ("NAME", f"Instruction set of the compute kernel: {', '.join(ISAS)} (default auto)."),
}
_PERSISTENT = "A point keeps its imbalance in every step."
_PANEL = "Graph"


def flag(key: str) -> str:
    """`output_bytes` as `--output-bytes`."""
    return "--" + key.replace("_", "-")


@dataclass(frozen=True)
class GraphOptions:
    """What was given of the graph options, as text; the properties check it and raise `InputError`."""

    given: Mapping[str, Any]

    @property
    def cores(self) -> tuple[int, ...]:
        """The processors to measure on."""
        return choose_cores(numbers.integer(self.given.get("cores", 0), "--cores"))

    @property
    def validate(self) -> str:
        return numbers.text(self.given.get("validate", "sample"), "--validate", VALIDATE)

    @property
    def isa(self) -> str:
        return numbers.text(self.given.get("isa", "auto"), "--isa", ISAS)

    def count(self, key: str, default: int, *, low: int = 0) -> int:
        """`steps` or `iterations`."""
        return numbers.integer(self.given.get(key, default), flag(key), low=low)

    @property
    def workload(self) -> Workload:
        """The graph without its steps and iterations."""
        from taskgrain.study.study import workload

        own = ("steps", "iterations", "cores", "validate", "isa")
        table = {"pattern": "stencil_1d"} | {
            key: value for key, value in self.given.items() if key not in own
        }
        if dag := table.get("dag"):
            table["dag"] = str(Path(dag).absolute())
        return workload(table, len(self.cores), flag)


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command every graph option; it gets them as its parameter `graph`."""
    options = {
        name: typer.Option(flag(name), metavar=metavar, help=text, rich_help_panel=_PANEL, show_default=False)
        for name, (metavar, text) in _FLAGS.items()
    }
    parameters = [_parameter(name, str | None, None, option) for name, option in options.items()]
    persistent = typer.Option("--persistent", help=_PERSISTENT, rich_help_panel=_PANEL, show_default=False)
    parameters.append(_parameter("persistent", bool, False, persistent))

    def given(**values: Any) -> GraphOptions:
        return GraphOptions({name: value for name, value in values.items() if value not in (None, False)})

    return _with_options(command, "graph", parameters, given)


def _parameter(name: str, kind: Any, default: object, option: Any) -> inspect.Parameter:
    annotation = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _with_options(
    command: Callable[..., None],
    name: str,
    options: Sequence[inspect.Parameter],
    packed: Callable[..., object],
) -> Callable[..., None]:
    """The command with `options` in the place of its parameter `name`, which gets them `packed`."""
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != name]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *options)]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        command(**{name: packed(**{one.name: values.pop(one.name) for one in options})}, **values)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    del wrapped.__wrapped__  # or inspect would look there
    return wrapped


Text = str | None
Systems = Annotated[
    list[Path] | None,
    typer.Option("--systems", metavar="DIR", help="A folder of more systems, or of one; may be repeated."),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--system", metavar="NAME", help="A system, all, or default; may be repeated, or a,b,c."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show cells, commands and time; measure nothing.")]


def setting(name: str, metavar: str, text: str) -> Any:
    """An option of how to measure, checked where the study's settings are."""
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="Measuring", show_default=False)


@dataclass(frozen=True)
class Measuring:
    """How to measure, whatever it is: the options that `metg` and `study` share."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where the results go (default of a study: results/NAME)."
        ),
    ] = None
    budget: Annotated[
        Text,
        setting(
            "--budget", "TIME", "Time for everything, such as 90, 10m, 2h (default: none, or the study's)."
        ),
    ] = None
    folders: Systems = None
    as_json: Json = False
    dry_run: DryRun = False
    retry: Annotated[
        bool, typer.Option("--retry", help="Try cells again that failed in an earlier call.")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False


def measuring_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a measurement; it gets them as its parameter `how`."""
    options = inspect.signature(Measuring, eval_str=True).parameters.values()
    return _with_options(command, "how", list(options), Measuring)


def split_names(names: list[str] | None) -> list[str]:
    """`--system a,b --system c` as a list; `default` if there is none."""
    return [word.strip() for name in names or ["default"] for word in name.split(",") if word.strip()]
