"""The JSON schema of study files, for editors: made from the tables of fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from taskgrain.study.field import Field
from taskgrain.study.fields import GIVEN, PLURALS, RIVALS
from taskgrain.study.settings import SETTINGS

_NAMES = {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]}
_VARIABLES = {"type": "object", "additionalProperties": {"type": "string"}}
_FILES = {"type": "string", "minLength": 1}


def schema_text() -> str:
    """The schema, as `taskgrain study --schema` prints it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    fields = {name: {"$ref": f"#/definitions/{name}"} for name in GIVEN}
    fields |= {plural: {"$ref": f"#/definitions/{name}"} for plural, name in PLURALS.items()}
    system = {"description": "Name of a system."} | _NAMES
    exclude = _table(
        "A cell is left out if each key has its value, or one of a list.",
        {"system": system, **{key: one for key, one in fields.items() if key != "like"}},
    )
    properties: dict[str, Any] = {
        "title": {"description": "The title of the report.", "default": "", "type": "string"},
        "include": {
            "description": "Files whose keys this one adds to and overrides, relative to this file.",
            "default": [],
            "anyOf": [_FILES, {"type": "array", "items": _FILES}],
        },
        "systems": {
            "description": "Names of systems, all, or default: those that can run here.",
            "default": "default",
        }
        | _NAMES,
        "env": {
            "description": "Environment variables for the systems, a table; those of a list are compared.",
            "default": {},
            "anyOf": [_VARIABLES, {"type": "array", "minItems": 1, "items": _VARIABLES}],
        },
        **{name: one.schema() for name, one in SETTINGS.items()},
        "defaults": _table("Fields for every workload that does not set them.", fields),
        "exclude": {
            "description": "Cells to leave out: those that match every key of one of the tables.",
            "default": [],
            "type": "array",
            "items": exclude | {"minProperties": 1},
        },
        "workloads": {
            "description": "Workloads. taskgrain measures all combinations of the lists within one table.",
            "default": [],
            "type": "array",
            "items": _table("A workload, or the product of its lists.", fields),
        },
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "taskgrain study",
        **_table("What to measure, and how well to know it (docs/reference/study.md).", properties | fields),
        "definitions": {name: _one_or_more(one) for name, one in GIVEN.items()},
    }


def _table(description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "additionalProperties": False,
        "not": {"anyOf": [{"required": list(pair)} for pair in _pairs() if properties.keys() >= set(pair)]},
        "properties": dict(properties),
    }


def _pairs() -> Iterable[tuple[str, str]]:
    for group in RIVALS:
        names = sorted(group)
        yield from ((a, b) for place, a in enumerate(names) for b in names[place + 1 :])


def _one_or_more(field: Field) -> dict[str, Any]:
    """A value of the field, or a list of values."""
    one = field.schema()
    kept = {key: one.pop(key) for key in ("description", "default") if key in one}
    return kept | {"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]}
