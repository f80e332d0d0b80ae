"""`taskgrain history`: results of systems over commits or days, and what changed in them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taskgrain.cli.gate import Judging, judging_options
from taskgrain.cli.notes import note
from taskgrain.cli.options import Json, Text, split_names, valued
from taskgrain.machine.commit import commit
from taskgrain.words import numbers, quantity
from taskgrain.words.errors import InputError, UsageError, check_writable

if TYPE_CHECKING:
    from taskgrain.history.log import Log

_ADD = "Add a session"
_LONGEST = 100
"""Characters of a label."""


@judging_options
def history(
    judging: Judging,
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="The file of the history; --add makes it if it is not there."),
    ],
    add: Annotated[
        list[Path] | None,
        valued("--add", "DIR", "Add what a results folder holds, as one session. You can repeat it.", _ADD),
    ] = None,
    label: Annotated[
        Text,
        valued(
            "--label",
            "COMMIT",
            "What the session is called (default: the git commit of the current folder).",
            _ADD,
        ),
    ] = None,
    time: Annotated[
        Text,
        valued(
            "--time",
            "TIME",
            "Where it stands in the history: 2026-11-24, 2026-11-24T14:40Z (default: when it was measured).",
            _ADD,
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        valued("--system", "NAME", "Only these systems, with commas. You can repeat it."),
    ] = None,
    workloads: Annotated[
        list[str] | None,
        valued("--workload", "NAME", "Only this workload. You can repeat it."),
    ] = None,
    since: Annotated[
        Text,
        valued("--since", "WHEN", "Only sessions from this label, or this time, on."),
    ] = None,
    known: Annotated[
        Text,
        valued("--known", "WHEN", "Changes up to this label, or this time, are known and no regressions."),
    ] = None,
    junit: Annotated[
        Path | None, valued("--junit", "FILE", "Also write JUnit's XML for a CI server.")
    ] = None,
    output: Annotated[
        Path | None,
        valued("--output -o", "FILE", "Also write the charts as one HTML file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Keeps results over commits or days, and says which systems changed, when, and by how much."""
    from taskgrain.history import store as stores
    from taskgrain.history.series import series
    from taskgrain.history.trends import QUANTITIES, analyse

    question = judging.question(QUANTITIES)
    if not add and (given := "--label" if label else "--time" if time else ""):
        raise UsageError(f"{given} is for --add DIR")
    for option, file in (("--junit", junit), ("--output", output)):
        if file is not None:
            _check_target(option, file, store)
    if junit and output and junit.resolve() == output.resolve():
        raise InputError("--junit", str(junit), "another file than that of --output")
    if add:
        _add(store, add, label, time)
    stored = stores.read(store)
    for warning in stored.warnings():
        note(f"{store}: {warning}")
    begin = _when("--since", since, stored.logs, first=True)
    end = _when("--known", known, stored.logs, first=False)
    every = series(one for one in stored.logs if begin is None or one.time >= begin)
    if not stored.logs:
        raise UsageError(f"{store}: has no sessions yet; --add DIR adds one")
    wanted = split_names(names) if names else []
    for option, words, found in (
        ("--system", wanted, [one.system for one in every]),
        ("--workload", workloads or [], [one.workload for one in every]),
    ):
        for word in words:
            numbers.text(word, option, list(dict.fromkeys(found)))
    every = [one for one in every if not wanted or one.system in wanted]
    every = [one for one in every if not workloads or one.workload in workloads]
    made = analyse(every, question, end, max(stored.logs, key=lambda one: one.time).label)
    from taskgrain.cli import history_table
    from taskgrain.cli.printer import print_json, printer
    from taskgrain.results import whole_file

    if junit:
        from taskgrain.history import junit as xml

        whole_file.write(junit, xml.junit(made).encode())
    if output:
        from taskgrain.history import page

        whole_file.write(output, page.render(made, store.stem).encode())
    if as_json:
        print_json(history_table.as_json(made))
    else:
        history_table.show(printer(), made)
    judging.judge(
        sum(one.regression for one in made.trends),
        sum(one.undecided for one in made.trends),
        len(made.missing),
        nothing=not made.trends,
    )


def _check_target(option: str, file: Path, store: Path) -> None:
    """Raises `InputError`, before anything is added, for a file that may not be written or cannot be."""
    from taskgrain.results.reader import FILES

    if file.resolve() == store.resolve():
        raise InputError(option, str(file), "a file that is not the store")
    if file.name in FILES or file.resolve().name in FILES:
        raise InputError(option, str(file), "a name that is not one of a results folder's own files")
    check_writable(option, file)


def _add(store: Path, folders: list[Path], label: str | None, time: str | None) -> None:
    from taskgrain.history import store as stores
    from taskgrain.history.log import measured

    if label is not None and (not label.strip() or len(label) > _LONGEST or not label.isprintable()):
        raise InputError("--label", label, f"a text of 1 to {_LONGEST} characters")
    at = None if time is None else _time("--time", time)
    name = label or commit(Path.cwd(), 12) or None
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise InputError("--add", str(folder), "a results folder")
        log, warnings = measured(folder, name, at)
        found.append(log)
        for warning in warnings:
            note(f"{folder}: {warning}")
    added, known = stores.add(store, found)
    for one in added:
        cells = quantity.counted(len(one.measurements), "cell")
        note(f"{store}: added {one.label}, {cells}")
    for one in known:
        note(f"{store}: has this session already, as {one.label}; not added again")


def _time(option: str, text: str) -> float:
    """A Unix time; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(option, text, "a date or a time, such as 2026-11-24 or 2026-11-24T14:40Z") from None


def _when(option: str, text: str | None, logs: tuple[Log, ...], *, first: bool) -> float | None:
    """The time of the first or the last session with this label, or the time that the text is."""
    if text is None:
        return None
    times = [one.time for one in logs if one.label == text]
    if times:
        return min(times) if first else max(times)
    try:
        return _time(option, text)
    except InputError:
        labels = list(dict.fromkeys(one.label for one in logs))
        raise InputError(option, text, ["a date or a time", *labels]) from None
