"""`taskgrain compare`: whether one side is faster than another, or only seems so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taskgrain.cli.gate import Judging, judging_options
from taskgrain.cli.notes import note
from taskgrain.cli.options import (
    Env,
    GraphOptions,
    Json,
    Launcher,
    Quiet,
    Systems,
    Text,
    equipped,
    graph_options,
    setting,
    split_names,
    valued,
)
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import EXIT_FAILED, Interrupted, UsageError

if TYPE_CHECKING:
    from taskgrain.answers.compare.cells import Comparison, Question
    from taskgrain.answers.compare.sides import Side
    from taskgrain.measure.call import Measured

_BUDGET = "2m"
"""The time for two builds, if nobody says how much."""
_PANEL = "Two builds"


@graph_options(without=["nodes"])
@judging_options
def compare(
    graph: GraphOptions,
    judging: Judging,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SIDE...",
            help="Results folders, each a side; the others are compared with the first. FOLDER@NAME is one "
            "system, session or build of a folder; FOLDER,FOLDER is one side, measured several times.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        valued(
            "--system",
            "NAME",
            "Only these systems, with commas; of one folder they are the sides. You can repeat it.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Measure once more what became slower or failed, before --fail-on-regression fails.",
        ),
    ] = False,
    as_json: Json = False,
    builds: Annotated[
        tuple[Path, Path] | None,
        valued(
            "--build",
            "OLD NEW",
            "Measure two builds side by side until it is decided: programs of drivers, or folders of "
            "systems. The options of a graph say on which workload.",
            _PANEL,
        ),
    ] = None,
    budget: Annotated[
        Text,
        valued("--budget", "TIME", f"Time for measuring two builds: 90, 2h (default {_BUDGET}).", _PANEL),
    ] = None,
    threshold: Annotated[Text, setting("threshold")] = None,
    output: Annotated[
        Path | None,
        valued("--output -o", "DIR", "Keep what was measured here.", _PANEL),
    ] = None,
    folders: Systems = None,
    env: Env = None,
    launcher: Launcher = None,
    quiet: Quiet = False,
) -> None:
    """Compares results: for each cell a ratio with its interval, and faster, slower, same or undecided."""
    from taskgrain.answers.compare import cells
    from taskgrain.cli import compare_table
    from taskgrain.cli.printer import print_json, printer

    rest: dict[str, object] = {}
    measured: Measured | None = None
    question = judging.question(cells.QUANTITIES)
    chosen = split_names(names) if names else []
    if again and not judging.regression:
        raise UsageError("--again is for --fail-on-regression: it measures again before that fails")
    if builds is None:
        given = [*graph.given, *_given(threshold=threshold, output=output, launcher=launcher)]
        given += [] if again else _given(budget=budget, systems=folders)
        given += ["env"] if env else []
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} is for --build OLD NEW, which measures")
        for word in words or []:
            if Path(word, "system.toml").is_file() or Path(word).is_file():
                raise UsageError(f"{word}: holds no results; --build OLD NEW measures two builds")
        found, sides = _of_folders(words or [], chosen, question)
        if again:
            from taskgrain.drive import catalogue
            from taskgrain.measure.again import measured_again, parts
            from taskgrain.measure.call import Measured

            seconds = None if budget is None else numbers.seconds(budget, "--budget", above=False)
            every = parts(found, sides, catalogue.discover(folders or []), seconds, quiet=quiet)
            found, measured = measured_again(found, Measured(()), every, _say)
            rest = {"interrupted": bool(measured.interrupted)}
    else:
        if words:
            raise UsageError(f"{words[0]}: give results folders or --build OLD NEW, not both")
        from taskgrain.measure.again import measured_again
        from taskgrain.measure.call import folder_for

        asked = {
            "budget": _BUDGET if budget is None else budget,
            "threshold": threshold,
            "launcher": launcher,
        }
        once = _side_by_side(
            builds, chosen, question, graph, asked, folders or [], env or [], quiet, bool(output)
        )
        with folder_for(output) as into:
            found, measured = once(into, None)
        slower = {cell.system for cell in found.cells if cell.suspect}
        if again and slower and not measured.interrupted:
            # Not into the first folder: rounds of both would make one measurement.
            part = len(slower), lambda folder: once(folder, slower)
            found, measured = measured_again(found, measured, [part], _say)
        rest = {"output": output and str(output), "interrupted": bool(measured.interrupted)}
    interrupted = measured.interrupted if measured else ""
    if as_json:
        print_json(compare_table.as_json(found) | rest)
    else:
        compare_table.show(printer(), found)
    if interrupted:
        sys.stdout.flush()
        raise Interrupted(interrupted)
    judging.judge(
        sum(cell.regression for cell in found.cells),
        found.undecided,
        found.missing,
        nothing=all(cell.verdict == "not comparable" and not cell.regression for cell in found.cells),
    )
    if measured and not measured.complete:
        raise typer.Exit(EXIT_FAILED)


def _given(**options: object) -> list[str]:
    return [name for name, value in options.items() if value]


def _say(cells: int) -> None:
    note(f"slower or failed: {quantity.counted(cells, 'cell')}; measuring again")


def _of_folders(words: list[str], names: list[str], question: Question) -> tuple[Comparison, list[Side]]:
    from taskgrain.answers.compare.cells import compare
    from taskgrain.answers.compare.sides import refuse_the_same, sides
    from taskgrain.results.measurements import Folder, opened

    def read(folder: Path) -> Folder:
        """Opens a folder, and warns of oddities in it, also where nothing is left to be compared."""
        found = opened(folder)
        for warning in found.warnings:
            note(f"{folder}: {warning}")
        return found

    found = sides(words, names, read)
    refuse_the_same(found)
    return compare(found, question), found


def _side_by_side(
    places: tuple[Path, Path],
    names: list[str],
    question: Question,
    graph: GraphOptions,
    asked: dict[str, str | None],
    folders: list[Path],
    env: list[str],
    quiet: bool,
    kept: bool,
) -> Callable[[Path, Collection[str] | None], tuple[Comparison, Measured]]:
    """Returns a function that measures two builds into a folder: of all their systems, or of some."""
    from taskgrain.drive import catalogue
    from taskgrain.measure import two_builds
    from taskgrain.words.warnings import grouped

    settings = graph.settings(**asked)
    pairs = two_builds.pairs(places, names, catalogue.discover(folders), settings.launcher)
    both = iter(equipped([one for pair in pairs for one in (pair.old, pair.new)], env))
    pairs = [replace(pair, old=next(both), new=next(both)) for pair in pairs]
    two_builds.check_programs(places, pairs, graph.cores)

    def once(folder: Path, chosen: Collection[str] | None) -> tuple[Comparison, Measured]:
        own = [pair for pair in pairs if chosen is None or pair.name in chosen]
        measured = two_builds.measure(
            own, graph.workload, settings, graph.cores, folder, question, quiet=quiet, kept=kept
        )
        for failure in measured.failures:
            note(f"{failure.text()}")
        for group in grouped((cell.name, one) for cell in measured.cells for one in cell.warnings):
            note(f"{group.cells[0]}: {group.text}")
        return two_builds.compared(own, folder, places, question), measured

    return once
