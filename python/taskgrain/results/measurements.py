"""Measurements: of each cell of a results folder its samples, and the conditions of them.

A measurement is one cell, of one build of its system, as one folder has it: all of it or, if asked, one
session of it. Rounds of two measurements of one folder have the same number only if they ran together.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from taskgrain.estimate.reference import peak_beside
from taskgrain.estimate.sample import Sample
from taskgrain.machine import facts
from taskgrain.results import reader, values
from taskgrain.results.builds import builds_known, placed, plain
from taskgrain.results.cell import Cell
from taskgrain.results.lines import (
    CellLine,
    Host,
    Line,
    OfCell,
    ReferenceKey,
    ReferenceLine,
    RunLine,
    SessionLine,
)
from taskgrain.results.samples import SESSION, counting
from taskgrain.study.workload import REFERENCE, Workload


@dataclass(frozen=True)
class Conditions:
    """Where and how was measured: only what has the same can be compared. None: not known."""

    machine: str | None = None
    """The fingerprint."""
    host: str | None = None
    """The name of the machine, of several hosts all of them: others may have the same fingerprint."""
    boot: str | None = None
    kernel: str | None = None
    cpu: str | None = None
    governor: str | None = None
    processors: tuple[int, ...] | None = None
    reference: str | None = None
    """The program that efficiency is measured against."""
    reference_build: str | None = None
    harness: str | None = None
    """Version and commit of taskgrain."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Threshold, steps, and whatever else changes what is measured."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Environment variables that were passed on purpose, or that choose libraries."""
    hosts: tuple[Host, ...] = ()
    """The hosts of the first session, if there were several."""


@dataclass(frozen=True)
class Measurement:
    """One cell of one build."""

    folder: Path
    system: str
    workload: str
    build: str | None = None
    earlier: bool = False
    """True if it is of an earlier build than the folder's last."""
    sessions: tuple[str, ...] = ()
    conditions: Conditions = field(default_factory=Conditions)
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
        """Returns those of all sessions. Lines that the user had measured anew (`--restart`) do not count."""
        return self.of(None)

    def of(self, session: str | None) -> tuple[Measurement, ...]:
        """The measurements from the lines of one session alone, or of all."""
        return of_lines(self.contents.stored, self.machine, self.study.table, self.folder, session)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of all sessions, in order."""
        every = (line.session for line in self.contents.stored if isinstance(line, SessionLine))
        return tuple(one for one in every if one)

    def samples(self) -> Mapping[str, tuple[Sample, ...]]:
        """The samples of the cells, by the name of the cell."""
        return {one.cell.name: one.samples for one in self.measurements}


@dataclass
class _Session:
    number: int
    line: SessionLine
    builds: Mapping[str, str]
    """The builds of all systems and references that are known by now."""


@dataclass
class _Collected:
    """One cell of one build, line by line."""

    earlier: bool
    first: _Session
    cell: Cell
    runs: list[tuple[RunLine, int, float]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def take(self, line: OfCell, session: _Session, rates: Sequence[float]) -> None:
        """Takes the next of its lines; `rates` are the last ones of its reference."""
        name = session.line.session or ""
        if name and name not in self.sessions:
            self.sessions.append(name)
        if line.time is not None:
            self.times.append(line.time)
        with contextlib.suppress(ValueError):
            self.cell.take(line)
        if isinstance(line, RunLine) and line.round is not None:
            rate = peak_beside([rates[: line.cores]]) if rates and line.cores else math.nan
            apart = session.number * SESSION
            process = line.process and apart + line.process
            self.runs.append((replace(line, process=process), apart + line.round, rate))


def opened(folder: Path) -> Folder:
    """Reads a results folder. Raises `UsageError` like the reader."""
    contents = reader.read(folder)
    study, (machine, odd) = reader.study(folder), reader.machine(folder)
    return Folder(folder, contents, study, machine, tuple(reader.warnings(contents, study, odd)))


def of_lines(
    lines: Sequence[Line],
    machine: Mapping[str, Any],
    study: Mapping[str, Any],
    folder: Path = Path(),
    session: str | None = None,
) -> tuple[Measurement, ...]:
    """The measurements of stored lines, which are of one machine and one study."""
    known = builds_known(lines)
    now = _Session(0, SessionLine(machine=_fingerprint(machine)), known[0])
    found: dict[tuple[str, str | None], _Collected] = {}
    rates: dict[ReferenceKey, list[float]] = {}
    for place in placed(lines):
        line = place.line
        if isinstance(line, SessionLine):
            now = _Session(now.number + 1, line, known[now.number + 1])
        elif isinstance(line, ReferenceLine):
            rates[line.reference_key] = [] if None in line.rates else [one for one in line.rates if one]
        elif isinstance(line, OfCell) and place.used and session in (None, now.line.session):
            system = plain(line.cell.partition("/")[0])
            key = line.cell, now.builds.get(system)
            one = found.setdefault(key, _Collected(place.earlier, now, Cell(line.cell)))
            if isinstance(line, CellLine) and one.cell.started is None:
                one.first = now
            started = line if isinstance(line, CellLine) else one.cell.started
            one.take(line, now, rates.get(started.reference_key, []) if started else [])
    settings = of_a_study(study)
    return tuple(
        _measurement(folder, name, build, one, machine, settings) for (name, build), one in found.items()
    )


def of_a_study(study: Mapping[str, Any]) -> dict[str, str | None]:
    """The settings of a study that change what is measured and that a `cell` line does not have."""
    return {name: values.text(study.get(name)) for name in ("validate", "isa", "experiment")}


def _measurement(
    folder: Path,
    name: str,
    build: str | None,
    found: _Collected,
    machine: Mapping[str, Any],
    study: Mapping[str, str | None],
) -> Measurement:
    system, _, workload = name.partition("/")
    cell, session = found.cell, found.first
    line = cell.started
    program = plain((line.reference if line else None) or REFERENCE)
    settings: dict[str, object] = dict(study)
    if line:
        settings |= {"threshold": line.threshold, "steps": line.steps} | _fields(line)
    cpu = machine.get("cpu")
    cpu = cpu if isinstance(cpu, dict) else {}
    frequency = cpu.get("frequency")
    governor = frequency.get("governor") if isinstance(frequency, dict) else None
    return Measurement(
        folder=folder,
        system=plain(system),
        workload=workload,
        build=build,
        earlier=found.earlier,
        sessions=tuple(found.sessions),
        conditions=Conditions(
            machine=session.line.machine,
            host=", ".join(str(one.host) for one in session.line.hosts) or session.line.host,
            boot=session.line.boot,
            # The file is of the first session's machine; older sessions do not say theirs.
            kernel=session.line.kernel or _text(machine.get("kernel")),
            cpu=session.line.cpu or _text(cpu.get("model")),
            governor=session.line.governor if session.line.cpu else _text(governor),
            processors=session.line.cores or None,
            reference=program,
            reference_build=session.builds.get(program),
            harness=" ".join(one for one in (session.line.taskgrain, session.line.commit) if one) or None,
            settings=settings,
            variables=_variables(session.line, plain(system)),
            hosts=session.line.hosts,
        ),
        cores=cell.cores,
        version=_text((line.driver or {}).get("version")) if line else None,
        samples=tuple(counting(found.runs)),
        cell=cell,
        begin=min(found.times, default=None),
        end=max(found.times, default=None),
    )


def _variables(session: SessionLine, system: str) -> dict[str, Any]:
    own = next((one.env for one in session.systems if one.name == system), None)
    return {**(session.libraries or {}), **(own or {})}


def _fields(line: CellLine) -> dict[str, object]:
    """The fields of the workload, with the defaults of those that an older line lacks."""
    own = dict(line.workload)
    return Workload(str(own.pop("pattern", "")), int(own.pop("width", 0)), **own).fields()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _fingerprint(machine: Mapping[str, Any]) -> str | None:
    """The fingerprint for a folder whose lines do not name the machine."""
    try:
        return facts.fingerprint(machine)
    except (KeyError, TypeError, AttributeError):
        return None


def together(first: Measurement, second: Measurement) -> bool:
    """True if the two were measured side by side: one folder, and rounds with a number in common."""
    same = first.folder.resolve() == second.folder.resolve()
    return same and not _rounds(first).isdisjoint(_rounds(second))


def _rounds(one: Measurement) -> set[int]:
    return {sample.round for sample in one.samples}
