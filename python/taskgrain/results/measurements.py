"""The measurements of a results folder: the samples of each cell, and their conditions.

A measurement is one cell, of one build of its system, as one folder has it: all of it or, if asked, one
session of it. Rounds of two measurements of one folder have the same number only if they ran together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from taskgrain.estimate.reference import peak_beside
from taskgrain.estimate.sample import Sample
from taskgrain.results import reader, values
from taskgrain.results.builds import builds_known, placed, plain
from taskgrain.results.cell import Cell, folded
from taskgrain.results.lines import Line, ReferenceLine, SessionLine
from taskgrain.results.samples import SESSION, counting
from taskgrain.study.workload import REFERENCE, whole


@dataclass(frozen=True)
class Measurement:
    """One cell of one build, with the conditions of it: only what has the same can be compared."""

    folder: Path
    system: str
    workload: str
    build: str | None = None
    earlier: bool = False
    """True if it is of an earlier build than the folder's last."""
    sessions: tuple[str, ...] = ()
    session: SessionLine = SessionLine()
    """The first of them, which says where it was measured."""
    reference: str | None = None
    """The program that efficiency is measured against."""
    reference_build: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    """The threshold, the steps, and all else that changes the measurement."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Environment variables that were passed on purpose, or that choose libraries."""
    cores: int | None = None
    version: str | None = None
    """The version of the runtime, as the driver said it."""
    samples: tuple[Sample, ...] = ()
    cell: Cell = field(default_factory=lambda: Cell(""))
    """Its lines, folded."""
    begin: float | None = None
    """Unix time of its first line."""
    end: float | None = None


Measurements = Sequence[Measurement]


@dataclass(frozen=True)
class Folder:
    """A results folder, whose files were read once."""

    folder: Path
    contents: reader.Contents
    study: reader.Study
    machine: Mapping[str, Any]
    """The contents of `machine.json`."""
    warnings: tuple[str, ...]

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """Returns the measurements of all sessions, without lines measured anew by `--restart`."""
        return self.of(None)

    def of(self, session: str | None) -> tuple[Measurement, ...]:
        """The measurements from the lines of one session alone, or of all."""
        return of_lines(self.contents.stored, self.study.table, self.folder, session)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of all sessions, in order."""
        every = (line.session for line in self.contents.stored if isinstance(line, SessionLine))
        return tuple(one for one in every if one)


def opened(folder: Path) -> Folder:
    """Reads a results folder. Raises `UsageError` like the reader."""
    contents = reader.read(folder)
    study, (machine, odd) = reader.study(folder), reader.machine(folder)
    said = (*contents.notes(), *study.warnings, *odd)
    return Folder(folder, contents, study, machine, said)


def of_lines(
    lines: Sequence[Line],
    study: Mapping[str, Any],
    folder: Path = Path(),
    session: str | None = None,
) -> tuple[Measurement, ...]:
    """The measurements of stored lines, which are of one study."""
    used = (one.line for one in placed(lines) if one.used or isinstance(one.line, ReferenceLine))
    found, known, settings = folded(used, Cell, session), builds_known(lines), of_a_study(study)
    return tuple(_measurement(folder, one, known[one.first], settings) for one in found.values())


def of_a_study(study: Mapping[str, Any]) -> dict[str, str | None]:
    """The settings of a study that change the measurement and that a `cell` line lacks."""
    return {name: values.text(study.get(name)) for name in ("validate", "isa", "experiment")}


def _measurement(
    folder: Path,
    cell: Cell,
    builds: Mapping[str, str],
    study: Mapping[str, str | None],
) -> Measurement:
    """`builds` are those of all systems and references that are known when the cell begins."""
    system = plain(cell.system)
    session = cell.sessions[cell.first]
    line = cell.started
    program = plain((line.reference if line else None) or REFERENCE)
    settings: dict[str, object] = dict(study)
    if line:
        settings |= {"threshold": line.threshold, "steps": line.steps} | whole(line.workload)
    return Measurement(
        folder=folder,
        system=system,
        workload=cell.workload,
        build=builds.get(system),
        earlier=cell.earlier,
        sessions=tuple(dict.fromkeys(one.session for one in cell.sessions.values() if one.session)),
        session=session,
        reference=program,
        reference_build=builds.get(program),
        settings=settings,
        variables=_variables(session, system),
        cores=cell.cores,
        version=values.text((line.driver or {}).get("version")) or None if line else None,
        samples=samples(cell),
        cell=cell,
        begin=min(cell.times, default=None),
        end=max(cell.times, default=None),
    )


def samples(cell: Cell) -> tuple[Sample, ...]:
    """The samples that it rests on; numbers of rounds and processes tell sessions apart."""
    runs = []
    for run, (session, rates) in zip(cell.runs, cell.beside, strict=True):
        rate = peak_beside([rates[: run.cores]]) if rates and run.cores else math.nan
        apart = session * SESSION
        process = run.process and apart + run.process
        runs.append((replace(run, process=process), apart + (run.round or 0), rate))
    return tuple(counting(runs))


def _variables(session: SessionLine, system: str) -> dict[str, Any]:
    own = next((one.env for one in session.systems if one.name == system), None)
    return {**(session.libraries or {}), **(own or {})}


def together(first: Measurement, second: Measurement) -> bool:
    """True if the two were measured side by side: one folder, and rounds with a number in common."""
    same = first.folder.resolve() == second.folder.resolve()
    return same and not _rounds(first).isdisjoint(_rounds(second))


def _rounds(one: Measurement) -> set[int]:
    return {sample.round for sample in one.samples}
