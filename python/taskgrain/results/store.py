"""A study's results folder (docs/reference/results.md), opened again to go on.

It is appended line by line, so that a kill at any moment loses at most the run in flight.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import tomli_w

from taskgrain.results import reader, whole_file
from taskgrain.results.builds import Choice, OtherBuilds, opened, placed
from taskgrain.results.lines import Line, SessionLine
from taskgrain.results.log_file import LogFile
from taskgrain.results.parse import Odd, from_json
from taskgrain.words.errors import InputError, OutputError, UsageError, reason, unwritable

STEPS = ".steps.json"
"""The end of the name of a program's graph as it is measured, which begins with the program's."""
GRAPH = "graph.json"
"""The same as the program has it, with its times."""
_SYNC_SECONDS = 5.0
_MAY_DIFFER = ("budget", "systems_folders", "hosts", "hostfile")
"""The fields of a study that change only how long and from where it measures."""


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(old.keys() | new.keys()):
        before, now = old.get(key), new.get(key)
        if key not in _MAY_DIFFER and before != now:
            yield _first(key, before, now)


def _first(key: str, before: object, now: object) -> str:
    """The first difference inside of two values: `workloads[1].radix (3 there, 5 now)`."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        inner = sorted(before.keys() | now.keys())
        return next(
            _first(f"{key}.{k}", before.get(k), now.get(k)) for k in inner if before.get(k) != now.get(k)
        )
    if isinstance(before, list) and isinstance(now, list):
        for n, (one, other) in enumerate(zip(before, now, strict=False)):
            if one != other:
                return _first(f"{key}[{n}]", one, other)
        return f"{key} ({len(before)} of them there, {len(now)} now)"
    return f"{key} ({_short(before)} there, {_short(now)} now)"


def _short(value: object) -> str:
    text = "absent" if value is None else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def _same(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return table


def check_folder(folder: Path) -> None:
    """Raises `InputError` or `UsageError` if no results can be added there."""
    runs = folder / reader.RUNS
    if os.path.lexists(folder) and not folder.is_dir():  # links that lead nowhere, too
        raise InputError("--output", str(folder), "a folder")
    if (folder / reader.COMPRESSED).exists() and not runs.exists():
        raise UsageError(
            f"{folder}: holds compressed results, which nothing can be added to; decompress them first "
            f"(zstd -d --rm {folder / reader.COMPRESSED}), or choose another --output"
        )
    ours = runs.exists() or (folder / reader.STUDY).exists()
    if (
        folder.is_dir()
        and not ours
        and any(one.name != GRAPH and not one.name.endswith(STEPS) for one in folder.iterdir())
    ):
        raise InputError("--output", str(folder), "a new or empty folder, or a results folder to go on with")


def make_folder(folder: Path) -> None:
    """Makes a folder, unless it is there, that a later call writes to. Raises `UsageError` or `OutputError`
    if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise unwritable(folder, error) from None


def goes_on(
    folder: Path,
    study: Mapping[str, Any],
    completed: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _same,
    session: SessionLine | None = None,
    choice: Choice = "refuse",
) -> tuple[reader.Contents, SessionLine | None, list[str]]:
    """Returns what a folder holds that a `Store` of this study would open, the session as it would begin
    there, and what to tell the user. Writes nothing, and raises what the `Store` does for the contents."""
    runs = folder / reader.RUNS
    contents = reader.read(folder) if runs.exists() else reader.contents(runs, b"")
    if contents.newer:
        raise UsageError(
            f"{runs}: {contents.newer_line()}: upgrade taskgrain to go on with it, or choose another --output"
        )
    if (folder / reader.STUDY).exists():
        stored = reader.study(folder)
        for warning in stored.warnings:
            raise UsageError(f"{folder / warning}; mend it, or choose another --output")
        for difference in _differences(completed(stored.table), study):
            raise UsageError(
                f"{folder}: holds the results of a study that differs in {difference}; "
                "choose another --output"
            )
    elif contents.lines or contents.unknown:
        raise UsageError(f"{folder}: {reader.STUDY} is missing beside {reader.RUNS}; choose another --output")
    notes: list[str] = []
    if session:
        try:
            session, notes = opened(contents.stored, session, choice)
        except OtherBuilds as error:
            raise OtherBuilds(f"{folder}: {error}") from None
    return contents, session, [*(f"{folder}: {one}" for one in notes), *contents.warnings()]


class Store:
    """A results folder open for appending; a context manager. Only one harness at a time may hold it."""

    def __init__(
        self,
        folder: Path,
        study: Mapping[str, Any],
        machine: Mapping[str, Any],
        completed: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _same,
        session: SessionLine | None = None,
        choice: Choice = "refuse",
    ) -> None:
        """Makes the folder, or opens the one of an earlier call of the same study.

        `completed` adds to a stored study the fields that the version which wrote it did not know. `choice`
        says what becomes of the cells of other builds than those of the `session` that begins.

        Raises `UsageError` if it cannot be written, another harness holds it, a newer taskgrain wrote it,
        it belongs to a study that differs, or it holds other builds and there is no choice.
        """
        self.folder = folder
        self.logs = folder / "logs"
        self.warnings: list[str] = []
        """Oddities of the folder."""
        self.session = session
        """The session that begins, as its line will say it."""
        self._choice = choice
        self._synced = 0.0
        self._runs = folder / reader.RUNS
        self._file: LogFile | None = None
        try:
            check_folder(folder)
            folder.mkdir(parents=True, exist_ok=True)
            # First of all files: whatever a kill leaves then is known to be ours.
            self._file = LogFile(self._runs, folder)
            self.warnings += self._file.warnings
            self.logs.mkdir(exist_ok=True)
            self.contents = self._open(study, machine, completed)
        except OSError as error:
            self._give_up()
            raise unwritable(error.filename or folder, error) from None
        except BaseException:
            self._give_up()
            raise
        begun = [self.session] if self.session else []
        self.history = placed([*self.contents.stored, *begun])[: len(self.contents.stored)]
        """Lines that earlier calls have written, under the names that it has from now on."""

    def _open(
        self,
        study: Mapping[str, Any],
        machine: Mapping[str, Any],
        completed: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    ) -> reader.Contents:
        contents, self.session, notes = goes_on(self.folder, study, completed, self.session, self._choice)
        self.warnings += notes
        whole_file.write(self.folder / reader.STUDY, tomli_w.dumps(dict(study)).encode())
        if not (facts := self.folder / reader.MACHINE).exists():
            whole_file.write(facts, json.dumps(machine, indent=1, allow_nan=False).encode() + b"\n")
        self._lines.mend(contents.torn)
        return contents

    @property
    def _lines(self) -> LogFile:
        assert self._file is not None
        return self._file

    def append(self, *lines: Line) -> list[Line]:
        """Writes lines with the time of now, and returns them as a reader will see them.

        Raises `OutputError` if it cannot be written; what was written before then stands as it was. Raises
        `ValueError` for values that a reader would drop: that is a bug of the caller.
        """
        seen, texts = list[Line](), list[str]()
        for line in lines:
            texts.append(json.dumps(replace(line, time=time.time()).to_json(), allow_nan=False))
            odd = Odd()
            seen.append(from_json(json.loads(texts[-1]), odd))
            if odd := +odd:
                raise ValueError(f"a {line.kind} line cannot hold this {', '.join(odd)}")
        if self._lines.removed:
            raise OutputError(f"{self._runs}: was removed while it was written; what it held is lost")
        try:
            self._lines.append("".join(f"{text}\n" for text in texts).encode())
        except OSError as error:
            raise self._unwritten(error) from None
        # A kill loses nothing that was written; for a power cut, a few seconds are little enough to lose.
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self.sync()
        return seen

    def _unwritten(self, error: OSError) -> OutputError:
        return OutputError(
            f"{self._runs}: cannot be written: {reason(error)}; what it holds is kept: once that is mended, "
            "the same command goes on from here"
        )

    def sync(self) -> None:
        """Makes appended lines survive a power cut. Raises `OutputError`."""
        try:
            self._lines.sync()
        except OSError as error:
            raise self._unwritten(error) from None
        self._synced = time.monotonic()

    def close(self) -> None:
        """Gives the folder free. Raises `OutputError` if the last lines cannot be brought to the disk."""
        if self._file is not None:
            try:
                self.sync()
            finally:
                self._give_up()

    def _give_up(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except OutputError:
            if error is None:  # else there already is something to say
                raise
