"""What a history keeps of a session, and how a line of the store spells it (docs/reference/history.md).

What all cells of a session share is written once. Whatever makes no sense is left out when a line is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskgrain.estimate.drawn import Quantity
from taskgrain.results import values
from taskgrain.results.takes import Conditions, Take
from taskgrain.words.interval import Interval

SCHEMA = 1
"""The newest schema that this version knows, and the one that it writes."""
KIND = "session"
UNITS: Mapping[Quantity, str] = {"metg": "s", "overhead": "s", "floor": "s", "rate": "1/s"}
"""What is kept of a cell. A rate is in tasks a second."""
_TIMES: tuple[Quantity, ...] = ("metg", "overhead", "floor")
_END_OF_TIME = 253402300800.0
"""The year 10000, which `datetime` does not know."""
_OF_CONDITIONS = tuple(one.name for one in dataclasses.fields(Conditions) if one.name != "settings")


@dataclass(frozen=True)
class Cell:
    """One cell as a session measured it."""

    take: Take
    """Which it is, and what it was measured under; it holds no samples."""
    ending: str | None = None
    """Why it ended, as the results say it."""
    error: str | None = None
    """The kind of its failure, if it failed."""
    numbers: Mapping[Quantity, Interval] = field(default_factory=dict)
    """METG, overhead and floor, as far as they are known."""
    rates: Mapping[int, Interval] = field(default_factory=dict)
    """By the iterations of a task, near the threshold."""


@dataclass(frozen=True)
class Session:
    """One results folder, which one session measured, or several that went on with it."""

    label: str
    """Commit, or what else the user called it."""
    time: float
    """Unix time, which says where in the history it stands."""
    names: tuple[str, ...]
    """The random names of its sessions, by which it is known again."""
    cells: tuple[Cell, ...]
    measured: float | None = None
    """Unix time at which it began."""

    def to_json(self) -> dict[str, Any]:
        """The line as an object of JSON."""
        conditions = [dataclasses.asdict(cell.take.conditions) for cell in self.cells]
        settings = [dict(one.pop("settings")) for one in conditions]
        shared, own = _shared(conditions)
        common, others = _shared(settings)
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "label": self.label,
            "time": self.time,
            "measured": self.measured,
            "sessions": list(self.names),
            "conditions": shared,
            "settings": common,
            "units": dict(UNITS),
            "cells": [
                _cell(cell) | _unless_empty(conditions=rest, settings=more)
                for cell, rest, more in zip(self.cells, own, others, strict=True)
            ],
        }


def _shared(tables: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all tables say alike, and what each of them says besides."""
    first = tables[0] if tables else {}
    alike = {
        key: value for key, value in first.items() if all(key in one and one[key] == value for one in tables)
    }
    return alike, [{key: value for key, value in one.items() if key not in alike} for one in tables]


def _unless_empty(**tables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: table for name, table in tables.items() if table}


def _cell(cell: Cell) -> dict[str, Any]:
    take = cell.take
    head = {
        "system": take.system, "workload": take.workload, "build": take.build, "version": take.version,
        "cores": take.cores, "ending": cell.ending, "error": cell.error,
    }  # fmt: skip
    numbers = {name: dataclasses.asdict(one) for name, one in cell.numbers.items()}
    rates = [{"iterations": size} | dataclasses.asdict(one) for size, one in cell.rates.items()]
    return head | numbers | ({"rate": rates} if rates else {})


def from_json(table: Mapping[str, Any]) -> Session | None:
    """The session that a line stands for; None if it is none."""
    label, time = values.text(table.get("label")), values.number(table.get("time"))
    names = [values.text(one) for one in _list(table.get("sessions"))]
    if table.get("kind") != KIND or label is None or time is None or not 0.0 <= time < _END_OF_TIME:
        return None
    return Session(
        label="".join(one if one.isprintable() else "\ufffd" for one in label),  # it goes to a terminal
        time=time,
        names=tuple(one for one in names if one),
        cells=tuple(_cells(table)),
        measured=values.number(table.get("measured")),
    )


def _cells(table: Mapping[str, Any]) -> Iterator[Cell]:
    for one in map(_table, _list(table.get("cells"))):
        system, workload = values.text(one.get("system")), values.text(one.get("workload"))
        if not system or not workload:
            continue
        take = Take(
            folder=Path(),
            system=system,
            workload=workload,
            build=values.text(one.get("build")),
            conditions=_conditions(
                {**_table(table.get("conditions")), **_table(one.get("conditions"))},
                {**_table(table.get("settings")), **_table(one.get("settings"))},
            ),
            cores=values.integer(one.get("cores")),
            version=values.text(one.get("version")),
        )
        rates = {values.integer(each.get("iterations")): each for each in map(_table, _list(one.get("rate")))}
        yield Cell(
            take=take,
            ending=values.text(one.get("ending")),
            error=values.text(one.get("error")),
            numbers={name: _number(_table(one[name])) for name in _TIMES if name in one},
            rates={size: _number(each) for size, each in rates.items() if size},
        )


def _conditions(table: Mapping[str, Any], settings: Mapping[str, Any]) -> Conditions:
    read: dict[str, Callable[[object], Any]] = dict.fromkeys(_OF_CONDITIONS, values.text)
    read["processors"] = _processors
    return Conditions(**{name: read[name](table.get(name)) for name in _OF_CONDITIONS}, settings=settings)


def _processors(value: object) -> tuple[int, ...] | None:
    found = tuple(one for one in map(values.integer, _list(value)) if one is not None)
    return found or None


def _number(table: Mapping[str, Any]) -> Interval:
    return Interval(*(values.positive(table.get(name)) for name in ("value", "low", "high")))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
