"""The sweeps of a folder: cells whose workloads differ in one field alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taskgrain.answers.data import Cell, Results
from taskgrain.study.fields import WORKLOAD

NUMBERS = ("nodes", "cores")
"""Fields with which the width may vary, so that each core keeps its work."""
_NUMERIC = ("integer", "number", "bytes", "seconds")
_TITLES = {"radix": "dependences per task (radix)"}
"""The titles of fields; others are called as they are."""


@dataclass(frozen=True)
class Sweep:
    """Cells whose workloads differ in one field alone, or in their nodes or cores and as many times the
    width."""

    field: str
    name: str
    """The fields that the workloads have in common. Untrusted."""
    values: dict[int, float]
    """The values of the field, by the number of the cell."""

    @property
    def title(self) -> str:
        """The title of the axis."""
        return _TITLES.get(self.field, self.field.replace("_", " "))


def sweeps(results: Results) -> list[Sweep]:
    """The sweeps of these results, in the order of the fields."""
    found: dict[tuple[str, ...], Sweep] = {}
    for field in (one.name for one in WORKLOAD.values() if one.type in _NUMERIC and one.name != "dag_hash"):
        for number, cell in enumerate(results.cells):
            value = cell.fields[field]
            if value is None or (field == "cores" and not value):  # it names no number
                continue
            for name, others in _kept(field, cell):
                found.setdefault((field, *others), Sweep(field, name, {})).values[number] = value
    return [one for one in found.values() if len(set(one.values.values())) > 1]


def _kept(field: str, cell: Cell) -> Iterator[tuple[str, list[str]]]:
    """Returns what stays the same where the field varies: a name for it, and the other fields."""
    yield without(cell.workload, field), _others(cell, field)
    width, cores = cell.fields["width"], cell.cores_there
    if field in NUMBERS and width and cores and width % cores == 0:
        each = f"tasks_per_core={width // cores}"
        yield f"{without(cell.workload, 'width', field)}/{each}", [each, *_others(cell, "width", field)]


def without(workload: str, *fields: str) -> str:
    return re.sub(rf"/({'|'.join(fields)})=[^/]*", "", workload)


def _others(cell: Cell, *fields: str) -> list[str]:
    return [f"{key}={one}" for key, one in cell.fields.items() if key not in fields]
