"""Makes lines of `runs.jsonl` from objects of JSON, whatever these hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from taskgrain.results import values
from taskgrain.results.field import Field, fields
from taskgrain.results.lines import (
    OF_A_REFERENCE,
    SCHEMA,
    TYPES,
    WORKLOAD,
    CellLine,
    Line,
    OfCell,
    ReferenceLine,
    UnknownLine,
)
from taskgrain.study.fields import WORKLOAD as STUDY_FIELDS

Odd = Counter[str]
"""The number of values that made no sense, by `kind.field`."""


def from_json(table: Mapping[str, Any], odd: Odd | None = None) -> Line:
    """The line that an object of JSON stands for.

    Fields that this version does not know are left out. So are values that make no sense, counted in `odd`.
    """
    odd = Odd() if odd is None else odd
    schema, kind = values.integer(table.get("schema", SCHEMA)), table.get("kind")
    made = TYPES.get(kind) if isinstance(kind, str) else None
    unknown = UnknownLine(schema=SCHEMA if schema is None else schema, content=table)
    if schema is None or made is None:
        return unknown
    found = _values(made, made.kind, table, odd)
    if issubclass(made, OfCell) and "cell" not in found:
        return unknown
    if made in (CellLine, ReferenceLine):
        names = WORKLOAD if made is CellLine else OF_A_REFERENCE
        found["workload"] = _workload(names, made.kind, table, odd)
    return made(schema=schema, **found)


def _workload(names: Iterable[str], kind: str, table: Mapping[str, Any], odd: Odd) -> dict[str, Any]:
    """Returns the fields of the workload that the table has."""
    found = {}
    for name in names:
        column = STUDY_FIELDS[name].column
        if (given := table.get(column)) is None:
            continue
        if (value := WORKLOAD[name](given)) is None:
            odd[f"{kind}.{column}"] += 1
        else:
            found[name] = value
    return found


def _values(owner: type, kind: str, table: Mapping[str, Any], odd: Odd) -> dict[str, Any]:
    """Returns the fields of `owner` that the table has."""
    found = {}
    for name, one in fields(owner).items():
        value = table.get(name)
        if value is None:
            continue
        made = _elements(one, f"{kind}.{name}", value, odd) if one.listed else one.read(value)
        if made is None:
            odd[f"{kind}.{name}"] += 1
        else:
            found[name] = made
    return found


def _elements(field: Field, name: str, value: object, odd: Odd) -> tuple[Any, ...] | None:
    if not isinstance(value, list):
        return None
    read = [None if one is None else field.read(one) for one in value]
    odd[name] += sum(a is not None and b is None for a, b in zip(value, read, strict=True))
    if field.made:
        read = [None if one is None else field.made(**_values(field.made, name, one, odd)) for one in read]
    return tuple(one for one in read if field.gaps or one is not None)
