"""The options that several commands share. A command takes those of a graph with `@graph_options()`, those of
a measurement with `@measuring_options`:

    @app.command()
    @graph_options()
    @measuring_options
    def metg(graph: GraphOptions, how: Measuring, …) -> None:

and finds what was given in `graph` and `how`; so they are the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taskgrain.cli import complete
from taskgrain.cli.notes import note
from taskgrain.drive.environment import by_family, withheld
from taskgrain.machine.topology import choose_cores
from taskgrain.study import variables
from taskgrain.study.field import Field, flag
from taskgrain.study.fields import CORE, GIVEN, OF_A_RUN, rivals
from taskgrain.study.settings import SETTINGS, Settings, take_settings
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.warnings import notice

if TYPE_CHECKING:
    from taskgrain.drive.system import System
    from taskgrain.study.workload import Workload

_OF_A_RUN = {name: CORE[name] for name in OF_A_RUN} | {
    name: SETTINGS[name] for name in ("cores", "validate", "isa")
}
"""Options of a graph that say how it is run, not which workload it is."""
Decorator = Callable[[Callable[..., None]], Callable[..., None]]
_PANEL = "Graph"
_DEFAULTS = {"pattern": CORE["pattern"].default}
"""The defaults of the command line for fields that a study must give."""
_IMBALANCED = "load_imbalance"
"""The kernel that a user of `--imbalance` means."""
_CHOSEN = {"steps": "chosen automatically", "iterations": "", "width": "one for each core"}
"""Defaults that are no value."""


def help_of(field: Field, defaults: Mapping[str, Any] = _CHOSEN) -> str:
    """The field's help on the command line: what it is, what is allowed, and its default, which a command may
    have of its own in `defaults`."""
    default = (_DEFAULTS | dict(defaults)).get(field.name, field.default)
    zero_is_explained = field.name in ("period", "scratch_bytes", "budget", "cores")
    explained = zero_is_explained or field.type == "flag"
    if field.name == "iterations" and not default:
        return f"{field.text[:-1]}; `run` also takes the time of a task's work alone, such as 20us."
    return field.text if explained or default in (None, "") else f"{field.text[:-1]} (default {default})."


@dataclass(frozen=True)
class GraphOptions:
    """The graph options that were given, as text; the properties check it and raise `InputError`."""

    given: Mapping[str, Any]
    quiet: bool = False
    """True if no warning names the fields that a workload does not use."""
    simulated: bool = False
    """True if nothing runs on the cores of this machine, so that there may be more of them."""

    def on(self, systems: Sequence[System]) -> GraphOptions:
        """The options for these systems."""
        return replace(self, simulated=all(one.simulates_nodes for one in systems))

    @property
    def cores(self) -> tuple[int, ...]:
        """The processors to measure on."""
        return choose_cores(self._of_a_run("cores"), simulated=self.simulated)

    @property
    def validate(self) -> str:
        return str(self._of_a_run("validate"))

    @property
    def isa(self) -> str:
        return str(self._of_a_run("isa"))

    def _of_a_run(self, name: str) -> Any:
        field = _OF_A_RUN[name]
        return field.read(self.given.get(name, field.default), field.flag)

    def count(self, key: str, default: int, *, low: int = 0, or_time: bool = False) -> int:
        """`steps` or `iterations`; `or_time` says that the command also takes the time of a task."""
        try:
            return numbers.integer(self.given.get(key, default), flag(key), low=low)
        except InputError as error:
            if not or_time:
                raise
            raise InputError(error.field, error.value, f"{error.allowed}, or a time such as 20us") from None

    def settings(self, **given: Text | float) -> Settings:
        """The settings of a measurement: the `given` ones, and those that options of a graph set."""
        table: dict[str, Any] = {"validate": self.validate, "isa": self.isa}
        given |= {"steps": self.given.get("steps"), "first_iterations": self.given.get("iterations")}
        return take_settings(
            table | {name: value for name, value in given.items() if value is not None},
            lambda name: "--iterations" if name == "first_iterations" else flag(name),
        )

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The graph on each of a list of nodes. Raises `UsageError` for one that is there twice."""
        listed = str(self.given.get("nodes", 1)).split(",")
        each = [
            replace(self, given={**self.given, "nodes": one}, quiet=k > 0) for k, one in enumerate(listed)
        ]
        made = tuple(one.workload for one in each)
        if len(set(made)) < len(made):
            raise UsageError(f"--nodes: {','.join(listed)} has a number twice")
        return made

    @functools.cached_property
    def workload(self) -> Workload:
        """The graph without its steps and iterations. Warns once of fields that it does not use."""
        from taskgrain.study.study import check_steps, workload
        from taskgrain.study.unused import unused, unused_by_kernel

        table = {key: value for key, value in self.given.items() if key not in _OF_A_RUN}
        if not rivals("pattern", table):
            # A user who counts neighbours means a pattern that has them; one who gives a DAG means it.
            meant = "nearest" if "neighbours" in table else "dag" if "dag" in table else ""
            table = ({"pattern": meant} if meant else _DEFAULTS) | table
        if "imbalance" in table and not {"kernel", "like"} & table.keys():
            table["kernel"] = _IMBALANCED
        for key, value in table.items():
            if GIVEN[key].is_file and value:
                table[key] = str(Path(value).absolute())
        made = workload(table, len(self.cores), flag)
        check_steps(made, self.count("steps", 0), "--steps")
        if not self.quiet:
            _warn(unused(made.pattern, self.given), f"pattern {made.pattern}")
            _warn(unused_by_kernel(made["kernel"], self.given), f"kernel {made['kernel']}")
        return made


def _warn(ignored: Sequence[str], what: str) -> None:
    if ignored:
        options, them = ", ".join(map(flag, ignored)), "it" if len(ignored) == 1 else "them"
        note(f"warning: {options}: {what} does not use {them}")


def valued(
    flags: str,
    metavar: str | None,
    text: str,
    panel: str | None = None,
    completion: Callable[[str], list[str]] | None = None,
) -> Any:
    """An option with a value, whose `text` names its default. `flags` are its names."""
    return typer.Option(
        *flags.split(),
        metavar=metavar,
        help=text,
        rich_help_panel=panel,
        show_default=False,
        autocompletion=completion,
    )


def graph_options(*, without: Sequence[str] = (), **defaults: object) -> Decorator:
    """Gives a command every graph option but those `without`; it gets them as its parameter `graph`. Its help
    shows `defaults` of its own."""
    fields = [one for one in (GIVEN | _OF_A_RUN).values() if one.name not in without]
    parameters = [_option(one, _CHOSEN | defaults) for one in fields]

    def given(**values: Any) -> GraphOptions:
        return GraphOptions({name: value for name, value in values.items() if value not in (None, False)})

    return lambda command: _with_options(command, "graph", parameters, given)


def _option(field: Field, defaults: Mapping[str, Any]) -> inspect.Parameter:
    """The option of a field; its text is checked where it is used."""
    completion = complete.one_of(field.choices) if field.choices else None
    of_field = valued(field.flag, field.metavar, help_of(field, defaults), _PANEL, completion)
    kind, default = (bool, False) if field.type == "flag" else (str | None, None)
    annotation = Annotated[kind, of_field]  # type: ignore[valid-type]
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


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


def setting(name: str) -> Any:
    """The option of one of a study's settings, which is checked where these are."""
    field = SETTINGS[name]
    return valued(field.flag, field.metavar, help_of(field), "Measuring")


Text = str | None
Systems = Annotated[
    list[Path] | None,
    valued("--systems", "DIR", "A system's folder, or a folder of several. You can repeat it."),
]
Names = Annotated[
    list[str] | None,
    valued(
        "--system",
        "NAME",
        "A system, or several with commas; all, or default. You can repeat it.",
        completion=complete.systems,
    ),
]
Env = Annotated[
    list[str] | None,
    valued(
        "--env",
        "NAME=VALUE",
        "An environment variable for the drivers, which get nothing of your shell that runtimes read. "
        "You can repeat it.",
    ),
]
Launcher = Annotated[Text, setting("launcher")]
Formats = Annotated[
    list[str] | None,
    valued("--format", "NAME", "Format of the figures: svg, png, pdf; several with commas (default: all)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be measured and for how long; measure nothing.")
]


@dataclass(frozen=True)
class Measuring:
    """The options that `metg` and `study` share: how to measure, whatever it is."""

    output: Annotated[
        Path | None,
        valued("--output -o", "DIR", "Folder for the results (a study's default: results/NAME)."),
    ] = None
    budget: Annotated[Text, setting("budget")] = None
    folders: Systems = None
    env: Env = None
    launcher: Launcher = None
    hosts: Annotated[Text, setting("hosts")] = None
    hostfile: Annotated[Text, setting("hostfile")] = None
    as_json: Json = False
    dry_run: DryRun = False
    retry: Annotated[
        bool, typer.Option("--retry", help="Measure cells again that failed in an earlier call.")
    ] = False
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Measure systems anew that were built again since an earlier call, and use nothing of the "
            "earlier build.",
        ),
    ] = False
    keep_both: Annotated[
        bool,
        typer.Option(
            "--keep-both",
            help="Measure systems that were built again since an earlier call, and keep the cells of the "
            "earlier build beside the new ones.",
        ),
    ] = False
    timing: Annotated[bool, typer.Option("--timing", help="Say where the time of this call went.")] = False
    quiet: Quiet = False


def options_of(packed: Callable[..., object], name: str) -> Decorator:
    """Gives a command the options that are the fields of a class; it gets them as its parameter `name`."""
    options = list(inspect.signature(packed, eval_str=True).parameters.values())
    return lambda command: _with_options(command, name, options, packed)


measuring_options = options_of(Measuring, "how")
"""Gives a command the options of a measurement; it gets them as its parameter `how`."""


def found_systems(folders: Sequence[Path] | None, launcher: str | None) -> dict[str, System]:
    """The systems there are, with those of `--systems`, and their ranks started by `--launcher`.

    Raises `InputError` or `UsageError`.
    """
    from taskgrain.drive import catalogue

    field = SETTINGS["launcher"]
    name = field.read(field.default if launcher is None else launcher, field.flag)
    return catalogue.started_by(catalogue.discover(folders or []), name)


def equipped(systems: Sequence[System], env: Sequence[str] | None, quiet: bool = False) -> list[System]:
    """The systems with the variables of `--env`. Says which of the shell's variables they do not get.

    Raises `InputError` for a bad form, and `UsageError` for what a study's `env` sets.
    """
    given = variables.of_options(env or ())
    if both := sorted({name for one in systems for name in one.given} & given.keys()):
        raise UsageError(f"--env: {both[0]}: the study sets it; give another name, or change the study's env")
    lacking = {name for one in systems for name in withheld(os.environ, one.withholds)} - given.keys()
    if lacking and not quiet:
        text = notice("variables_withheld", names=by_family(lacking)).text
        note(f"note: {text}")
    return [one.with_variables(given) for one in systems]


def split_names(names: list[str] | None, option: str = "--system") -> list[str]:
    """`--system a,b --system c` as a list; `default` if `option` was not given.

    Raises `InputError` if it was given, but names nothing.
    """
    found = [word.strip() for name in names or ["default"] for word in name.split(",") if word.strip()]
    if not found:
        raise InputError(option, " ".join(names or []), "a name, or several with commas")
    return found


def figure_formats(formats: list[str] | None, figures: Path | None) -> Sequence[str]:
    """The formats of `--figures`. Raises `InputError` or `UsageError` before anything is written."""
    if figures is None:
        if formats:
            raise UsageError("--format is for figures: give --figures DIR too")
        return ()
    from taskgrain.report.figures import FORMATS

    kinds = split_names(formats, "--format") if formats else FORMATS
    for kind in kinds:
        numbers.text(kind, "--format", FORMATS)
    return kinds
