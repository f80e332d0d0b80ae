"""The fields of lines: their readers and writers, their meaning, and their unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

from taskgrain.results import values

Kind = Literal["text", "integer", "number", "flag", "table"]
Read = Callable[[Any], Any]

_KINDS: dict[Read, Kind] = {
    values.text: "text",
    values.ending: "text",
    values.integer: "integer",
    values.ordinal: "integer",
    values.flag: "flag",
    values.number: "number",
    values.amount: "number",
    values.positive: "number",
    values.share: "number",
}


@dataclass(frozen=True)
class Field:
    """The facts about a field."""

    read: Read
    meaning: str
    unit: str = ""
    listed: bool = False
    """True if it is a list of such values."""
    gaps: bool = False
    """True if an element that makes no sense keeps its place in the list, as None."""
    always: bool = False
    """True if a line has the field also where it is not known: null, or an empty list."""
    made: type | None = None
    """The type of the elements of a list of tables."""

    @property
    def kind(self) -> Kind:
        """The kind of the value, or of the elements of a list."""
        return _KINDS.get(self.read, "table")


def field(read: Read, meaning: str, unit: str = "", **rest: Any) -> Any:
    """A field of a line; `rest` are facts of `Field`."""
    described = Field(read, meaning, unit, **rest)
    empty: object = () if described.listed else None
    return dataclasses.field(default=empty, metadata={"field": described})


text, flag = partial(field, values.text), partial(field, values.flag)
integer, amount, positive = (partial(field, one) for one in (values.integer, values.amount, values.positive))


@cache
def fields(owner: type) -> dict[str, Field]:
    """The fields of a kind of line, or of a point of a curve, by name."""
    return {one.name: one.metadata["field"] for one in dataclasses.fields(owner) if "field" in one.metadata}


def plain(value: object) -> object:
    """A value of a line as JSON has it."""
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if dataclasses.is_dataclass(value):
        owner: type = type(value)
        known = {name: (getattr(value, name), one.always) for name, one in fields(owner).items()}
        return {name: found for name, (found, always) in known.items() if found is not None or always}
    return value
